"""The sketch: a crude animation of the plan, made of the first frame and pieces of the keyframes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from physplan.graph import EventChain
from physplan.graph.laws import Moment, moment
from physplan.graph.motion import LAWS
from physplan.perception import Evidence, KeyframeEvidence
from physplan.sketch.cuts import RIM_WIDTH, Cut, Posed, reach
from physplan.sketch.motion_segments import MotionSegment, Segments, motion_segments, posed_first
from physplan.sketch.ordering import drawing_order, seen_in_front, still_nearness
from physplan.sketch.pixels import Patch, grow, placed, window
from physplan.sketch.scene import LARGEST_MOVED, SketchScene, sketch_scene, union
from physplan.sketch.whole import LayerSource

EDIT_MARGIN = 0.03  # so far from a changed object a keyframe may differ from the first frame for its sake
HALO_REACH = 0.05  # of the height: how far from its place a thing's rim and shadow still show
TURNING = ("tip", "swing", "roll")
MIN_DIFFERENCE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sketch:
    frames: Tensor  # [F, 3, H, W] in [0, 1]
    masks: Tensor  # bool [F, 1, H, W]: where the plan acts
    kept: Tensor  # bool [1, H, W]: objects that nothing happens to
    orders: tuple[tuple[str, ...], ...]  # per event the objects from far to near
    notes: tuple[str, ...]  # what could not be drawn, for the report
    otherwise: Tensor | None = None  # [F, 3, H, W]: what a simulation gives that contradicts the plan


def make_sketch(chain: EventChain, evidence: Evidence, source: LayerSource | None = None) -> Sketch:
    """Frames from plan and evidence alone; the same inputs give the same frames."""
    scene = sketch_scene(chain, evidence, source)
    ways, notes = motion_segments(chain, scene)
    still = {
        id: _cut_hard(scene.first.image, mask)
        for id, mask in scene.first.masks.items()
        if id not in ways and mask.any() and _thing(mask)
    }
    orders = tuple(_order(i, chain, scene, ways, still) for i in range(len(chain.events)))
    height, width = scene.first.depth.shape
    frames = torch.empty(chain.num_frames, 3, height, width, dtype=scene.plate.dtype)
    masks = torch.empty(chain.num_frames, 1, height, width, dtype=torch.bool)
    painter = _Painter(scene=scene, ways=ways, still={id: Patch.of(layer) for id, layer in still.items()})
    for frame in range(chain.num_frames):
        event = next((i for i, e in enumerate(chain.events) if frame <= e.anchor), len(chain.events) - 1)
        painter.paint(frame, orders[event], frames[frame], masks[frame, 0])
    return Sketch(
        frames=frames.clamp_(0, 1),
        masks=masks,
        kept=union(scene.first, still)[None],
        orders=orders,
        notes=(*scene.notes, *notes),
    )


def aligned_evidence(
    chain: EventChain, evidence: Evidence, *, composed: bool = False, source: LayerSource | None = None
) -> Evidence:
    """The evidence that the sketch is cut from: masks without specks, keyframes laid over the first frame.

    Composed keyframes are the first frame, pixel for pixel, but for what the plan changes. With a source of
    layers what is left behind is the sketch's plate, and what was half hidden is as whole as in the sketch.
    """
    scene = sketch_scene(chain, evidence, source if composed else None)
    keyframes = list(scene.keyframes)
    if composed:
        ways = {} if source is None else motion_segments(chain, scene)[0]
        for i, frame in enumerate(scene.keyframes):
            changed = union(scene.first, scene.actors) | union(frame, scene.actors)
            near = grow(changed, reach(EDIT_MARGIN, len(changed)))
            frame = replace(frame, image=torch.where(near, frame.image, scene.first.image))
            then = {id: _state_at(ways[id], i, chain, scene, id) for id in scene.wholes if id in ways}
            keyframes[i] = frame if source is None else _completed(frame, scene, then)
    return replace(evidence, first=scene.first, keyframes=tuple(keyframes))


def _completed(
    frame: KeyframeEvidence, scene: SketchScene, then: Mapping[str, Posed | None]
) -> KeyframeEvidence:
    """The plate where actors have left; over it those whose whole look is known, behind the others."""
    image, depth, masks = frame.image, frame.depth, dict(frame.masks)
    if scene.holes:
        there = grow(union(frame, scene.actors), reach(RIM_WIDTH, len(frame.depth)))
        image = torch.where(torch.stack(tuple(scene.holes.values())).any(0) & ~there, scene.plate, image)
    for id, posed in then.items():
        if posed is not None and id in masks and masks[id].any() and posed.cut.mask is scene.wholes[id][1]:
            front = union(frame, {other: 0 for other, mask in masks.items() if _thing(mask) and other != id})
            layer = placed(posed.cut.layer, posed.cut.centre, posed.place) * ~front
            added = (layer[3] > 0.5) & ~masks[id]
            depth = torch.where(added, depth[masks[id]].median(), depth)
            image, masks[id] = layer[:3] + image * (1 - layer[3]), layer[3] > 0.5
    return replace(frame, image=image, masks=masks, depth=depth)


def _thing(mask: Tensor) -> bool:
    return float(mask.float().mean()) < LARGEST_MOVED


def _cut_hard(image: Tensor, mask: Tensor) -> Tensor:
    """What stays in its place is drawn as it is, so that it stays exactly what it was."""
    whole = mask.to(image.dtype)[None]
    return torch.cat([image * whole, whole])


def _order(
    event: int,
    chain: EventChain,
    scene: SketchScene,
    ways: Mapping[str, list[MotionSegment]],
    still: Mapping[str, Tensor],
) -> tuple[str, ...]:
    nearness = {id: still_nearness(scene.first, id) for id in still}
    rules: list[tuple[str, str]] = []
    then = scene.keyframes[event].masks
    for id, own in ways.items():
        posed = _state_at(own, event, chain, scene, id)
        if posed is None:
            continue
        nearness[id] = posed.nearness
        for other in still:
            front = seen_in_front(posed, scene.first.masks[other], then.get(other))
            if front:
                rules.append((other, id) if front > 0 else (id, other))
    return drawing_order(nearness, rules, chain.graphs[event + 1])


def _state_at(
    own: list[MotionSegment], event: int, chain: EventChain, scene: SketchScene, id: str
) -> Posed | None:
    """How an object is at the end of an event; of one that goes, how it was."""
    anchor = chain.events[event].anchor
    done = [segment for segment in own if segment.end <= anchor]
    if done:
        return done[-1].after or done[-1].before
    return own[0].before or own[0].after


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Painter:
    """Draws one frame after the other; what is at rest is cut out once."""

    scene: SketchScene
    ways: Segments
    still: Mapping[str, Patch | None]
    resting: dict[str | Posed, list[Patch]] = field(default_factory=dict)

    def paint(self, frame: int, order: tuple[str, ...], canvas: Tensor, acted: Tensor) -> None:
        """Fills the canvas [3, H, W] and the map [H, W] of where the plan acts."""
        canvas.copy_(self.scene.plate)
        acted.zero_()
        for id in order:
            if id in self.still:
                if (patch := self.still[id]) is not None:
                    patch.onto(canvas)
                continue
            for patch in self._patches(frame, id):
                patch.onto(canvas)
                acted[patch.rows, patch.columns] |= patch.pixels[3] > 0.1
        acted |= (canvas - self.scene.first.image).abs_().amax(0) > MIN_DIFFERENCE

    def _patches(self, frame: int, id: str) -> list[Patch]:
        """What is drawn of one object in one frame, one over the other."""
        own = self.ways[id]
        segment = next((segment for segment in own if segment.start < frame <= segment.end), None)
        if segment is None or frame == segment.end:
            done = [segment for segment in own if segment.end <= frame]
            if done:
                return self._at_rest(done[-1].after) if done[-1].after is not None else []
            return self._at_first(id)
        at = moment(
            segment.motion,
            segment.way,
            (frame - segment.start) / (segment.end - segment.start),
            segment.phase,
        )
        if segment.look_only and segment.after is not None and segment.before is not None:
            after = (replace(p, pixels=p.pixels * at.progress) for p in self._at_rest(segment.after))
            return [*self._at_rest(segment.before), *after]
        return _moving(segment, at)

    def _at_first(self, id: str) -> list[Patch]:
        if id not in self.scene.first.masks:
            return []
        if id not in self.resting:
            self.resting[id] = _at_rest(posed_first(id, self.scene))
        return self.resting[id]

    def _at_rest(self, posed: Posed) -> list[Patch]:
        if posed not in self.resting:
            self.resting[posed] = _at_rest(posed)
        return self.resting[posed]


def _at_rest(posed: Posed) -> list[Patch]:
    if posed.cut.mask is posed.seen:  # in the picture it is cut from: exactly as it is there
        patches = [Patch.of(_cut_hard(posed.around, posed.halo | posed.seen))]
    else:
        patches = [Patch.of(_cut_hard(posed.around, posed.halo)), posed.cut.posed(posed.place)]
    return [patch for patch in patches if patch is not None]


def _moving(segment: MotionSegment, at: Moment) -> list[Patch]:
    patches: list[Patch | None] = []
    height = (segment.before or segment.after).cut.layer.shape[-2]  # type: ignore[union-attr]
    place = (at.place[0] * height, at.place[1] * height)
    for posed, weight in _weights(segment, at):
        moved = max(abs(place[0] - posed.place[0]), abs(place[1] - posed.place[1])) / (HALO_REACH * height)
        near = max(0.0, 1 - moved - abs(at.size - 1) * 4 - abs(_angle(segment, posed, at)) / 20) * weight
        if near > 0 and at.shown == (0.0, 1.0):
            patches.append(_ring(posed, near, at.opacity))
    for posed, weight in _weights(segment, at):
        scale, centre = _scale(segment, posed, at), place
        if segment.motion.law in ("grow", "shrink") and at.size < 1:
            centre = (place[0], place[1] + (1 - at.size) * posed.cut.size[1] / 2)  # it stands on something
        cut = _shown(posed.cut, at, weight * at.opacity)
        patches.append(cut.posed(centre, angle=_angle(segment, posed, at), scale=scale))
    return [patch for patch in patches if patch is not None]


def _ring(posed: Posed, near: float, opacity: float) -> Patch | None:
    """Rim and shadow of a place, without the thing itself."""
    beside = posed.halo & ~posed.seen
    if not beside.any():
        return None
    rows, columns = window(beside)
    ring = beside[rows, columns].to(posed.around.dtype) * near * opacity
    pixels = torch.cat([posed.around[:, rows, columns] * ring, ring[None]])
    return Patch(pixels=pixels, rows=rows, columns=columns)


def _weights(segment: MotionSegment, at: Moment) -> list[tuple[Posed, float]]:
    """Whose look is shown: the state before, then both, then the state after."""
    if segment.before is None or segment.after is None or segment.shape_kept:
        posed = (
            segment.before
            if segment.before is not None and at.progress < 1
            else segment.after or segment.before
        )
        assert posed is not None
        return [(posed, 1.0)]
    if not LAWS[segment.motion.law].moves and segment.motion.law not in ("grow", "shrink"):
        return [(segment.before, 1.0), (segment.after, at.progress)]
    if segment.motion.law in TURNING:  # it is the same thing all the way: its own look almost to the end
        return [
            (segment.before, 1 - _smooth((at.progress - 0.9) * 10)),
            (segment.after, _smooth((at.progress - 0.8) * 10)),
        ]
    if segment.before.cut.size == segment.after.cut.size or LAWS[segment.motion.law].moves:
        return [
            (segment.before, 1 - _smooth((at.progress - 0.8) * 5)),
            (segment.after, _smooth((at.progress - 0.6) * 2.5)),
        ]
    late, early = _smooth((at.progress - 0.5) * 2), _smooth(at.progress * 2)
    return [(segment.before, 1 - late), (segment.after, early)]


def _smooth(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * (3 - 2 * x)


def _angle(segment: MotionSegment, posed: Posed, at: Moment) -> float:
    """Turned since the state whose look it is."""
    if posed is segment.after and segment.before is not None and not segment.shape_kept:
        return at.angle - moment(segment.motion, segment.way, 1.0, segment.phase).angle
    return at.angle


def _scale(segment: MotionSegment, posed: Posed, at: Moment) -> tuple[float, float]:
    if segment.before is None or segment.after is None or segment.shape_kept or segment.motion.law in TURNING:
        return at.size, at.size
    sizes = [
        segment.before.cut.size[k] + (segment.after.cut.size[k] - segment.before.cut.size[k]) * at.progress
        for k in (0, 1)
    ]
    return sizes[0] / posed.cut.size[0], sizes[1] / posed.cut.size[1]


def _shown(cut: Cut, at: Moment, opacity: float) -> Cut:
    """The cut at some opacity, clear above and below where only a part of it is there yet."""
    if at.shown == (0.0, 1.0):
        return cut if opacity == 1.0 else replace(cut, layer=cut.layer * opacity)
    top = cut.centre[1] - cut.size[1] / 2
    rows = torch.arange(cut.layer.shape[-2]) + 0.5
    share = (rows - top) / cut.size[1]
    inside = ((share >= at.shown[0]) & (share <= at.shown[1])).to(cut.layer.dtype)
    return replace(cut, layer=cut.layer * inside[None, :, None] * opacity)
