"""The sketch: a crude animation of the plan, made of the first frame and pieces of the keyframes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from physplan.graph import EventChain
from physplan.graph.laws import Moment, moment
from physplan.graph.motion import LAWS
from physplan.perception import Evidence
from physplan.sketch.cast import LARGEST_MOVED, Stage, set_stage, union
from physplan.sketch.cuts import Posed
from physplan.sketch.legs import Leg, legs, posed_first
from physplan.sketch.ordering import drawing_order, seen_in_front, still_nearness
from physplan.sketch.pixels import placed

HALO_REACH = 0.05  # of the height: how far from its place a thing's rim and shadow still show
TURNING = ("tip", "swing", "roll")
DIFFERS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sketch:
    frames: Tensor  # [F, 3, H, W] in [0, 1]
    masks: Tensor  # bool [F, 1, H, W]: where the plan acts
    kept: Tensor  # bool [1, H, W]: objects that nothing happens to
    orders: tuple[tuple[str, ...], ...]  # per event the objects from far to near
    notes: tuple[str, ...]  # what could not be drawn, for the report


def make_sketch(chain: EventChain, evidence: Evidence) -> Sketch:
    """Frames from plan and evidence alone; the same inputs give the same frames."""
    stage = set_stage(chain, evidence)
    ways, notes = legs(chain, stage)
    still = {
        id: _cut_hard(stage.first.image, mask)
        for id, mask in stage.first.masks.items()
        if id not in ways and mask.any() and float(mask.float().mean()) < LARGEST_MOVED
    }
    orders = tuple(_order(i, chain, stage, ways, still) for i in range(len(chain.events)))
    resting = {id: posed_first(id, stage) for id in ways if id in stage.first.masks}
    frames, masks = [], []
    for frame in range(chain.num_frames):
        event = next((i for i, e in enumerate(chain.events) if frame <= e.anchor), len(chain.events) - 1)
        picture, mask = _frame(frame, stage, ways, still, resting, orders[event])
        frames.append(picture)
        masks.append(mask)
    return Sketch(
        frames=torch.stack(frames).clamp(0, 1),
        masks=torch.stack(masks)[:, None],
        kept=union(stage.first, still)[None],
        orders=orders,
        notes=(*stage.notes, *notes),
    )


def _cut_hard(image: Tensor, mask: Tensor) -> Tensor:
    """What stays in its place is drawn as it is, so that it stays exactly what it was."""
    whole = mask.to(image.dtype)[None]
    return torch.cat([image * whole, whole])


def _order(
    event: int, chain: EventChain, stage: Stage, ways: Mapping[str, list[Leg]], still: Mapping[str, Tensor]
) -> tuple[str, ...]:
    nearness = {id: still_nearness(stage.first, id) for id in still}
    rules: list[tuple[str, str]] = []
    then = stage.keyframes[event].masks
    for id, own in ways.items():
        posed = _state_at(own, event, chain, stage, id)
        if posed is None:
            continue
        nearness[id] = posed.nearness
        for other in still:
            front = seen_in_front(posed, stage.first.masks[other], then.get(other))
            if front:
                rules.append((other, id) if front > 0 else (id, other))
    return drawing_order(nearness, rules, chain.graphs[event + 1])


def _state_at(own: list[Leg], event: int, chain: EventChain, stage: Stage, id: str) -> Posed | None:
    """How an object is at the end of an event; of one that goes, how it was."""
    anchor = chain.events[event].anchor
    done = [leg for leg in own if leg.end <= anchor]
    if done:
        return done[-1].after or done[-1].before
    return own[0].before or own[0].after


def _frame(
    frame: int,
    stage: Stage,
    ways: Mapping[str, list[Leg]],
    still: Mapping[str, Tensor],
    resting: Mapping[str, Posed],
    order: tuple[str, ...],
) -> tuple[Tensor, Tensor]:
    canvas = stage.plate.clone()
    acted = torch.zeros_like(stage.first.depth, dtype=torch.bool)
    for id in order:
        if id in still:
            canvas = _over(canvas, still[id])
            continue
        for layer in _layers(frame, id, ways[id], resting.get(id), canvas):
            canvas = _over(canvas, layer)
            acted |= layer[3] > 0.1
    differs = (canvas - stage.first.image).abs().amax(0) > DIFFERS
    return canvas, acted | differs


def _layers(frame: int, id: str, own: list[Leg], first: Posed | None, canvas: Tensor) -> list[Tensor]:
    """What is drawn of one object in one frame, one over the other."""
    leg = next((leg for leg in own if leg.start < frame <= leg.end), None)
    if leg is None or frame == leg.end:
        done = [leg for leg in own if leg.end <= frame]
        posed = done[-1].after if done else first
        return _at_rest(posed) if posed is not None else []
    at = moment(leg.motion, leg.way, (frame - leg.start) / (leg.end - leg.start), leg.phase)
    if leg.look_only and leg.after is not None and leg.before is not None:
        return [*_at_rest(leg.before), *(layer * at.progress for layer in _at_rest(leg.after))]
    return _moving(leg, at)


def _at_rest(posed: Posed) -> list[Tensor]:
    if posed.cut.mask is posed.seen:  # in the picture it is cut from: exactly as it is there
        return [_cut_hard(posed.around, posed.halo | posed.seen)]
    layer = placed(posed.cut.layer, posed.cut.centre, posed.place)
    return [_cut_hard(posed.around, posed.halo), layer]


def _moving(leg: Leg, at: Moment) -> list[Tensor]:
    layers: list[Tensor] = []
    height = (leg.before or leg.after).cut.layer.shape[-2]  # type: ignore[union-attr]
    place = (at.place[0] * height, at.place[1] * height)
    for posed, weight in _weights(leg, at):
        moved = max(abs(place[0] - posed.place[0]), abs(place[1] - posed.place[1])) / (HALO_REACH * height)
        near = max(0.0, 1 - moved - abs(at.size - 1) * 4 - abs(_angle(leg, posed, at)) / 20) * weight
        if near > 0 and at.shown == (0.0, 1.0):
            ring = (posed.halo & ~posed.seen).to(posed.around.dtype) * near * at.opacity
            layers.append(torch.cat([posed.around * ring, ring[None]]))
    for posed, weight in _weights(leg, at):
        scale, centre = _scale(leg, posed, at), place
        if leg.motion.law in ("grow", "shrink") and at.size < 1:
            centre = (place[0], place[1] + (1 - at.size) * posed.cut.size[1] / 2)  # it stands on something
        layer = _shown(posed, at) * (weight * at.opacity)
        layers.append(placed(layer, posed.cut.centre, centre, angle=_angle(leg, posed, at), scale=scale))
    return layers


def _weights(leg: Leg, at: Moment) -> list[tuple[Posed, float]]:
    """Whose look is shown: the state before, then both, then the state after."""
    if leg.before is None or leg.after is None or leg.shape_kept:
        posed = leg.before if leg.before is not None and at.progress < 1 else leg.after or leg.before
        assert posed is not None
        return [(posed, 1.0)]
    if not LAWS[leg.motion.law].moves and leg.motion.law not in ("grow", "shrink"):
        return [(leg.before, 1.0), (leg.after, at.progress)]
    if leg.motion.law in TURNING:  # it is the same thing all the way: its own look almost to the end
        return [
            (leg.before, 1 - _smooth((at.progress - 0.9) * 10)),
            (leg.after, _smooth((at.progress - 0.8) * 10)),
        ]
    if leg.before.cut.size == leg.after.cut.size or LAWS[leg.motion.law].moves:
        return [
            (leg.before, 1 - _smooth((at.progress - 0.8) * 5)),
            (leg.after, _smooth((at.progress - 0.6) * 2.5)),
        ]
    late, early = _smooth((at.progress - 0.5) * 2), _smooth(at.progress * 2)
    return [(leg.before, 1 - late), (leg.after, early)]


def _smooth(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * (3 - 2 * x)


def _angle(leg: Leg, posed: Posed, at: Moment) -> float:
    """Turned since the state whose look it is."""
    if posed is leg.after and leg.before is not None and not leg.shape_kept:
        return at.angle - moment(leg.motion, leg.way, 1.0, leg.phase).angle
    return at.angle


def _scale(leg: Leg, posed: Posed, at: Moment) -> tuple[float, float]:
    if leg.before is None or leg.after is None or leg.shape_kept or leg.motion.law in TURNING:
        return at.size, at.size
    sizes = [
        leg.before.cut.size[k] + (leg.after.cut.size[k] - leg.before.cut.size[k]) * at.progress
        for k in (0, 1)
    ]
    return sizes[0] / posed.cut.size[0], sizes[1] / posed.cut.size[1]


def _shown(posed: Posed, at: Moment) -> Tensor:
    """The layer, cut off above and below where only a part of it is there yet."""
    if at.shown == (0.0, 1.0):
        return posed.cut.layer
    top = posed.cut.centre[1] - posed.cut.size[1] / 2
    rows = torch.arange(posed.cut.layer.shape[-2]) + 0.5
    share = (rows - top) / posed.cut.size[1]
    inside = ((share >= at.shown[0]) & (share <= at.shown[1])).to(posed.cut.layer.dtype)
    return posed.cut.layer * inside[None, :, None]


def _over(canvas: Tensor, layer: Tensor) -> Tensor:
    return canvas * (1 - layer[3:]) + layer[:3]
