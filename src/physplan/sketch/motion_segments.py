"""The ways of the actors: for each change of an object how it is before and after, and its motion between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from physplan.graph import EventChain, Motion, motion_of
from physplan.graph.laws import Phase, Way
from physplan.graph.motion import LAWS
from physplan.graph.moving import pivot_of
from physplan.perception import KeyframeEvidence
from physplan.sketch.cuts import (
    RIM_WIDTH,
    Cut,
    Posed,
    cut_out,
    foot,
    halo,
    overlap,
    parts_alike,
    reach,
    rigid_shift,
)
from physplan.sketch.pixels import Point, box, grow, placed, window
from physplan.sketch.scene import Change, SketchScene, union

SEEN_THROUGH = 0.05  # of an object: so much of it must stand before others
LOOKS_OTHERWISE = 0.08
MERGED_RATIO = 1.5  # times its area: an outline that holds more than the object
SAME_PLACE = 0.5  # overlap of masks above which two are one outline


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MotionSegment:
    """One object through one event."""

    id: str
    start: int  # frames
    end: int
    phase: Phase
    motion: Motion
    way: Way
    before: Posed | None
    after: Posed | None
    look_only: bool

    @property
    def shape_kept(self) -> bool:
        return self.before is not None and self.after is not None and self.before.cut is self.after.cut


Segments = Mapping[str, list[MotionSegment]]  # of each actor, in order


def motion_segments(chain: EventChain, scene: SketchScene) -> tuple[Segments, list[str]]:
    """Each actor's segments in order, and what could not be drawn."""
    found: dict[str, list[MotionSegment]] = {}
    notes: list[str] = []
    for id, entries in scene.actors.items():
        current = posed_first(id, scene) if id in scene.first.masks else None
        for change in entries:
            law = _law(chain, id, change)
            screen = _screen(chain, scene, id, change)
            after = (
                None
                if change.goes
                else _posed_after(id, change, current, scene, law, hidden=screen is not None)
            )
            if law.law == "tip" and current is not None and _not_by_itself(current, after, chain, change):
                after = _tipped(current, law)  # what the keyframe does not show, the law does
            elif after is None and current is not None and screen is not None:
                after = _hidden(current, screen)
            elif after is None and not change.goes:
                notes.append(f"{id} is not seen in keyframe {change.event + 1}: it stays as it was")
                continue
            if after is not None or current is not None:
                found.setdefault(id, []).append(_segment(chain, scene, id, change, law, current, after))
            current = after
    return found, notes


def posed_first(id: str, scene: SketchScene) -> Posed:
    mask = scene.first.masks[id]
    cut = cut_out(*scene.wholes.get(id, (scene.first.image, mask)))
    return Posed(
        cut=cut,
        place=cut.centre,
        seen=mask,
        halo=scene.holes.get(id, mask) | mask,
        around=scene.first.image,
        nearness=_nearness(scene.first, mask),
    )


def _posed_after(
    id: str, change: Change, before: Posed | None, scene: SketchScene, law: Motion, *, hidden: bool
) -> Posed | None:
    frame = scene.keyframes[change.event]
    mask = frame.masks.get(id)
    if mask is None or not mask.any():
        return None
    others = _others(frame, id)
    rigid = before is not None and change.rigid_by(law)
    place: Point | None = None
    if before is not None and rigid:
        alike = parts_alike(before.cut, frame.image, mask)
        if hidden and not alike.any():
            return None
        mask = alike if alike.any() else mask
        dx, dy = rigid_shift(before.cut.mask, mask, others)
        place = (before.cut.centre[0] + dx, before.cut.centre[1] + dy)
        outline = placed(before.cut.layer[3:], before.cut.centre, place)[0] > 0.5
        near = mask & grow(outline, reach(RIM_WIDTH, len(mask)))  # the same shape: beyond is not it
        mask = near if near.any() else mask
    elif change.look_only and before is not None:
        mask = before.seen | mask if overlap(before.seen, mask) > SAME_PLACE else before.seen
    cut = cut_out(frame.image, mask)
    posed = Posed(
        cut=cut,
        place=cut.centre,
        seen=mask,
        halo=mask
        if change.look_only
        else halo(frame.image, mask, scene.plate, others | scene.scenery, scene.slips[change.event]),
        around=frame.image,
        nearness=_nearness(frame, mask),
    )
    if before is None or place is None or _see_through(before.cut, place, posed, _others(scene.first, id)):
        return posed
    return replace(posed, cut=before.cut, place=place)


def _see_through(look: Cut, place: Point, then: Posed, things: Tensor) -> bool:
    """Glass: where it stands before other things it looks otherwise than it did before none."""
    layer = placed(look.layer, look.centre, place)
    common = then.seen & things & (layer[3] > 0.9)
    if common.sum() < SEEN_THROUGH * then.seen.sum():
        return False
    return float((then.around - layer[:3])[:, common].abs().mean()) > LOOKS_OTHERWISE


def _others(frame: KeyframeEvidence, id: str) -> Tensor:
    """Everything else that is an object and not ground."""
    return union(frame, {k: 0 for k, m in frame.masks.items() if k != id and m.float().mean() < 0.3})


def _nearness(frame: KeyframeEvidence, mask: Tensor) -> float:
    return float(frame.depth[mask].median())


def _law(chain: EventChain, id: str, change: Change) -> Motion:
    event = chain.events[change.event]
    return motion_of(id, chain.graphs[change.event], event.delta, event.edits, event.motion)


def _not_by_itself(before: Posed, after: Posed | None, chain: EventChain, change: Change) -> bool:
    """Not found, or found together with others: turning makes nothing larger. The last keyframe counts."""
    if after is None or change.event + 1 == len(chain.events):
        return after is None
    return float(after.cut.mask.sum()) > MERGED_RATIO * float(before.cut.mask.sum())


def _tipped(before: Posed, law: Motion) -> Posed:
    """The object turned about its foot by the law's angle, as it will stand at the event's end."""
    foot_there = _foot(before, law)
    layer = placed(before.cut.layer, before.cut.centre, before.place)
    turned = placed(layer, foot_there, foot_there, angle=law.number("angle"))
    mask = turned[3] > 0.5
    if not mask.any():
        return before
    left, top, right, bottom = box(mask)
    middle = ((left + right) / 2, (top + bottom) / 2)
    rows, columns = window(turned[3] > 0)
    cut = Cut(
        layer=turned, mask=mask, centre=middle, size=(right - left, bottom - top), rows=rows, columns=columns
    )
    nothing = torch.zeros_like(mask)
    return replace(before, cut=cut, place=middle, seen=nothing, halo=nothing)


def _screen(chain: EventChain, scene: SketchScene, id: str, change: Change) -> Tensor | None:
    """The mask of what stands before an object after this event, so that the keyframe cannot show it."""
    if change.goes:
        return None
    masks = {**scene.first.masks, **scene.keyframes[change.event].masks}
    edges = chain.graphs[change.event + 1].edges
    fronts = [edge.a for edge in edges if edge.r == "in front of" and edge.b == id and edge.a in masks]
    return masks[fronts[0]] if fronts else None


def _hidden(before: Posed, screen: Tensor) -> Posed:
    """The same thing in the middle behind the screen, as high as it was."""
    left, _, right, _ = box(screen)
    nothing = torch.zeros_like(screen)
    return replace(before, place=((left + right) / 2, before.place[1]), seen=nothing, halo=nothing)


def _foot(before: Posed, law: Motion) -> Point:
    x, y = foot(before.cut.mask, right=law.number("angle") > 0)
    return x + before.place[0] - before.cut.centre[0], y + before.place[1] - before.cut.centre[1]


def _segment(
    chain: EventChain,
    scene: SketchScene,
    id: str,
    change: Change,
    law: Motion,
    before: Posed | None,
    after: Posed | None,
) -> MotionSegment:
    event = chain.events[change.event]
    graph = chain.graphs[change.event]
    height = float(scene.plate.shape[-2])
    here = before or after
    assert here is not None
    start = before.place if before else _source_place(chain, scene, id, law) or here.place
    end = after.place if after else _goal(law, start, scene) or start  # out of the frame, or at `to`
    pivot: Point | None = None
    if law.law == "tip" and before is not None:
        pivot = _foot(before, law)
    elif law.law == "swing" and (holder := pivot_of(id, graph, event.edits)) in scene.first.masks:
        assert holder is not None
        left, _, right, bottom = box(scene.first.masks[holder])
        pivot = ((left + right) / 2, bottom)

    def scaled(point: Point) -> Point:
        return point[0] / height, point[1] / height

    return MotionSegment(
        id=id,
        start=chain.events[change.event - 1].anchor if change.event else 0,
        end=event.anchor,
        phase="arrive" if before is None else "leave" if after is None else "change",
        motion=law,
        way=Way(
            start=scaled(start),
            end=scaled(end),
            pivot=pivot and scaled(pivot),
            radius=here.cut.size[1] / 2 / height,
        ),
        before=before,
        after=after,
        look_only=change.look_only,
    )


def _source_place(chain: EventChain, scene: SketchScene, id: str, law: Motion) -> Point | None:
    """Where a new object that travels sets out: at what it comes from."""
    source = chain.node(id).source
    if not LAWS[law.law].moves or source is None:
        return None
    masks = next((f.masks for f in (scene.first, *scene.keyframes) if source in f.masks), {})
    if source not in masks:
        return None
    left, top, right, bottom = box(masks[source])
    return (left + right) / 2, (top + bottom) / 2


def _goal(law: Motion, start: Point, scene: SketchScene) -> Point | None:
    """Where a consumed object that travels ends: its shift away, or the nearest side of what it goes `to`."""
    if law.shift is not None:
        height = scene.plate.shape[-2]
        return start[0] + law.shift[0] * height, start[1] + law.shift[1] * height
    to = dict(law.parameters).get("to")
    frames = (scene.first, *scene.keyframes)
    mask = next((frame.masks[to] for frame in frames if isinstance(to, str) and to in frame.masks), None)
    if mask is None:
        return None
    columns = torch.nonzero(mask[:, min(max(int(start[0]), 0), mask.shape[1] - 1)]).flatten()
    left, top, right, bottom = box(mask)
    if len(columns):
        edges = (float(columns[0]), float(columns[-1]))
        return start[0], min(edges, key=lambda y: abs(y - start[1]))
    return (left + right) / 2, (top + bottom) / 2
