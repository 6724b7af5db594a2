"""One run in one folder: who works in it, what is done. All files are written whole.

A stage counts as done when its record is there. What lies where is said in `physplan.runs.layout`.
"""

from __future__ import annotations

import datetime
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.files import TEMPORARY
from physplan.runs import layout
from physplan.runs.records import StageRecord, file_digest

LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", "lost+found"})  # of the system, in any folder


class RunFolder:
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @contextmanager
    def locked(self) -> Iterator[RunFolder]:
        """Make the folder and hold it: two processes never work in one at a time.

        A folder with files of somebody else is refused before anything is written or removed there.
        """
        if self.path.exists() and not self.path.is_dir():
            raise PhysPlanError(f"{self.path} is a file: give a folder for the run with -o.")
        self._refuse_foreign()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = _locked(self.path)
        except OSError as error:
            raise PhysPlanError(
                f"The folder {self.path} cannot be written to ({error.strerror}): choose another with -o."
            ) from None
        with lock:
            self._refuse_foreign()  # again: it may have been filled meanwhile
            self._remove_leftovers()
            yield self
            self._remove_leftovers()  # of a run that was killed before its run.json was written

    def log(self, message: str) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        line = f"{now} {' '.join(message.split())}\n"
        try:
            with (self.path / layout.LOG).open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            # A full disk ends the run where a stage cannot be kept; a missing log line does not.
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise

    def record(self, stage: str) -> StageRecord | None:
        return StageRecord.load(self.path, layout.record(stage))

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

    def invalidate(self, stages: Sequence[str]) -> None:
        """Drop what is done of these stages, records first: a file without a record is never trusted."""
        records = [self.record(stage) for stage in stages]
        for stage in stages:
            self._record_path(stage).unlink(missing_ok=True)
        for record in records:
            for name in record.files if record else ():  # of which none leads outside: see `StageRecord`
                (self.path / name).unlink(missing_ok=True)

    def _record_path(self, stage: str) -> Path:
        return self.path / layout.record(stage)

    def is_a_run(self) -> bool:
        """Whether run.json says that the folder is ours; one that says something else is refused."""
        try:
            layout.load_run(self.path)
        except FileNotFoundError:
            return False
        return True

    def _refuse_foreign(self) -> None:
        if not self.path.exists():
            return
        self._refuse_links()
        if self.is_a_run():
            return
        names = sorted(name for name in os.listdir(self.path) if name not in LITTER)
        foreign = [name for name in names if name != layout.LOCK and not name.startswith(TEMPORARY)]
        if foreign:
            more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
            raise PhysPlanError(
                f"{self.path} holds files that are not of a PhysPlan run ({foreign[0]}{more}): give a new or "
                "empty folder with -o."
            )

    def _refuse_links(self) -> None:
        """Refuse links under our names: a write or removal would reach a file outside the folder."""
        links = [self.path / name for name in (*layout.FILES, *layout.FOLDERS)]
        for name in layout.FOLDERS:
            for at, folders, names in os.walk(self.path / name):  # does not follow links
                links += [Path(at) / one for one in (*folders, *names)]
        for path in links:
            if path.is_symlink():
                raise PhysPlanError(
                    f"{path} is a symbolic link, which a run folder never holds: remove it, or choose "
                    "another folder with -o."
                )

    def _remove_leftovers(self) -> None:
        """What a kill left half written: by its name, in our own folders, in a folder that is a run."""
        if not self.is_a_run():
            return
        found = [self.path / name for name in os.listdir(self.path)]
        for folder in layout.FOLDERS:
            found += [Path(at) / name for at, _, names in os.walk(self.path / folder) for name in names]
        for path in found:
            if path.name.startswith(TEMPORARY) and path.is_file():
                path.unlink(missing_ok=True)


def _locked(path: Path) -> AbstractContextManager[object]:
    """Held until it is released, and by the system: a killed process leaves no lock behind."""
    from filelock import FileLock, Timeout

    try:
        return FileLock(path / layout.LOCK).acquire(timeout=0)
    except Timeout:
        raise PhysPlanError(
            f"Another process is at work in {path}: wait for it, or choose another folder with -o."
        ) from None
