"""What a watch owes: changes that lists show and it does not tell, and when that is its fault."""

from afresh.kube.resources import PODS, WORK_PACKAGES, Manifest
from afresh.kube.watch_lag import WatchLag

STUCK = "the watch of workpackages does not report changes that a list has shown"


def package(version: int) -> Manifest:
    return {"metadata": {"name": "p", "uid": "u", "resourceVersion": str(version)}}


def shown(watch_lag: WatchLag, times: int) -> WatchLag:
    """Let so many lists show a version that was not known before."""
    for _ in range(times):
        watch_lag.listed(WORK_PACKAGES, package(2), package(1))
    return watch_lag


def test_what_one_list_shows_is_owed_and_not_late_however_long_nobody_looks_again() -> None:
    watch_lag = shown(WatchLag(), times=1)

    assert (watch_lag.owes(), watch_lag.late(seconds=0)) == (True, None)


def test_what_a_second_list_shows_is_late() -> None:
    assert shown(WatchLag(), times=2).late(seconds=0) == STUCK


def test_what_a_list_shows_that_is_known_is_not_owed() -> None:
    watch_lag = WatchLag()
    watch_lag.listed(WORK_PACKAGES, package(2), package(2))

    assert not watch_lag.owes()


def test_what_is_gone_before_the_watch_comes_back_is_owed_by_nobody() -> None:
    watch_lag = shown(WatchLag(), times=1)

    watch_lag.retain(WORK_PACKAGES, set())
    watch_lag.retain(PODS, set())

    assert not watch_lag.owes()


def test_a_list_that_fails_resets_the_times_of_the_watch() -> None:
    watch_lag = shown(WatchLag(), times=2)

    watch_lag.excuse()
    excused = watch_lag.late(seconds=0)
    again = shown(watch_lag, times=1).late(seconds=0)

    assert (excused, again) == (None, STUCK)


def test_an_older_version_than_the_one_owed_pays_nothing_and_a_newer_one_does() -> None:
    watch_lag = shown(WatchLag(), times=2)

    watch_lag.reported(WORK_PACKAGES, "MODIFIED", package(1))
    older = watch_lag.late(seconds=0)
    watch_lag.reported(WORK_PACKAGES, "MODIFIED", package(3))

    assert (older, watch_lag.late(seconds=0), watch_lag.owes()) == (STUCK, None, False)
