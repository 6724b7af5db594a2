"""The results of a study's cases summed up per arm, with 95 % intervals over scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from physplan_bench.bootstrap import cluster_bootstrap, paired_difference, percentage
from physplan_bench.physics_iq.benchmark import Pair, PhysicsIQConfig, score_interval
from physplan_bench.physics_iq.metrics import Metrics
from physplan_bench.sandbox.arms import PROPOSED, TRUTH, Arm
from physplan_bench.sandbox.realism import frechet_to_truth
from physplan_bench.sandbox.verdicts import against_judge

COMPARED_WITH = (PROPOSED, "physplan")  # the first that a study has

Measured = tuple[Mapping[str, Any], Mapping[str, Any]]  # a case's identity and its result


def row(
    arm: Arm, groups: Mapping[str, Sequence[Measured]], true: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    here = groups[arm.label]
    found = {"method": arm.name, "level": arm.level, **figures(here), **realism(here, true)}
    compared = baseline([key.partition(" ")[0] for key in groups])
    reference = groups.get(Arm(name=compared, level=arm.level).label) if compared else None
    if reference and arm.name != compared:
        found["beside_proposed"] = beside(groups[arm.label], reference)
    if arm.whole != arm and (whole := groups.get(arm.whole.label)):
        found["beside_whole"] = beside(groups[arm.label], whole)
    return found


def baseline(methods: Sequence[str]) -> str | None:
    """What the other methods of a study are compared with."""
    return next((name for name in COMPARED_WITH if name in methods), None)


def figures(group: Sequence[Measured]) -> dict[str, Any]:
    """Shares in per cent with 95 % intervals; scenes are resampled whole."""
    scenes = [case["scene"] for case, _ in group]
    results = [result for _, result in group]

    share = partial(percentage, clusters=scenes)
    pairs: list[Pair] = [(Metrics(**r["metrics"]), Metrics(**r["variance"])) for r in results]
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
        "plausible_events": percentage([e for _, e in events], [s for s, _ in events]),
        "physics_iq": asdict(score_interval(pairs, [str(s) for s in scenes], PhysicsIQConfig())),
        "centroid_error": mean_known([r["centroid_error"] for r in results], scenes),
        "rest_changed": mean_known([rest_changed(r) for r in results], scenes),
        "verdict_holds": share([r["verdict"] == "holds" for r in results]),
        "attempts": asdict(cluster_bootstrap(np.array([float(r["attempts"]) for r in results]), scenes)),
        "seconds": float(np.median([r["seconds"] for r in results])),
        "cpu_seconds": asdict(
            cluster_bootstrap(np.array([r.get("cpu_seconds", r["seconds"]) for r in results]), scenes)
        ),
        "domains": {name: 100.0 * float(np.mean(good)) for name, good in sorted(domains.items())},
    }


def rest_changed(result: Mapping[str, Any]) -> float | None:
    """By how much of the range of brightness the pixels of what should stay have changed, on average over
    these objects; None where every object acts."""
    return float(np.mean(list(result["changes"].values()))) if result["changes"] else None


def mean_known(values: Sequence[float | None], scenes: Sequence[int]) -> dict[str, float] | None:
    """Over the videos that have a value, in per cent."""
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
        if min(len(results), len(true)) > 1  # one clip has no spread
    }
    return {"frechet": distances, "flicker": of_truth("flicker"), "edges": of_truth("edges")}


def verdicts(arms: Sequence[Arm], groups: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    """What the verification says against what the judge says, for each method and level; `together` pools
    all but true videos."""
    chosen = {arm.label: groups[arm.label] for arm in arms if arm.method != TRUTH}
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


def outcomes(group: Sequence[Measured]) -> dict[str, list[bool]]:
    """Scene -> plausible and the rest kept, seed by seed: what `evaluate power` reads."""
    found: dict[str, list[bool]] = {}
    for case, result in group:
        found.setdefault(str(case["scene"]), []).append(bool(result["plausible"] and result["preserved"]))
    return found


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
        "rest_changed": rest_beside(group, reference),
        "won": int((change > 0).sum()),
        "lost": int((change < 0).sum()),
        "same": sum(_seen(a) == _seen(b) for (_, a), (_, b) in zip(group, reference, strict=True)),
    }


def rest_beside(group: Sequence[Measured], reference: Sequence[Measured]) -> dict[str, float] | None:
    """How much more of the rest has changed than in the reference, in per cent, pair by pair."""
    pairs = [
        (case["scene"], 100 * here, 100 * there)
        for (case, result), (_, other) in zip(group, reference, strict=True)
        if (here := rest_changed(result)) is not None and (there := rest_changed(other)) is not None
    ]
    if not pairs:
        return None
    scenes, ours, theirs = zip(*pairs, strict=True)
    return asdict(paired_difference(np.array(ours), np.array(theirs), scenes))


def _seen(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key not in ("seconds", "cpu_seconds")}
