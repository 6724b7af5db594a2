"""The photograph at any time of the plan: background, shadows, objects and materials, from far to near."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import cv2
import numpy as np

from physplan.graph import Consume, EventChain, Spawn
from physplan.graph.motion import LAWS
from physplan.sketch.ordering import drawing_order
from physplan_photo.compose import emitters
from physplan_photo.compose.camera_zoom import moved_in
from physplan_photo.compose.config import ComposeConfig
from physplan_photo.compose.cutouts import (
    Array,
    Cutout,
    Placement,
    box_of,
    cut_out,
    fringe,
    is_round,
    mean_of,
    oval_of,
    over,
    placed,
    premultiplied,
    rolled,
    tips,
)
from physplan_photo.compose.plate import background
from physplan_photo.compose.shadow import Shadow, grounded, grown, measured_region, shadow_of
from physplan_photo.compose.ways import State, Track, copied, tracks
from physplan_photo.effects import material_of

GROUND_AREA = 0.3  # of the picture: a larger object is ground, which nothing is drawn behind
PENUMBRA_WIDTH = 0.015  # of the height: the soft edge of a shadow
ROLLING = ("ball", "wheel", "marble", "orange", "apple", "tyre", "tire", "barrel", "coin")
BLUR_STEP = 1.5  # pixels of travel that motion blur resolves


@dataclass(slots=True, kw_only=True, eq=False)
class Frame:
    """A drawn frame [H, W, 3] in [0, 1] and each object's mask."""

    image: Array
    masks: dict[str, Array]


@dataclass(slots=True, kw_only=True, eq=False)
class Renderer:
    chain: EventChain
    image: Array  # [H, W, 3] in [0, 1]
    masks: Mapping[str, Array]
    seed: int
    config: ComposeConfig = field(default_factory=ComposeConfig)
    behind: Array | None = None  # [H, W, 3]: the ground, where a source of layers shows it
    wholes: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)  # colours, outline
    notes: list[str] = field(default_factory=list)
    tracks: dict[str, Track] = field(init=False)
    plate: Array = field(init=False)
    cuts: dict[str, Cutout] = field(init=False)
    holes: dict[str, Array] = field(init=False)
    shadows: dict[str, Shadow] = field(init=False)
    emitters: dict[str, emitters.Placed] = field(init=False)
    _ovals: dict[str, Array | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        outlines = {id: outline for id, (_, outline) in self.wholes.items()}
        self.tracks = tracks(self.chain, {**self.masks, **outlines}, self.seed)
        regions = {id: self._shadow_region(id) for id, track in self.tracks.items() if track.lifted}
        self.holes = {id: self._hole(id, region) for id, region in regions.items()}
        empty = np.zeros(self.image.shape[:2], bool)
        hole = np.any(list(self.holes.values()), axis=0) if self.holes else empty
        self.plate, note = background(self.image, hole, self.behind)
        self.notes += [note] if note else []
        self.cuts = {id: cut_out(*self._look(id), self.plate) for id in self.tracks}
        self.shadows = {
            id: shadow_of(self.image, self.masks[id], self._others(id), region)
            for id, region in regions.items()
            if self.config.shadows and self._stands(id, region)
        }
        self._add_spawned()

    def _look(self, id: str) -> tuple[Array, Array]:
        """Its colours and outline in the photograph, or whole where something hides a part of it."""
        return self.wholes.get(id, (self.image, self.masks[id]))

    def _others(self, id: str) -> Array:
        others = [m for other, m in self.masks.items() if other != id and m.mean() < GROUND_AREA]
        return np.any(others, axis=0) if others else np.zeros_like(self.masks[id])

    def _shadow_region(self, id: str) -> Array | None:
        if not self.config.shadows or not self.tracks[id].travels:
            return None
        return measured_region(self.image, self.masks[id], self._others(id))

    def _hole(self, id: str, region: Array | None) -> Array:
        """What is uncovered where an object goes: its outline with its rim, and its shadow with its edge."""
        height = len(self.image)
        mask = grown(self.masks[id], max(2, round(fringe(self.image, self.masks[id]) * height)))
        if region is not None:
            mask = mask | grown(region, max(2, round(PENUMBRA_WIDTH * height)))
        mask &= ~self._others(id)
        return mask | tips(self.image, mask) & ~self._others(id)

    def _stands(self, id: str, region: Array | None) -> bool:
        """Whether it has a ground to throw a shadow on: a shadow was seen, or something still holds it."""
        if not self.tracks[id].travels:
            return False
        held = [e.a for g in self.chain.graphs for e in g.edges if e.b == id and e.r == "support"]
        carried = any(holder in self.tracks and self.tracks[holder].travels for holder in held)
        cut_off = box_of(self.masks[id])[3] >= len(self.image) - 2
        return region is not None or (bool(held) and not carried and not cut_off)

    def _add_spawned(self) -> None:
        self.emitters = {}
        for event in self.chain.events:
            for edit in event.edits:
                if not isinstance(edit, Spawn):
                    continue
                material = material_of(edit.category, edit.attributes.get("material_phase", ""))
                if material is not None:
                    self.emitters[edit.id] = emitters.emitter_of(self, edit, material)
                elif edit.source in self.masks:
                    self._add_copy(edit)
                else:
                    self.notes.append(f"{edit.id} comes from what the picture does not show: it is left out")

    def _add_copy(self, edit: Spawn) -> None:
        assert edit.source is not None
        image, mask = self._look(edit.source)
        box = tuple(edge / len(mask) for edge in box_of(mask))
        track = copied(self.chain, edit.id, self.tracks.get(edit.source), box, self.seed)
        cut = self.cuts.get(edit.source) or cut_out(image, mask, self.plate)
        self.tracks[edit.id], self.cuts[edit.id] = track, cut

    def frame(self, number: int) -> Frame:
        """Frame 0 is the photograph itself."""
        if number == 0:
            return Frame(image=self.image.copy(), masks=dict(self.masks))
        canvas, alphas = self.plate.copy(), dict[str, Array]()
        event = next(
            (i for i, e in enumerate(self.chain.events) if number <= e.anchor), len(self.chain.events) - 1
        )
        for id, shadow in self.shadows.items():
            self._cast(canvas, shadow, id, number)
        far = canvas.copy() if self.config.camera else canvas
        for id in self._order(event):
            if id in self.emitters:
                alphas[id] = self.emitters[id].draw(canvas, number, self.config)
            elif id in self.tracks:
                self._draw(canvas, alphas, id, number)
            else:
                alphas[id] = self._still(canvas, id)
        if self.config.camera:
            share = self.config.camera * number / max(self.chain.num_frames - 1, 1)
            near, acting = share * (1 + self.config.parallax), {*self.tracks, *self.emitters}
            canvas = moved_in(canvas, far, alphas, acting, share=share, near=near)
        return Frame(image=np.clip(canvas, 0, 1), masks=self._seen(alphas, event))

    def _order(self, event: int) -> tuple[str, ...]:
        height = len(self.image)
        nearness = {
            id: box_of(mask)[3] / height
            for id, mask in self.masks.items()
            if (mask.any() and mask.mean() < GROUND_AREA) or id in self.tracks
        }
        nearness |= {id: track.box[3] for id, track in self.tracks.items() if id not in nearness}
        order = list(drawing_order(nearness, (), self.chain.graphs[event + 1]))
        for id, emitter in self.emitters.items():
            source = emitter.source if emitter.source in order else None
            if emitter.under:
                order.insert(0, id)
            elif source is None:
                order.append(id)
            else:
                order.insert(order.index(source) + (0 if emitter.behind else 1), id)
        return tuple(order)

    def _still(self, canvas: Array, id: str) -> Array:
        mask = cv2.GaussianBlur(self.masks[id].astype(np.float32), (0, 0), 0.8)
        canvas += (self.image - canvas) * mask[..., None]
        return mask

    def _cast(self, canvas: Array, shadow: Shadow, id: str, number: int) -> None:
        track, state, height = self.tracks[id], self.tracks[id].at(number), len(canvas)
        if not state.begun or state.opacity <= 0:
            return
        segment = next((segment for segment in reversed(track.segments) if segment.start < number), None)
        assert segment is not None
        end = segment.way.end[1] if not self._rises(id, segment.end) else segment.way.start[1]
        weight = grounded(state.place[1] * height, segment.way.start[1] * height, end * height, height)
        shift = ((state.place[0] - track.centre[0]) * height, 0.0)
        ground = (
            segment.way.start[1]
            if abs(state.place[1] - segment.way.start[1]) <= abs(state.place[1] - end)
            else end
        )
        shadow.onto(
            canvas,
            (shift[0], (ground - track.centre[1]) * height),
            weight * state.opacity * min(1.0, state.scale),
        )

    def _rises(self, id: str, anchor: int) -> bool:
        """Whether it ends in the air: above where it was and held by nothing new."""
        event = next(e for e in self.chain.events if e.anchor == anchor)
        held = any(e.b == id and e.r in ("support", "containment") for e in event.graph.edges)
        gone = any(isinstance(edit, Consume) and edit.o == id for edit in event.edits)
        return (gone or not held) and any(
            entry.o == id and LAWS[entry.law].moves and (entry.shift or (0, 0))[1] < -0.02
            for entry in event.motion
        )

    def _draw(self, canvas: Array, alphas: dict[str, Array], id: str, number: int) -> None:
        track, state = self.tracks[id], self.tracks[id].at(number)
        if state.opacity <= 0 and track.at(number - 0.5).opacity <= 0:
            return
        height, width = canvas.shape[:2]
        away = (
            math.dist(state.place, track.centre) * height + abs(state.angle) * 0.5 + abs(state.scale - 1) * 40
        )
        near = 0.0 if track.arrives or state.worn else max(0.0, 1 - away / 4)
        covered = np.zeros((height, width), np.float32)
        if near > 0 and id in self.holes:
            rim = cv2.GaussianBlur(self.holes[id].astype(np.float32), (0, 0), 1.2) * (near * state.opacity)
            canvas += (self.image - canvas) * rim[..., None]
        if near < 1:
            for layer, left, top in self._layers(id, number, state):
                over(canvas, layer, left, top)
                window = covered[top : top + layer.shape[0], left : left + layer.shape[1]]
                np.maximum(window, layer[..., 3], out=window)
        else:
            covered = self.masks[id].astype(np.float32) * state.opacity
        alphas[id] = covered

    def _layers(self, id: str, number: int, state: State) -> list[tuple[Array, int, int]]:
        """The object, averaged over the time that the shutter is open."""
        track, cut, height = self.tracks[id], self.cuts[id], len(self.image)
        for worn, amount in state.worn:
            cut = worn.look(cut, amount, worn.seed)
        if (oval := self._oval(id)) is not None and (angle := self._angle(id, state)):
            cut = rolled(cut, angle, oval)
        layer = premultiplied(cut)
        if state.shown != (0.0, 1.0):
            rows = (np.arange(len(layer)) + cut.top - cut.centre[1]) / cut.size[1] + 0.5
            layer *= ((rows >= state.shown[0]) & (rows <= state.shown[1]))[:, None, None]
        half = self.config.shutter / 2
        before, after = track.at(number - half), track.at(number + half)
        travelled = (
            math.dist(before.place, after.place) * height
            + math.radians(abs(after.angle - before.angle)) * max(cut.size) / 2
        )
        count = min(9, max(1, math.ceil(travelled / BLUR_STEP))) if half else 1
        done = []
        for k in range(count):
            at = number + (2 * (k + 0.5) / count - 1) * half if count > 1 else number
            now = track.at(at)
            if now.opacity > 0:
                matrix = self._placement(id, now, at).matrix(cut)
                if (found := placed(layer * now.opacity, matrix, (self.image.shape[1], height))) is not None:
                    done.append(found)
        return [mean_of(done, count)] if len(done) > 1 or (done and count > 1) else done

    def _placement(self, id: str, state: State, at: float) -> Placement:
        track, height, cut = self.tracks[id], len(self.image), self.cuts[id]
        angle = 0.0 if self._oval(id) is not None else self._angle(id, state)
        scale = (state.scale, state.scale)
        laws = {segment.motion.law for segment in track.segments}
        if self.config.squash and "bounce" in laws:
            ahead, behind = track.at(at + 0.7).place[1], track.at(at - 0.7).place[1]
            hit = max(0.0, (state.place[1] - behind) + (state.place[1] - ahead))
            squash = min(self.config.squash, 6 * hit)
            scale = (scale[0] * (1 + 0.6 * squash), scale[1] * (1 - squash))
        if track.arrives:
            scale = (scale[0] * (track.box[2] - track.box[0]) * height / cut.size[0],) * 2
        standing = (
            any(segment.motion.law in ("grow", "shrink") for segment in track.segments)
            or scale[0] != scale[1]
        )
        return Placement(
            place=(state.place[0] * height, state.place[1] * height),
            angle=angle,
            scale=scale,
            standing=standing,
        )

    def _angle(self, id: str, state: State) -> float:
        """In degrees; wheels and balls turn by what they travel."""
        track, cut = self.tracks[id], self.cuts[id]
        slides = {segment.motion.law for segment in track.segments} <= {
            "linear",
            "accelerating",
            "decelerating",
        }
        named = any(word in self.chain.node(id).category.casefold() for word in ROLLING)
        if not (self.config.roll and slides and named):
            return state.angle
        return state.angle + math.degrees(
            (state.place[0] - track.centre[0]) * len(self.image) / (cut.size[1] / 2)
        )

    def _oval(self, id: str) -> Array | None:
        """The ellipse within which it turns: of what is round and does not tip over, or only spins."""
        if id not in self._ovals:
            laws = {segment.motion.law for segment in self.tracks[id].segments}
            turns = id in self.masks and "tip" not in laws
            turns = turns and (laws == {"spin"} or is_round(self._look(id)[1]))
            self._ovals[id] = oval_of(self._look(id)[1]) if turns else None
        return self._ovals[id]

    def _seen(self, alphas: Mapping[str, Array], event: int) -> dict[str, Array]:
        """What is left to be seen of each object that the state has."""
        graph = self.chain.graphs[event + 1]
        found: dict[str, Array] = {}
        for id, alpha in alphas.items():
            own = alpha > (0.12 if id in self.emitters else 0.5)
            if id not in self.emitters or self.emitters[id].solid:
                found = {other: mask & ~own for other, mask in found.items()}
            found[id] = own
        grounds = {id: mask for id, mask in self.masks.items() if id not in found}
        return {id: mask for id, mask in {**grounds, **found}.items() if id in graph and mask.any()}

    @property
    def consumed(self) -> frozenset[str]:
        return frozenset(e.o for event in self.chain.events for e in event.edits if isinstance(e, Consume))
