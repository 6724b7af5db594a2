"""One preview measured against one keyframe, term by term (eqs. 6 to 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import Term
from physplan.guidance import terms
from physplan.guidance.comparison import Comparison, compare
from physplan.guidance.config import MeasureConfig
from physplan.guidance.selection import TermSpec
from physplan.guidance.targets import EventTarget
from physplan.registry import did_you_mean

NO_PAIR = "no instance of it in the preview matches one in the keyframe"


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """A term's value in one preview, and where it may change the video."""

    spec: TermSpec
    value: Tensor | None = None  # scalar; None when the term is skipped
    region: Tensor | None = None  # [h, w] in [0, 1] on any grid; None is the whole frame
    skipped: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """All that a term of an event may look at."""

    objects: Mapping[str, Comparison]  # those of the term, by name
    target: EventTarget
    features: Tensor  # of the preview [C, h, w]
    nearness: Tensor | None  # of the preview [h, w]; only events with a depth term have it
    config: MeasureConfig

    @property
    def paired(self) -> list[Comparison]:
        """The objects with an instance in both pictures."""
        return [seen for seen in self.objects.values() if seen.matching.pairs]


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
        term = term_named(spec.name)
        gone = [f"{node}: {target.unusable[node]}" for node in spec.objects if node in target.unusable]
        usable = {node: compared[node] for node in spec.objects if node in compared}
        if not usable or (gone and term.all_objects):
            measured.append(Measured(spec=spec, skipped="; ".join(gone)))
            continue
        case = Case(objects=usable, target=target, features=features, nearness=nearness, config=config)
        if term.settled(case):
            measured.append(Measured(spec=spec, value=features.new_zeros(())))
            continue
        value = term.value(case)
        if value is None:
            measured.append(Measured(spec=spec, skipped=NO_PAIR))
            continue
        for node in usable:
            if node not in regions:
                regions[node] = compared[node].region()
        joined = torch.stack([regions[node] for node in usable]).amax(0)
        measured.append(Measured(spec=spec, value=value, region=joined))
    return tuple(measured)


def count(case: Case) -> Tensor:
    """Eq. 6 for one object that is not settled."""
    (seen,) = case.objects.values()
    config, parts = case.config, []
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
        parts += [terms.appearance(case.features, case.target.features, place, place) for place in places]
    return torch.stack(parts).sum()


def to_fill(seen: Comparison, config: MeasureConfig) -> tuple[int, ...]:
    """The keyframe instances to fill: those without a partner, or all of them if the settings say so."""
    if config.fill_matched == "all" or (config.fill_matched == "spawned" and seen.spawned):
        return tuple(range(len(seen.keyframe)))
    return seen.matching.missing


def counted(case: Case) -> bool:
    """Whether the count term is 0 whatever the occupancy: no gradient, no region to draw."""
    (seen,) = case.objects.values()
    return not seen.matching.extra and not to_fill(seen, case.config)


def appearance(case: Case) -> Tensor | None:
    """Eq. 7a, summed over the matched pairs."""
    pairs = [pair for seen in case.paired for pair in seen.pairs()]
    return _sum([terms.appearance(case.features, case.target.features, p, q) for p, q in pairs])


def extent(case: Case) -> Tensor | None:
    """Eq. 7b, summed over the matched pairs."""
    return _sum([terms.extent(*maps) for seen in case.paired for maps in seen.in_unions()])


def position(case: Case) -> Tensor | None:
    """Eq. 7c, summed over the matched pairs."""
    return _sum([terms.position(*maps) for seen in case.paired for maps in seen.in_unions()])


def depth(case: Case) -> Tensor | None:
    """Eq. 7d for a pair of objects, both of which must be seen."""
    if len(case.paired) < 2 or case.nearness is None:
        return None
    a, b = case.paired
    now, wanted = (a.logits.sigmoid(), b.logits.sigmoid()), (a.target.sigmoid(), b.target.sigmoid())
    return terms.depth(now, case.nearness, wanted, case.target.nearness)


def _sum(values: list[Tensor]) -> Tensor | None:
    """None when there is nothing to compare: an instance set that the term needs is empty."""
    return torch.stack(values).sum() if values else None


@dataclass(frozen=True, kw_only=True)
class MeasuredTerm:
    """How a term of the graph is measured."""

    value: Callable[[Case], Tensor | None]
    settled: Callable[[Case], bool] = lambda case: False  # whether the value is 0 without being computed
    all_objects: bool = False  # whether it needs every one of its objects, not just some


TERMS: dict[str, MeasuredTerm] = {
    Term.COUNT.value: MeasuredTerm(value=count, settled=counted),
    Term.APPEARANCE.value: MeasuredTerm(value=appearance),
    Term.EXTENT.value: MeasuredTerm(value=extent),
    Term.POSITION.value: MeasuredTerm(value=position),
    Term.DEPTH.value: MeasuredTerm(value=depth, all_objects=True),
}


def term_named(name: str) -> MeasuredTerm:
    if name not in TERMS:
        raise PhysPlanError(f"There is no term {name!r}. {did_you_mean(name, TERMS)}")
    return TERMS[name]
