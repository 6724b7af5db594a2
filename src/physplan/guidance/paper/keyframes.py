"""The keyframe's side of every comparison, computed once before sampling (eq. 5). No gradient."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.graph import EventChain
from physplan.guidance.paper.grid import mask_at, mask_on_grid
from physplan.guidance.paper.instances import Instances, find_instances
from physplan.guidance.paper.occupancy import reference_feature, similarity
from physplan.guidance.paper.regions import KeyframeShape, keyframe_shape
from physplan.guidance.paper.selection import TermSpec
from physplan.perception.evidence import Evidence, KeyframeEvidence
from physplan.perception.protocol import FeatureEncoder


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectTarget:
    """One object as a keyframe shows it."""

    reference: Tensor  # rho_o [C]
    similarity: Tensor  # [h, w], of the keyframe to the reference
    instances: Instances  # {Q_l}: the components of its mask; none for a consumed object
    shape: KeyframeShape  # the same at the size of the previews
    area: int  # cells of the mask that its reference is from


@dataclass(frozen=True, kw_only=True, eq=False)
class EventTarget:
    """A keyframe as the event's terms see it."""

    anchor: int
    terms: tuple[TermSpec, ...]
    features: Tensor  # F(I_i) [C, h, w]
    nearness: Tensor  # [h, w]
    masks: Mapping[str, Tensor]  # of every object in it: bool [h, w]
    objects: Mapping[str, ObjectTarget]
    unusable: Mapping[str, str]  # node -> why its terms are skipped


def build_targets(
    chain: EventChain,
    evidence: Evidence,
    terms: Sequence[tuple[TermSpec, ...]],
    *,
    encoder: FeatureEncoder,
    size: tuple[int, int],
    device: torch.device,
) -> tuple[EventTarget, ...]:
    """One target per event, for its `terms`; every picture is resized to `size`, that of the previews."""
    pictures = (evidence.first, *evidence.keyframes)
    features = [encode(picture.image.to(device), encoder, size) for picture in pictures]
    grid = (features[0].shape[-2], features[0].shape[-1])
    masks = [
        {node: mask_on_grid(mask.to(device), grid) for node, mask in picture.masks.items()}
        for picture in pictures
    ]
    targets = []
    for number, (event, selected) in enumerate(zip(chain.events, terms, strict=True), start=1):
        objects, unusable = {}, {}
        for node in sorted({node for term in selected for node in term.objects}):
            source = reference_picture(node, number, pictures, present=node in event.graph)
            if source is None:
                where = f"keyframe {number}" if node in event.graph else "any picture"
                unusable[node] = f"not found in {where}"
                continue
            reference = reference_feature(features[source], masks[source][node])  # eq. 5
            own = masks[number].get(node, torch.zeros(grid, dtype=torch.bool))
            instances = find_instances(own.cpu().numpy())
            objects[node] = ObjectTarget(
                reference=reference,
                similarity=similarity(features[number], reference[None])[0],
                instances=instances,
                shape=keyframe_shape(mask_at(pictures[number].masks.get(node), size), instances),
                area=int(masks[source][node].sum()),
            )
        targets.append(
            EventTarget(
                anchor=event.anchor,
                terms=selected,
                features=features[number],
                nearness=on_grid(pictures[number].depth.to(device), grid),
                masks=masks[number],
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


@torch.no_grad()
def encode(image: Tensor, encoder: FeatureEncoder, size: tuple[int, int]) -> Tensor:
    """F of one picture [3, H, W] at the previews' size: [C, h, w]."""
    return encoder(resize(image, size)[None])[0]


def resize(image: Tensor, size: tuple[int, int]) -> Tensor:
    if tuple(image.shape[-2:]) == size:
        return image
    return F.interpolate(image[None], size, mode="bilinear", antialias=True, align_corners=False)[0]


def on_grid(depth: Tensor, grid: tuple[int, int]) -> Tensor:
    """A normalised depth map [H, W] averaged over the cells of the feature grid: [h, w]."""
    return F.adaptive_avg_pool2d(depth[None], grid)[0]
