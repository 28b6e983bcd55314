"""A repository behind SSH: a real sshd on loopback."""

import shutil
from dataclasses import replace
from pathlib import Path

from afresh.contract.order import PlanLine, Repository
from afresh.contract.words import Marker, Outcome
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote
from tests.episode.ssh_server import Sshd, make_key


def run(pod: Pod, sshd: Sshd, path: str, plan: tuple[PlanLine, ...] = (), **secret: str) -> Pod:
    """Run an episode with these keys of the git Secret (underscores stand for hyphens)."""
    shutil.rmtree(pod.root / "afresh/secrets/git")
    given = {"ssh-privatekey": sshd.client_key, "known_hosts": sshd.known_hosts}
    given |= {name.replace("ssh_privatekey", "ssh-privatekey"): v for name, v in secret.items()}
    for name, value in given.items():
        pod.put(f"/afresh/secrets/git/{name}", value)
    url = f"ssh://{sshd.user}@127.0.0.1:{sshd.port}{path}"
    repository = Repository(url=url, base_ref="main", branch="afresh/demo", secret_name="git")
    order = make_order(url, "echo hello > hello.txt", repository=repository)
    pod.run(replace(order, plan=(*order.plan, *plan)))
    return pod


def test_repository_behind_ssh_is_fetched_and_pushed_to(pod: Pod, remote: Remote, sshd: Sshd):
    run(pod, sshd, str(remote.directory))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.head("afresh/demo") == pod.result.commit


def test_key_that_the_server_does_not_know_is_a_matter_of_credentials(
    pod: Pod, remote: Remote, sshd: Sshd, tmp_path: Path
):
    make_key(tmp_path / "stranger")

    run(pod, sshd, str(remote.directory), ssh_privatekey=(tmp_path / "stranger").read_text())

    assert pod.result.outcome is Outcome.AUTH, pod.log
    assert 'credentials of Secret "git" in namespace "team-a"' in pod.result.message


def test_server_with_another_host_key_is_not_trusted(
    pod: Pod, remote: Remote, sshd: Sshd, tmp_path: Path
):
    other = make_key(tmp_path / "other")

    run(pod, sshd, str(remote.directory), known_hosts=f"[127.0.0.1]:{sshd.port} {other}")

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert "cannot be verified" in pod.result.message


def test_repository_that_is_not_there_is_a_matter_of_configuration(
    pod: Pod, remote: Remote, sshd: Sshd
):
    run(pod, sshd, "/nowhere/x.git")

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert "/nowhere/x.git is not found" in pod.result.message


def test_secret_without_known_hosts_is_named_with_the_key(pod: Pod, remote: Remote, sshd: Sshd):
    run(pod, sshd, str(remote.directory), known_hosts="")

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert 'has no key "known_hosts"' in pod.result.message


def test_server_that_breaks_off_is_not_said_to_have_lost_a_commit(
    pod: Pod, remote: Remote, sshd: Sshd, tmp_path: Path
):
    program = sshd.programs / "git-upload-pack"
    program.parent.mkdir(exist_ok=True)
    program.write_text(  # asked for the branch, then for the base
        "#!/bin/sh\n"
        f'for n in 1 2; do mkdir {tmp_path}/$n 2>/dev/null && exec /usr/bin/git-upload-pack "$@"\n'
        "done\necho 'ERROR: Internal Server Error' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    done = PlanLine(id="T000", title="", marker=Marker.DONE, commit="0123456789" * 4)
    try:
        run(pod, sshd, str(remote.directory), plan=(done,))
    finally:
        program.unlink()

    assert (tmp_path / "2").exists()
    assert pod.report.missing == ()
    assert pod.result.outcome is Outcome.INFRASTRUCTURE, pod.log
