"""A run with the changes that the next attempt makes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.keyframes import Keyframe, RenderOptions
from physplan.methods import Method
from physplan.pipeline.attempts import Tried, another_seed
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config
from physplan.pipeline.latents_stage import unguided_clocks
from physplan.pipeline.planning import make_plan
from physplan.pipeline.run import Run, picture_digest, plan_digest
from physplan.pipeline.stages import Drawn, make_keyframes
from physplan.reasoning.protocol import Feedback, Reasoner
from physplan.reasoning.registry import REASONERS
from physplan.runs import layout
from physplan.runs.records import Changed
from physplan.runs.verdicts import verdict_of
from physplan.sketch.start import clocks_of
from physplan.verify.verdict import NotChecked
from physplan.video.clocks import Clocks
from physplan.video.known import video_model
from physplan_models.attempts.deciding import Change, Facts, Kind, next_changes

REPEATS_FACTOR = 2  # times as many repeats


def next_attempt(run: Run, tried: Sequence[Tried]) -> tuple[Run, tuple[Changed, ...]]:
    """Of `run`, whose attempts so far are `tried`: the best of them, with what its verdict asks for."""
    best = max(tried, key=lambda one: one.record.score or 0.0)
    verdict = verdict_of(best.run.folder)
    if isinstance(verdict, NotChecked):
        return another_seed(run, tried)
    names = {changed.kind for one in tried for changed in one.record.changed}
    able = set(able_of(run))
    while True:
        changes = next_changes(Facts(verdict=verdict, able=able, tried=names, off=_off(best.run)))
        try:
            return _changed(run, best.run, changes, tried)
        except PhysPlanError as error:
            able -= {change.kind for change in changes}
            run.folder.log(f"latents: {changes[0].what} is left out ({error})")


def able_of(run: Run) -> list[Kind]:
    """What a change of this run can be; what the user gave is not changed."""
    guidance, follows = run.guidance, run.method.follows_plan
    asks = run.config.reasoner.name in REASONERS.callers
    found: dict[Kind, bool] = {
        "keyframes": follows and run.keyframes is None,
        "repeats": guidance is not None and any(guidance.schedule.repeats),
        "clock": run.start == "sketch",
        "words": video_model(run.config.video.model).reads,
        "plan": follows and run.plan is None and asks,
    }
    return [kind for kind, can in found.items() if can]


def _changed(
    run: Run, best: Run, changes: tuple[Change, ...], tried: Sequence[Tried]
) -> tuple[Run, tuple[Changed, ...]]:
    """Calls are `run`'s: one ledger, one budget."""
    kinds = {change.kind: change for change in changes}
    if "seed" in kinds:
        best, _ = another_seed(best, tried)
    elif "plan" in kinds:
        best = _replanned(run, best, kinds["plan"])
    elif "keyframes" in kinds:
        best = _redrawn(run, best, [change.event for change in changes], seed=len(tried))
    config = strengthened(best.config, best.method, best.backends, kinds.keys())
    if "words" in kinds:
        words = " ".join(filter(None, [config.video.words, kinds["words"].words]))
        config = replace(config, video=replace(config.video, words=words))
    return replace(best, config=config), tuple(map(_record, changes))


def _record(change: Change) -> Changed:
    return Changed(kind=change.name, what=change.what, why=change.why)


def _off(run: Run) -> Mapping[int, tuple[str, ...]]:
    if run.folder.record("keyframes") is None:
        return {}
    return {one.event: one.problems for one in layout.load_keyframe_records(run.folder.path)}


# ---- the guidance and the sketch ----------------------------------------------------------------------


def strengthened(config: Config, method: Method, backends: Backends, kinds: Collection[str]) -> Config:
    """The config with twice the guided repeats, and the clocks half way to the end."""
    model = backends.video
    guidance = method.guidance(config)
    if guidance is not None:
        if "repeats" in kinds:
            repeats = tuple(REPEATS_FACTOR * count for count in guidance.schedule.repeats)
            guidance = replace(guidance, schedule=replace(guidance.schedule, repeats=repeats))
        if "clock" in kinds:
            later = later_clocks(clocks_of(model, weak=guidance.weak, strong=guidance.strong))
            guidance = replace(guidance, weak=later.weak, strong=later.strong)
        own: dict[str, Any] = {method.settings or "guidance": guidance}
        return replace(config, **own)
    if "clock" not in kinds:
        return config
    later = later_clocks(unguided_clocks(config, model, conditioned=method.conditioned))
    field = "conditioned" if method.conditioned else "sketch"
    changed: dict[str, Any] = {field: replace(getattr(config, field), weak=later.weak, strong=later.strong)}
    return replace(config, **changed)


def later_clocks(clocks: Clocks) -> Clocks:
    """Half way to the end, rounded, so that a run of the same settings has the same key."""
    strong = math.floor(50 * (1 + clocks.strong)) / 100
    return Clocks(weak=math.floor(50 * (clocks.weak + strong)) / 100, strong=strong)


# ---- keyframes and plan -------------------------------------------------------------------------------


def _redrawn(run: Run, best: Run, events: Sequence[int], *, seed: int) -> Run:
    """These keyframes drawn with another seed, where that is no worse; the others stay."""
    chain = layout.load_plan(best.folder.path)
    images, before = layout.load_keyframes(best.folder.path), _off(best)
    for keyframe in _drawn(run, best, chain, seed=seed, only=[event - 1 for event in events]).keyframes:
        require_better(keyframe, images[keyframe.event], before[keyframe.event + 1])
        images[keyframe.event] = keyframe.image
    return replace(
        best, keyframes=tuple(images), inputs=replace(best.inputs, keyframes=picture_digest(images))
    )


def require_better(drawn: Keyframe, before: Image.Image, off: Collection[str]) -> None:
    """Refuse a drawing that changes nothing, or of which more is off."""
    if len(drawn.check.problems) > len(off) or drawn.image.tobytes() == before.tobytes():
        raise PhysPlanError(f"No better keyframe {drawn.event + 1} came of another seed.")


def _replanned(run: Run, best: Run, change: Change) -> Run:
    """A new plan, from a reasoner that is shown the old one with what was not seen of it."""
    shown = _BackendsForReplanning(best.backends, layout.load_plan(best.folder.path), change.words)
    chain = make_plan(best.config, shown, best.frame, best.inputs.prompt, calls=run.calls)  # type: ignore[arg-type]
    images = _drawn(run, best, chain, seed=0).images
    inputs = replace(best.inputs, plan=plan_digest(chain), keyframes=picture_digest(images))
    return replace(best, plan=chain, keyframes=images, inputs=inputs)


def _drawn(run: Run, best: Run, chain: EventChain, *, seed: int, only: Sequence[int] | None = None) -> Drawn:
    editor = replace(best.config.editor, seed=best.config.editor.seed + seed)
    return make_keyframes(
        replace(best.config, editor=editor),
        best.backends,
        best.frame,
        chain,
        calls=run.calls,
        options=RenderOptions(store=run.folder / layout.DRAWINGS, only=only),
    )


class _BackendsForReplanning:
    """Backends whose reasoner has the old plan and a remark before it at its first answer."""

    def __init__(self, backends: Backends, old: EventChain, remark: str) -> None:
        self._backends, self._old, self._remark = backends, old, remark

    def reasoner(self, calls: Path | None, *rest: Any) -> Reasoner:
        import json

        reasoner = self._backends.reasoner(calls, *rest)
        deltas = [event.delta.to_json() for event in self._old.events]
        before = Feedback(attempt=2, problems=(self._remark,), previous=json.dumps({"deltas": deltas}))
        decompose = reasoner.decompose

        def remarked(scene: Any, graph: Any, feedback: Feedback, **given: Any) -> Any:
            first = feedback.attempt == 1 and given.get("revision") is None
            return decompose(scene, graph, before if first else feedback, **given)

        reasoner.decompose = remarked  # type: ignore[method-assign]
        return reasoner
