"""Other processes that work on tasks, in whatever order they get to them."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable
from subprocess import PIPE, Popen
from typing import Generic, TypeVar

from recollect.light.processes import start_python
from recollect.values.errors import RecollectError

Task = TypeVar("Task")
Result = TypeVar("Result")

WORKERS_MAX = 8

_NEW_PROCESS_GROUP = 0x200  # of Windows


class Pool(Generic[Task, Result]):
    """A few worker processes, each served by a thread that only waits.

    A worker is a module run as a program, whose `main` is `serve`. It reads tasks from its standard input
    and ends when that closes, so none outlives the process that started it, however that ends.
    """

    def __init__(self, module: str, size: int) -> None:
        self.size = size
        self._tasks: deque[tuple[int, Task]] = deque()  # that no worker has begun
        self._results: dict[int, Result | BaseException] = {}
        self._is_closing = False
        self._changed = threading.Condition()
        self._processes = [_start(module) for _ in range(size)]
        self._threads = [
            threading.Thread(target=self._serve, args=(process,), daemon=True) for process in self._processes
        ]
        for thread in self._threads:
            thread.start()

    def send(self, number: int, task: Task) -> None:
        with self._changed:
            self._tasks.append((number, task))
            self._changed.notify_all()

    def take_back(self) -> int | None:
        """The number of the task sent last that no worker has begun, and none will now; None for none."""
        with self._changed:
            return self._tasks.pop()[0] if self._tasks else None

    def is_done(self, number: int) -> bool:
        with self._changed:
            return number in self._results

    def result(self, number: int) -> Result:
        with self._changed:
            while number not in self._results:
                self._changed.wait()
            result = self._results.pop(number)
        if isinstance(result, BaseException):
            raise result
        return result

    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        for process in self._processes:
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):  # a task that a dead worker never read
                    pipe.close()

    def _serve(self, process: Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        while (item := self._next()) is not None:
            number, task = item
            result: Result | BaseException
            try:
                pickle.dump(task, process.stdin, protocol=5)
                process.stdin.flush()
                result = pickle.load(process.stdout)
            except Exception as error:  # whatever it is, somebody waits for this result
                result = RecollectError(
                    f"a worker process ended early (exit {process.poll()})",
                    hint="run the same command again; everything saved before is still there",
                )
                result.__cause__ = error
            with self._changed:
                self._results[number] = result
                self._changed.notify_all()

    def _next(self) -> tuple[int, Task] | None:
        with self._changed:
            while not self._tasks and not self._is_closing:
                self._changed.wait()
            return None if self._is_closing else self._tasks.popleft()


def _start(module: str) -> Popen[bytes]:
    # Out of the terminal's group: Ctrl-C is for us to handle, and we end the workers.
    posix = os.name == "posix"
    return start_python(
        module,
        stdin=PIPE,
        stdout=PIPE,
        bufsize=1 << 20,
        process_group=0 if posix else None,
        creationflags=0 if posix else _NEW_PROCESS_GROUP,
    )


def serve(answer: Callable[[Task], Result]) -> None:
    """Be a worker."""
    import gc

    # What a worker makes is freed by counting; looking for cycles in it costs a tenth of the time.
    gc.disable()
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            task = pickle.load(incoming)
        except EOFError:
            return
        try:
            pickle.dump(answer(task), outgoing, protocol=5)
            outgoing.flush()
        except BrokenPipeError:  # nobody waits for it any more
            os._exit(1)
