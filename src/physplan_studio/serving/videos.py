"""The jobs of `/v1/videos` as the studio's runs. Knows nothing of HTTP."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from physplan import presets
from physplan.errors import PhysPlanError
from physplan.foreign import inside
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.consent import refuse_consent
from physplan.pipeline.defaults import with_defaults
from physplan.runs import RunFolder, layout
from physplan.runs.records import load_json
from physplan_studio.jobs import INTERRUPTED, Job
from physplan_studio.serving.forms import read_mapping, read_number, read_picture
from physplan_studio.session import StudioSession
from physplan_studio.spec import Spec, settings_of
from physplan_studio.web.server import Refused

ID = re.compile(r"[a-z0-9-]{1,80}")
FIELDS = ("prompt", "input_reference", "model", "seed", "size", "extra_params")
EXTRA = ("preset", "method", "plan", "budget")
SIZE = re.compile(r"([1-9][0-9]{1,4})x([1-9][0-9]{1,4})")
STATUS = {"waiting": "queued", "running": "in_progress", "done": "completed"}
PARTS = {"content": layout.VIDEO, "plan": layout.PLAN, "verdict": layout.VERDICT, "report": layout.REPORT}
MOST_WAITING = 100


class TooMany(PhysPlanError):
    """The queue is full."""


class Videos:
    """`preset` is the recipe of a request that names none."""

    def __init__(self, session: StudioSession, *, preset: str, most_waiting: int = MOST_WAITING) -> None:
        self.session, self._preset, self._most = session, preset, most_waiting
        self._creating = threading.Lock()

    def resume(self) -> list[str]:
        """Resume the jobs that were under way when the server ended."""
        cut_off = [job.run for job in self.session.jobs() if job.error == INTERRUPTED]
        for run in cut_off:
            self.session.go_on({"run": run})
        return cut_off

    def create(self, given: Mapping[str, Any], *, key: str = "") -> dict[str, Any]:
        """`key` is the client's name of its request: sent again, it is answered with the same video."""
        with self._creating:
            if known := next((job for job in self.session.jobs() if key and job.key == key), None):
                return self._described(known)
            return self._create(given, key)

    def _create(self, given: Mapping[str, Any], key: str) -> dict[str, Any]:
        for name in given:
            if name not in FIELDS:
                raise Refused(f"There is no field {name[:40]!r}: use {', '.join(FIELDS)}.")
        if sum(job.state == "waiting" for job in self.session.jobs()) >= self._most:
            raise TooMany(f"{self._most} videos wait already: ask again later.")
        extra = read_mapping(given.get("extra_params", {}), "extra_params")
        for name in extra:
            if name not in EXTRA:
                raise Refused(f"extra_params has no {name[:40]!r}: use {', '.join(EXTRA)}.")
        asked: dict[str, Any] = {
            "prompt": given.get("prompt", ""),
            "preset": self._recipe(given, extra),
            "method": extra.get("method", ""),
            "seed": read_number(given.get("seed", 0), "seed", int),
            "settings": _settings(given, extra),
        }
        if "plan" in extra:
            asked["plan"] = read_mapping(extra["plan"], "plan")
        self._check(asked)
        if "input_reference" not in given:
            raise Refused("input_reference is missing: the picture that the video begins with.")
        asked["picture"] = self.session.receive("picture", read_picture(given["input_reference"]))["picture"]
        return self.retrieve(self.session.answer("start", asked | {"key": key})["run"])

    def retrieve(self, id: str) -> dict[str, Any]:
        job = self._job(id)
        return self._described(job)

    def list(self) -> dict[str, Any]:
        data = [self._described(job) for job in reversed(self.session.jobs()) if ID.fullmatch(job.run)]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
        return {"object": "list", "data": data, "has_more": False, **ends}

    def delete(self, id: str) -> dict[str, Any]:
        """What is under way is stopped, and what is done of it kept; what has ended goes to the bin."""
        job = self._job(id)
        if job.state in ("waiting", "running"):
            self.session.answer("stop", {"run": id})
        else:
            self.session.answer("delete", {"run": id})
        return {"id": id, "object": "video.deleted", "deleted": True}

    def part(self, id: str, what: str) -> Path:
        """A file of the run, as soon as it is there."""
        self._job(id)
        folder = self.session.run_index.folder(id)
        numbered = re.fullmatch(r"keyframes/([1-9][0-9]{0,2})", what)
        name = layout.keyframe(int(numbered[1])) if numbered else PARTS[what]
        path = inside(folder, name)
        if not path.is_file():
            raise PhysPlanError(f"This video has no {what} yet.")
        return path

    def keyframes(self, id: str) -> dict[str, Any]:
        self._job(id)
        folder = self.session.run_index.folder(id)
        if RunFolder(folder).record("keyframes") is None:
            raise PhysPlanError("This video has no keyframes yet.")
        described = load_json(folder, layout.KEYFRAMES)
        return {
            "object": "list",
            "data": [{**one, "url": f"/v1/videos/{id}/keyframes/{one['event']}"} for one in described],
        }

    def _job(self, id: str) -> Job:
        job = self.session.job(id) if ID.fullmatch(id) else None
        if job is None:
            raise LookupError(id)
        return job

    def _recipe(self, given: Mapping[str, Any], extra: Mapping[str, Any]) -> str:
        named = extra.get("preset") or given.get("model") or self._preset
        if named == "physplan":
            return self._preset
        if named not in presets.NAMES:
            raise Refused(f"model and extra_params.preset name a preset: {', '.join(presets.NAMES)}.")
        return str(named)

    def _check(self, asked: Mapping[str, Any]) -> None:
        """What a request may not set, and settings that cannot be read, before anything is queued."""
        recipe = load_config(asked["preset"])
        refuse_consent(recipe, load_config(recipe, asked["settings"]), "The request")

    def _described(self, job: Job) -> dict[str, Any]:
        spec = job.spec
        shown: dict[str, Any] = {
            "id": job.run,
            "object": "video",
            "model": spec.preset,
            "prompt": spec.prompt,
            "status": STATUS.get(job.state, "failed"),
            "progress": 100 if job.state == "done" else 0,
            "created_at": int(job.asked),
            "seed": spec.seed,
            **_measures(spec.preset, json.dumps(settings_of(spec))),
        }
        progress = self.session.progress(job.run)
        if job.state == "running" and progress is not None:
            shown |= _progress(spec, progress)
        if shown["status"] == "failed":
            said = self.session.words(job.error) or "The video was stopped."
            shown["error"] = {"code": job.state, "message": said}
        return shown


def _settings(given: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if "size" in given:
        found = SIZE.fullmatch(str(given["size"]))
        if found is None:
            raise Refused("size looks like 832x480.")
        settings |= {"video.width": int(found[1]), "video.height": int(found[2])}
    if "budget" in extra:
        settings["runtime.budget"] = read_number(extra["budget"], "budget", float)
    return settings


@lru_cache(maxsize=1_000)
def _measures(preset: str, settings: str) -> dict[str, Any]:
    video = with_defaults(load_config(preset, json.loads(settings))).video
    return {"size": f"{video.width}x{video.height}", "seconds": f"{video.clip.num_frames / video.clip.fps:g}"}


def _progress(spec: Spec, progress: Mapping[str, Any]) -> dict[str, Any]:
    """Stages count alike; within one, what it says of itself."""
    stages = layout.STAGES
    place = stages.index(progress["stage"]) if progress["stage"] in stages else 0
    within = progress["done"] / progress["total"] if progress["total"] else 0.0
    share = (place + min(within, 1.0)) / len(stages)
    return {"progress": round(100 * share), "stage": progress["stage"], "message": progress["message"]}
