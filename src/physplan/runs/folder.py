"""One run in one folder. All files are written whole; a stage counts as done when its record is there.

config.yaml  run.json           settings; what was given, versions
input.png  frame.png            the picture; the first frame as the video model sees it
plan.json                       the event chain
keyframes/1.png ...  keyframes.json   drawings, instructions, what the check found
evidence.safetensors  evidence/*.png  masks and depth, to compute with and to look at
latents.safetensors  losses.json  regions.safetensors   the sampled video, before decoding
video.mp4  strip.png            the video; some of its frames
report.html                     all of it on one page
preview.png                     refreshed while sampling
calls/  drawings/               answers and pictures that need not be paid for again, with the ledger
stages/*.json  log.txt          what is done, and when
"""

from __future__ import annotations

import datetime
import errno
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.runs.records import StageRecord, file_digest

LEFTOVER = ".*-*"  # temporary names of physplan.files, left by a kill


class RunFolder:
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextmanager
    def opened(self) -> Iterator[RunFolder]:
        """Make the folder and hold it: two processes never work in one at a time."""
        if self.path.exists() and not self.path.is_dir():
            raise PhysPlanError(f"{self.path} is a file: give a folder for the run with -o.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("a+b")
        except OSError as error:
            raise PhysPlanError(
                f"The folder {self.path} cannot be written to ({error.strerror}): choose another with -o."
            ) from None
        with lock:
            _lock(lock.fileno(), self.path)
            self._remove_leftovers()
            yield self

    def log(self, message: str) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        line = f"{now} {' '.join(message.split())}\n"
        try:
            with (self.path / "log.txt").open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            # A full disk ends the run where a stage cannot be kept; for want of a line of the log it goes on.
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise

    def record(self, stage: str) -> StageRecord | None:
        return StageRecord.load(self._record_path(stage))

    def is_done(self, stage: str, key: str) -> bool:
        record = self.record(stage)
        return record is not None and record.key == key and not record.changed(self.path)

    def finish(
        self,
        stage: str,
        key: str,
        files: Sequence[Path],
        *,
        seconds: float,
        made_from: Mapping[str, str],
        notes: Sequence[str] = (),
        peak_memory_bytes: int | None = None,
    ) -> None:
        """Say that a stage is done. Its files are complete and on disk by now."""
        StageRecord(
            stage=stage,
            key=key,
            files={file.relative_to(self.path).as_posix(): file_digest(file) or "" for file in files},
            seconds=round(seconds, 3),
            finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            made_from=made_from,
            notes=tuple(notes),
            peak_memory_bytes=peak_memory_bytes,
        ).save(self._record_path(stage))

    def forget(self, stages: Sequence[str]) -> None:
        """Drop what is done of these stages, records first: a file without a record is never trusted."""
        records = [self.record(stage) for stage in stages]
        for stage in stages:
            self._record_path(stage).unlink(missing_ok=True)
        for record in records:
            for name in record.files if record else ():
                (self.path / name).unlink(missing_ok=True)

    def _record_path(self, stage: str) -> Path:
        return self.path / "stages" / f"{stage}.json"

    def _remove_leftovers(self) -> None:
        for leftover in list(self.path.rglob(LEFTOVER)):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def _lock(descriptor: int, path: Path) -> None:
    """Held until the file is closed, and by the kernel: a killed process leaves no lock behind."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing keeps two processes apart there
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise PhysPlanError(
            f"Another process is at work in {path}: wait for it, or choose another folder with -o."
        ) from None
