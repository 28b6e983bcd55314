"""The queue's metrics follow what happens to its keys."""

from collections.abc import Callable

from afresh.kube.queue import Key, KeyQueue
from afresh.metrics import registry

A, B = Key("team-a", "a"), Key("team-a", "b")
LABELS = {"name": "workpackage", "controller": "workpackage"}


def reading(*names: str) -> tuple[float, ...]:
    return tuple(registry.REGISTRY.get_sample_value(name, LABELS) or 0.0 for name in names)


def since(name: str) -> Callable[[], float]:
    (before,) = reading(name)
    return lambda: reading(name)[0] - before


async def test_a_key_counts_once_while_it_waits_and_again_while_it_is_worked_on() -> None:
    queue, adds = KeyQueue(), since("workqueue_adds_total")
    waits = since("workqueue_queue_duration_seconds_count")
    works = since("workqueue_work_duration_seconds_count")
    calls = []
    for key in (A, A, B):
        queue.add(key)
    calls.append((adds(), *reading("workqueue_depth")))
    first = await queue.get()
    queue.add(first)
    calls.append((adds(), *reading("workqueue_depth")))
    queue.done(first)
    for _ in range(2):
        queue.done(await queue.get())
    calls.append((adds(), *reading("workqueue_depth")))

    assert calls == [(2, 2), (3, 2), (3, 0)]
    assert (waits(), works()) == (3, 3)


async def test_a_key_that_is_not_given_back_shows_as_unfinished_until_it_is() -> None:
    queue = KeyQueue()
    names = ("workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds")
    queue.add(A)
    idle = reading(*names)
    key = await queue.get()
    held = reading(*names)
    queue.done(key)

    assert idle == reading(*names) == (0, 0)
    assert min(held) > 0


async def test_a_key_that_failed_counts_as_a_retry() -> None:
    queue, retries = KeyQueue(), since("workqueue_retries_total")
    queue.add(A)
    key = await queue.get()
    queue.retry(key)
    queue.done(key)

    assert retries() == 1


async def test_a_key_that_fails_for_days_waits_a_minute_at_a_time() -> None:
    queue = KeyQueue()

    times = [queue.retry(A) for _ in range(2000)]

    assert times[-1] == 2000
