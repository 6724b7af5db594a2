"""Independent calls side by side; results in the order of the inputs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def side_by_side(function: Callable[[A], B], inputs: Sequence[A], *, at_once: int) -> list[B]:
    """`[function(x) for x in inputs]`, at most `at_once` at a time; raises the first error in that order.

    On daemon threads, unlike an executor's: an interrupt ends the program without waiting for slow calls.
    After an error nothing new is started, but what runs is waited for, since its answer is paid for.
    """
    if len(inputs) < 2 or at_once < 2:
        return [function(value) for value in inputs]
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(inputs)):
        todo.put(index)
    results: dict[int, B] = {}
    errors: dict[int, BaseException] = {}
    workers = min(at_once, len(inputs))
    finished = threading.Semaphore(0)

    def work() -> None:
        while not errors:
            try:
                index = todo.get_nowait()
            except queue.Empty:
                break
            try:
                results[index] = function(inputs[index])
            except BaseException as error:
                errors[index] = error
        finished.release()

    for _ in range(workers):
        threading.Thread(target=work, daemon=True, name="physplan-side-by-side").start()
    for _ in range(workers):
        finished.acquire()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(inputs))]
