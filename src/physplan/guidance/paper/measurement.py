"""One preview measured against one keyframe (eqs. 6 to 9): each term's value, and its region."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from physplan.graph import Term
from physplan.guidance.paper import terms
from physplan.guidance.paper.constants import Constants
from physplan.guidance.paper.instances import Instances, find_instances
from physplan.guidance.paper.keyframes import EventTarget, on_grid
from physplan.guidance.paper.matching import Matching, match
from physplan.guidance.paper.occupancy import occupancy, similarity
from physplan.guidance.paper.regions import KeyframeShape, region
from physplan.guidance.paper.selection import TermSpec
from physplan.perception.protocol import DepthEstimator, FeatureEncoder, normalise_depth


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """One object in the preview beside itself in the keyframe."""

    occupancy: Tensor  # Phi_o of the preview [h, w]
    target: Tensor  # Phi_o of the keyframe [h, w]
    preview: Instances  # {P_j}
    keyframe: Instances  # {Q_l}
    shape: KeyframeShape  # of the keyframe's instances, at the previews' size
    matching: Matching  # pi*

    def pairs(self) -> list[tuple[Tensor, Tensor]]:
        """P_j and Q_l of every matched pair."""
        found = [(self.preview.mask(j), self.keyframe.mask(l)) for j, l in self.matching.pairs]
        return [(self.on_grid(p), self.on_grid(q)) for p, q in found]

    def in_unions(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Phi of the preview, of the keyframe, and R_jl = P_j | Q_l, for every matched pair."""
        unions = [self.preview.mask(j) | self.keyframe.mask(l) for j, l in self.matching.pairs]
        return [(self.occupancy, self.target, self.on_grid(union)) for union in unions]

    def region(self) -> Tensor:
        """Omega_k of eq. 9 [H, W] at the previews' size."""
        return self.on_grid(region(self.preview, self.shape, self.matching))

    def on_grid(self, mask: NDArray[np.bool_]) -> Tensor:
        return torch.from_numpy(mask).to(self.occupancy)


@dataclass(frozen=True, kw_only=True, eq=False)
class TermInputs:
    """All that a term of an event may look at."""

    objects: Mapping[str, Comparison]  # those of the term, by name
    target: EventTarget
    features: Tensor  # of the preview [C, h, w]
    nearness: Tensor | None  # of the preview [h, w]; only events with a depth term have it

    @property
    def paired(self) -> list[Comparison]:
        """The objects with an instance in both pictures."""
        return [seen for seen in self.objects.values() if seen.matching.pairs]


def count(inputs: TermInputs) -> Tensor:
    """Eq. 6 for one object: its unmatched instances."""
    (seen,) = inputs.objects.values()
    extra, missing = seen.matching.extra, seen.matching.missing
    suppressed = terms.suppress(seen.occupancy, seen.preview, extra)
    return suppressed + terms.fill(seen.occupancy, seen.target, seen.keyframe, missing)


def appearance(inputs: TermInputs) -> Tensor | None:
    """Eq. 7a, summed over the matched pairs."""
    pairs = [pair for seen in inputs.paired for pair in seen.pairs()]
    return total([terms.appearance(inputs.features, inputs.target.features, p, q) for p, q in pairs])


def extent(inputs: TermInputs) -> Tensor | None:
    """Eq. 7b, summed over the matched pairs."""
    return total([terms.extent(*maps) for seen in inputs.paired for maps in seen.in_unions()])


def position(inputs: TermInputs) -> Tensor | None:
    """Eq. 7c, summed over the matched pairs."""
    return total([terms.position(*maps) for seen in inputs.paired for maps in seen.in_unions()])


def depth(inputs: TermInputs) -> Tensor | None:
    """Eq. 7d for a pair of objects, both of which must be seen."""
    if len(inputs.paired) < 2 or inputs.nearness is None:
        return None
    a, b = inputs.paired
    now, wanted = (a.occupancy, b.occupancy), (a.target, b.target)
    return terms.depth(now, inputs.nearness, wanted, inputs.target.nearness)


def total(values: list[Tensor]) -> Tensor | None:
    """The sum; None when there is nothing to compare: an instance set that the term needs is empty."""
    return torch.stack(values).sum() if values else None


VALUES: Mapping[str, Callable[[TermInputs], Tensor | None]] = {
    Term.COUNT: count,
    Term.APPEARANCE: appearance,
    Term.EXTENT: extent,
    Term.POSITION: position,
    Term.DEPTH: depth,
}


def measure_event(
    target: EventTarget, features: Tensor, nearness: Tensor | None, constants: Constants
) -> Iterator[tuple[TermSpec, Tensor, Tensor]]:
    """Every term of eq. 8 that has something to compare, with its value and its region Omega_k [H, W]."""
    compared = compare(target, features, constants)
    for spec in target.terms:
        objects = {node: compared[node] for node in spec.objects if node in compared}
        inputs = TermInputs(objects=objects, target=target, features=features, nearness=nearness)
        value = VALUES[spec.name](inputs) if objects else None
        if value is not None:  # "terms with empty instance sets are skipped" (A.6)
            yield spec, value, torch.stack([seen.region() for seen in objects.values()]).amax(0)


def encode_preview(frame: Tensor, encoder: FeatureEncoder, depth: DepthEstimator) -> tuple[Tensor, Tensor]:
    """F(x_i) [C, h, w] and the nearness on the same grid [h, w] of a preview [3, H, W]."""
    features = encoder(frame[None])[0]
    nearness = normalise_depth(depth(frame[None]))[0]
    return features, on_grid(nearness, (features.shape[-2], features.shape[-1]))


def compare(target: EventTarget, features: Tensor, constants: Constants) -> dict[str, Comparison]:
    """Every object of the event: where it is in the preview and in the keyframe, and pi*."""
    compared, b, tau = {}, constants.threshold, constants.temperature
    for node, known in target.objects.items():
        phi = occupancy(similarity(features, known.reference[None])[0], threshold=b, temperature=tau)
        instances = find_instances((phi.detach() > constants.instance_level).cpu().numpy())
        compared[node] = Comparison(
            occupancy=phi,
            target=occupancy(known.similarity, threshold=b, temperature=tau),
            preview=instances,
            keyframe=known.instances,
            shape=known.shape,
            matching=match(instances, known.instances),
        )
    return compared
