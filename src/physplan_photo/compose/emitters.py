"""Spawned materials in the photograph: where they come from at a time, and how much of them there is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from physplan.graph import Link, Spawn, motion_of
from physplan.graph.laws import Way, moment
from physplan.graph.motion import LAWS, Motion
from physplan.sketch.scene import changes
from physplan_photo.compose.config import ComposeConfig
from physplan_photo.compose.cutouts import Array, box_of
from physplan_photo.effects import Emitter

if TYPE_CHECKING:
    from physplan_photo.compose.render import Renderer

HERE = Way(start=(0.0, 0.0), end=(0.0, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """An emitter with its frames: from `start` it comes as `law` says, from `leaves` it goes."""

    emitter: Emitter
    source: str | None
    start: int
    end: int
    law: Motion
    leaving: tuple[int, int] | None
    under: bool  # lies on the ground, below all objects
    behind: bool  # is drawn before its source

    @property
    def solid(self) -> bool:
        return self.emitter.material in ("liquid",)

    def draw(self, canvas: Array, frame: float, config: ComposeConfig) -> Array:
        begins = self.start + self.law.number("begins") * (self.end - self.start)
        now = ((frame if config.effects else self.end) - begins) / config.fps
        return self.emitter.draw(canvas, now, self.strength(frame))

    def strength(self, frame: float) -> float:
        u = min(1.0, max(0.0, (frame - self.start) / max(self.end - self.start, 1)))
        at = moment(self.law, HERE, u, "arrive")
        there = at.opacity * at.size
        if LAWS[self.law.law].moves or self.law.law in ("pour", "spread"):
            there = at.progress if self.law.law != "pour" else u
        if self.leaving is not None and frame > self.leaving[0]:
            there *= max(0.0, 1 - (frame - self.leaving[0]) / max(self.leaving[1] - self.leaving[0], 1))
        return there


def _colour(image: Array, mask: Array | None) -> tuple[float, float, float] | None:
    if mask is None or not mask.any():
        return None
    red, green, blue = (float(value) for value in np.median(image[mask], axis=0))
    return red, green, blue


def emitter_of(renderer: Renderer, edit: Spawn, material: str) -> Placed:
    chain, own = renderer.chain, changes(renderer.chain)[edit.id]
    arrival = next(change for change in own if change.comes)
    event, graph = chain.events[arrival.event], chain.graphs[arrival.event]
    start = chain.events[arrival.event - 1].anchor if arrival.event else 0
    law = motion_of(edit.id, graph, event.delta, event.edits, event.motion)
    begins = start + law.number("begins") * (event.anchor - start)
    gone = next((change for change in own if change.goes), None)
    leaving = (chain.events[gone.event - 1].anchor, chain.events[gone.event].anchor) if gone else None
    track = renderer.tracks.get(edit.source or "")
    fps = renderer.config.fps
    height, width = renderer.image.shape[:2]
    mask = renderer.masks.get(edit.source or "")
    middle = (0.4 * width, 0.5 * height, 0.6 * width, 0.8 * height)
    still = box_of(mask) if mask is not None and mask.any() else middle

    def source(now: float) -> tuple[float, float, float, float]:
        if track is None:
            return tuple(float(edge) for edge in still)  # type: ignore[return-value]
        if material == "liquid":  # it lies where its source is at the end
            now = (event.anchor - begins) / fps
        state = track.at(begins + now * fps)
        x, y = state.place[0] * height, state.place[1] * height
        half_w = (still[2] - still[0]) / 2 * max(state.scale, 0.05)
        half_h = (still[3] - still[1]) / 2 * max(state.scale, 0.05)
        foot = y + (still[3] - still[1]) / 2 if state.scale != 1.0 and abs(state.angle) < 1 else y + half_h
        if state.angle:
            across, down = abs(math.cos(math.radians(state.angle))), abs(math.sin(math.radians(state.angle)))
            half_w, half_h = across * half_w + down * half_h, down * half_w + across * half_h
            foot = y + half_h
        return x - half_w, foot - 2 * half_h, x + half_w, foot

    way = track.segments[-1].way if track is not None and track.segments else None
    rises = way is not None and way.end[1] < way.start[1] - 0.05
    links = [e for e in event.edits if isinstance(e, Link) and e.b == edit.id]
    vessel = next((e.a for e in links if e.r == "containment" and e.a in renderer.masks), None)
    ground = next((e.a for e in links if e.r == "support" and e.a in renderer.masks), None)
    return Placed(
        emitter=Emitter(
            material=material,
            category=edit.category.casefold(),
            seed=renderer.seed % 100_000 + 101 * len(renderer.emitters),
            source=source,
            stops=1e9,
            jet=bool(material == "flame" and rises),
            inside=renderer.masks[vessel] if vessel else None,
            outline=mask,
            colour=_colour(renderer.image, mask),
            ground=renderer.masks[ground] if ground and renderer.masks[ground].mean() > 0.15 else None,
        ),
        source=vessel or edit.source,
        start=start,
        end=event.anchor,
        law=law,
        leaving=leaving,
        under=material == "liquid" and vessel is None,
        behind=bool(material == "flame" and rises),
    )
