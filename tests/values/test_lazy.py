"""An attribute that is worked out once, and holds no lock meanwhile."""

from __future__ import annotations

import threading

from recollect.values.lazy import lazy


class Told:
    def __init__(self) -> None:
        self.asked = 0
        self.began, self.may_end = threading.Event(), threading.Event()

    @lazy
    def answer(self) -> int:
        """What it is."""
        self.asked += 1
        self.began.set()
        self.may_end.wait()
        return 42


def test_it_is_worked_out_once() -> None:
    told = Told()
    told.may_end.set()
    assert (told.answer, told.answer, told.asked) == (42, 42, 1)
    assert Told.answer.__doc__ == "What it is."


def test_nobody_waits_for_another_instance() -> None:
    """One lock for all of a class would also be held for ever in a child that was forked meanwhile."""
    slow, quick = Told(), Told()
    quick.may_end.set()
    other = threading.Thread(target=lambda: slow.answer)
    other.start()
    slow.began.wait()
    assert quick.answer == 42
    slow.may_end.set()
    other.join()
