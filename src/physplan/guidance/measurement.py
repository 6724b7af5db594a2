"""One preview measured against one keyframe, term by term (eqs. 6 to 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from physplan.graph import Term
from physplan.guidance import terms
from physplan.guidance.config import MeasureConfig
from physplan.guidance.instances import Instances, find_instances
from physplan.guidance.matching import Matching, match
from physplan.guidance.occupancy import logits, similarity
from physplan.guidance.regions import region
from physplan.guidance.selection import TermSpec
from physplan.guidance.targets import EventTarget

NO_PAIR = "no instance of it in the preview matches one in the keyframe"


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """A term's value in one preview, and where it may change the video."""

    spec: TermSpec
    value: Tensor | None = None  # scalar; None when the term is skipped
    region: Tensor | None = None  # [h, w] in [0, 1] on any grid; None is the whole frame
    skipped: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """One object in the preview beside itself in the keyframe."""

    logits: Tensor  # [h, w], of the preview's occupancy
    target: Tensor  # [h, w], of the keyframe's
    preview: Instances
    keyframe: Instances
    matching: Matching
    spawned: bool

    def unions(self) -> list[Tensor]:
        """R_jl = P_j | Q_l of every matched pair."""
        return [self.on_grid(self.preview.mask(j) | self.keyframe.mask(l)) for j, l in self.matching.pairs]

    def pairs(self) -> list[tuple[Tensor, Tensor]]:
        return [
            (self.on_grid(self.preview.mask(j)), self.on_grid(self.keyframe.mask(l)))
            for j, l in self.matching.pairs
        ]

    def on_grid(self, mask: NDArray[np.bool_]) -> Tensor:
        return torch.from_numpy(mask).to(self.logits)

    def region(self) -> Tensor:
        return self.on_grid(region(self.preview, self.keyframe, self.matching))


def compare(
    target: EventTarget, features: Tensor, config: MeasureConfig, temperature: float
) -> dict[str, Comparison]:
    """Locate every usable object of the event in the preview's features [C, h, w]."""
    if not target.objects:
        return {}
    references = torch.stack([known.reference for known in target.objects.values()])
    similar = similarity(features, references)
    found = (similar.detach() > config.instance_similarity).cpu().numpy()
    preview_logits = logits(similar, threshold=config.threshold, temperature=temperature)
    compared = {}
    for row, (node, known) in enumerate(target.objects.items()):
        seen = found[row] & ~known.lookalikes if config.ignore_lookalikes else found[row]
        instances = find_instances(seen, smallest=config.smallest_instance)
        compared[node] = Comparison(
            logits=preview_logits[row],
            target=logits(known.similarity, threshold=config.threshold, temperature=temperature),
            preview=instances,
            keyframe=known.instances,
            matching=match(instances, known.instances),
            spawned=known.spawned,
        )
    return compared


def measure_preview(
    target: EventTarget,
    features: Tensor,
    nearness: Tensor | None,
    *,
    config: MeasureConfig,
    temperature: float,
) -> tuple[Measured, ...]:
    """Every term of the event's objective; `nearness` [h, w] is needed by depth terms only."""
    compared = compare(target, features, config, temperature)
    regions: dict[str, Tensor] = {}
    measured = []
    for spec in target.terms:
        gone = [f"{node}: {target.unusable[node]}" for node in spec.objects if node in target.unusable]
        usable = [node for node in spec.objects if node in compared]
        if not usable or (gone and spec.name == Term.DEPTH):
            measured.append(Measured(spec=spec, skipped="; ".join(gone)))
            continue
        if spec.name == Term.COUNT and settled(compared[usable[0]], config):
            measured.append(Measured(spec=spec, value=features.new_zeros(())))
            continue
        value = evaluate(spec, {node: compared[node] for node in usable}, target, features, nearness, config)
        if value is None:
            measured.append(Measured(spec=spec, skipped=NO_PAIR))
            continue
        for node in usable:
            if node not in regions:
                regions[node] = compared[node].region()
        joined = torch.stack([regions[node] for node in usable]).amax(0)
        measured.append(Measured(spec=spec, value=value, region=joined))
    return tuple(measured)


def evaluate(
    spec: TermSpec,
    objects: Mapping[str, Comparison],
    target: EventTarget,
    features: Tensor,
    nearness: Tensor | None,
    config: MeasureConfig,
) -> Tensor | None:
    """The value of one term, summed over its objects; None when an instance set it needs is empty."""
    if spec.name == Term.COUNT:
        (seen,) = objects.values()
        return count(seen, target, features, config)
    paired = {node: seen for node, seen in objects.items() if seen.matching.pairs}
    if not paired:
        return None
    if spec.name == Term.APPEARANCE:
        return sum_of(
            [
                terms.appearance(features, target.features, p, q)
                for seen in paired.values()
                for p, q in seen.pairs()
            ]
        )
    if spec.name == Term.DEPTH:
        if len(paired) < 2 or nearness is None:
            return None
        a, b = (paired[node] for node in spec.objects)
        now, wanted = (a.logits.sigmoid(), b.logits.sigmoid()), (a.target.sigmoid(), b.target.sigmoid())
        return terms.depth(now, nearness, wanted, target.nearness)
    term = terms.extent if spec.name == Term.EXTENT else terms.position
    return sum_of(
        [
            term(seen.logits.sigmoid(), seen.target.sigmoid(), union)
            for seen in paired.values()
            for union in seen.unions()
        ]
    )


def count(seen: Comparison, target: EventTarget, features: Tensor, config: MeasureConfig) -> Tensor:
    """Eq. 6 for one object that is not settled."""
    parts = []
    extra, missing = seen.matching.extra, to_fill(seen, config)
    if extra and config.suppress == "occupancy":
        parts.append(terms.suppress(seen.logits.sigmoid(), seen.preview, extra))
    elif extra:
        parts.append(terms.suppress_log(seen.logits, seen.preview, extra))
    if missing and config.fill == "occupancy":
        parts.append(terms.fill(seen.logits.sigmoid(), seen.target.sigmoid(), seen.keyframe, missing))
    elif missing and config.fill == "log":
        parts.append(terms.fill_log(seen.logits, seen.target, seen.keyframe, missing))
    elif missing:
        places = [seen.on_grid(seen.keyframe.mask(l)) for l in missing]
        parts += [terms.appearance(features, target.features, place, place) for place in places]
    return sum_of(parts)


def to_fill(seen: Comparison, config: MeasureConfig) -> tuple[int, ...]:
    """The keyframe instances to fill: those without a partner, or all of them if the settings say so."""
    if config.fill_matched == "all" or (config.fill_matched == "spawned" and seen.spawned):
        return tuple(range(len(seen.keyframe)))
    return seen.matching.missing


def settled(seen: Comparison, config: MeasureConfig) -> bool:
    """Whether the count term is 0 whatever the occupancy: no gradient, no region to draw."""
    return not seen.matching.extra and not to_fill(seen, config)


def sum_of(values: list[Tensor]) -> Tensor:
    return torch.stack(values).sum()
