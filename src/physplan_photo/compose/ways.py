"""The tracks of a photograph's objects: a segment from event to event, and the state at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from physplan.graph import EventChain, Link, Motion, Update, motion_of
from physplan.graph.laws import Moment, Phase, Way, moment
from physplan.graph.motion import LAWS
from physplan.graph.moving import pivot_of
from physplan.sketch.scene import Change, changes
from physplan_photo.compose.cutouts import Array, box_of
from physplan_photo.compose.looks import Worn, look_of

Point = tuple[float, float]
MAX_TREMOR = 0.02  # heights of the frame
SIZES = {
    "tiny": 0.3,
    "small": 0.55,
    "short": 0.6,
    "thin": 0.7,
    "large": 1.4,
    "big": 1.4,
    "huge": 1.8,
    "tall": 1.3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackSegment:
    """One object through one event. Places are in heights of the frame."""

    start: int
    end: int
    phase: Phase
    motion: Motion
    way: Way
    scale: float = 1.0  # of its size before
    worn: tuple[Worn, ...] = ()


def _reach(segment: TrackSegment) -> float:
    """How far a segment takes its object at most, in heights of the frame."""
    if segment.motion.law == "trajectory":
        return max(math.hypot(dx, dy) for _, dx, dy, _ in segment.motion.path)
    return 0.0 if segment.motion.law == "spin" else 1.0


@dataclass(slots=True, kw_only=True)
class Track:
    """An object's box in the first frame (heights of the frame) and its segments."""

    id: str
    box: tuple[float, float, float, float]
    segments: list[TrackSegment] = field(default_factory=list)
    arrives: bool = False  # a copy of its source, there from its first segment on

    @property
    def lifted(self) -> bool:
        """Whether its place in the photograph is uncovered."""
        return any(
            segment.phase == "leave" or LAWS[segment.motion.law].moves or segment.scale != 1.0
            or any(worn.key not in ("color", "surface") for worn in segment.worn)
            for segment in self.segments
        )  # fmt: skip

    @property
    def travels(self) -> bool:
        """Whether it leaves its place, so that its shadow goes with it; a tremor does not."""
        moving = (segment for segment in self.segments if LAWS[segment.motion.law].moves)
        return any(segment.phase == "leave" or segment.scale != 1 for segment in self.segments) or any(
            _reach(segment) > MAX_TREMOR for segment in moving
        )

    @property
    def centre(self) -> Point:
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2

    def at(self, frame: float) -> State:
        """Everything done until then, and the segment that is under way."""
        state = State(place=self.centre, opacity=float(not self.arrives))
        for segment in self.segments:
            if frame <= segment.start:
                break
            u = min(1.0, (frame - segment.start) / max(segment.end - segment.start, 1))
            state = state.after(segment, moment(segment.motion, segment.way, u, segment.phase), u)
        return state


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    place: Point
    angle: float = 0.0
    scale: float = 1.0
    opacity: float = 1.0
    shown: tuple[float, float] = (0.0, 1.0)
    worn: tuple[tuple[Worn, float], ...] = ()
    begun: bool = False

    def after(self, segment: TrackSegment, at: Moment, u: float) -> State:
        own = {worn.key: (worn, at.progress if u < 1 else 1.0) for worn in segment.worn}
        worn = [(worn, amount) for worn, amount in self.worn if worn.key not in own or own[worn.key][1] < 1]
        gone = 0.0 if segment.phase == "leave" and u >= 1 else at.opacity
        return State(
            place=at.place,
            angle=self.angle + at.angle,
            scale=self.scale * at.size * (1 + (segment.scale - 1) * at.progress),
            opacity=gone if segment.phase == "arrive" else self.opacity * gone,
            shown=at.shown,
            worn=(*worn, *own.values()),
            begun=True,
        )


def tracks(chain: EventChain, masks: Mapping[str, Array], seed: int) -> dict[str, Track]:
    """Each object that has an outline and that the plan changes."""
    found: dict[str, Track] = {}
    for id, entries in changes(chain).items():
        if id not in masks or not masks[id].any():
            continue
        height = len(masks[id])
        left, top, right, bottom = (edge / height for edge in box_of(masks[id]))
        found[id] = Track(id=id, box=(left, top, right, bottom))
        for change in entries:
            _add_leg(chain, found, masks, change, id, seed)
    return found


def copied(chain: EventChain, id: str, source: Track | None, box: tuple[float, ...], seed: int) -> Track:
    """A new solid object as a smaller copy of what it comes from, beside it."""
    left, _, right, bottom = box
    wide, tall = 0.5 * (right - left), 0.5 * (bottom - box[1])
    x = right + 0.1 * wide
    track = Track(id=id, box=(x, bottom - tall, x + wide, bottom), arrives=True)
    for change in changes(chain).get(id, ()):
        _add_leg(chain, {id: track}, {}, change, id, seed)
    return track


def _add_leg(
    chain: EventChain, found: dict[str, Track], masks: Mapping[str, Array], change: Change, id: str, seed: int
) -> None:
    track, event, graph = found[id], chain.events[change.event], chain.graphs[change.event]
    law = motion_of(id, graph, event.delta, event.edits, event.motion)
    start_frame = chain.events[change.event - 1].anchor if change.event else 0
    now = track.at(event.anchor)
    pivot = _pivot(track, law, now, pivot_of(id, graph, event.edits), masks)
    end = _end(chain, found, masks, change, id, law, now, pivot)
    height = track.box[3] - track.box[1]
    updates = [edit for edit in event.edits if isinstance(edit, Update) and edit.o == id]
    moves = LAWS[law.law].moves or change.moves or law.law in ("grow", "shrink")
    worn = tuple(
        Worn(key=e.key, look=look_of(e.key, e.value, moves=moves), seed=seed + 31 * change.event)
        for e in updates
    )
    track.segments.append(
        TrackSegment(
            start=start_frame,
            end=event.anchor,
            phase="leave" if change.goes else "arrive" if change.comes else "change",
            motion=law,
            way=Way(start=now.place, end=end, pivot=pivot, radius=height * now.scale / 2),
            scale=_scale(law, updates, now),
            worn=worn,
        )
    )


def _scale(law: Motion, updates: list[Update], now: State) -> float:
    given = dict(law.parameters).get("scale")
    if isinstance(given, int | float):
        return float(given)
    text = next((edit.value for edit in updates if edit.key == "extent"), "")
    found = next((size for word, size in SIZES.items() if word in text), 1.0)
    return found / now.scale if found != 1.0 else 1.0


def _pivot(
    track: Track, law: Motion, now: State, holder: str | None, masks: Mapping[str, Array]
) -> Point | None:
    if law.law == "tip":
        width, height = (track.box[2] - track.box[0]) * now.scale, (track.box[3] - track.box[1]) * now.scale
        side = 0.42 if law.number("angle") > 0 else -0.42
        return now.place[0] + side * width, now.place[1] + height / 2
    if law.law == "swing" and holder is not None and holder in masks:
        left, _, right, bottom = (edge / len(masks[holder]) for edge in box_of(masks[holder]))
        return (left + right) / 2, bottom
    return None


def _end(
    chain: EventChain, found: Mapping[str, Track], masks: Mapping[str, Array], change: Change, id: str,
    law: Motion, now: State, pivot: Point | None,
) -> Point:  # fmt: skip
    """Where a segment ends: as its law says, else as its new relations ask."""
    if law.shift is not None:
        return now.place[0] + law.shift[0], now.place[1] + law.shift[1]
    if law.law == "trajectory":
        _, dx, dy, _ = law.path[-1]
        return now.place[0] + dx, now.place[1] + dy
    if law.law == "tip" and pivot is not None:
        turn = math.radians(law.number("angle"))
        x, y = now.place[0] - pivot[0], now.place[1] - pivot[1]
        end = (
            pivot[0] + math.cos(turn) * x - math.sin(turn) * y,
            pivot[1] + math.sin(turn) * x + math.cos(turn) * y,
        )
        track = found[id]
        wide, tall = (track.box[2] - track.box[0]) * now.scale, (track.box[3] - track.box[1]) * now.scale
        lowest = abs(math.sin(turn)) * wide / 2 + abs(math.cos(turn)) * tall / 2
        return end[0], pivot[1] - lowest  # it lies on its ground
    if not change.moves or not LAWS[law.law].moves:
        return now.place
    return _by_relations(chain, found[id], masks, change, now)


def _by_relations(
    chain: EventChain, own: Track, masks: Mapping[str, Array], change: Change, now: State
) -> Point:
    """Onto, into or beside what the event links the object with; in its place where nothing says where."""
    (x, y), id = now.place, own.id
    half_w, half_h = (own.box[2] - own.box[0]) / 2, (own.box[3] - own.box[1]) / 2
    for edit in chain.events[change.event].edits:
        if not isinstance(edit, Link) or id not in edit.targets():
            continue
        other = edit.a if edit.b == id else edit.b
        if other not in masks or not masks[other].any():
            continue
        left, top, right, bottom = (edge / len(masks[other]) for edge in box_of(masks[other]))
        middle = (left + right) / 2
        if edit.r in ("support", "attachment") and edit.b == id:
            return middle, top - half_h
        if edit.r == "containment" and edit.b == id:
            return middle, (top + bottom) / 2
        if edit.r in ("contact", "near"):
            gap = 0.0 if edit.r == "contact" else 0.06
            return (right + half_w + gap if x > middle else left - half_w - gap), y
        if edit.r == "left of":
            return (left - half_w - 0.02 if edit.a == id else right + half_w + 0.02), y
        if edit.r == "above":
            return x, (top - half_h - 0.02 if edit.a == id else bottom + half_h + 0.02)
    return x, y
