"""What an agent's pod shows it, attempt by attempt, and what becomes of secrets that it prints."""

import base64
import json
import re
from urllib.parse import quote

import pytest

from tests.e2e.api import Manifest
from tests.e2e.cluster import wait
from tests.e2e.team import Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]

# Prints what it can read of its container, and fails. Of /proc, what holds kernel counters and
# clocks is left out: stat, uptime, meminfo, loadavg and the like.
PROBE = r"""
exec 2>&1
echo PROBE BEGINS
cat
env | sort
id; hostname; pwd; umask; ulimit -a
cat /etc/passwd /etc/hosts /etc/hostname /etc/resolv.conf
find . -mindepth 1 -printf '%p %y %m %U %G %s %T@ %l\n' | sort
find . -type f -exec sha256sum {} + | sort
find "$HOME" /tmp /dev /afresh -printf '%p %y %m %U %G %l\n' | sort
find /afresh -type f -exec sha256sum {} + | sort
find / -xdev -maxdepth 2 -printf '%p %y %m %U %G %s %l\n' | sort
git log --all --format='%H %an %ae %ad %cn %ce %cd %s'; git status --short; git reflog; git remote
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)' /proc/self/status
for name in cgroup limits mountinfo mounts uid_map gid_map setgroups oom_score_adj loginuid; do
  echo "$name:"; cat /proc/self/$name
done
for name in cmdline version filesystems mounts sys/kernel/hostname sys/kernel/domainname; do
  echo "$name:"; cat /proc/$name
done
readlink /proc/self/ns/* /proc/self/exe /proc/self/cwd /proc/self/root
for process in /proc/[0-9]*; do tr '\0' ' ' <$process/cmdline; echo; done | sort -u
echo PROBE ENDS
exit 1
"""
# All that differs from pod to pod; docs/how-to/own-agent.md lists the same. None of it counts
# attempts.
DIFFERS = {
    "UID": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "CONTAINER": r"(?:(?<=sandboxes/)|(?<=containers/)|(?<=podUID/))[0-9a-f]{64}",
    "MESSAGE": r"(?<=/containers/agent/)[0-9a-f]{8}",
    "ADDRESS": r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    "LENGTH": r"(?<=/etc/hosts f 644 0 0 )\d+",  # of a file with the address in it
    "LAYER": r"(?<=snapshots/)\d+",
    "MOUNT": r"(?m)^\d+ \d+ \d+:\d+(?= /)",
    "PEER": r"\b(?:master|shared|propagate_from):\d+",
    "TIME": r"\.\.\d{4}(?:_\d\d){5}\.\d+",
    "INODE": r"(?<=:\[)\d+(?=\])",
}


def test_no_attempt_is_shown_a_byte_that_another_on_the_same_head_is_not(team: Team) -> None:
    team.agent(command=["/bin/sh", "-c", PROBE])
    team.apply(team.package("p", "Write hello.txt."))

    team.wait_for("NeedsReview")

    outputs = [_probe_output(team, number) for number in (1, 2, 3)]
    alike = [_alike(text) for text in outputs]
    assert alike[0].splitlines() == alike[1].splitlines()
    assert alike[0].splitlines() == alike[2].splitlines()
    assert len(alike[0].splitlines()) > 200
    assert "Write hello.txt." in outputs[0]
    # The name of the namespace is among the DNS search names of every pod of a cluster with DNS.
    names = [item["metadata"]["name"] for item in team.pods()]
    for name in (*names, "p-t001", "git-credentials", team.git_password):
        assert not [text for text in outputs if name in text], name


def test_secrets_that_an_agent_prints_are_in_no_log_status_event_or_note(team: Team) -> None:
    secret = team.git_password
    pair = f"afresh:{secret}"
    forms = {
        "as it is": secret,
        "in a URL": f"https://{pair}@git.example.com/x.git",
        "in base64": base64.b64encode(secret.encode()).decode().rstrip("="),
        "in a header": base64.b64encode(pair.encode()).decode().rstrip("="),
        "for a URL": quote(secret, safe=""),
        "of somebody else": "https://someone:something@git.example.com/y.git",
    }
    script = "cat >/dev/null; " + "".join(
        f"echo 'it is {form} here'; echo 'it is {form} here' >&2; "
        f"for name in blocked discovery ideas; do echo 'Is it {form}?' >>.afresh/outbox/$name.md; "
        "done; "
        for form in forms.values()
    )
    team.agent(command=["/bin/sh", "-c", script])
    team.apply(team.package("p"))

    status = team.wait_for("NeedsReview")

    branch = team.branch()
    texts = {
        "the package's status": json.dumps(status),
        "the subtask's status": json.dumps(team.attempts("T001")),
        "the log": _log(team, 1),
        "the pod's status": json.dumps(_ended_pod(team)["status"]),
        "the events": json.dumps(team.cluster.api.items("events", team.namespace)),
        "the notes": branch.read(".afresh/DISCOVERY.md") + branch.read(".afresh/IDEAS.md"),
    }
    hidden = (*(text for name, text in forms.items() if "URL" not in name), pair, "something@")
    found = [(place, form) for place, text in texts.items() for form in hidden if form in text]
    assert found == []
    assert [place for place, text in texts.items() if "[redacted]" not in text] == []


def _probe_output(team: Team, attempt: int) -> str:
    """What the probe of an attempt has printed, as the runner's log has it."""
    log = _log(team, attempt)
    return log[log.index("PROBE BEGINS") : log.index("PROBE ENDS")]


def _ended_pod(team: Team, attempt: int = 1) -> Manifest:
    """The pod of an attempt, once the kubelet has reported its end and the Report."""
    labels = f"afresh.dev/package=p,afresh.dev/subtask=T001,afresh.dev/attempt={attempt}"

    def found() -> Manifest | None:
        pods = team.cluster.api.items("pods", team.namespace, labels)
        return next((pod for pod in pods if pod["status"]["phase"] == "Failed"), None)

    pod: Manifest = wait(f"the pod of attempt {attempt} has ended", found, seconds=180)
    return pod


def _log(team: Team, attempt: int) -> str:
    name = _ended_pod(team, attempt)["metadata"]["name"]
    path = f"api/v1/namespaces/{team.namespace}/pods/{name}/log?container=runner"
    return team.cluster.api.text(path)


def _alike(text: str) -> str:
    """The text without what differs from pod to pod."""
    for name, pattern in DIFFERS.items():
        text = re.sub(pattern, name, text)
    return text
