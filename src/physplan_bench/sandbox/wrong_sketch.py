"""A sketch with one property wrong on purpose, and right keyframes: does the matching term mend it?

One object of the last event is drawn wrong in the sketch alone: elsewhere, too small, with its old look,
twice, or in front of what should hide it. Guidance sees the simulator's own frames. The property is measured
in the video's frame at the last anchor and in the simulator's; it is mended where at most half of the error
is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.graph import EventChain, Term
from physplan.guidance import GuidanceConfig, Guide
from physplan.guidance.extensions.selection import chosen_terms
from physplan.guidance.paper.selection import TermSpec, select_terms
from physplan.guidance.schedule import Schedule
from physplan.perception import Evidence, KeyframeEvidence
from physplan.pictures import to_picture
from physplan.pipeline import stages
from physplan.pipeline.latents_stage import SamplingRequest, make_latents
from physplan.sketch import Sketch, make_sketch
from physplan.sketch.cuts import overlap, rigid_shift
from physplan.sketch.pixels import box, fill, grow
from physplan.sketch.scene import changes
from physplan.sketch.whole import shifted
from physplan_bench.sandbox.scenes import PreparedScene

FAR, SMALL = 0.12, 0.6  # of the side; of the size
LEAST, MOST = 0.005, 0.12  # share of the picture that the object covers
SAME_MASK_IOU = 0.5  # of an object's masks before and after, where only its look changes
COPY_GAP = 6  # pixels between the copy and any thing: more than a cell of the features
MIN_OVERLAP_PIXELS = 12  # pixels in which the drawing order shows
MENDED_SHARE = 0.5
# What a spoilt sketch is off by at least; below, the sketch has not taken the error over.
SPOILT: Mapping[str, float] = {
    Term.POSITION.value: FAR / 2,
    Term.EXTENT.value: 0.5,
    Term.APPEARANCE.value: 0.08,
    Term.COUNT.value: 0.6,
    Term.DEPTH.value: 0.6,
}


@dataclass(frozen=True, kw_only=True)
class Task:
    """One object of the last event that the term measures; of depth also the one in front of it."""

    term: str
    node: str
    front: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """An object in one keyframe, and as the first frame shows it."""

    empty: Tensor  # [3, H, W]: the keyframe without the object
    picture: Tensor  # [3, H, W]
    mask: Tensor  # bool [H, W]
    first: Tensor
    first_mask: Tensor | None
    hiding: Tensor  # bool [H, W]: what may stand before it
    taken: Tensor  # bool [H, W]: other things


Draw = Callable[[Drawn], tuple[Tensor, Tensor] | None]  # picture and mask; None where there is nothing to see


def _pasted(empty: Tensor, thing: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return torch.where(mask, thing, empty), mask


def elsewhere(drawn: Drawn) -> tuple[Tensor, Tensor]:
    dx = _room(drawn.mask)
    return _pasted(drawn.empty, torch.roll(drawn.picture, dx, -1), torch.roll(drawn.mask, dx, -1))


def too_small(drawn: Drawn) -> tuple[Tensor, Tensor]:
    """About the middle of its lower edge, on which it stands."""
    rows, columns = torch.nonzero(drawn.mask, as_tuple=True)
    bottom, middle = float(rows.max()), float(columns.float().mean())
    height, width = drawn.mask.shape
    y, x = torch.meshgrid(torch.arange(height).float(), torch.arange(width).float(), indexing="ij")
    at = torch.stack([middle + (x - middle) / SMALL, bottom + (y - bottom) / SMALL], dim=-1)
    grid = at / torch.tensor([width - 1, height - 1]) * 2 - 1
    both = torch.cat([drawn.picture, drawn.mask[None].float()])[None]
    seen = F.grid_sample(both, grid[None], align_corners=True)[0]
    return _pasted(drawn.empty, seen[:3], seen[3] > 0.5)


def old_look(drawn: Drawn) -> tuple[Tensor, Tensor] | None:
    """The colours of the first frame, of an object that has stayed where it was."""
    before = drawn.first_mask
    if before is None or overlap(before, drawn.mask) < SAME_MASK_IOU:
        return None
    means = [image[:, mask].mean(1) for image, mask in ((drawn.first, before), (drawn.picture, drawn.mask))]
    if float((means[0] - means[1]).abs().mean()) < SPOILT[Term.APPEARANCE.value]:
        return None
    mean = means[0][:, None, None].expand_as(drawn.first)
    return _pasted(drawn.empty, torch.where(before, drawn.first, mean), drawn.mask)


def twice(drawn: Drawn) -> tuple[Tensor, Tensor] | None:
    """The second one on the nearest ground that is free: two that touch are one instance."""
    height, width = drawn.mask.shape
    taken = grow(drawn.taken | drawn.mask, COPY_GAP)
    left, top, right, bottom = (int(edge) for edge in box(drawn.mask))
    places = [(dx, dy) for dx in range(-left, width - right, 2) for dy in range(-top, height - bottom, 2)]
    for dx, dy in sorted(places, key=lambda place: math.hypot(*place)):
        one = torch.roll(drawn.mask, (dx, dy), (-1, -2))
        if not (one & taken).any():
            copy = torch.roll(drawn.picture, (dx, dy), (-1, -2))
            return torch.where(one, copy, drawn.picture), drawn.mask | one
    return None


def in_front(drawn: Drawn) -> tuple[Tensor, Tensor] | None:
    """Whole, as the first frame shows it, over what should hide it."""
    before = drawn.first_mask
    if before is None:
        return None
    dx, dy = rigid_shift(before, drawn.mask, drawn.hiding)
    whole, thing = shifted(before[None], dx, dy)[0], shifted(drawn.first, dx, dy)
    return torch.where(whole, thing, drawn.picture), whole


WRONG: Mapping[str, Draw] = {
    Term.POSITION.value: elsewhere,
    Term.EXTENT.value: too_small,
    Term.APPEARANCE.value: old_look,
    Term.COUNT.value: twice,
    Term.DEPTH.value: in_front,
}


def _others(frame: KeyframeEvidence, node: str) -> Tensor:
    """Of all things but this one, and but the table, which is the ground."""
    masks = [mask for other, mask in frame.masks.items() if other != node and not other.startswith("table#")]
    return torch.stack([torch.zeros_like(frame.masks[node]), *masks]).any(0)


def _room(mask: Tensor) -> int:
    """To the side that has more room."""
    columns = torch.nonzero(mask.any(0))[:, 0]
    side = mask.shape[1]
    right = side - 1 - int(columns.max()) >= int(columns.min())
    return round(FAR * side) * (1 if right else -1)


def find_task(chain: EventChain, evidence: Evidence, term: str) -> Task | None:
    """The first object of fitting size that acts, that the last event has this term for, and that the
    spoilt sketch can show wrong."""
    last, frame, actors = len(chain.events) - 1, evidence.keyframes[-1], changes(chain)
    for spec in chosen_terms(chain, last, count="named", without=()):
        if spec.name != term:
            continue
        for task in tasks_of(chain, spec):
            share = float(frame.masks[task.node].float().mean()) if task.node in frame.masks else 0.0
            fits = LEAST <= share <= MOST and task.node in actors
            if fits and _wrong(frame, evidence.first, task) is not None:
                return task
    return None


def tasks_of(chain: EventChain, spec: TermSpec) -> list[Task]:
    """What may be drawn wrong for a term of the last event."""
    if spec.name != Term.DEPTH:
        return [Task(term=spec.name, node=node) for node in spec.objects]
    pairs = [edge for edge in chain.graphs[-1].edges if {edge.a, edge.b} == set(spec.objects)]
    before = [edge for edge in pairs if edge.r == "in front of"]  # what contains is at the same depth
    return [Task(term=spec.name, node=edge.b, front=edge.a) for edge in before]


def wrong_evidence(evidence: Evidence, task: Task) -> Evidence:
    """For the sketch alone: the object drawn wrong in every keyframe that shows it."""
    wrong = [_wrong(frame, evidence.first, task) or frame for frame in evidence.keyframes]
    return replace(evidence, keyframes=tuple(wrong))


def _wrong(frame: KeyframeEvidence, first: KeyframeEvidence, task: Task) -> KeyframeEvidence | None:
    if task.node not in frame.masks or (task.front is not None and task.front not in frame.masks):
        return None
    mask = frame.masks[task.node]
    hiding = frame.masks[task.front] if task.front else torch.zeros_like(mask)
    found = WRONG[task.term](
        Drawn(
            empty=fill(frame.image, grow(mask, 2)),
            picture=frame.image,
            mask=mask,
            first=first.image,
            first_mask=first.masks.get(task.node),
            hiding=hiding,
            taken=_others(frame, task.node),
        )
    )
    if found is None:
        return None
    image, drawn = found
    masks = {**frame.masks, task.node: drawn}
    if task.front:
        if int((drawn & hiding).sum()) < MIN_OVERLAP_PIXELS:
            return None
        masks[task.front] = hiding & ~drawn
    return replace(frame, image=image, masks=masks)


WITHOUT = "without {}"
ARMS = ("none", "all", *(WITHOUT.format(term) for term in WRONG))


def arm_config(config: GuidanceConfig, arm: str) -> GuidanceConfig:
    """No guidance, all terms, or all but one."""
    if arm == "none":
        return replace(config, schedule=Schedule.unguided(), keep=False)
    left_out = {Term(term) for term in WRONG if arm == WITHOUT.format(term)}
    return replace(config, measure=replace(config.measure, without=frozenset(left_out)))


def effective(arm: str, chain: EventChain) -> str:
    """Removing a term that no event selects changes nothing: its arm has the video of all terms."""
    selected = {spec.name for i in range(len(chain.events)) for spec in select_terms(chain, i)}
    return "all" if arm in {WITHOUT.format(term) for term in set(WRONG) - selected} else arm


def error(
    task: Task, found: KeyframeEvidence, right: KeyframeEvidence, wrong: KeyframeEvidence
) -> float | None:
    """By how much the property differs from the simulator's; None where the object is not found."""
    node, term = task.node, task.term
    if term == Term.APPEARANCE.value:
        place = right.masks[node]
        return float((found.image - right.image)[:, place].mean(1).abs().mean())
    if task.front is not None:
        place = right.masks[task.front] & ~wrong.masks[task.front]
        return share_wrong(found.image, right.image, wrong.image, place)
    if term == Term.COUNT.value:
        return share_wrong(found.image, right.image, wrong.image, wrong.masks[node] & ~right.masks[node])
    if node not in found.masks or node not in right.masks:
        return None
    one, other = found.masks[node].numpy(), right.masks[node].numpy()
    if term == Term.POSITION.value:
        centres = [np.argwhere(mask).mean(0) / mask.shape for mask in (one, other)]
        return float(np.linalg.norm(centres[0] - centres[1]))
    return abs(math.log(one.sum() / other.sum()))


def share_wrong(image: Tensor, right: Tensor, wrong: Tensor, place: Tensor) -> float:
    """0 where the picture is the right one, 1 where it is the wrong one, over the pixels in question."""
    away, near = ((image - other)[:, place].abs().mean() for other in (right, wrong))
    return float(away / (away + near).clamp_min(1e-6))


def with_copy(
    sketch: Sketch, chain: EventChain, right: KeyframeEvidence, wrong: KeyframeEvidence, node: str
) -> Sketch:
    """The sketch shows one object per node, so the second one is laid over it, from the last event on."""
    copy = wrong.masks[node] & ~right.masks[node]
    begins = chain.anchors[-2] + 1 if len(chain.anchors) > 1 else 1
    frames, masks = sketch.frames.clone(), sketch.masks.clone()
    frames[begins:] = torch.where(copy, wrong.image, frames[begins:])
    masks[begins:] |= copy
    return replace(sketch, frames=frames, masks=masks)


def measure_task(
    here: PreparedScene, task: Task, config: GuidanceConfig, arms: Sequence[str] = ARMS
) -> dict[str, float | None]:
    """The error of the wrong sketch itself, and, where it has one, of the video of every arm."""
    chain, right = here.drawn(0)
    wrong = wrong_evidence(right, task)
    if task.term == Term.COUNT.value:
        sketch = make_sketch(chain, right)
        sketch = with_copy(sketch, chain, right.keyframes[-1], wrong.keyframes[-1], task.node)
    else:
        sketch = make_sketch(chain, wrong)

    def off(frames: Tensor) -> float | None:
        pictures = [to_picture(frames[anchor].clamp(0, 1)) for anchor in chain.anchors]
        seen = stages.make_evidence(chain, stages.look_at(here.backends, here.picture, chain, pictures))
        return error(task, seen.keyframes[-1], right.keyframes[-1], wrong.keyframes[-1])

    found = {"sketch": off(sketch.frames)}
    if not spoilt(found, task.term):
        return found
    for arm in dict.fromkeys(effective(arm, chain) for arm in arms):
        guide = Guide(chain=chain, evidence=right, config=arm_config(config, arm))
        made = make_latents(SamplingRequest(
            config=here.config, backends=here.backends, frame=here.picture, prompt=here.scene.prompt,
            seed=0, guided_by=guide, sketch=sketch,
        ))  # fmt: skip
        with torch.no_grad():
            found[arm] = off(here.backends.video.decode(made.latents, made.layout))
    found |= {arm: found[same] for arm in arms if (same := effective(arm, chain)) != arm}
    return found


def spoilt(errors: Mapping[str, float | None], term: str) -> bool:
    """Whether the sketch shows the error that its keyframes have."""
    now = errors["sketch"]
    return now is not None and now >= SPOILT[term]


def mended(errors: Mapping[str, float | None], arm: str) -> bool:
    """An object that is not found is not mended."""
    now, before = errors[arm], errors["sketch"]
    return now is not None and before is not None and now <= MENDED_SHARE * before
