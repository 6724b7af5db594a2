"""One case: a video of one scene by one method and seed, and what can be said about it given the truth."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from physplan.evaluation.cases import Case
from physplan.evaluation.engine import CaseFunction
from physplan.evaluation.physics_iq.masks import motion_masks
from physplan.evaluation.physics_iq.metrics import compare
from physplan.evaluation.sandbox.arms import Arm
from physplan.evaluation.sandbox.scenes import Setting
from physplan.pipeline.config import Config
from physplan.pipeline.sampling import Guide, make_latents
from physplan.sandbox.outcome import CHANGED, judge, judge_events, object_change
from physplan.sandbox.truth import object_ids, true_chain, uninvolved
from physplan.sandbox.world.phenomena import scene
from physplan.sandbox.world.render import Clip
from physplan.sandbox.world.scene import Scene
from physplan.video.files import write_video
from physplan.video.watching import to_watch

SECOND_TAKE = 1


def make_measure(config: Config, arms: Mapping[str, Arm], split: str, *, keep_videos: bool) -> CaseFunction:
    torch.set_num_threads(1)  # several small networks side by side: threads would only wait for each other

    @lru_cache(maxsize=4)  # cases come scene by scene
    def setting(index: int) -> Setting:
        return Setting(scene=scene(split, index), config=config)

    def measure(case: Case, directory: Path) -> Mapping[str, Any]:
        arm = arms[case.identity["arm"]]
        here = setting(case.identity["scene"])
        if arm.guided:
            here.drawn(arm.level, arm.plan)  # planned and drawn before the clock starts: seeds share it
        begun = time.perf_counter()
        video = make_video(here, arm, seed=case.identity["seed"])
        seconds = time.perf_counter() - begun
        if keep_videos:
            frames = torch.from_numpy(video).permute(0, 3, 1, 2) / 255
            write_video(directory / "video.mp4", to_watch(frames), fps=config.video.fps or 8)
        return {
            **describe(here.scene),
            **compare_with_truth(here.scene, here.truth, video),
            "seconds": seconds,
        }

    return measure


def make_video(here: Setting, arm: Arm, *, seed: int) -> np.ndarray:
    """[T, H, W, 3] uint8."""
    guided_by = None
    if arm.guided:
        chain, evidence = here.drawn(arm.level, arm.plan)
        guided_by = Guide(chain=chain, evidence=evidence, config=arm.guidance(here.config))
    sampled = make_latents(
        here.config, here.backends, here.picture, here.scene.prompt, seed=seed, guided_by=guided_by
    )
    with torch.no_grad():
        frames = here.backends.video.decode(sampled.latents, sampled.layout)
    return (frames.permute(0, 2, 3, 1).clamp(0, 1) * 255 + 0.5).byte().cpu().numpy()


def describe(shown: Scene) -> dict[str, str]:
    return {
        "domain": shown.phenomenon.domain,
        "phenomenon": shown.phenomenon.name,
        "variant": shown.variant,
    }


def compare_with_truth(shown: Scene, truth: Clip, video: np.ndarray) -> dict[str, Any]:
    seen = video / np.float32(255)
    verdict = judge(shown, seen, uninvolved=bystanders(shown, truth))
    second = shown.render(take=SECOND_TAKE).frames
    reference = truth.frames, motion_masks(truth.frames)
    return {
        "outcome": verdict.outcome,
        "plausible": verdict.plausible,
        "margin": verdict.margin,
        "preserved": verdict.preserved,
        "changes": {key: round(change, 4) for key, change in verdict.changes.items()},
        "events": judge_events(shown, seen, true_chain(shown).anchors),
        "metrics": asdict(compare(*reference, video, motion_masks(video))),
        "variance": asdict(compare(*reference, second, motion_masks(second))),
    }


def bystanders(shown: Scene, truth: Clip) -> tuple[str, ...]:
    """The objects that no true edit names and that the truth shows unchanged, by their keys in the world."""
    idle = uninvolved(true_chain(shown))
    keys = [key for key, id in object_ids(shown).items() if id in idle and key in shown.things]
    frames = truth.frames / np.float32(255)
    return tuple(
        key
        for key in keys
        if key in truth.names and object_change(frames, truth.objects == truth.names.index(key)) < CHANGED / 2
    )
