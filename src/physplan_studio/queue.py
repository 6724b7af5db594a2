"""The queue: two lanes of workers, each with one run at a time, in order; pause, clean stop, resume."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from physplan.errors import PhysPlanError
from physplan.files import write_atomic
from physplan.graph.errors import GraphError
from physplan_studio.disk_errors import disk_words
from physplan_studio.jobs import Job, JobFiles, State
from physplan_studio.process import Died, Stopped

LANES = ("quick", "slow")
MAX_TERM_VALUES = 240  # values of each term that a page is shown


class AtWork(Protocol):
    def call(
        self,
        what: str,
        given: Mapping[str, Any],
        on_event: Callable[[dict[str, Any]], None] | None = None,
        *,
        tag: str = "",
    ) -> dict[str, Any]: ...

    def stop(self, tag: str) -> None: ...

    def dismiss(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class Progress:
    """What is known of a run that is under way."""

    stage: str = ""
    message: str = ""
    done: float = 0.0
    total: float = 0.0
    remaining: float | None = None
    began: float = field(default_factory=time.monotonic)
    terms: dict[str, list[float]] = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> None:
        self.stage, self.message = event["stage"], event["message"] or self.message
        if event["kind"] != "progress":
            self.message = ""
        self.done, self.total, self.remaining = event["done"], event["total"], event["remaining"]
        if event["stage"] == "latents":
            for name, value in re.findall(r"([a-z_ ]+?) (\d+\.\d+)(?=,|$)", self.message.partition(": ")[2]):
                values = self.terms.setdefault(name.strip(" ,"), [])
                values.append(float(value))
                del values[:-MAX_TERM_VALUES]

    def to_json(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in ("stage", "message", "done", "total", "remaining")}
        return shown | {"terms": self.terms, "seconds": round(time.monotonic() - self.began, 1)}


class Queue:
    """`retries`: how often a job whose worker died is begun again, where it was."""

    def __init__(
        self,
        folder: Path,
        workers: Mapping[str, Sequence[AtWork]],
        given_of: Callable[[Job], dict[str, Any]],
        *,
        retries: int = 0,
    ) -> None:
        self._files, self._pause = JobFiles(folder / "jobs"), folder / "paused"
        self._workers, self._given_of, self._retries = workers, given_of, retries
        self._deaths: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._jobs = {job.run: job for job in self._files.load()}
        self._progress: dict[str, Progress] = {}
        self._stopping: set[str] = set()
        self._unsaved: set[str] = set()  # runs whose job is newer here than on disk
        self._ended = False
        for lane in LANES:
            for worker in workers[lane]:
                threading.Thread(target=self._serve, args=(lane, worker), daemon=True).start()

    @property
    def paused(self) -> bool:
        return self._pause.exists()

    def pause(self, paused: bool) -> None:
        """What is under way ends; what waits for a video waits on. Remembered."""
        with self._changed:
            if paused:
                write_atomic(self._pause, "")
            else:
                self._pause.unlink(missing_ok=True)
            self._changed.notify_all()

    def add(self, job: Job) -> None:
        with self._changed:
            known = self._jobs.get(job.run)
            if known is not None and known.state in ("waiting", "running"):
                raise PhysPlanError("This run is under way: wait for it, or stop it first.")
            last = max((one.place for one in self._jobs.values()), default=0.0)
            self._keep(replace(job, place=last + 1, state="waiting", error=""))
            self._changed.notify_all()

    def stop(self, run: str) -> None:
        with self._changed:
            job = self._jobs.get(run)
            if job is None or job.state not in ("waiting", "running"):
                raise PhysPlanError("This run is not under way.")
            if job.state == "waiting":
                self._keep(replace(job, state="stopped"))
            else:
                self._stopping.add(run)
                self._stop(job)

    def _stop(self, job: Job) -> None:
        for worker in self._workers[job.lane]:
            worker.stop(job.run)

    def move(self, run: str, *, earlier: bool) -> None:
        """Change places with the neighbour among what waits."""
        with self._changed:
            waiting = sorted(
                (one for one in self._jobs.values() if one.state == "waiting"), key=lambda one: one.place
            )
            names = [one.run for one in waiting]
            if run not in names:
                raise PhysPlanError("This run does not wait any more.")
            here = names.index(run)
            there = here + (-1 if earlier else 1)
            if 0 <= there < len(waiting):
                one, other = waiting[here], waiting[there]
                self._keep(replace(one, place=other.place))
                self._keep(replace(other, place=one.place))

    def forget(self, run: str) -> None:
        with self._changed:
            self.require_idle(run)
            self._jobs.pop(run, None)
            self._files.remove(run)

    def require_idle(self, run: str) -> None:
        job = self._jobs.get(run)
        if job is not None and job.state in ("waiting", "running"):
            raise PhysPlanError("This run is under way: stop it first.")

    def job(self, run: str) -> Job | None:
        with self._changed:
            return self._jobs.get(run)

    def jobs(self) -> list[Job]:
        with self._changed:
            return sorted(self._jobs.values(), key=lambda one: one.place)

    def progress(self, run: str) -> dict[str, Any] | None:
        with self._changed:
            found = self._progress.get(run)
            return found.to_json() if found else None

    def close(self) -> None:
        """What is under way is stopped by its worker's end, and found again."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _keep(self, job: Job) -> None:
        """On disk first: what a page was promised outlives the studio."""
        self._files.save(job)
        self._jobs[job.run] = job
        self._unsaved.discard(job.run)

    def _note(self, job: Job) -> None:
        """What became of a job. A full disk does not end a lane: it is written when there is room."""
        try:
            self._keep(job)
        except OSError:
            self._jobs[job.run] = job
            self._unsaved.add(job.run)

    def _save_unsaved(self) -> None:
        for run in sorted(self._unsaved):
            if run in self._jobs:
                self._note(self._jobs[run])
            else:
                self._unsaved.discard(run)

    def _serve(self, lane: str, worker: AtWork) -> None:
        while (job := self._next(lane)) is not None:
            state, error = self._made(worker, job)
            with self._changed:
                self._progress.pop(job.run, None)
                self._stopping.discard(job.run)
                if self._ended:
                    return
                self._note(replace(self._jobs[job.run], state=state, error=error))

    def _made(self, worker: AtWork, job: Job) -> tuple[State, str]:
        """A job fails with a sentence, whatever happens in it; its lane continues with the next."""
        try:
            worker.call("make", self._given_of(job), partial(self._hear, job), tag=job.run)
            return "done", ""
        except Stopped:
            return "stopped", ""
        except (PhysPlanError, GraphError) as error:
            if isinstance(error, Died) and self._deaths[job.run] < self._retries:
                self._deaths[job.run] += 1
                return "waiting", ""
            return "failed", str(error)
        except OSError as error:
            return "failed", disk_words(error)
        except Exception as error:
            print(f"physplan: a run failed ({error!r}).", file=sys.stderr)
            return "failed", "Something went wrong in the studio; its terminal says what."

    def _next(self, lane: str) -> Job | None:
        with self._changed:
            while True:
                if self._ended:
                    return None
                held = lane == "slow" and self.paused
                waiting = [one for one in self._jobs.values() if one.state == "waiting" and one.lane == lane]
                self._save_unsaved()
                if waiting and not held:
                    job = replace(min(waiting, key=lambda one: one.place), state="running")
                    self._note(job)
                    self._progress[job.run] = Progress()
                    return job
                self._changed.wait()

    def _hear(self, job: Job, event: Mapping[str, Any]) -> None:
        with self._changed:
            self._progress[job.run].take(event)
            if job.run in self._stopping:  # stopped before it had begun
                self._stop(job)
