"""One object, one instance: detectors often find the same object twice."""

from __future__ import annotations

from collections.abc import Iterable

from physplan.perception.assignment import overlap
from physplan.perception.protocol import Instance


def suppress_duplicates(instances: Iterable[Instance], *, limit: float = 0.8) -> tuple[Instance, ...]:
    """The instances that overlap (IoU) no better-scored one of their category by more than `limit`."""
    kept: list[Instance] = []
    for instance in sorted(instances, key=lambda one: -one.score):
        rivals = [other.mask for other in kept if other.category == instance.category]
        if instance.mask.any() and (not rivals or overlap([instance.mask], rivals).max() <= limit):
            kept.append(instance)
    return tuple(kept)
