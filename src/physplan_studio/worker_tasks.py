"""What a worker does, as functions from JSON to JSON: the same calls of `PhysPlan` as the command line's."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.methods import find
from physplan.pipeline import PhysPlan
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.consent import refuse_consent
from physplan.pipeline.events import OnEvent, RunEvent, quiet_libraries
from physplan.reasoning.recheck import recheck_json
from physplan.video.known import video_model

KEPT_RECIPES = 2  # recipes whose models stay loaded
LOCK_TIMEOUT = 30.0  # seconds for a process of an earlier studio to leave the run's folder
GB = 1e9
MASKS = {"load_masks": "warm", "look": "look", "click": "click", "by_hand": "by_hand"}  # tasks of `masks`

Tell = Callable[[dict[str, Any]], None]


class Work:
    def __init__(self) -> None:
        self._made: OrderedDict[str, PhysPlan] = OrderedDict()

    def do(self, what: str, given: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        if what in MASKS:
            from physplan_studio import masks

            return dict(getattr(masks, MASKS[what])(given))
        tasks = {"make": self.make, "forecast": self.forecast, "redraw": self.redraw, "warm": self.warm}
        return tasks[what](given, tell)

    def warm(self, given: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        """Load what the first plan would wait for."""
        import torch

        torch.set_num_threads(1)
        quiet_libraries()
        import physplan.pipeline.stage_runner  # noqa: F401

        pp = self._physplan({"source": "sandbox", "settings": {}})
        if given.get("lane") == "slow":
            _ = pp.backends.video
        else:
            pp.backends.reasoner(None)
            _ = pp.backends.perception
        return {}

    def make(self, given: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        """A run up to its plan, its sketch or its video, in its folder."""
        pp, folder = self._physplan(given), Path(given["folder"])
        on_event: OnEvent = partial(_tell, tell)
        shared: dict[str, Any] = {"output_dir": folder, "redo": True, "on_event": on_event}
        plan = _plan(given)
        _wait_for(folder)
        if given["upto"] == "plan" and plan is None:
            pp.plan(given["image"], given["prompt"], **shared)
            return {}
        shared |= {"plan": plan, "keyframes": given["keyframes"]}
        prompt = None if plan is not None else given["prompt"]
        if given["upto"] != "video":
            pp.sketch(given["image"], prompt, **shared)
            return {}
        result = pp.generate(
            given["image"], prompt, seed=given["seed"], method=given["method"],
            attempts=given["attempts"], reuse=given["reuse"], **shared,
        )  # fmt: skip
        return {"verdict": result.verdict.verdict}

    def redraw(self, given: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        plan = _plan(given)
        if plan is None:
            raise PhysPlanError("A keyframe is drawn from a plan: make one first.")
        image = self._physplan(given).redraw(
            given["image"], plan, given["event"], seed=given["draw_seed"], output_dir=given["folder"]
        )
        image.save(given["target"], "PNG")
        return {}

    def forecast(self, given: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        pp = self._physplan(given)
        plan = _plan(given)
        found = pp.forecast(
            given["image"], None if plan is not None else given["prompt"], output_dir=given["folder"],
            redo=True, with_memory=False, plan=plan, keyframes=given["keyframes"], seed=given["seed"],
            method=given["method"], attempts=given["attempts"],
        )  # fmt: skip
        return {
            "work": [asdict(item) for item in found.work],
            "calls": found.calls,
            "usd": found.usd,
            "events": found.events,
            "known_events": found.known_events,
            "memory_gb": max((found.stages or {}).values(), default=0.0) or _memory(pp, given["method"]),
            "device": pp.config.runtime.device,
            "missing": [{"what": one.what, "fix": one.fix} for one in found.missing],
            "steps": pp.config.video.num_inference_steps,
            "model": pp.config.video.model,
        }

    def _physplan(self, given: Mapping[str, Any]) -> PhysPlan:
        """Models stay loaded from run to run while the recipe is the same."""
        key = json.dumps([given["source"], given["settings"]], sort_keys=True)
        if given["source"].endswith(".yaml"):  # a run's own file, which the next run may rewrite
            key += Path(given["source"]).read_text("utf-8", "replace")
        if key not in self._made:
            recipe = load_config(given["source"])
            asked = refuse_consent(recipe, load_config(recipe, given["settings"]), "The page")
            self._made[key] = PhysPlan(asked)
        self._made.move_to_end(key)
        while len(self._made) > KEPT_RECIPES:
            self._made.popitem(last=False)
        return self._made[key]


def _plan(given: Mapping[str, Any]) -> EventChain | None:
    return None if given["plan"] is None else recheck_json(given["plan"])[0]


def _memory(pp: PhysPlan, method: str) -> float:
    """GB, from the stored estimates; small models take about 1.5 together."""
    mode = find(method, pp.config.method).gradient(pp.config)
    known = video_model(pp.config.video.model).usual_memory(mode)
    return 1.5 if known is None else max(known.values())


def _tell(tell: Tell, event: RunEvent) -> None:
    tell(asdict(event))


def _wait_for(folder: Path) -> None:
    """A worker of a studio that was killed leaves the folder at its next step."""
    from filelock import FileLock, Timeout

    from physplan.runs import layout

    if not folder.is_dir():
        return
    try:
        with FileLock(folder / layout.LOCK).acquire(timeout=LOCK_TIMEOUT):
            return
    except (Timeout, OSError):
        return  # the run itself says so
