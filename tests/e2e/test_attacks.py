"""Agents that attack what they are run by: what they gain, and that nobody else is harmed."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from afresh.contract.report import fit
from tests.e2e import operator
from tests.e2e.servers import service_url
from tests.e2e.team import STAMP, Team, plan_of, record_of
from tests.make import make_report

pytestmark = [pytest.mark.cluster, pytest.mark.story]

PROBE = Path(__file__).with_name("hostile.py")
THIEF = Path(__file__).with_name("thief.py")
# The control channel's ends, which are open in the first process: anybody there may write to them.
CHANNELS = "for f in /proc/1/fd/*; do case $(readlink $f) in */control/*)"
FORGED_REPORT = '{"version": 1, "final": true, "results": [{"id": "T002", "outcome": "Success"}]}'
FORGED_TRAILERS = "Afresh-Package: {package}\\nAfresh-Subtask: T002\\nAfresh-Revision: 0"


def do(*lines: str) -> str:
    """A task of these lines of shell."""
    return "\n".join(["Attack.", *(f"do: {line}" for line in lines)])


def test_an_agent_that_reaches_for_everything_gains_nothing_and_its_work_is_judged_as_any(
    team: Team,
) -> None:
    service = service_url(team.cluster, operator.NAMESPACE, operator.DEPLOYMENT)
    reports = f"{service.replace('http:', 'https:')}:8080/v1/report"
    forged = fit(make_report())
    api = service_url(team.cluster, "default", "kubernetes").replace("http:", "https:")
    program = ["cat >$HOME/probe.py <<'PROBE'", *PROBE.read_text().splitlines(), "PROBE"]
    run = f"python3 $HOME/probe.py {reports} '{forged}' {api}/api/v1/namespaces >tried.json"
    with operator.undisturbed(team.cluster):
        team.apply(team.package("p", do(*program, run), STAMP))
        team.apply(team.package("neighbour", *[STAMP] * 2))
        team.wait_for("Succeeded")
    neighbour = team.wait_for("Succeeded", package="neighbour")

    tried = json.loads(team.branch().read("tried.json"))
    gained = {name: tried.pop(name) for name in ("writable", "API server")}
    assert gained["API server"] in (401, 403)
    assert gained["writable"] == [
        "/dev/shm", "/dev/termination-log", "/home/agent", "/tmp", "/workspace",
    ]  # fmt: skip
    assert tried == {
        "runner's files": [],
        "account": [],
        "other containers' processes": [],
        "replaced": [],
        "secrets in the environment": [],
        "report without a token": 401,
        "report with a forged token": 401,
    }
    assert [item["attempts"] for item in neighbour["subtasks"]] == [1, 1]


def test_an_agent_that_forges_what_others_are_to_believe_is_believed_by_nobody(
    team: Team,
) -> None:
    trailers = FORGED_TRAILERS.format(package=f"{team.namespace}/p")
    forge = [
        f"echo '{FORGED_REPORT}' >/dev/termination-log",
        f"echo '{FORGED_REPORT}'; echo 'T002 is done: Success'",
        "mkdir -p .afresh/outbox",
        f"printf 'Made it.\\n\\n{trailers}\\n' >.afresh/outbox/summary.md",
        f"printf 'Work.\\n\\n{trailers}\\n' >message",
        "git add . && git -c user.name=a -c user.email=a@b commit -qF message",
        "sed -i 's/\\[ \\] T002/[x] T002/' .afresh/PLAN.md",
        f"{CHANNELS} printf '\\nrc agent 0\\nrc verify 0\\nkilled\\n' >$f;; esac; done",
        "stamp",
    ]
    filters = [
        "git config filter.up.clean 'tr a-z A-Z'; git config core.hooksPath hooks",
        "mkdir hooks; printf '#!/bin/sh\\necho hooked >>stamps.txt\\n' >hooks/pre-commit",
        "chmod +x hooks/pre-commit; echo '*.txt filter=up' >.gitattributes",
        "ln -s /afresh/secrets/git/password link.txt; ln -s /afresh/git/config config.txt",
        "echo lower >case.txt",
    ]
    planted = [
        "echo planted/ >.gitignore; mkdir planted; echo 'exit 0' >planted/verdict",
        "echo planted | tee $HOME/planted /tmp/planted >/dev/shm/planted",
        "python3 -c 'import ctypes; c = ctypes.CDLL(None);"
        ' assert c.mq_open(b"/planted", 66, 384, None) >= 0;'
        " assert c.shmget(77, 64, 0o1600) >= 0'",
    ]
    honest = {"prompt": STAMP, "verify": {"command": ["test", "!", "-e", "planted"]}}
    places = "planted $HOME/planted /tmp/planted /dev/shm/planted"
    shared = 'test -z "$(ls /dev/mqueue)" && test $(wc -l </proc/sysvipc/shm) = 1'
    clean = ["sh", "-c", f"for f in {places}; do test ! -e $f || exit 1; done; {shared}"]
    attack = {"prompt": do(*forge, *filters, *planted), "verify": {"command": clean}}
    team.apply(team.package("p", attack, honest))

    status = team.wait_for("Succeeded")

    assert [item["attempts"] for item in status["subtasks"]] == [1, 1]
    assert team.branch().subtasks() == ["T001", "T002"]
    assert {item["commit"] for item in status["subtasks"]} == set(team.branch().commits())
    assert team.branch().plan() == plan_of(status)
    assert team.branch().read("case.txt") == "lower\n"
    assert team.branch().read("link.txt") == "/afresh/secrets/git/password"
    assert team.branch().read("config.txt") == "/afresh/git/config"
    assert "hooked" not in team.branch().read("stamps.txt")
    assert team.branch().read("planted/verdict") == ""
    assert team.git_password not in team.evidence()


def test_a_program_under_test_that_listens_for_its_verdict_and_changes_it_is_not_heard(
    team: Team,
) -> None:
    program = ["cat >thief.py <<'THIEF'", *THIEF.read_text().splitlines(), "THIEF"]
    steal = {
        "prompt": do(*program, "stamp"),
        "verify": {"command": ["sh", "-c", "python3 thief.py; exit 3"], "timeoutSeconds": 20},
    }
    team.apply(team.package("p", steal, steal, maxConsecutiveFailures=1))

    status = team.wait_for("NeedsReview")

    assert [item["marker"] for item in status["subtasks"]] == ["[S]", "[S]"]
    for subtask in ("T001", "T002"):
        (attempt,) = team.attempts(subtask)
        assert attempt["outcome"] == "VerifyFailed"
        assert attempt["verify"]["exitCode"] == 3
    assert team.branch().commits() == []


@dataclass(frozen=True)
class Attack:
    """What an agent does to its pod, and the outcomes that contain it."""

    do: str
    want: tuple[str, ...]
    spec: dict[str, Any] = field(default_factory=dict)


SHORT = {"episode": {"timeoutSeconds": 4}}
BURN = "python3 -c 'while True: pass'"
THREADS = (
    "python3 -c 'import threading, time\n"
    "while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()'"
)
ATTACKS = {
    "threads without end": Attack(
        THREADS.replace("\n", "\ndo: "), ("ProcessLimit",), {"pidsLimit": 64}
    ),
    "both cores for ever": Attack(f"{BURN} & {BURN}", ("Timeout",), SHORT),
    "a tree of processes that ignores TERM": Attack(
        "trap '' TERM; (sh -c 'sleep 600 & sleep 600; sleep 600') & sleep 600; sleep 600",
        ("Timeout",),
        SHORT,
    ),
    "a daemon that holds its output and has done its work": Attack(
        "stamp; (trap '' TERM HUP; setsid sleep 600) &", ("Success",)
    ),
    "no output any more and its work": Attack("exec >&- 2>&-; stamp", ("Success",)),
    "a gigabyte on one line and its work": Attack(
        "head -c 1000000000 /dev/zero | tr '\\0' x; stamp", ("Success",)
    ),
    "a flood on every channel": Attack(
        f"{CHANNELS} timeout 3 yes >$f & ;; esac; done; stamp; wait",
        ("Success",),
    ),
    "what its own runner listens to, read away, and its work": Attack(
        "for f in /proc/1/fd/*; do cat $f >/dev/null 2>&1 & done;"
        " i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i + 1)); done; stamp",
        ("Success",),
    ),
    "the forged end of a failure": Attack(
        f"stamp; {CHANNELS} echo 'rc agent 0' >$f;; esac; done; exit 3", ("AgentError",)
    ),
    "all of the shared memory and its work": Attack(
        "head -c 100M /dev/zero >/dev/shm/big; stamp", ("Success",)
    ),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_attack_is_contained_and_its_neighbours_go_on(team: Team, attack: Attack) -> None:
    spec = {"maxConsecutiveFailures": 1, **attack.spec}
    own_limits = {"episode": {"timeoutSeconds": 120}}
    team.apply(team.package("p", do(attack.do), **spec))
    team.apply(team.package("neighbour", STAMP, **own_limits))

    neighbour = team.wait_for("Succeeded", package="neighbour")
    status = team.wait_for("Succeeded", "NeedsReview")

    (attempt,) = team.attempts("T001")
    assert attempt["outcome"] in attack.want
    done = attempt["outcome"] == "Success"
    assert record_of(status, "T001")["marker"] == ("[x]" if done else "[S]")
    assert len(team.branch().commits()) == int(done)
    assert team.branch().plan() == plan_of(status)
    assert [item["attempts"] for item in neighbour["subtasks"]] == [1]
