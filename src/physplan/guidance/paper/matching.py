"""Which preview instance is which keyframe instance: the matching pi* of section 3.2."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from physplan.guidance.paper.instances import Instances


@dataclass(frozen=True, kw_only=True)
class Matching:
    pairs: tuple[tuple[int, int], ...]  # (j, l): preview instance, keyframe instance
    extra: tuple[int, ...]  # unpaired preview instances, to be suppressed
    missing: tuple[int, ...]  # unpaired keyframe instances, to be filled in


def match(preview: Instances, keyframe: Instances) -> Matching:
    """The min(J, L) one-to-one pairs with the lowest total centroid distance (Hungarian algorithm)."""
    rows, columns = linear_sum_assignment(cdist(preview.centroids, keyframe.centroids))
    return Matching(
        pairs=tuple(zip(rows.tolist(), columns.tolist(), strict=True)),
        extra=tuple(sorted(set(range(len(preview))) - set(rows.tolist()))),
        missing=tuple(sorted(set(range(len(keyframe))) - set(columns.tolist()))),
    )
