"""A sketch with one property wrong on purpose, and right keyframes: does the matching term mend it?

One object of the last event is drawn wrong in the sketch alone: elsewhere, too small, in other colours, or
twice. Guidance sees the simulator's own frames. The property is measured in the video's frame at the last
anchor and in the simulator's, by the same segmenter; it is mended where at most half of the error is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from scipy import ndimage
from torch import Tensor

from physplan.graph import EventChain, Term
from physplan.guidance import GuidanceConfig
from physplan.guidance.extensions.selection import chosen_terms
from physplan.guidance.schedule import Schedule
from physplan.perception import Evidence, KeyframeEvidence
from physplan.pictures import to_picture
from physplan.pipeline import stages
from physplan.pipeline.sampling import Guide, make_latents
from physplan.sketch import make_sketch
from physplan.sketch.pixels import fill, grow
from physplan_bench.sandbox.scenes import Setting

FAR, SMALL, APART = 0.12, 0.6, 0.25  # of the side; of the size; of the side between two copies
LEAST, MOST = 0.005, 0.12  # share of the picture that the object covers
MIN_COPY_AREA = 0.25  # of an object's area: a smaller component is no copy
MENDED_SHARE = 0.5
ARMS = ("none", "all", "without", "only")

Draw = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # empty, object, mask -> picture, mask


def _pasted(empty: Tensor, thing: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return torch.where(mask, thing, empty), mask


def _moved(values: Tensor, dx: int) -> Tensor:
    return torch.roll(values, dx, dims=-1)


def elsewhere(empty: Tensor, thing: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    dx = _room(mask, FAR)
    return _pasted(empty, _moved(thing, dx), _moved(mask, dx))


def too_small(empty: Tensor, thing: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """About the middle of its lower edge, on which it stands."""
    rows, columns = torch.nonzero(mask, as_tuple=True)
    bottom, middle = float(rows.max()), float(columns.float().mean())
    height, width = mask.shape
    y, x = torch.meshgrid(torch.arange(height).float(), torch.arange(width).float(), indexing="ij")
    at = torch.stack([middle + (x - middle) / SMALL, bottom + (y - bottom) / SMALL], dim=-1)
    grid = at / torch.tensor([width - 1, height - 1]) * 2 - 1
    both = torch.cat([thing, mask[None].float()])[None]
    seen = F.grid_sample(both, grid[None], align_corners=True)[0]
    return _pasted(empty, seen[:3], seen[3] > 0.5)


def other_colours(empty: Tensor, thing: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return _pasted(empty, 1 - thing[[1, 2, 0]], mask)


def twice(empty: Tensor, thing: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    dx = _room(mask, APART)
    picture, one = _pasted(*_pasted(empty, thing, mask)[:1], _moved(thing, dx), _moved(mask, dx))
    return picture, mask | one


WRONG: Mapping[str, Draw] = {
    Term.POSITION.value: elsewhere,
    Term.EXTENT.value: too_small,
    Term.APPEARANCE.value: other_colours,
    Term.COUNT.value: twice,
}


def _room(mask: Tensor, share: float) -> int:
    """So far to the side that has more room."""
    columns = torch.nonzero(mask.any(0))[:, 0]
    side = mask.shape[1]
    right = side - 1 - int(columns.max()) >= int(columns.min())
    return round(share * side) * (1 if right else -1)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One object of the last event that the term measures."""

    term: str
    node: str


def find_task(chain: EventChain, evidence: Evidence, term: str) -> Task | None:
    """The first object of fitting size that the last event has this term for."""
    last, frame = len(chain.events) - 1, evidence.keyframes[-1]
    for spec in chosen_terms(chain, last, count="named", without=()):
        for node in spec.objects if spec.name == term else ():
            share = float(frame.masks[node].float().mean()) if node in frame.masks else 0.0
            if LEAST <= share <= MOST and node in chain.graph:
                return Task(term=term, node=node)
    return None


def wrong_evidence(evidence: Evidence, task: Task) -> Evidence:
    """For the sketch alone: the object drawn wrong in every keyframe that shows it."""
    frames = [_wrong(frame, task) if task.node in frame.masks else frame for frame in evidence.keyframes]
    return replace(evidence, keyframes=tuple(frames))


def _wrong(frame: KeyframeEvidence, task: Task) -> KeyframeEvidence:
    mask = frame.masks[task.node]
    empty = fill(frame.image, grow(mask, 2))
    image, drawn = WRONG[task.term](empty, frame.image, mask)
    return replace(frame, image=image, masks={**frame.masks, task.node: drawn})


def arm_config(config: GuidanceConfig, arm: str, term: str) -> GuidanceConfig:
    """All terms, all but the matching one, the matching one alone, or none."""
    if arm == "none":
        return replace(config, schedule=Schedule.unguided(), keep=False)
    left_out: set[Term] = {"all": set[Term](), "without": {Term(term)}, "only": set(Term) - {Term(term)}}[arm]
    return replace(config, measure=replace(config.measure, without=frozenset(left_out)))


def error(term: str, found: KeyframeEvidence, right: KeyframeEvidence, node: str) -> float | None:
    """By how much the property differs from the simulator's; None where the object is not found."""
    if node not in found.masks or node not in right.masks:
        return None
    one, other = found.masks[node].numpy(), right.masks[node].numpy()
    if term == Term.POSITION.value:
        centres = [np.argwhere(mask).mean(0) / mask.shape for mask in (one, other)]
        return float(np.linalg.norm(centres[0] - centres[1]))
    if term == Term.EXTENT.value:
        return abs(math.log(one.sum() / other.sum()))
    if term == Term.APPEARANCE.value:
        looks = [f.image[:, torch.from_numpy(m)].mean(1) for f, m in ((found, one), (right, other))]
        return float((looks[0] - looks[1]).abs().mean())
    return float(abs(_copies(one, other.sum()) - _copies(other, other.sum())))


def _copies(mask: np.ndarray, area: float) -> int:
    labels, number = ndimage.label(mask, structure=np.ones((3, 3)))
    return sum(int((labels == part).sum() >= MIN_COPY_AREA * area) for part in range(1, number + 1))


def measure_task(here: Setting, task: Task, config: GuidanceConfig) -> dict[str, float | None]:
    """The error of the wrong sketch itself, and of the video of every arm."""
    chain, right = here.drawn(0)
    sketch = make_sketch(chain, wrong_evidence(right, task))

    def off(frames: Tensor) -> float | None:
        pictures = [to_picture(frames[anchor].clamp(0, 1)) for anchor in chain.anchors]
        seen = stages.make_evidence(chain, stages.look_at(here.backends, here.picture, chain, pictures))
        return error(task.term, seen.keyframes[-1], right.keyframes[-1], task.node)

    found = {"sketch": off(sketch.frames)}
    for arm in ARMS:
        guide = Guide(chain=chain, evidence=right, config=arm_config(config, arm, task.term))
        made = make_latents(
            here.config, here.backends, here.picture, here.scene.prompt,
            seed=0, guided_by=guide, sketch=sketch,
        )  # fmt: skip
        with torch.no_grad():
            found[arm] = off(here.backends.video.decode(made.latents, made.layout))
    return found


def mended(errors: Mapping[str, float | None], arm: str) -> bool:
    """An object that is not found is not mended."""
    now, before = errors[arm], errors["sketch"]
    return now is not None and before is not None and now <= MENDED_SHARE * before
