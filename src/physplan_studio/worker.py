"""The process that works: `python -m physplan_studio.worker`. Tasks come as lines, events go as lines.

It stops cleanly on request, and when the studio that started it has ended.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, BinaryIO

from physplan.errors import PhysPlanError
from physplan.graph.errors import GraphError


class Channel:
    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._lock = threading.Lock()
        self._at_work: int | None = None
        self._makes = False  # whether what is at work writes into a run's folder
        self.tasks: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._incoming:
            message = json.loads(line)
            if "stop" in message:
                self._interrupt(message["stop"])
            else:
                self.tasks.put(message)
        self.tasks.put(None)
        self._leave()

    def _interrupt(self, number: int) -> None:
        """Only what is at work, and is the one that was meant."""
        with self._lock:
            if self._at_work == number:
                _thread.interrupt_main(signal.SIGINT)

    def _leave(self) -> None:
        """The studio is gone: a run stops cleanly; where there is none, nothing can be lost."""
        with self._lock:
            if self._at_work is None or not self._makes:
                os._exit(0)
            _thread.interrupt_main(signal.SIGINT)

    def begin(self, number: int, *, makes: bool) -> None:
        with self._lock:
            self._at_work, self._makes = number, makes

    def end(self) -> None:
        with self._lock:
            self._at_work = None

    def send(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # the studio has ended: `_listen` notices it too
            self._outgoing.write(json.dumps(message).encode() + b"\n")
            self._outgoing.flush()


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no message
    channel = Channel(sys.stdin.buffer, outgoing)
    from physplan_studio.worker_tasks import Work

    work = Work()
    while (task := channel.tasks.get()) is not None:
        channel.send({"task": task["task"], **_done(work, channel, task)})


def _done(work: Any, channel: Channel, task: dict[str, Any]) -> dict[str, Any]:
    number = task["task"]
    try:
        channel.begin(number, makes=task["what"] == "make")
        try:
            result = work.do(
                task["what"], task["given"], lambda event: channel.send({"task": number, "event": event})
            )
        finally:
            channel.end()
        return {"result": result}
    except KeyboardInterrupt:
        return {"stopped": True}
    except (PhysPlanError, GraphError) as error:
        return {"error": str(error)}
    except Exception as error:
        import traceback

        traceback.print_exc()  # into the studio's log
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
