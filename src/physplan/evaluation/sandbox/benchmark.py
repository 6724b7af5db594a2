"""Scenes x arms x seeds as cases of the engine, and their summary with bootstrap intervals over scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan.evaluation.benchmark import Results
from physplan.evaluation.bootstrap import cluster_bootstrap, paired_difference
from physplan.evaluation.cases import Case
from physplan.evaluation.engine import CaseFunction
from physplan.evaluation.physics_iq.benchmark import Pair, PhysicsIQConfig, read_pair, score_interval
from physplan.evaluation.provenance import provenance
from physplan.evaluation.sandbox.arms import MAIN_ARMS, TRUTH, Arm
from physplan.evaluation.sandbox.measure import make_measure
from physplan.evaluation.sandbox.realism import frechet_to_truth
from physplan.evaluation.sandbox.scenes import Setting, check_honoured, weights_digest
from physplan.evaluation.sandbox.subsets import SUBSETS, chosen_scenes
from physplan.evaluation.sandbox.table import make_table
from physplan.evaluation.sandbox.verdicts import against_judge
from physplan.evaluation.tables import Table
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config, to_plain
from physplan.pipeline.defaults import with_defaults
from physplan.registry import did_you_mean
from physplan.sandbox.video import SandboxVideo
from physplan.sandbox.world.phenomena import scene
from physplan.sandbox.world.scene import SPLITS
from physplan.sketch.sampling import clocks_of
from physplan.verify import Limits

FIRST_SCENE = 500  # test scenes below were looked at while the method was made
PROTOCOL = "sandbox 3"
REFERENCE = (-2, -1)  # "seeds" of the truth: its takes 0 and 1, which videos are compared with
JUDGED = ("base", "frame_guidance", "sketch", "physplan")  # whose verdicts are held against the judge


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
            here = Setting(scene=scene(self.split, index), config=self.config)
            done_by = [(arm, effective(arm, here)) for arm in self.arms]
            found += [
                (arm, make_case(self, index, doing, seed if doing.seeded else 0))
                for seed in range(self.seeds)
                for arm, doing in done_by
            ]
        return found

    def cases(self) -> list[Case]:
        return list({case.name: case for case in (*self.reference, *(c for _, c in self.parts))}.values())

    def setup(self) -> CaseFunction:
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
            "verdicts": verdicts(self.arms, groups),
        }

    def table(self, result: Mapping[str, Any], label: str) -> Table:
        return make_table(result)


def effective(arm: Arm, here: Setting) -> Arm:
    """Without a term that no event selects PhysPlan makes the same video: one case does for both."""
    if not arm.has_gradient:
        return arm
    left_out = arm.guidance(here.config).measure.without - here.config.guidance.measure.without
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
            "clocks": asdict(clocks_of(SandboxVideo.name)) if arm.sketched or arm.guided else None,
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


Measured = tuple[Mapping[str, Any], Mapping[str, Any]]  # a case's identity and its result


def row(
    arm: Arm, groups: Mapping[str, Sequence[Measured]], true: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    here = groups[arm.label]
    found = {"method": arm.name, "level": arm.level, **figures(here), **realism(here, true)}
    reference = groups.get(Arm(name="physplan", level=arm.level).label)
    if reference and arm.name != "physplan":
        found["beside_physplan"] = beside(groups[arm.label], reference)
    return found


def figures(group: Sequence[Measured]) -> dict[str, Any]:
    """Shares in per cent with 95 % intervals; scenes are resampled whole."""
    scenes = [case["scene"] for case, _ in group]
    results = [result for _, result in group]

    def share(values: Sequence[float]) -> dict[str, float]:
        return asdict(cluster_bootstrap(100.0 * np.array(values, dtype=float), scenes))

    pairs: list[Pair] = [read_pair(result) for result in results]
    events = [(case["scene"], e) for case, r in group for e in r["events"] if e is not None]
    both = [r["plausible"] and r["preserved"] for r in results]
    domains: dict[str, list[bool]] = {}
    for result, good in zip(results, both, strict=True):
        domains.setdefault(result["domain"], []).append(good)
    return {
        "videos": len(group),
        "plausible": share([r["plausible"] for r in results]),
        "preserved": share([r["preserved"] for r in results]),
        "plausible_and_preserved": share(both),
        "plausible_events": asdict(
            cluster_bootstrap(100.0 * np.array([e for _, e in events], dtype=float), [s for s, _ in events])
        ),
        "physics_iq": asdict(score_interval(pairs, [str(s) for s in scenes], PhysicsIQConfig())),
        "centroid_error": mean_known([r["centroid_error"] for r in results], scenes),
        "verdict_holds": share([r["verdict"] == "holds" for r in results]),
        "attempts": asdict(cluster_bootstrap(np.array([float(r["attempts"]) for r in results]), scenes)),
        "seconds": float(np.median([r["seconds"] for r in results])),
        "domains": {name: 100.0 * float(np.mean(good)) for name, good in sorted(domains.items())},
    }


def mean_known(values: Sequence[float | None], scenes: Sequence[int]) -> dict[str, float] | None:
    """Over the videos of scenes in which something moves, in per cent of the frame."""
    known = [(100.0 * value, at) for value, at in zip(values, scenes, strict=True) if value is not None]
    return (
        asdict(cluster_bootstrap(np.array([v for v, _ in known]), [s for _, s in known])) if known else None
    )


def realism(group: Sequence[Measured], true: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Frechet distances to true videos, and flicker and edges in per cent of the truth's."""
    scenes = [case["scene"] for case, _ in group]
    results = [result for _, result in group]

    def of_truth(key: str) -> dict[str, float]:
        pairs = np.array([r[key] for r in results])
        return asdict(
            cluster_bootstrap(pairs, scenes, statistic=lambda p: 100 * p[:, 0].sum() / p[:, 1].sum())
        )

    distances = {
        network: asdict(
            frechet_to_truth(
                [r["features"][network] for r in results], [r["features"][network] for r in true], scenes
            )
        )
        for network in results[0]["features"]
        if len(results) > 1
    }
    return {"frechet": distances, "flicker": of_truth("flicker"), "edges": of_truth("edges")}


def verdicts(arms: Sequence[Arm], groups: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    """What the verification says against what the judge says, at the editor's own level; `together` pools
    unguided and guided videos."""
    chosen = {arm.name: groups[arm.label] for arm in arms if arm == Arm(name=arm.name) and arm.name in JUDGED}
    pooled = {"together": [m for group in chosen.values() for m in group], **chosen}
    return {
        name: against_judge(
            [r["score"] for _, r in group],
            [r["verdict"] == "holds" for _, r in group],
            [r["plausible"] and r["preserved"] for _, r in group],
            [case["scene"] for case, _ in group],
        )
        for name, group in pooled.items()
        if group
    }


def beside(group: Sequence[Measured], reference: Sequence[Measured]) -> dict[str, Any]:
    """Pair by pair, on the same scenes and seeds: differences of the shares in points, videos that became
    plausible and that no longer are, and videos that came out the same."""

    def shares(measured: Sequence[Measured], *keys: str) -> np.ndarray:
        return np.array([100.0 * all(r[key] for key in keys) for _, r in measured])

    def less(*keys: str) -> dict[str, float]:
        scenes = [case["scene"] for case, _ in group]
        return asdict(paired_difference(shares(group, *keys), shares(reference, *keys), scenes))

    change = shares(group, "plausible") - shares(reference, "plausible")
    return {
        "plausible": less("plausible"),
        "plausible_and_preserved": less("plausible", "preserved"),
        "won": int((change > 0).sum()),
        "lost": int((change < 0).sum()),
        "same": sum(_seen(a) == _seen(b) for (_, a), (_, b) in zip(group, reference, strict=True)),
    }


def _seen(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "seconds"}
