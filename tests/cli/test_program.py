"""The program as a person meets it: help, exit codes, and one sentence for every error."""

import json
import os
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml

from afresh import __version__
from afresh.cli.commands import MAX_DIRECTIVE, afresh
from afresh.cli.edits import MAX_DIRECTIVES

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(afresh.commands)
NOBODY = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
"""


def run(
    *arguments: str, kubeconfig: str = "/nonexistent", **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value for key, value in os.environ.items() if key != "KUBERNETES_SERVICE_HOST"
    }
    environment |= {"PYTHONPATH": str(ROOT / "controller"), "KUBECONFIG": kubeconfig}
    environment |= variables
    return subprocess.run(
        [sys.executable, "-m", "afresh.cli", *arguments],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


class _Nothing(BaseHTTPRequestHandler):
    """An API server that has nothing."""

    def do_GET(self):
        self._answer(404, {"kind": "Status", "message": "not found"})

    def do_POST(self):
        self.do_GET()

    def _answer(self, status: int, body: dict[str, object]):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


@contextmanager
def empty_server() -> Iterator[int]:
    """Give the port of a server that answers every request with 404."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Nothing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


# What needs no cluster, and what is about no package in particular.
OFFLINE = ("completion", "crds", "init", "run", "schema", "validate")
OF_NO_PACKAGE = ("apply", "check", "conformance", "get", "version")


def test_program_has_the_commands_that_a_person_looks_at_a_package_and_answers_it_with():
    assert COMMANDS == [
        "apply", "cancel", "check", "compare", "completion", "conformance", "copy", "crds",
        "explain", "get", "guide", "init", "logs", "report", "resume", "retry", "run", "schema",
        "skip", "status", "suspend", "validate", "version", "wait",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in OFFLINE])
def test_every_command_that_needs_a_cluster_takes_the_same_options_for_it(name: str):
    taken = {option for item in afresh.commands[name].params for option in item.opts}

    assert {"-n", "--namespace", "--kubeconfig", "--context"} <= taken
    assert ("package" in taken) is (name not in OF_NO_PACKAGE)


def test_cancel_says_how_to_do_the_same_with_kubectl():
    text = afresh.commands["cancel"].get_help(
        click.Context(afresh.commands["cancel"], **afresh.context_settings)
    )

    assert "kubectl annotate --overwrite wp" in text
    assert "afresh.dev/cancel-requested-at" in text


def test_help_loads_nothing_that_is_slow_to_import():
    code = (
        "import sys; from afresh.cli.__main__ import main; main(['--help'])\n"
        "print(sorted({'jinja2', 'kubernetes', 'rich'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "controller")},
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip

    assert done.stdout.startswith("Usage: ")
    assert done.stdout.splitlines()[-1] == "[]"


def test_version_of_the_command_needs_no_cluster():
    as_json = run("version", "--client", "-o", "json").stdout

    assert run("--version").stdout == f"afresh {__version__}\n"
    assert run("version", "--client").stdout == f"afresh {__version__}\n"
    assert json.loads(as_json) == {"version": __version__}


def test_version_without_a_cluster_prints_the_commands_own_and_says_why():
    done = run("version")

    assert (done.returncode, done.stdout) == (0, f"afresh {__version__}\n")
    assert done.stderr == (
        "Warning: There is no kubeconfig at /nonexistent: name one with --kubeconfig or in"
        " KUBECONFIG.\n"
    )


# The Kubernetes client and all that it needs, an event loop, and what other forms are written with.
SLOW_TO_IMPORT = {
    "aiohttp", "asyncio", "jinja2", "kopf", "kubernetes", "prometheus_client", "structlog",
}  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("status",), id="the table"),
        pytest.param(("status", "demo"), id="the tree"),
        pytest.param(("get",), id="get"),
        pytest.param(("check",), id="check"),
        pytest.param(("version",), id="version"),
    ],
)
def test_commands_that_read_once_import_no_kubernetes_client(
    words: tuple[str, ...], tmp_path: Path
):
    kubeconfig = tmp_path / "config"
    code = (
        "import sys; from afresh.cli.__main__ import main\n"
        f"main({list(words)!r})\n"
        f"print(sorted({SLOW_TO_IMPORT!r} & sys.modules.keys()))"
    )
    with empty_server() as port:
        kubeconfig.write_text(NOBODY.replace(":9", f":{port}"))
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {
                "PYTHONPATH": str(ROOT / "controller"), "KUBECONFIG": str(kubeconfig),
            },
            capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip

    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_crds_are_those_that_are_kept_as_files():
    want = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "crds").glob("*.yaml"))]

    assert list(yaml.safe_load_all(run("crds").stdout)) == want
    listed = json.loads(run("crds", "-o", "json").stdout)
    assert (listed["kind"], listed["items"]) == ("List", want)


def test_completion_is_printed_for_each_shell_without_a_cluster():
    for shell in ("bash", "zsh", "fish"):
        assert "_AFRESH_COMPLETE" in run("completion", shell).stdout


def test_commands_are_completed_without_a_cluster_and_names_are_left_out_without_kubectl(
    tmp_path: Path,
):
    def completed(*words: str) -> str:
        environment = os.environ | {
            "PYTHONPATH": str(ROOT / "controller"), "PATH": str(tmp_path),
            "_AFRESH_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", "from afresh.cli.__main__ import main; main()"],
            env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout

    assert completed("afresh", "expl") == "plain,explain\n"
    assert completed("afresh", "wait", "p", "--for", "succ") == "plain,Succeeded\n"
    assert completed("afresh", "status", "tok").strip() == ""


BAD_USE = [
    pytest.param((), "Usage: afresh ", id="no command"),
    pytest.param(("fly",), "error: No such command 'fly'; see afresh --help.\n", id="unknown"),
    pytest.param(("skip", "p"), "error: Missing argument 'SUBTASK...'; see afresh skip --help.\n",
                 id="argument missing"),
    pytest.param(("skip", "p/status", "A"), 'error: Invalid value for \'PACKAGE\': "p/status" is'
                 ' not the name of a package: use lower-case letters, digits and "-"; see afresh'
                 " skip --help.\n", id="path for a name"),
    pytest.param(("get", "classes", "a/b"), "error: Invalid value for '[NAME]': \"a/b\" is not the"
                 " name of an object: use lower-case letters, digits, \"-\" and \".\"; see afresh"
                 " get --help.\n", id="path for the name of an object"),
    pytest.param(("report", "p", "-n", "a?b"), "error: Invalid value for '-n' / '--namespace':",
                 id="query for a name"),
    pytest.param(("guide", "p", "A", "x" * 501), "error: The directive has 501 characters, and 500"
                 " are allowed: shorten it, or write it into the subtask's prompt.\n",
                 id="too long"),
    pytest.param(("conformance", "x", "--", "y"), "error: COMMAND is for --adapter Command, which"
                 " needs it; see afresh conformance --help.\n", id="command without its adapter"),
    pytest.param(("conformance", "x", "--adapter", "Command"), "error: COMMAND is for --adapter"
                 " Command, which needs it;", id="adapter without its command"),
    pytest.param(("conformance", "an image"), 'error: Invalid value for \'IMAGE\': "an image" is'
                 " not an image reference: write one such as registry.example.com/team/agent:1.0;",
                 id="no image"),
    pytest.param(("conformance", "x", "--pull-secret", "a/b"), "error: Invalid value for"
                 " '--pull-secret': \"a/b\" is not the name of a Secret:", id="no Secret's name"),
    pytest.param(("status", "p", "-A"), "error: PACKAGE names one package: leave out -A, or"
                 " PACKAGE; see afresh status --help.\n", id="one package of all namespaces"),
    pytest.param(("logs", "p", "--attempt", "1"), "error: --attempt needs a SUBTASK: each counts"
                 " its own; see afresh logs --help.\n", id="attempt of no subtask"),
    pytest.param(("wait", "p", "--timeout", "soon"), "error: Invalid value for '--timeout':"
                 ' "soon" is not a duration: write 90s, 30m or 1h30m;', id="no duration"),
    pytest.param(("wait", "p", "--for", "Done"), "error: Invalid value for '--for': 'Done' is not"
                 " one of 'Pending', 'Queued', 'Running',", id="no phase"),
    pytest.param(("wait", "p", "--for", "AwaitingApproval"), "error: Invalid value for '--for':"
                 " 'AwaitingApproval' is not one of", id="phase that no package gets"),
    pytest.param(("completion", "tcsh"), "error: Invalid value for '{bash|zsh|fish}': 'tcsh' is"
                 " not one of", id="unknown shell"),
    pytest.param(("guide", "p", "A", " \n"), "error: The directive is empty: say what to do.\n",
                 id="empty"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "want"), BAD_USE)
def test_bad_use_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], want: str):
    done = run(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(want)


def test_no_kubeconfig_is_one_sentence_and_exit_code_1():
    done = run("suspend", "p")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: There is no kubeconfig at /nonexistent: name one with --kubeconfig or in"
        " KUBECONFIG.\n"
    )


@pytest.mark.parametrize(
    ("content", "arguments", "want"),
    [
        pytest.param("- a", (), "cannot be used", id="a list"),
        pytest.param("a: [", (), "cannot be used", id="no YAML"),
        pytest.param("", (), "cannot be used: it is empty, or not in the form of", id="empty"),
        pytest.param(NOBODY, ("--context", "other"), "object with name other", id="no context"),
        pytest.param(NOBODY, (), "The API server cannot be reached: ", id="nobody listens"),
    ],
)
def test_kubeconfig_that_leads_nowhere_is_one_sentence_and_exit_code_1(
    content: str, arguments: tuple[str, ...], want: str, tmp_path: Path
):
    path = tmp_path / "config"
    path.write_text(content)

    done = run("suspend", "p", *arguments, kubeconfig=str(path))

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert want in done.stderr


def test_output_that_cannot_be_written_is_one_sentence_and_exit_code_1():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "afresh.cli", "crds"],
            env=os.environ | {"PYTHONPATH": str(ROOT / "controller")},
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False,
        )  # fmt: skip

    assert (done.returncode, done.stderr) == (
        1,
        "error: Standard output cannot be written: No space left on device.\n",
    )


def test_program_called_as_a_plugin_names_itself_so(tmp_path: Path):
    plugin = tmp_path / "kubectl-afresh"
    plugin.write_text("import sys\nfrom afresh.cli.__main__ import main\nsys.exit(main())\n")

    done = subprocess.run(
        [sys.executable, str(plugin), "skip"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "controller")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert "see kubectl afresh skip --help." in done.stderr


def test_both_names_of_the_program_lead_to_it():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]

    assert set(scripts) == {"afresh", "kubectl-afresh"}
    for entry_point in scripts.values():
        module, _, name = entry_point.partition(":")
        assert callable(getattr(import_module(module), name))


def test_bounds_of_a_directive_are_those_of_the_resource():
    schema = yaml.safe_load((ROOT / "crds" / "workpackages.yaml").read_text())
    version = schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    subtask = version["properties"]["spec"]["properties"]["subtasks"]["items"]
    guidance = subtask["properties"]["guidance"]

    assert guidance["maxItems"] == MAX_DIRECTIVES
    assert guidance["items"]["maxLength"] == MAX_DIRECTIVE


def test_in_a_pod_the_cluster_of_the_kubeconfig_is_asked_and_not_the_pods_own(tmp_path: Path):
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(NOBODY)

    done = run("status", kubeconfig=str(kubeconfig), KUBERNETES_SERVICE_HOST="127.0.0.2")

    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr


def test_waiting_for_an_api_server_that_never_answers_ends_with_the_time(tmp_path: Path):
    kubeconfig = tmp_path / "config"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kubeconfig.write_text(NOBODY.replace(":9", f":{silent.getsockname()[1]}"))

        done = run("wait", "demo", "--timeout", "1s", kubeconfig=str(kubeconfig))

    assert done.returncode == 124
    assert done.stderr == "The API server has not answered.\n"


def test_a_kubeconfig_in_a_home_that_nobody_has_is_none():
    done = run("status", kubeconfig="~no-such-user/config")

    assert done.returncode == 1
    assert "There is no kubeconfig at ~no-such-user/config: name one" in done.stderr
