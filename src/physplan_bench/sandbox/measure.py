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

from physplan.pipeline.config import Config
from physplan.video.files import write_video
from physplan.video.upscale import to_watch
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.physics_iq.masks import motion_masks
from physplan_bench.physics_iq.metrics import compare
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.making import Attempt, best, make_attempts, make_video, verdict_on
from physplan_bench.sandbox.movement import between, centroid_errors, movers, true_tracks
from physplan_bench.sandbox.perceiving import Perceived, perceive
from physplan_bench.sandbox.realism import busy_pixels, clip_features, edge_energy, flicker
from physplan_bench.sandbox.records import keep_plan
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox.outcome import OBJECT_CHANGE, judge, judge_events, object_change
from physplan_sandbox.truth import object_ids, true_chain, uninvolved
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.render import Clip
from physplan_sandbox.world.scene import Scene

SECOND_TAKE = 1


def make_measure(config: Config, split: str, *, keep_videos: bool) -> CaseFunction:
    torch.set_num_threads(1)  # several small networks side by side: threads would only wait for each other

    @lru_cache(maxsize=4)  # cases come scene by scene
    def setting(index: int) -> PreparedScene:
        return PreparedScene(scene=scene(split, index), config=config)

    def measure(case: Case, directory: Path) -> Mapping[str, Any]:
        arm = Arm(name=case.identity["arm"], level=case.identity["drawing"]["level"])
        here, seed = setting(case.identity["scene"]), case.identity["seed"]
        here.drawn(arm.level, arm.plan)  # planned and drawn before the clock starts: seeds share it
        begun, cpu = time.perf_counter(), time.process_time()
        if arm.tries > 1:
            attempts = make_attempts(here, arm, seed=seed)
            seconds = time.perf_counter() - begun
        else:
            video = make_video(here, arm, seed=seed)
            seconds = time.perf_counter() - begun  # a plain video is looked at for the table alone
            attempts = [Attempt(seed=seed, video=video, verdict=verdict_on(here, arm, video), here=here)]
        cpu = time.process_time() - cpu
        kept = best(attempts)
        if keep_videos:
            frames = torch.from_numpy(kept.video).permute(0, 3, 1, 2) / 255
            write_video(directory / "video.mp4", to_watch(frames), fps=config.video.clip.fps)
            keep_plan(directory, *here.drawn(arm.level, arm.plan))
        return {
            **describe(here.scene),
            **compare_with_truth(here.scene, here.truth, kept.video),
            "verdict": kept.verdict.verdict,
            "score": round(kept.verdict.score, 6),
            "attempts": len(attempts),
            "changed": [list(attempt.changed) for attempt in attempts],
            "scores": [round(attempt.verdict.score, 4) for attempt in attempts],
            "seconds": seconds,
            "cpu_seconds": round(cpu, 3),
        }

    return measure


def describe(shown: Scene) -> dict[str, str]:
    return {"domain": shown.phenomenon.domain, "phenomenon": shown.phenomenon.name, "variant": shown.variant}


def compare_with_truth(shown: Scene, truth: Clip, video: np.ndarray) -> dict[str, Any]:
    seen = video / np.float32(255)
    verdict = judge(shown, seen, uninvolved=bystanders(shown, truth))
    second = shown.render(take=SECOND_TAKE).frames
    reference = truth.frames, motion_masks(truth.frames)
    perceived, busy = perceive(video), busy_pixels(truth.frames)
    return {
        "outcome": verdict.outcome,
        "plausible": verdict.plausible,
        "margin": verdict.margin,
        "preserved": verdict.preserved,
        "changes": {key: round(change, 4) for key, change in verdict.changes.items()},
        "events": judge_events(shown, seen, true_chain(shown).anchors),
        "metrics": asdict(compare(*reference, video, motion_masks(video))),
        "variance": asdict(compare(*reference, second, motion_masks(second))),
        "centroid_error": centroid_error(shown, truth, perceived),
        "flicker": [flicker(video), flicker(truth.frames)],
        "edges": [edge_energy(video, busy), edge_energy(truth.frames, busy)],
        "features": {
            network: {part: _short(vector) for part, vector in clip_features(maps).items()}
            for network, maps in perceived.maps.items()
        },
    }


def _short(vector: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in vector]


def centroid_error(shown: Scene, truth: Clip, perceived: Perceived) -> float | None:
    """Mean over the objects of the first frame that move, between the anchors; None where none does."""
    chain, ids = true_chain(shown), object_ids(shown)
    moving = {key for key in shown.things if ids[key] in movers(chain)}
    errors: dict[str, float] = {}
    for category in {shown.things[key].category for key in moving}:
        alike = [key for key, thing in shown.things.items() if thing.category == category]
        errors |= centroid_errors(
            true_tracks(truth, alike), perceived.places(category), between(chain.anchors)
        )
    found = [error for key, error in errors.items() if key in moving]
    return float(np.mean(found)) if found else None


def bystanders(shown: Scene, truth: Clip) -> tuple[str, ...]:
    """The objects that no true edit names and that the truth shows unchanged, by their keys in the world."""
    idle = uninvolved(true_chain(shown))
    keys = [key for key, id in object_ids(shown).items() if id in idle and key in shown.things]
    frames = truth.frames / np.float32(255)
    return tuple(
        key
        for key in keys
        if key in truth.names
        and object_change(frames, truth.objects == truth.names.index(key)) < OBJECT_CHANGE / 2
    )
