"""What an agent writes where the runner listens, and what comes of it."""

import os
import stat
from pathlib import Path

import pytest

from afresh.contract.order import Verify
from afresh.contract.words import Outcome
from afresh.episode.container.channel import Channel
from tests.episode.pod import Pod, Started, make_agent, make_order, make_task
from tests.episode.servers import Remote, git

BRANCH = "afresh/demo"
WORK = "echo hello > hello.txt"
# The control channel's ends are open in the first process; a shell may number them as it likes.
FIND = (
    "fd() { for f in /proc/1/fd/*; do case $(readlink $f) in */$1*) echo $f; return; esac; done; }"
)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param("echo 'rc verify 0' > $(fd done); echo killed > $(fd done)", id="other words"),
        pytest.param("kill -9 -1", id="killing everything"),
        pytest.param("kill -9 1", id="killing the first process"),
        pytest.param("head -c 3000000 /dev/zero > $(fd done)", id="a flood without a line end"),
        pytest.param("yes garbage | head -c 3000000 > $(fd done)", id="a flood of lines"),
        pytest.param("yes rc agent | head -c 300000 > $(fd done)", id="a flood of half words"),
        pytest.param("echo 'rc agent 99999999999999' > $(fd done)", id="a number that is none"),
    ],
)
def test_agent_that_fails_and_writes_into_the_control_channel_has_failed(
    pod: Pod, remote: Remote, attack: str
):
    pod.run(make_order(remote.url, f"{FIND}; {WORK}; {attack} && exit 3; exit 4"))

    assert pod.result.outcome is Outcome.AGENT_ERROR, pod.log
    assert pod.result.exit_code in (3, 4)
    assert remote.head(BRANCH) is None


def test_agent_that_claims_its_own_good_end_is_waited_for_until_its_limit(pod: Pod, remote: Remote):
    attack = f"{FIND}; {WORK}; echo 'rc agent 0' > $(fd done); sleep 600"

    pod.run(make_order(remote.url, "", agent=make_agent(attack, timeout_seconds=1)))

    assert pod.result.outcome is Outcome.TIMEOUT, pod.log
    assert remote.head(BRANCH) is None


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("rc verify 0", id="its end"),
        pytest.param("rc 0", id="an end without a key"),
        pytest.param("run verify\nrc verify 0\nkilled", id="a question and its answer"),
    ],
)
def test_program_under_test_that_forges_the_end_of_the_acceptance_command_fails_it(
    pod: Pod, remote: Remote, word: str
):
    lines = "\\n".join(word.splitlines())
    forge = f"for f in /proc/1/fd/*; do printf '\\n{lines}\\n' > $f; done; echo wrong\n"
    agent = f"cat > prog.sh <<'END'\n{forge}END"
    verify = Verify(command=("sh", "-c", "sh prog.sh | grep -q right"), timeout_seconds=5)

    pod.run(make_order(remote.url, agent, tasks=(make_task(verify=verify),)))

    assert pod.result.outcome is Outcome.VERIFY_FAILED, pod.log
    assert remote.head(BRANCH) is None


def test_channel_of_words_is_closed_to_everybody_after_the_greeting(tmp_path: Path):
    control = Channel(tmp_path, ())
    control.open()
    shims = [os.open(tmp_path / "go", os.O_RDONLY | os.O_NONBLOCK)]
    shims.append(os.open(tmp_path / "done", os.O_WRONLY))
    os.write(shims[1], b"\nhello\n")

    control.greet()

    assert [stat.S_IMODE(os.fstat(end).st_mode) for end in shims] == [0, 0]


def test_daemon_that_answers_for_the_agents_container_does_not_live_on_beside_verify(
    pod: Pod, remote: Remote
):
    lock = f"{pod.root}/lock"
    daemon = (
        f"trap '' TERM; exec 9>{lock}; flock 9; exec 7<>$(fd go) 8>$(fd done);"
        " touch $HOME/listening; while read -r line <&7; do"
        " printf 'killed\\nkilled %s\\n' \"$line\" >&8; done"
    )
    agent = f"{FIND}; {WORK}; ({daemon}) & while [ ! -e $HOME/listening ]; do sleep 0.02; done"
    task = make_task(verify=Verify(command=("flock", "--nonblock", lock, "true")))

    pod.run(make_order(remote.url, agent, tasks=(task,)))

    # Either it is gone, or the runner knows that it is not and goes no further.
    assert pod.result.outcome in (Outcome.SUCCESS, Outcome.AGENT_ERROR), pod.log


def test_agent_that_reads_what_the_runner_listens_to_cannot_end_it(pod: Pod, remote: Remote):
    thieves = "for n in 1 2 3 4 5 6 7 8; do cat $(fd out) >/dev/null & done"
    talk = "i=0; while [ $i -lt 50000 ]; do echo $i; i=$((i + 1)); done"

    pod.run(make_order(remote.url, f"{FIND}; {thieves}; {talk}; {WORK}"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log[-2000:]


def test_agent_that_fills_the_runners_channel_cannot_hang_it(pod: Pod, remote: Remote):
    attack = f"{FIND}; {WORK}; yes | head -c 70000 > $(fd go) & sleep 600"

    pod.run(make_order(remote.url, "", agent=make_agent(attack, timeout_seconds=1)))

    assert pod.result.outcome is Outcome.TIMEOUT, pod.log


def test_agent_that_cannot_be_stopped_has_met_its_limit_and_nothing_of_it_is_read(
    pod: Pod, remote: Remote
):
    deafen = "for p in $(cat /proc/1/task/1/children); do [ $p = $$ ] || kill -9 $p; done"
    outbox = "echo 'Which key?' > .afresh/outbox/blocked.md; echo a > .afresh/outbox/discovery.md"
    live_on = "while [ ! -e $HOME/over ]; do sleep 0.05; done"
    agent = f"trap '' TERM; {deafen}; {WORK}; {outbox}; echo going on; {live_on}"

    def wait(started: Started) -> None:
        started.runner.wait()
        pod.put("/home/agent/over", "")

    pod.run(make_order(remote.url, "", agent=make_agent(agent, timeout_seconds=3)), wait)

    assert pod.result.outcome is Outcome.TIMEOUT, pod.log
    assert pod.result.message.startswith("The agent left processes that could not be stopped; ")
    assert pod.report.log_tail == "going on"
    assert git(remote.directory, "for-each-ref", "--format=%(refname)", "refs/afresh") == ""
    assert remote.head(BRANCH) is None


def test_line_of_twelve_megabytes_is_passed_over_and_the_lines_around_it_are_read(
    pod: Pod, remote: Remote
):
    agent = f"echo before; head -c 12000000 /dev/zero | tr '\\0' x; echo; echo after; {WORK}"

    pod.run(make_order(remote.url, agent))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    lines = pod.log.splitlines()
    assert "before" in lines
    assert "after" in lines
    assert max(map(len, lines)) <= 2000


def test_flood_of_output_is_read_to_its_end_in_bounded_memory_and_a_bounded_log(
    pod: Pod, remote: Remote
):
    memory = []

    def look(started):
        started.wait_for((pod.root / "home/agent/flooded").exists)
        status = Path(f"/proc/{started.runner.pid}/status").read_text()
        memory.append(int(status.split("VmHWM:")[1].split()[0]))
        pod.put("/home/agent/go-on", "")

    agent = (
        f"yes 'a line of some length, to be printed again and again' | head -c 20000000; {WORK};"
        " touch $HOME/flooded; while [ ! -e $HOME/go-on ]; do sleep 0.02; done"
    )
    pod.run(make_order(remote.url, agent), look)

    assert pod.result.outcome is Outcome.SUCCESS, pod.log[-2000:]
    assert memory[0] < 64_000
    assert len(pod.log) < 10_000_000
    assert len((pod.root / "dev/termination-log").read_bytes()) <= 3072
