"""A video job from submission to bytes, as one call of the gateway.

The job's id is stored before anything is waited for: a process that was killed finds it again, and the video
is not paid twice. A stop cancels the job where the server can; where it cannot, the id stays.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from physplan.calls.addresses import is_local
from physplan.calls.protocol import CallFault, ImagePart, Reply, Request
from physplan.calls.secrets import Secret
from physplan.calls.store import request_key
from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.foreign import read_file
from physplan_models.clients.faults import sentence
from physplan_models.servers.http import Transport
from physplan_models.servers.protocol import Dialect, Status

ID = re.compile(r"[A-Za-z0-9_.:=/-]{1,300}")
FIRST_WAIT, LONGEST_WAIT = 0.1, 10.0  # seconds between looks at a job
MOST_FAULTS = 8  # in a row, while a job is looked at
EXCHANGE_TIMEOUT = 60.0  # seconds of one exchange
MP4 = "video/mp4"
OnStatus = Callable[[Status], None]


class VideoServerClient:
    """`limit`: seconds from submission to the finished video. `check` raises on bytes that are no video."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        url: str,
        key: Secret | None,
        jobs: Path,
        limit: float,
        check: Callable[[bytes], None],
        on_status: OnStatus = lambda status: None,
    ) -> None:
        self.provider = dialect.provider.name
        self.local = is_local(url)
        self._dialect, self._jobs, self._limit, self._check = dialect, jobs, limit, check
        self._on_status, self._key = on_status, key
        self._transport = Transport(url, dialect.headers(key.reveal() if key else ""), key)
        self._stopped = threading.Event()

    def ready(self) -> None: ...

    def holds(self, key: str) -> bool:
        """Whether the job of this request was submitted before, and is not known to have ended."""
        return self._stored(key) is not None

    def complete(self, request: Request, *, timeout: float) -> Reply:
        key = request_key(self.provider, request)
        started = time.monotonic()
        stored = self._stored(key)
        if stored is None:
            answer = self._transport.post(self._dialect.submit(request), timeout=EXCHANGE_TIMEOUT)
            id = self._dialect.job_id(answer)
            if not ID.fullmatch(id) or ".." in id:
                raise CallFault("The video server's answer names no job: check video.dialect.", billable=True)
            write_json(self._path(key), {"id": id, "submitted": time.time(), "model": request.model})
        else:
            id = stored["id"]
        status = self._finished(key, id, started + self._limit)
        content = self._downloaded(key, id, status)
        self._path(key).unlink(missing_ok=True)
        return Reply(images=(ImagePart(data=content, media_type=MP4),), model=request.model)

    def cancel(self) -> None:
        """Stop waiting; cancel what is under way where the server can."""
        self._stopped.set()
        for path in sorted(self._jobs.glob("*.json")) if self._jobs.is_dir() else ():
            if (stored := self._stored(path.stem)) is not None:
                self._cancel(path.stem, stored["id"])

    def _finished(self, key: str, id: str, deadline: float) -> Status:
        wait, faults = FIRST_WAIT, 0
        while True:
            try:
                status = self._dialect.status(self._transport.get(self._job(id), timeout=EXCHANGE_TIMEOUT))
                faults = 0
            except CallFault as fault:
                status, faults = None, faults + 1
                if fault.status == 404:
                    self._path(key).unlink(missing_ok=True)
                    raise CallFault(
                        "The video server does not know its own job any more: it may have been charged; run "
                        "it again to ask for another.",
                        status=404,
                        billable=True,
                    ) from None
                if not fault.retryable or faults > MOST_FAULTS:
                    raise CallFault(
                        f"{fault} The job is stored: run it again to fetch it.", billable=True
                    ) from None
                wait = max(wait, fault.retry_after or 0.0)
            if status is not None:
                self._on_status(status)
                if status.state == "completed":
                    return status
                if status.state in ("failed", "cancelled"):
                    self._path(key).unlink(missing_ok=True)
                    said = sentence(status.message or "it gives no reason", self._key)
                    raise CallFault(f"The video job {status.state}: {said}", billable=True)
            self._wait(key, id, wait, deadline)
            wait = min(wait * 1.5, LONGEST_WAIT)

    def _wait(self, key: str, id: str, seconds: float, deadline: float) -> None:
        if self._stopped.wait(min(seconds, max(deadline - time.monotonic(), 0.0))):
            raise CallFault("The run was stopped.", billable=True)
        if time.monotonic() >= deadline:
            ended = self._cancel(key, id)
            rest = "The job was cancelled." if ended else "The job is stored: run it again to fetch it."
            raise CallFault(
                f"The video was not done within {self._limit:g} s (video.time_limit). {rest}", billable=True
            )

    def _downloaded(self, key: str, id: str, status: Status) -> bytes:
        """Twice where the bytes are no video: a transfer may have been cut off."""
        for last in (False, True):
            content = self._transport.download(
                self._dialect.content(quote(id, safe="/:"), status), timeout=300.0
            )
            try:
                self._check(content)
                return content
            except PhysPlanError as error:
                if last:
                    self._path(key).unlink(missing_ok=True)
                    raise CallFault(
                        f"The video server sent what is no video ({error})", status=200, billable=True
                    ) from None
        raise AssertionError("unreachable")

    def _cancel(self, key: str, id: str) -> bool:
        """Whether the server says that the job is gone."""
        if not self._dialect.can_cancel:
            return False
        try:
            self._transport.delete(self._job(id), timeout=10.0)
        except CallFault as fault:
            if fault.status != 404:
                return False
        self._path(key).unlink(missing_ok=True)
        return True

    def _job(self, id: str) -> str:
        return self._dialect.job(quote(id, safe="/:"))

    def _path(self, key: str) -> Path:
        return self._jobs / f"{key}.json"

    def _stored(self, key: str) -> dict[str, Any] | None:
        try:
            found = json.loads(read_file(self._path(key), limit=10_000, links=False))
            id = found["id"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            raise PhysPlanError(
                f"{self._path(key)} names a paid video job and cannot be read: put a copy back, or delete it"
                " to pay for another."
            ) from None
        if not isinstance(id, str) or not ID.fullmatch(id) or ".." in id:
            raise PhysPlanError(f"{self._path(key)} names no job: delete it to ask for another video.")
        return {"id": id}
