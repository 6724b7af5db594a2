"""What a page may ask for. Knows nothing of HTTP; the workers do the work, with the pipeline's code."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from physplan import presets
from physplan.errors import PhysPlanError
from physplan.graph.errors import GraphError
from physplan.methods import find
from physplan.runs import layout
from physplan_studio.checking import check_plan
from physplan_studio.disk_errors import disk_words
from physplan_studio.jobs import Job
from physplan_studio.listing import Asked, list_runs, unless_seen
from physplan_studio.offers import Offers
from physplan_studio.photo import PRESET, PhotoDesk, in_the_page
from physplan_studio.pictures import PictureStore
from physplan_studio.process import Stopped, Worker
from physplan_studio.queue import LANES, AtWork, Queue
from physplan_studio.run_index import OWN, RunIndex
from physplan_studio.run_state import card_of_job, run_state
from physplan_studio.spec import read_spec
from physplan_studio.tasks import Tasks
from physplan_studio.timing import seconds_needed
from physplan_studio.uploaded_video import UploadedVideos
from physplan_studio.web.server import Refused

WARM_AFTER = 4.0  # seconds after the first plan: that one comes first
OF_A_JOB = ("upto", "method", "seed", "prompt", "preset", "picture", "objects")  # what pages are shown
MEDIA = re.compile(r"pictures/([0-9a-f]{64})\.png")


class StudioSession:
    """`video_workers` make videos side by side; without them one process does, as for all else."""

    def __init__(
        self,
        runs: Path,
        *,
        make_worker: Callable[[Path], Worker] = Worker,
        video_workers: Sequence[AtWork] = (),
        retries: int = 0,
    ) -> None:
        own = runs / OWN
        own.mkdir(parents=True, exist_ok=True)
        self.run_index, self.pictures = RunIndex(runs), PictureStore(own / "pictures")
        self._own, self._uploads = own, UploadedVideos(own / "recipes", self.pictures)
        self._workers: dict[str, Sequence[AtWork]] = {
            lane: [make_worker(own / "worker.log")] for lane in LANES if lane != "slow" or not video_workers
        }
        self._workers.setdefault("slow", video_workers)
        self._naming, self._decoding = threading.Lock(), threading.Lock()
        self.ready, self._asked = threading.Event(), False
        self._mask_worker = make_worker(own / "worker.log")
        self.photo = PhotoDesk(own, self.pictures, self._mask_worker)
        self._tasks = Tasks(self.run_index, self.pictures, self._uploads, self.photo)
        self.offers = Offers(self.pictures, self.photo)
        self._queue = Queue(own, self._workers, self._tasks.of_job, retries=retries)
        # The worker takes seconds to load what the first plan needs: it begins before anything else.
        threading.Thread(target=self._make_ready, daemon=True).start()
        self.offers.begin()

    def close(self) -> None:
        self.offers.close()
        self._queue.close()
        workers = [one for lane in self._workers.values() for one in lane]
        workers.append(self._mask_worker)
        for worker in workers:
            worker.dismiss()  # all of them first: each takes the rest of its step
        for worker in workers:
            worker.close()

    def answer(self, what: str, given: Mapping[str, Any]) -> dict[str, Any]:
        actions = {
            "about": self.offers.about,
            "forecast": self.forecast,
            "check": self.check,
            "start": self.start,
            "continue": self.go_on,
            "stop": self.stop,
            "state": self.state,
            "redraw": self.redraw,
            "runs": self.runs,
            "queue": self.queue,
            "pause": self.pause,
            "move": self.move,
            "delete": self.delete,
            "restore": self.restore,
            "photo": self.photo.look,
            "click": self.photo.click,
            "sentence": self.photo.sentence,
            "by_hand": self.photo.by_hand,
            "photographs": self.photo.fetch,
        }
        if what not in actions:
            raise Refused("There is no such request.")
        try:
            return actions[what](given)
        except (PhysPlanError, GraphError) as error:
            raise Refused(self.words(str(error))) from None
        except OSError as error:
            raise Refused(disk_words(error)) from None
        except Stopped:  # the studio is closing
            raise Refused("The studio is ending: ask again when it is open.") from None

    def receive(self, what: str, content: bytes) -> dict[str, Any]:
        """One file at a time: a small one can unpack to 50 megapixels, and all are answered in turn."""
        if what not in ("video", "picture"):
            raise Refused("There is no such request.")
        try:
            with self._decoding:
                if what == "video":
                    return self._uploads.receive(content)
                return self._shown(self.pictures.receive(content))
        except OSError as error:
            raise Refused(disk_words(error)) from None
        except GraphError as error:
            raise Refused(self.words(str(error))) from None

    def media(self, name: str) -> Path | None:
        """The file of an address: a picture, or what a run's folder shows."""
        if found := MEDIA.fullmatch(name):
            try:
                return self.pictures.path(found[1])
            except PhysPlanError:
                return None
        if not name.startswith("runs/"):
            return None
        try:
            return self.run_index.file(unquote(name.removeprefix("runs/"), errors="strict"))
        except UnicodeDecodeError:
            return None

    def _make_ready(self) -> None:
        self._warm("quick")
        self.ready.set()
        with suppress(PhysPlanError, Stopped):  # the first click says what is wrong
            self.photo.warm()
        self.run_index.cards()  # read before the first search

    def _warm(self, lane: str) -> None:
        with suppress(PhysPlanError, Stopped):  # the first task says what is wrong
            self._workers[lane][0].call("warm", {"lane": lane})

    # ---- before a run ---------------------------------------------------------------------------------

    def forecast(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a run will do and cost, before it starts."""
        spec = read_spec(given)
        folder = self._own / "nothing"
        if isinstance(given.get("run"), str) and self._continues(given["run"]):
            folder = self.run_index.folder(given["run"])
        found = self._workers["quick"][0].call("forecast", self._tasks.of_spec(spec, folder))
        todo = [one["stage"] for one in found["work"] if not one["done"]]
        preset = self._tasks.preset_of(spec)
        steps = int(found.get("steps") or 0)
        seconds, like = seconds_needed(
            self.run_index.cards(), todo, preset=preset, method=spec.method, steps=steps
        )
        ahead = sum(job.state in ("waiting", "running") and job.lane == "slow" for job in self._queue.jobs())
        if spec.preset == PRESET and not find(spec.method or presets.recipe(PRESET)["method"]).samples:
            # no call, no video model
            found |= {"calls": 0, "usd": 0.0, "memory_gb": presets.needs(PRESET).memory_gb}
        return found | {"seconds": seconds, "like": like, "ahead": ahead}

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        plan = given.get("plan")
        if not isinstance(plan, dict):
            raise Refused("A plan is a JSON object.")
        return check_plan(plan)

    def redraw(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """One keyframe with another seed, as a picture; the run is as it was until it is started with it."""
        spec, event, seed = read_spec(given), given.get("event"), given.get("draw_seed")
        if type(event) is not int or type(seed) is not int or spec.plan is None:
            raise Refused("A redraw names a plan, an event and a seed.")
        folder = self.run_index.folder(given.get("run"))
        target = self._own / f"redraw-{threading.get_ident()}.png"
        try:
            task = self._tasks.of_spec(spec, folder)
            task |= {"event": event, "draw_seed": seed, "target": str(target)}
            self._workers["quick"][0].call("redraw", task)
            return self._shown(self.pictures.receive(target.read_bytes()))
        finally:
            target.unlink(missing_ok=True)

    # ---- runs -----------------------------------------------------------------------------------------

    def start(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a run, or change one without a video. What has a video is kept: changes are a new run."""
        spec = read_spec(given)
        self._tasks.require(spec)
        before = given.get("run")
        if before is not None and not isinstance(before, str):
            raise Refused("A run is named by a text.")
        if spec.plan is not None and (faults := check_plan(spec.plan)["faults"]):
            raise PhysPlanError(f"The plan does not hold: {faults[0]['message']}")
        with self._naming:
            same = before is not None and self._continues(before) and given.get("new") is not True
            name = (
                before
                if same and before is not None
                else self.run_index.free_name(spec.prompt, self._queue.job)
            )
            reuse = before if before is not None and not same and self.run_index.is_run(before) else ""
            key = str(given.get("key", ""))
            self._queue.add(Job(run=name, spec=spec, place=0.0, reuse=reuse, asked=time.time(), key=key))
            if not self._asked and presets.needs(spec.preset).embedded and spec.upto != "video":
                self._asked = True  # a video will be next: it need not wait for what loads until then
                timer = threading.Timer(WARM_AFTER, self._warm, args=("slow",))
                timer.daemon = True
                timer.start()
        return {"run": name}

    def go_on(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Where it was: as it was asked for here, or as its folder says that it was elsewhere."""
        name = _name(given)
        job = self._queue.job(name)
        if job is not None and job.state in ("stopped", "failed"):
            self._queue.add(job)
        else:
            self._queue.add(Job(run=name, spec=self._tasks.of_folder(name), place=0.0))
        return {"run": name}

    def stop(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self._queue.stop(_name(given))
        return {}

    def state(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """One run: its job, its progress, and, where it changed since `seen`, all that its page shows."""
        name = _name(given)
        job = self._queue.job(name)
        answer: dict[str, Any] = {"run": name, "job": self._job(job) if job else None}
        answer["progress"] = self._queue.progress(name)
        if job is not None and not self.run_index.is_run(name):
            return answer | {"details": None}
        return answer | run_state(self.run_index, self.pictures, name, given)

    def runs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """One page of the list; where it is what the page shows already (`seen`), no more than that."""
        asked = Asked.read(given)
        jobs = {job.run: job for job in self._queue.jobs()}
        begun = [card_of_job(job) for job in jobs.values() if job.state != "done"]
        begun = [card for card in begun if not self.run_index.is_taken(card["run"])]
        shown = {name: self._job(job) for name, job in jobs.items()}
        found = list_runs(self.run_index, shown, begun, asked)
        return unless_seen(found | {"bin": self.run_index.binned(), "paused": self._queue.paused}, asked.seen)

    def queue(self, given: Mapping[str, Any]) -> dict[str, Any]:
        shown = [
            self._job(job) | {"run": job.run, "progress": self._queue.progress(job.run)}
            for job in self._queue.jobs()
            if job.state in ("waiting", "running")
        ]
        return {"jobs": shown, "paused": self._queue.paused, "ready": self.ready.is_set()}

    def pause(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self._queue.pause(given.get("paused") is True)
        return self.queue({})

    def move(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self._queue.move(_name(given), earlier=given.get("earlier") is True)
        return self.queue({})

    def delete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        name = _name(given)
        self._queue.require_idle(name)
        known = self._queue.job(name) is not None
        binned = self.run_index.delete(name) if self.run_index.is_run(name) or not known else ""
        self._queue.forget(name)
        return {"binned": binned}

    def restore(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"run": self.run_index.restore(str(given.get("binned", "")))}

    def jobs(self) -> list[Job]:
        """All that was asked for, in the queue's order."""
        return self._queue.jobs()

    def job(self, run: str) -> Job | None:
        return self._queue.job(run)

    def progress(self, run: str) -> dict[str, Any] | None:
        return self._queue.progress(run)

    def words(self, text: str) -> str:
        """A sentence without where on this machine the runs are: the page may be open on another machine."""
        return text.replace(f"{self.run_index.root}/", "").replace(
            str(self.run_index.root), "the runs' folder"
        )

    # ---- inside ---------------------------------------------------------------------------------------

    def _job(self, job: Job) -> dict[str, Any]:
        asked = {name: getattr(job.spec, name) for name in OF_A_JOB}
        words = in_the_page(job.error) if job.spec.preset == PRESET else job.error
        return {"state": job.state, "error": self.words(words), **asked}

    def _shown(self, picture: str) -> dict[str, Any]:
        width, height = self.pictures.size(picture)
        return {"picture": picture, "width": width, "height": height}

    def _continues(self, name: str) -> bool:
        """Whether a run has no video yet, so that a change loses nothing that was shown."""
        if not self.run_index.is_run(name):
            return self._queue.job(name) is not None
        return not (self.run_index.folder(name) / layout.VIDEO).exists()


def _name(given: Mapping[str, Any]) -> str:
    name = given.get("run")
    if not isinstance(name, str):
        raise Refused("A request names its run.")
    return name
