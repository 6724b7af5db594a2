"""What a page may ask for. Knows nothing of HTTP; the workers do the work, with the pipeline's code."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from physplan import __version__, machine, presets
from physplan.errors import PhysPlanError
from physplan.graph import ATTRIBUTES, LAWS, RELATIONS
from physplan.graph.edits import OPERATORS
from physplan.graph.errors import GraphError
from physplan.pictures import MAX_BYTES, MAX_PIXELS
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.methods import METHODS
from physplan.runs import layout
from physplan.studio.checking import check_plan
from physplan.studio.dropped import Dropped
from physplan.studio.jobs import Job
from physplan.studio.pictures import PictureStore
from physplan.studio.process import Stopped, Worker
from physplan.studio.queue import LANES, Queue
from physplan.studio.shelf import OWN, Shelf
from physplan.studio.spec import QUICK, SETTINGS, Spec, read_spec
from physplan.studio.timing import seconds_needed
from physplan.web.server import Refused

WARM_AFTER = 4.0  # seconds after the first plan: that one comes first
AS_ASKED = ("prompt", "seed", "method", "attempts", "plan", "upto")
MEDIA = re.compile(r"pictures/([0-9a-f]{64})\.png")


class StudioSession:
    def __init__(self, runs: Path, *, make_worker: Callable[[Path], Worker] = Worker) -> None:
        own = runs / OWN
        own.mkdir(parents=True, exist_ok=True)
        self.shelf, self.pictures = Shelf(runs), PictureStore(own / "pictures")
        self._own, self._dropped = own, Dropped(own / "recipes", self.pictures)
        self._workers = {lane: make_worker(own / "worker.log") for lane in LANES}
        self._naming = threading.Lock()
        self._samples: list[dict[str, str]] = []
        self._sampled, self.ready = threading.Event(), threading.Event()
        self._asked = False
        self._queue = Queue(own, self._workers, self._given)
        # The worker takes seconds to load what the first plan needs: it begins before anything else.
        for first in (self._make_ready, self._draw_samples):
            threading.Thread(target=first, daemon=True).start()

    def close(self) -> None:
        self._queue.close()
        for worker in self._workers.values():
            worker.dismiss()  # all of them first: each takes the rest of its step
        for worker in self._workers.values():
            worker.close()

    def answer(self, what: str, given: Mapping[str, Any]) -> dict[str, Any]:
        actions = {
            "about": self.about,
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
        }
        if what not in actions:
            raise Refused("There is no such request.")
        try:
            return actions[what](given)
        except (PhysPlanError, GraphError) as error:
            raise Refused(self._words(str(error))) from None
        except Stopped:  # its worker was sent home
            raise Refused("The studio is ending: ask again when it is open.") from None

    def receive(self, what: str, content: bytes) -> dict[str, Any]:
        if what == "video":
            return self._dropped.receive(content)
        if what != "picture":
            raise Refused("There is no such request.")
        return self._shown(self.pictures.receive(content))

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
            return self.shelf.file(unquote(name.removeprefix("runs/"), errors="strict"))
        except UnicodeDecodeError:
            return None

    # ---- what there is to choose from -----------------------------------------------------------------

    def about(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self._sampled.wait(30)
        return {
            "version": __version__,
            "samples": self._samples,
            "presets": [self._preset(name) for name in presets.NAMES],
            "methods": list(METHODS),
            "settings": SETTINGS,
            "quick": QUICK,
            "operators": list(OPERATORS),
            "attributes": {name: list(key.examples) for name, key in ATTRIBUTES.items()},
            "relations": {name: one.meaning for name, one in RELATIONS.items()},
            "laws": {name: _law(name) for name in LAWS},
            "limits": {"bytes": MAX_BYTES, "pixels": MAX_PIXELS},
        }

    def _preset(self, name: str) -> dict[str, Any]:
        gpu = max((one["memory_gb"] for one in machine.gpus()), default=0.0)
        lacking = machine.missing(presets.needs(name), memory=machine.memory_gb(), gpu_memory=gpu)
        missing = [f"{one.what} ({one.fix})" for one in lacking]
        about, method = presets.recipe(name)["about"], load_config(name).method
        return {"name": name, "about": about, "method": method, "missing": missing}

    def _make_ready(self) -> None:
        self._warm("quick")
        self.ready.set()

    def _draw_samples(self) -> None:
        from physplan.sandbox import samples

        for name in samples.names():
            shown = samples.sample(name)
            self._samples.append(
                {
                    "name": name,
                    "prompt": shown.prompt,
                    "picture": self.pictures.put(samples.first_frame(shown)),
                }
            )
        self._sampled.set()

    def _warm(self, lane: str) -> None:
        with suppress(PhysPlanError, Stopped):  # the first task says what is wrong
            self._workers[lane].call("warm", {"lane": lane})

    # ---- before a run ---------------------------------------------------------------------------------

    def forecast(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a run will do and cost, before it starts."""
        spec = read_spec(given)
        folder = self._own / "nothing"
        if isinstance(given.get("run"), str) and self._continues(given["run"]):
            folder = self.shelf.folder(given["run"])
        found = self._workers["quick"].call("forecast", self._work(spec, folder))
        todo = [one["stage"] for one in found["work"] if not one["done"]]
        preset = self._preset_of(spec)
        steps = int(found.get("steps") or 0)
        seconds, like = seconds_needed(
            self.shelf.cards(), todo, preset=preset, method=spec.method, steps=steps
        )
        ahead = sum(job.state in ("waiting", "running") and job.lane == "slow" for job in self._queue.jobs())
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
        folder = self.shelf.folder(given.get("run"))
        target = self._own / f"redraw-{threading.get_ident()}.png"
        try:
            self._workers["quick"].call(
                "redraw",
                self._work(spec, folder) | {"event": event, "draw_seed": seed, "target": str(target)},
            )
            return self._shown(self.pictures.receive(target.read_bytes()))
        finally:
            target.unlink(missing_ok=True)

    # ---- runs -----------------------------------------------------------------------------------------

    def start(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a run, or change one without a video. What has a video is kept: changes are a new run."""
        spec = read_spec(given)
        self.pictures.path(spec.picture)
        before = given.get("run")
        if before is not None and not isinstance(before, str):
            raise Refused("A run is named by a text.")
        if spec.like:
            self.shelf.folder(spec.like)
        if spec.plan is not None and (faults := check_plan(spec.plan)["faults"]):
            raise PhysPlanError(f"The plan does not hold: {faults[0]['message']}")
        with self._naming:
            same = before is not None and self._continues(before) and given.get("new") is not True
            name = before if same and before is not None else self._free_name(spec.prompt)
            reuse = before if before is not None and not same and self._is_run(before) else ""
            self._queue.add(Job(run=name, spec=spec, place=0.0, reuse=reuse))
            if not self._asked and spec.preset == "sandbox" and spec.upto != "video":
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
            self._queue.add(Job(run=name, spec=self._spec_of(name), place=0.0))
        return {"run": name}

    def stop(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self._queue.stop(_name(given))
        return {}

    def state(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """One run: its job, its progress, and, where it changed since `seen`, all that its page shows."""
        name = _name(given)
        job = self._queue.job(name)
        try:
            folder = self.shelf.folder(name)
        except PhysPlanError:
            if job is None:
                raise
            return {
                "run": name,
                "job": self._job(job),
                "progress": self._queue.progress(name),
                "details": None,
            }
        seen = self._stamp(folder)
        if not (folder / layout.FRAME).exists():  # it has only begun
            seen = ""
        answer: dict[str, Any] = {"run": name, "job": self._job(job) if job else None}
        answer["progress"] = self._queue.progress(name)
        answer |= {"seen": seen, "preview": _version(folder / layout.PREVIEW)}
        if seen and given.get("seen") != seen:
            details = self.shelf.details(name)
            details["picture"] = self.pictures.put(layout.load_picture(folder, layout.INPUT))
            for one in details["keyframes"]:
                drawn = layout.load_picture(folder, layout.keyframe(one["event"]))
                one["picture"] = self.pictures.put(drawn)
            answer["details"] = details
        related = self._related(name)
        now = f"{len(related)}-{max((card['changed'] for card in related), default=0)}"
        if (seen and given.get("seen") != seen) or given.get("related") != now:
            answer |= {"related": related, "related_seen": now}
        return answer

    def runs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        jobs = {job.run: job for job in self._queue.jobs()}
        cards = []
        for card in self.shelf.cards():
            job = jobs.pop(card["run"], None)
            cards.append(card | {"job": self._job(job) if job else None})
        for job in jobs.values():  # asked for, without a folder yet
            if job.state != "done":
                cards.insert(0, _without_folder(job) | {"job": self._job(job)})
        return {"runs": cards, "bin": self.shelf.binned(), "paused": self._queue.paused}

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
        binned = self.shelf.delete(name) if self._is_run(name) or not known else ""
        self._queue.forget(name)
        return {"binned": binned}

    def restore(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"run": self.shelf.restore(str(given.get("binned", "")))}

    # ---- inside ---------------------------------------------------------------------------------------

    def _words(self, text: str) -> str:
        """A sentence without where on this machine the runs are: the page may be somebody else's."""
        return text.replace(f"{self.shelf.root}/", "").replace(str(self.shelf.root), "the runs' folder")

    def _job(self, job: Job) -> dict[str, Any]:
        shown = ("upto", "method", "seed", "prompt", "preset", "picture")
        asked = {name: getattr(job.spec, name) for name in shown}
        return {"state": job.state, "error": self._words(job.error), **asked}

    def _shown(self, picture: str) -> dict[str, Any]:
        width, height = self.pictures.size(picture)
        return {"picture": picture, "width": width, "height": height}

    def _given(self, job: Job) -> dict[str, Any]:
        reuse = str(self.shelf.folder(job.reuse)) if job.reuse and self._is_run(job.reuse) else None
        return self._work(job.spec, self.shelf.root / job.run) | {"reuse": reuse}

    def _work(self, spec: Spec, folder: Path) -> dict[str, Any]:
        """A spec as a worker takes it: names of pictures and runs have become paths."""
        keyframes = spec.keyframes
        source = str(self.shelf.folder(spec.like) / layout.CONFIG) if spec.like else spec.preset
        if spec.recipe:
            source = str(self._dropped.path(spec.recipe))
        return {
            "source": source,
            "settings": dict(spec.settings),
            "image": str(self.pictures.path(spec.picture)),
            "keyframes": None if keyframes is None else [str(self.pictures.path(one)) for one in keyframes],
            "folder": str(folder),
            **{
                name: getattr(spec, name) for name in ("prompt", "seed", "method", "attempts", "plan", "upto")
            },
        }

    def _spec_of(self, name: str) -> Spec:
        """What a run's folder says it is; the command line's runs go on here as well."""
        folder = self.shelf.folder(name)
        record = layout.load_run(folder)
        keyframes = None
        if record.keyframes:
            drawn = layout.load_keyframes(folder)
            keyframes = tuple(self.pictures.put(image) for image in drawn)
        return Spec(
            picture=self.pictures.put(layout.load_picture(folder, layout.INPUT)),
            prompt=record.prompt,
            preset=self._preset_of(Spec(picture="", prompt="", like=name)),
            seed=record.seed,
            method=record.method,
            attempts=record.attempts,
            plan=layout.load_plan(folder).to_json() if record.plan else None,
            keyframes=keyframes,
            like=name,
        )

    def _preset_of(self, spec: Spec) -> str:
        from physplan.studio.shelf import preset_of

        return (preset_of(self.shelf.folder(spec.like)) if spec.like else "") or spec.preset

    def _is_run(self, name: str) -> bool:
        try:
            self.shelf.folder(name)
        except PhysPlanError:
            return False
        return True

    def _continues(self, name: str) -> bool:
        """Whether a run has no video yet, so that changing it loses nothing that somebody saw."""
        if not self._is_run(name):
            return self._queue.job(name) is not None
        return not (self.shelf.folder(name) / layout.VIDEO).exists()

    def _free_name(self, prompt: str) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", prompt.lower()).strip("-")[:40].strip("-") or "run"
        number = 1
        while self.shelf.is_taken(f"{words}-{number}") or self._queue.job(f"{words}-{number}") is not None:
            number += 1
        return f"{words}-{number}"

    def _stamp(self, folder: Path) -> str:
        names = (layout.RUN, layout.RECORDS, layout.VIDEO, layout.REPORT, layout.VERDICT, layout.FAILURE)
        return "-".join(str(_version(folder / name)) for name in names)

    def _related(self, name: str) -> list[dict[str, Any]]:
        """Other runs of the same picture and words that have a video."""
        cards = self.shelf.cards()
        own = next((card for card in cards if card["run"] == name), None)
        if own is None:
            return []
        return [
            card
            for card in cards
            if card["finished"]
            and card["run"] != name
            and (card["picture"], card["prompt"]) == (own["picture"], own["prompt"])
        ][:24]


def _law(name: str) -> dict[str, Any]:
    law = LAWS[name]
    parameters = {
        key: {"means": one.means, "low": one.low, "high": one.high, "choices": list(one.choices)}
        | {"default": one.default}
        for key, one in law.parameters.items()
    }
    return {"formula": law.formula, "parameters": parameters}


def _name(given: Mapping[str, Any]) -> str:
    name = given.get("run")
    if not isinstance(name, str):
        raise Refused("A request names its run.")
    return name


def _without_folder(job: Job) -> dict[str, Any]:
    spec = job.spec
    return {
        "run": job.run,
        "prompt": spec.prompt,
        "method": spec.method,
        "seed": spec.seed,
        "preset": spec.preset,
        "picture": spec.picture,
        "changed": 0,
        "seconds": 0,
        "stages": {},
        "steps": None,
        "finished": False,
        "verdict": "",
        "failure": "",
        "files": {},
    }


def _version(path: Path) -> int:
    try:
        return path.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
    except OSError:
        return 0
