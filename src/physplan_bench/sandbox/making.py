"""The video of one arm for one scene and seed: made once, or several times with the best one kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph.happening import words_for_video
from physplan.guidance import Guide
from physplan.methods.base import BASE
from physplan.pipeline.latents_stage import SamplingRequest, make_latents
from physplan.sketch import Sketch, make_sketch
from physplan.verify import Perception, Verdict, verify_video
from physplan_bench.sandbox.arms import BEST_OF_N, NO_MOTION, TRUTH, WHOLE, Arm
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_bench.sandbox.sketches import whole_keyframes, without_motion
from physplan_models.attempts.changing import strengthened
from physplan_models.attempts.deciding import Facts, Kind, next_changes

NEXT_SEED = 1000  # so far apart are the attempts' seeds: no two seeds of a study share one
FIRST_TRUE_TAKE = 2  # takes 0 and 1 are what videos are compared with

Video = np.ndarray  # [T, H, W, 3] uint8


@dataclass(frozen=True, kw_only=True, eq=False)
class Attempt:
    seed: int
    video: Video
    verdict: Verdict
    here: PreparedScene
    changed: tuple[str, ...] = ()


def make_video(here: PreparedScene, arm: Arm, *, seed: int) -> Video:
    """One attempt, with the settings and keyframes of `here`."""
    if arm.method == TRUTH:
        return here.scene.render(take=FIRST_TRUE_TAKE + seed).frames
    sketch = make_sketch_of(here, arm) if arm.sketched else None
    if not arm.runs.samples:
        assert sketch is not None
        return to_bytes(sketch.frames)
    guided_by, followed = None, None
    if arm.runs.follows_plan:
        followed, _ = here.drawn(arm.level, arm.plan)
    if arm.guided:
        chain, evidence = here.drawn(arm.level, arm.plan)
        guided_by = Guide(chain=chain, evidence=evidence, config=arm.guidance(here.config))
    sampled = make_latents(
        SamplingRequest(
            config=here.config,
            backends=here.backends,
            frame=here.picture,
            prompt=words_for_video(
                here.scene.prompt, followed, here.config.video.prompt, here.config.video.words
            ),
            seed=seed,
            guided_by=guided_by,
            sketch=sketch,
        )
    )
    with torch.no_grad():
        return to_bytes(here.backends.video.decode(sampled.latents, sampled.layout))


def make_sketch_of(here: PreparedScene, arm: Arm) -> Sketch:
    chain, evidence = here.drawn(arm.level, arm.plan)
    if WHOLE in arm.options:
        return whole_keyframes(chain, evidence)
    sketch = make_sketch(chain, evidence)
    return without_motion(sketch, chain.anchors) if arm.method == NO_MOTION else sketch


def make_attempts(here: PreparedScene, arm: Arm, *, seed: int) -> list[Attempt]:
    """In order: of `best_of_n` all N, otherwise until the verdict holds. The first has the seed itself."""
    maker = Arm(name=BASE.name) if arm.method == BEST_OF_N else arm
    begun = time.process_time()

    def tried(at: PreparedScene, number: int, changed: tuple[str, ...]) -> Attempt:
        video = make_video(at, maker, seed=number)
        return Attempt(seed=number, video=video, verdict=verdict_on(at, arm, video), here=at, changed=changed)

    found = [tried(here, seed, ())]
    while len(found) < arm.tries and not (arm.until_it_holds and found[-1].verdict.verdict == "holds"):
        spent = time.process_time() - begun
        if arm.cpu_seconds and spent * (1 + 1 / len(found)) > arm.cpu_seconds:  # the next is like these
            break
        if arm.corrected:
            found.append(tried(*corrected(arm, found)))
        else:
            found.append(tried(here, seed + NEXT_SEED * len(found), ("seed",)))
    return found


def corrected(arm: Arm, tried: Sequence[Attempt]) -> tuple[PreparedScene, int, tuple[str, ...]]:
    """The setting and the seed of the next attempt, as a run's verdict decides them."""
    one = best(tried)
    able: set[Kind] = {"keyframes"} if arm.level > 0 else set()
    able |= {"repeats"} if arm.guided else set()
    able |= {"clock"} if arm.runs.starts_at == "sketch" else set()
    names = {name for attempt in tried for name in attempt.changed}
    while True:
        off = one.here.problems(arm.level, arm.plan)
        changes = next_changes(Facts(verdict=one.verdict, able=able, tried=names, off=off))
        kinds, told = {change.kind for change in changes}, tuple(change.name for change in changes)
        if "seed" in kinds:
            return one.here, max(attempt.seed for attempt in tried) + NEXT_SEED, told
        try:
            at = one.here
            if "keyframes" in kinds:
                events = [change.event - 1 for change in changes]
                at = at.redrawn(arm.level, arm.plan, events, seed=len(tried))
            config = strengthened(at.config, arm.runs, at.backends, kinds)
            return at.with_config(config), one.seed, told
        except PhysPlanError:  # no better keyframe came
            able -= kinds


def best(attempts: Sequence[Attempt]) -> Attempt:
    """The first of those with the highest score."""
    return max(attempts, key=lambda attempt: attempt.verdict.score)


def verdict_on(here: PreparedScene, arm: Arm, video: Video, *, keyframes: bool = True) -> Verdict:
    """The verification that a run would do, against the arm's own plan and keyframes, or its plan alone."""
    chain, evidence = here.drawn(arm.level, arm.plan)
    return verify_video(
        chain,
        torch.from_numpy(video).permute(0, 3, 1, 2) / 255,
        perception=Perception(**here.backends.perception, encoder=here.backends.encoder),
        first_frame=evidence.first.image,
        evidence=evidence if keyframes else None,
    )


def to_bytes(frames: Tensor) -> Video:
    return (frames.permute(0, 2, 3, 1).clamp(0, 1) * 255 + 0.5).byte().cpu().numpy()
