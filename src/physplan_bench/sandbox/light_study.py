"""Lit scenes: how much of the light each way of making a video gets right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan.pipeline.config_loading import to_plain
from physplan_bench.benchmark import Results
from physplan_bench.bootstrap import Interval, cluster_bootstrap
from physplan_bench.cases import Case
from physplan_bench.engine import CaseFunction
from physplan_bench.provenance import provenance
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.light import EffectCount, LitScene, TunedLitScene, count_effects
from physplan_bench.sandbox.making import make_video
from physplan_bench.sandbox.scenes import SceneStudy, weights_digest, work_alone
from physplan_bench.tables import Table, rows_of, titled
from physplan_sandbox.truth import true_chain
from physplan_sandbox.world.light import EFFECTS
from physplan_sandbox.world.phenomena import scene

PROTOCOL = "sandbox light 1"
LIT = ":lit"  # of an arm: with the drawing network of `physplan_sandbox.train lit-drawing`
ARMS = ("truth", "storyboard", "sketch")


@dataclass(frozen=True, kw_only=True)
class LightStudy(SceneStudy):
    scenes: int = 40
    first: int = 2100
    arms: tuple[str, ...] = ARMS
    name = "light"

    def cases(self) -> list[Case]:
        return [
            Case(
                name=f"light-{self.split}-{index}-{arm}",
                group=arm,
                identity={
                    **self.identity(PROTOCOL, index),
                    "weights": weights_digest(lit=arm.endswith(LIT)),
                    "arm": arm,
                    "config": to_plain(self.config),
                },
            )
            for index in range(self.first, self.first + self.scenes)
            for arm in self.arms
        ]

    def setup(self) -> CaseFunction:
        work_alone()
        config, split = self.config, self.split

        def measure(case: Case, directory: Path) -> Mapping[str, Any]:
            name = case.identity["arm"]
            made = TunedLitScene if name.endswith(LIT) else LitScene
            here = made(scene=scene(split, case.identity["scene"]), config=config)
            try:
                here.drawn(1)  # planned and drawn from the lit picture
            except PhysPlanError as error:
                return {"no_plan": str(error), "effects": None}
            frames = [*true_chain(here.scene).anchors, len(here.truth.frames) - 1]
            video = (
                here.truth.frames
                if name == "truth"
                else make_video(here, Arm(name=name.removesuffix(LIT)), seed=0)
            )
            counts = count_effects(video, here.lit, sorted(set(frames)))
            return {"effects": {effect: asdict(count) for effect, count in counts.items()}}

        return measure

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for arm in self.arms:
            per_case = [results[case.name]["effects"] for case in self.cases() if case.group == arm]
            planned = [effects for effects in per_case if effects]
            found[arm] = {effect: summary([one[effect] for one in planned]) for effect in EFFECTS}
        return {
            "provenance": provenance(protocol=PROTOCOL, settings=self.chosen, seeds=[0]),
            "light": found,
            "without_plan": sum(results[case.name]["effects"] is None for case in self.cases())
            // len(self.arms),
        }

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        lost, light = result["without_plan"], result["light"]
        seen = ", ".join(f"{light[self.arms[0]][effect]['scenes']} {effect}" for effect in EFFECTS)
        shares = {arm: [light[arm][effect]["share"] for effect in EFFECTS] for arm in self.arms}
        rows = {arm: [Interval(**one) if one else None for one in found] for arm, found in shares.items()}
        return Table(
            title=f"Light drawn right, %, {self.scenes} {self.split} scenes from {self.first}",
            label="Video",
            columns=titled(*EFFECTS, digits=0, best="max"),
            rows=rows_of(rows),
            note="Of the pixels where an effect is new, or gone since the first frame, at the anchors and in"
            f" the last frame; mean over the scenes that have enough of it ({seen}). Without a plan: {lost}.",
        )


def summary(counts: list[dict[str, int]]) -> dict[str, Any]:
    """Of one effect and arm: mean share with its interval, and the pixels that it is made of."""
    shares = [100 * share for one in counts if (share := EffectCount(**one).share) is not None]
    mean = cluster_bootstrap(np.array(shares), range(len(shares)), share_of=100) if shares else None
    total = {part: sum(one[part] for one in counts) for part in ("new", "right", "gone", "left")}
    return {"share": asdict(mean) if mean else None, "scenes": len(shares), **total}
