"""The keyframe's side of every comparison, computed once before sampling. No gradient."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from physplan.graph import EventChain
from physplan.guidance.config import MeasureConfig
from physplan.guidance.instances import Instances, find_instances
from physplan.guidance.occupancy import mask_on_grid, reference_feature, similarity
from physplan.guidance.regions import KeyframeShape, keyframe_shape, pool
from physplan.guidance.selection import TermSpec, select_terms
from physplan.perception.evidence import Evidence, KeyframeEvidence
from physplan.perception.protocol import FeatureEncoder


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectTarget:
    """One object as a keyframe shows it."""

    reference: Tensor  # rho_o [C]
    similarity: Tensor  # [h, w], of the keyframe to the reference
    instances: Instances  # {Q_l}: the components of its mask; none for a consumed object
    shape: KeyframeShape  # the same at the size of the previews
    lookalikes: NDArray[np.bool_]  # [h, w]: where the keyframe looks like the object without being it
    spawned: bool  # whether the object is not in the first frame


@dataclass(frozen=True, kw_only=True, eq=False)
class EventTarget:
    anchor: int
    terms: tuple[TermSpec, ...]
    features: Tensor  # F(I_i) [C, h, w]
    nearness: Tensor  # [h, w]
    objects: Mapping[str, ObjectTarget]
    unusable: Mapping[str, str]  # node -> why its terms are skipped


def build_targets(
    chain: EventChain,
    evidence: Evidence,
    *,
    encoder: FeatureEncoder,
    size: tuple[int, int],
    device: torch.device,
    config: MeasureConfig,
) -> tuple[EventTarget, ...]:
    """One target per event; every picture is resized to `size`, the size of the previews, before encoding."""
    pictures = (evidence.first, *evidence.keyframes)
    features = [encode(picture.image.to(device), encoder, size) for picture in pictures]
    grid = (features[0].shape[-2], features[0].shape[-1])
    masks = [
        {node: mask_on_grid(mask.to(device), grid) for node, mask in picture.masks.items()}
        for picture in pictures
    ]
    targets = []
    for index, event in enumerate(chain.events):
        number = index + 1
        terms = select_terms(chain, index, count=config.count, without=config.without)
        objects, unusable = {}, {}
        for node in sorted({node for term in terms for node in term.objects}):
            source = reference_picture(node, number, pictures, present=node in event.graph)
            if source is None:
                where = f"keyframe {number}" if node in event.graph else "any picture"
                unusable[node] = f"not found in {where}"
                continue
            objects[node] = describe(
                features[number],
                reference_feature(features[source], masks[source][node]),
                masks[number].get(node, torch.zeros(grid, dtype=torch.bool, device=device)),
                pixels=mask_at(pictures[number].masks.get(node), size),
                others=[mask for other, mask in masks[number].items() if other != node],
                spawned=node not in chain.graph,
                level=config.instance_similarity,
            )
        targets.append(
            EventTarget(
                anchor=event.anchor,
                terms=terms,
                features=features[number],
                nearness=F.adaptive_avg_pool2d(pictures[number].depth.to(device)[None], grid)[0],
                objects=objects,
                unusable=unusable,
            )
        )
    return tuple(targets)


def reference_picture(
    node: str, number: int, pictures: Collection[KeyframeEvidence], *, present: bool
) -> int | None:
    """Which picture gives the object's reference feature (eq. 5); 0 is the first frame, None is none.

    An object of the state has it from the state's own keyframe. A consumed one has it from the first frame,
    or, when it was spawned after it, from the latest keyframe that shows it.
    """
    shown = [index for index, picture in enumerate(pictures) if index <= number and node in picture.masks]
    if present:
        return number if number in shown else None
    if 0 in shown:
        return 0
    return max(shown, default=None)


def describe(
    features: Tensor,
    reference: Tensor,
    mask: Tensor,
    *,
    pixels: NDArray[np.bool_],
    others: Sequence[Tensor],
    spawned: bool,
    level: float,
) -> ObjectTarget:
    """The object with this reference feature and this mask [h, w], in a keyframe with these features.

    `pixels` is the same mask at the size of the previews. Lookalikes are cells whose similarity is above
    `level` and that lie in the masks of `others`, or are not connected with the object's own mask.
    """
    similar = similarity(features, reference[None])[0]
    own = mask.cpu().numpy()
    looks = find_instances((similar > level).cpu().numpy())
    connected = np.isin(looks.labels, np.unique(looks.labels[own]))
    instances = find_instances(own)
    foreign = torch.stack([*others, torch.zeros_like(mask)]).any(0).cpu().numpy() & ~own
    return ObjectTarget(
        reference=reference,
        similarity=similar,
        instances=instances,
        shape=keyframe_shape(pixels, instances),
        lookalikes=(looks.labels > 0) & (foreign | ~connected),
        spawned=spawned,
    )


def mask_at(mask: Tensor | None, size: tuple[int, int]) -> NDArray[np.bool_]:
    """A mask [H, W] at `size` (height, width), a pixel where it covers half of one; none is empty."""
    if mask is None:
        return np.zeros(size, dtype=bool)
    resized: NDArray[np.bool_] = (pool(mask.cpu(), size) >= 0.5).numpy()
    return resized


@torch.no_grad()
def encode(image: Tensor, encoder: FeatureEncoder, size: tuple[int, int]) -> Tensor:
    """F of one picture [3, H, W] at the previews' size: [C, h, w]."""
    return encoder(resize(image, size)[None])[0]


def resize(image: Tensor, size: tuple[int, int]) -> Tensor:
    if tuple(image.shape[-2:]) == size:
        return image
    return F.interpolate(image[None], size, mode="bilinear", antialias=True, align_corners=False)[0]
