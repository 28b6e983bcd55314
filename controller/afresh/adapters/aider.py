"""The adapter for Aider, which reads the brief from standard input and prints text.

This module owns Aider's flags, its configuration and the meaning of its output. It was written for
Aider 0.86.2.

Aider has no tools: it runs no commands, and edits files as the model's answer describes. Aider adds
files to the conversation when the brief or the model names them by their full path. A map of the
repository lists the other files for the model.
"""

import json
import re
from collections.abc import Mapping

from afresh.adapters.adapter import (
    ONE_RUN,
    PLACEHOLDER_KEY,
    Context,
    Launch,
    Verdict,
    endpoint_warnings,
)
from afresh.adapters.default_models import DEFAULT_MODELS
from afresh.adapters.endings import CANNOT_RUN, NO_RESULT, Wording, not_in_image
from afresh.contract.abilities import gateway_api
from afresh.contract.order import Agent, price_of
from afresh.contract.words import ModelApiName

FLAGS = (
    *("--message-file", "/dev/stdin", "--yes-always", "--no-pretty", "--no-stream"),
    *("--no-auto-commits", "--no-dirty-commits", "--no-gitignore"),
    *("--no-auto-lint", "--no-auto-test", "--no-suggest-shell-commands", "--no-detect-urls"),
    *("--no-analytics", "--no-check-update", "--no-show-release-notes"),
    *("--no-show-model-warnings", "--no-fancy-input", "--no-notifications"),
    *("--chat-history-file", "/dev/null", "--input-history-file", "/dev/null"),
)
ENVIRONMENT = {
    # Otherwise Aider wraps lines, and one message spans several lines.
    "COLUMNS": "1000",
    # Otherwise Aider downloads a list of prices at every start.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
# `aider/extra_params` is Aider's name for settings of all models. Aider itself repeats failed
# requests, so the library below it must not.
MODEL_SETTINGS = """\
- name: aider/extra_params
  extra_params:
    max_retries: 0
"""
NO_COMMANDS = (
    "Aider runs no commands, so the agent cannot run the acceptance command before it ends."
)
STARTED = re.compile(r"Aider v\d")
ANSWERED = re.compile(r"Tokens: \S+ sent\b.*\breceived\b")
FAILED = re.compile(r"litellm\.\w+: ")
EMPTY = re.compile(r"Empty response received from LLM")
# Aider prints these lines before the line that counts the tokens of the answer.
FLAWED = re.compile(rf"Model \S+ has hit a token limit!|{EMPTY.pattern}")
WORDING = Wording(
    too_long=re.compile(r"ContextWindowExceeded|hit a token limit|Request too large"),
    auth=re.compile(
        r"AuthenticationError|PermissionDenied|credit balance|insufficient_quota|API key"
        r"|API usage limits|organization has been disabled",
        re.IGNORECASE,
    ),
    transient=re.compile(
        r"RateLimitError|InternalServerError|ServiceUnavailable|BadGateway|APIConnectionError"
        r"|APIError|Timeout|Empty response",
    ),
)


class AiderReader:
    """Reads the text of one run. The last line about an answer decides the result."""

    session = None
    asked = 0

    def __init__(self, *, behind_gateway: bool) -> None:
        self._behind_gateway = behind_gateway
        self._has_started = False
        self._has_answer = False
        self._failure_text = ""
        self._flaw = ""
        self._last_line = ""

    def event(self, line: str) -> str | None:
        """Read a line of standard output; return it if it is not empty."""
        if STARTED.match(line):
            self._has_started = True
        elif ANSWERED.match(line):
            self._has_answer, self._failure_text, self._flaw = True, self._flaw, ""
        elif FAILED.match(line):
            self._failure_text = line
        elif FLAWED.match(line):
            self._failure_text = self._flaw = line
        self._last_line = line.strip() or self._last_line
        return line if line.strip() else None

    def error(self, line: str) -> str | None:
        """Read a line of standard error in the same way."""
        return self.event(line)

    def verdict(self, exit_code: int) -> Verdict:
        """Return the result of the run.

        Success is an answer with no error after it. Exit code 0 alone does not mean success: Aider
        also exits with 0 after errors.
        """
        if exit_code in CANNOT_RUN and not self._has_started:
            return not_in_image("aider")
        if exit_code == 0 and self._behind_gateway and EMPTY.match(self._failure_text):
            return NO_RESULT
        if self._failure_text or exit_code != 0:
            text = self._failure_text or self._last_line or f"exit code {exit_code}"
            return WORDING.verdict(text, behind_gateway=self._behind_gateway)
        return Verdict() if self._has_answer else NO_RESULT


class AiderAdapter:
    """See `adapter.Adapter`."""

    version = "0.86.2"
    program_files: tuple[str, ...] = (".aider*",)

    def launch(
        self,
        agent: Agent,
        brief: str,
        base_url: str | None,
        context: Context = ONE_RUN,  # noqa: ARG002
    ) -> Launch:
        """Return the non-interactive command that reads the brief from standard input."""
        model = _model(agent)
        models = ("--model", model, "--weak-model", model, "--editor-model", model) if model else ()
        access = [f"--set-env={name}={value}" for name, value in _access(agent, base_url).items()]
        return Launch(
            argv=("aider", *FLAGS, *models, *access),
            environment=ENVIRONMENT,
            stdin=brief,
            home_files={
                ".aider.model.settings.yml": MODEL_SETTINGS,
                ".aider.model.metadata.json": json.dumps(_metadata(agent, model)) + "\n",
            },
            warnings=(NO_COMMANDS, *endpoint_warnings(agent, base_url)),
        )

    def reader(self, *, behind_gateway: bool) -> AiderReader:
        """Return a reader for one run."""
        return AiderReader(behind_gateway=behind_gateway)


def _model(agent: Agent) -> str | None:
    """Return the model's name as Aider expects it: with the provider as a prefix."""
    api = gateway_api(agent)
    if api is None:
        return agent.model
    return f"{api.lower()}/{agent.model or DEFAULT_MODELS[api]}"


def _access(agent: Agent, base_url: str | None) -> Mapping[str, str]:
    """Return the variables for the gateway; the caller passes them as flags.

    Flags take precedence over a `.env` file of the repository.
    """
    api = gateway_api(agent)
    if base_url is None or api is None:
        return {}
    name = api.upper()
    base = base_url if api is ModelApiName.ANTHROPIC else f"{base_url}/v1"
    return {f"{name}_API_BASE": base, f"{name}_API_KEY": PLACEHOLDER_KEY}


def _metadata(agent: Agent, model: str | None) -> Mapping[str, object]:
    """Return the metadata of the model. Without metadata, Aider would download a list of models."""
    if model is None:
        return {}
    name = model.partition("/")[2] or model
    price = price_of(agent.pricing, name)
    window = price.context_window_tokens if price else None
    return {model: {"mode": "chat", **({"max_input_tokens": window} if window else {})}}
