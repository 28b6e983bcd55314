"""The queue of hints: in order, the newest only, and nothing after the final one."""

import threading

from afresh.episode.reporting import sender_queue
from afresh.episode.reporting.sender_queue import SenderQueue
from tests.episode.pod import wait_until

LIMIT_SECONDS = 60


class Slow:
    """A way to send that ends when it is told to."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.arrived = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)

    def __call__(self, report: bytes) -> None:
        self.sent.append(report)
        self.arrived.release()
        assert self.may_end.acquire(timeout=LIMIT_SECONDS)


def test_of_several_that_wait_only_the_newest_is_sent():
    slow = Slow()
    queue = SenderQueue(slow)

    queue.offer(b"1")
    assert slow.arrived.acquire(timeout=LIMIT_SECONDS)
    queue.offer(b"2")
    queue.offer(b"3")
    for _ in range(2):
        slow.may_end.release()
    assert slow.arrived.acquire(timeout=LIMIT_SECONDS)

    assert slow.sent == [b"1", b"3"]


def test_final_one_waits_for_the_one_on_its_way_and_replaces_the_ones_that_wait():
    slow = Slow()
    queue = SenderQueue(slow)
    queue.offer(b"1")
    assert slow.arrived.acquire(timeout=LIMIT_SECONDS)
    queue.offer(b"2")

    finishing = threading.Thread(target=queue.finish, args=(b"final",))
    finishing.start()
    wait_until(lambda: queue._is_finished)  # else the thread could send the second one first
    for _ in range(2):
        slow.may_end.release()
    finishing.join(LIMIT_SECONDS)
    queue.offer(b"late")

    assert slow.sent == [b"1", b"final"]
    assert not finishing.is_alive()


def test_final_one_is_not_sent_where_another_could_overtake_it(monkeypatch):
    monkeypatch.setattr(sender_queue, "PATIENCE_SECONDS", 0.01)
    slow = Slow()
    queue = SenderQueue(slow)
    queue.offer(b"1")
    assert slow.arrived.acquire(timeout=LIMIT_SECONDS)

    queue.finish(b"final")
    slow.may_end.release()

    assert slow.sent == [b"1"]
