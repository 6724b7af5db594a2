"""Scenes x arms x seeds as cases of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config, to_plain
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.events import quiet_libraries
from physplan.registry import did_you_mean
from physplan.verify import Limits
from physplan_bench.benchmark import Results
from physplan_bench.cases import Case, CaseStore
from physplan_bench.engine import CaseFunction
from physplan_bench.provenance import provenance
from physplan_bench.records import Record
from physplan_bench.sandbox.arms import MAIN_ARMS, TRUTH, Arm
from physplan_bench.sandbox.measure import make_measure
from physplan_bench.sandbox.records import make_record
from physplan_bench.sandbox.scenes import PreparedScene, check_honoured, weights_digest
from physplan_bench.sandbox.subsets import SUBSETS, chosen_scenes
from physplan_bench.sandbox.summary import Measured, outcomes, row, verdicts
from physplan_bench.sandbox.table import make_table
from physplan_bench.tables import Table
from physplan_sandbox.video import SandboxVideo
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.scene import SPLITS

FIRST_SCENE = 800  # test scenes below were looked at while the method and its models were made
PROTOCOL = "sandbox 3"
REFERENCE = (-2, -1)  # "seeds" of the truth: its takes 0 and 1, which videos are compared with


@dataclass(frozen=True, kw_only=True)
class SandboxStudy:
    """All of it but `keep_videos` changes the numbers."""

    scenes: int = 60
    seeds: int = 3
    split: str = "test"
    first: int = FIRST_SCENE
    subset: str = "all"
    arms: tuple[Arm, ...] = MAIN_ARMS
    config: Config  # the sandbox preset, with changes if any
    keep_videos: bool = False  # in the folders of the cases
    name = "sandbox"

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise PhysPlanError(f"The world has the splits {', '.join(SPLITS)}, not {self.split!r}.")
        if min(self.scenes, self.seeds, len(self.arms)) < 1:
            raise PhysPlanError("A study needs at least one scene, one seed and one method.")
        if self.subset not in SUBSETS:
            raise PhysPlanError(f"There are no {self.subset!r} scenes. {did_you_mean(self.subset, SUBSETS)}")
        check_honoured(self.config)

    @classmethod
    def of_preset(cls, overrides: Mapping[str, Any] | None = None, **fields: Any) -> SandboxStudy:
        return cls(config=with_defaults(load_config("sandbox", overrides)), **fields)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        return chosen_scenes(self.subset, self.split, first=self.first, number=self.scenes)

    @cached_property
    def reference(self) -> list[Case]:
        """The true videos that others are compared with."""
        truth = Arm(name=TRUTH)
        return [make_case(self, index, truth, take) for index in self.numbers for take in REFERENCE]

    @cached_property
    def parts(self) -> list[tuple[Arm, Case]]:
        """Scene by scene, so that a stopped study has compared all methods on the scenes it has done."""
        found = []
        for index in self.numbers:
            here = PreparedScene(scene=scene(self.split, index), config=self.config)
            done_by = [(arm, effective(arm, here)) for arm in self.arms]
            found += [
                (arm, make_case(self, index, doing, seed if doing.seeded else 0))
                for seed in range(self.seeds)
                for arm, doing in done_by
            ]
        return found

    def cases(self) -> list[Case]:
        every = {case.name: case for case in (*self.reference, *(c for _, c in self.parts))}
        return sorted(every.values(), key=lambda case: int(case.identity["scene"]))

    def setup(self) -> CaseFunction:
        quiet_libraries()
        return make_measure(self.config, self.split, keep_videos=self.keep_videos)

    def summarise(self, results: Results, folder: Path) -> dict[str, Any]:
        groups: dict[str, list[Measured]] = {}
        for arm, case in self.parts:
            groups.setdefault(arm.label, []).append((case.identity, results[case.name]))
        true = [results[case.name] for case in self.reference]
        return {
            "provenance": provenance(
                protocol=PROTOCOL,
                judge="nearest simulated outcome",
                settings={
                    "split": self.split,
                    "scenes": [self.numbers[0], self.numbers[-1]],
                    "subset": self.subset,
                    "number_of_scenes": len(self.numbers),
                    "weights": weights_digest(),
                    "config": to_plain(self.config),
                },
                seeds=range(self.seeds),
            ),
            "arms": {arm.label: row(arm, groups, true) for arm in self.arms},
            "outcomes": {arm.label: outcomes(groups[arm.label]) for arm in self.arms},
            "verdicts": verdicts(self.arms, groups),
        }

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        return make_table(result)

    def records(self, result: Mapping[str, Any], label: str, folder: Path) -> list[Record]:
        store, per_seed = CaseStore(folder), len(self.arms)
        found = []
        for number, (arm, case) in enumerate(self.parts):
            kept = store.result(case)
            if kept is not None:
                seed = number // per_seed % self.seeds
                found.append(make_record(arm, case, seed, kept["result"], store.directory(case)))
        return found


def effective(arm: Arm, here: PreparedScene) -> Arm:
    """Without a term that no event selects the video is the same: one case does for both."""
    if not arm.has_gradient:
        return arm
    left_out = arm.guidance(here.config).measure.without - arm.whole.guidance(here.config).measure.without
    return arm.whole if left_out and left_out.isdisjoint(here.terms) else arm


def make_case(study: SandboxStudy, index: int, arm: Arm, seed: int) -> Case:
    config = study.config
    return Case(
        name=f"{study.split}-{index}-{arm.name}-{arm.level}-{seed}",
        group=arm.label,
        identity={
            "benchmark": PROTOCOL,
            "weights": weights_digest(),
            "arm": arm.name,
            "scene": index,
            "seed": seed,
            "tries": arm.tries,
            "video": to_plain(config.video),
            "clocks": asdict(SandboxVideo.clocks) if arm.sketched or arm.guided else None,
            "sketch": to_plain(config).get("sketch") if arm.sketched else None,
            "guidance": to_plain(arm.guidance(config)) if arm.guided else None,
            "drawing": {  # every video is held against keyframes, so all of them depend on it
                "level": arm.level,
                "plan": arm.plan,
                "reasoner": to_plain(config.reasoner),
                "editor": to_plain(config.editor),
                "perception": to_plain(config.perception),
            },
            "limits": asdict(Limits()),
        },
    )
