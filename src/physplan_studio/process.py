"""A worker from the outside: started when first needed, one task at a time, stopped cleanly."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError

STOP_TIMEOUT = 20.0  # seconds to end by itself


class Stopped(Exception):
    """The task was stopped; what is done is kept."""


class Died(PhysPlanError):
    """The process at work, or its machine, is gone."""


class Worker:
    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._turn, self._talk = threading.Lock(), threading.Lock()
        self._numbers = itertools.count(1)
        self._current: int | None = None
        self._tag = ""
        self._closed = False

    def call(
        self,
        what: str,
        given: Mapping[str, Any],
        on_event: Callable[[dict[str, Any]], None] | None = None,
        *,
        tag: str = "",
    ) -> dict[str, Any]:
        """Wait for the worker to be free, then for its answer. An error's sentence is raised unchanged."""
        with self._turn:
            process = self._started()
            with self._talk:
                number = self._current = next(self._numbers)
                self._tag = tag
            try:
                self._send(process, {"task": number, "what": what, "given": dict(given)})
                return self._answer(process, number, on_event)
            finally:
                with self._talk:
                    self._current = None

    def stop(self, tag: str) -> None:
        """If the task of this tag is at work, it ends at its next step."""
        with self._talk:
            if self._process is not None and self._current is not None and self._tag == tag:
                self._send(self._process, {"stop": self._current})

    def dismiss(self) -> None:
        """The end of its input is what a worker ends by."""
        self._closed = True
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def close(self) -> None:
        self.dismiss()
        process = self._process
        if process is None:
            return
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise Stopped
        if self._process is None or self._process.poll() is not None:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "physplan_studio.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for the studio, which then ends it cleanly
                )
        return self._process

    def _send(self, process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
        assert process.stdin is not None
        with suppress(OSError):  # it is dead: `_answer` says so
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()

    def _answer(
        self, process: subprocess.Popen[bytes], number: int, on_event: Callable[[dict[str, Any]], None] | None
    ) -> dict[str, Any]:
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            if message["task"] != number:
                continue
            if "event" in message:
                if on_event is not None:
                    on_event(message["event"])
            elif "stopped" in message:
                raise Stopped
            elif "error" in message:
                raise PhysPlanError(message["error"])
            else:
                return dict(message["result"])
        process.wait()
        if self._closed:
            raise Stopped
        raise Died(
            "The process at work ended by itself, perhaps for want of memory. What is done is kept: go on, "
            "or choose a smaller size."
        )
