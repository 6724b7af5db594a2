"""The keyframe of one state: erase what moved or is gone, retouch, paint what is new, paste what moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import binary_dilation, binary_fill_holes, gaussian_filter

from physplan.errors import PhysPlanError
from physplan.graph import Edge, Link, Spawn, Update
from physplan.keyframes.protocol import EditRequest
from physplan_sandbox.editor import appearance, new_things
from physplan_sandbox.editor.beams import levelled_beams
from physplan_sandbox.editor.cutout import CLEAR, SHEETS, Cutout, Pose, matte
from physplan_sandbox.editor.error_levels import LEVELS, apply_errors
from physplan_sandbox.editor.fill import erase, hull, rows_from
from physplan_sandbox.editor.frame_geometry import Box, FrameGeometry
from physplan_sandbox.editor.placing import FILL_LEVELS, LEVEL_STEP, poses
from physplan_sandbox.parser import ROUND, main_parts, whole
from physplan_sandbox.world.scene import Scene

Array = NDArray[np.float32]
Mask = NDArray[np.bool_]

GLOW_REACH = {"flame": 7.0, "sun": 9.0}  # how far light reaches beyond an outline, in world units
BOXES = ("block", "book", "crate", "domino", "pane", "shelf", "stopper")  # what has corners
VESSELS = ("glass", "jug")
FULL = "full to the brim"
SIDE_RELATIONS = ("left of", "near")  # relations that say nothing about what is in front
RIM_UNITS = 2  # world units beside what hides a thing that its outline and shadow still colour
DEPTH_TOLERANCE = 0.10  # of the depth's range


class SandboxEditor:
    """Level 1 draws as well as it can; 2 and 3 err on top of it (`errors.err`). Level 0 is `TruthEditor`."""

    at_once = 1
    calls_out = None

    def __init__(self, *, level: int = 1) -> None:
        if level not in LEVELS[1:]:
            raise PhysPlanError(
                f"The sandbox's editor errs at levels 1 to 4, not {level}; level 0 needs a TruthEditor."
            )
        self.level = level
        self.identity: Mapping[str, Any] = {"editor": "sandbox", "version": 1, "level": level}

    def edit(self, request: EditRequest) -> Image.Image:
        drawn = draw_keyframe(request)
        assert request.first is not None
        masks = {id: mask.numpy() for id, mask in request.first.masks.items()}
        event = request.chain.events[request.event]
        touched = {id for edit in event.net_edits for id in edit.targets()}
        bystanders = {
            id: m for id, m in masks.items() if id not in touched and _category(request, id) != "table"
        }
        drawn = apply_errors(
            drawn, self.level, seed=request.seed + 7919 * request.event, bystanders=bystanders
        )
        return Image.fromarray((np.clip(drawn, 0, 1) * 255 + 0.5).astype(np.uint8))


class TruthEditor:
    """Level 0, for studies only: the simulator's own frame at the event's anchor."""

    at_once = 1
    calls_out = None

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.identity: Mapping[str, Any] = {"editor": "sandbox-truth", "version": 1, "scene": scene.name}

    def edit(self, request: EditRequest) -> Image.Image:
        clip = self.scene.render(size=request.image.height)
        share = request.chain.events[request.event].anchor / (request.chain.num_frames - 1)
        return Image.fromarray(clip.frames[round(share * (len(clip.frames) - 1))])


def draw_keyframe(request: EditRequest) -> Array:
    """State i, drawn from the first frame: [H, W, 3] in [0, 1]."""
    if request.first is None:
        raise PhysPlanError("The sandbox's editor draws from masks: pass the evidence of the first frame.")
    return _Drawing.of(request).draw()


def _category(request: EditRequest, id: str) -> str:
    return request.chain.node(id).category


@dataclass(frozen=True, kw_only=True)
class _Drawing:
    request: EditRequest
    image: Array
    masks: Mapping[str, Mask]
    geometry: FrameGeometry
    poses: Mapping[str, Pose]

    @classmethod
    def of(cls, request: EditRequest) -> _Drawing:
        assert request.first is not None
        image = np.asarray(request.image.convert("RGB"), dtype=np.float32) / np.float32(255)
        masks = {id: main_parts(mask.numpy()) for id, mask in request.first.masks.items()}
        if any(mask.shape != image.shape[:2] for mask in masks.values()):
            raise PhysPlanError(
                "The masks are not of the picture's size: segment the picture that is edited."
            )
        categories = {id: _category(request, id) for id in masks}
        masks = _refined(image, masks, categories, request)
        geometry = FrameGeometry.of(masks, request.first.depth.numpy(), categories)
        placed = poses(request, geometry)
        drawing = cls(request=request, image=image, masks=masks, geometry=geometry, poses=placed)
        return replace(drawing, poses={**drawing.poses, **drawing._afloat()})

    @property
    def event(self) -> Any:
        return self.request.chain.events[self.request.event]

    def draw(self) -> Array:
        gone = [id for id in self.masks if id not in self.event.graph]
        redrawn = list(levelled_beams(self.event.graph, self.geometry))
        lifted = [*gone, *redrawn, *self.poses]
        staying = {id: m for id, m in self.masks.items() if id not in lifted and self._is(id) != "table"}
        hole = np.zeros(self.image.shape[:2], dtype=bool)
        for id in lifted:
            hole |= self._footprint(id)
        plate = erase(self.image, hole, staying, self.geometry.horizon)
        canvas = self._with_appearance(plate)
        before = canvas
        spawned = [edit for edit in self.event.net_edits if isinstance(edit, Spawn)]
        for edit in sorted(spawned, key=lambda edit: edit.category != "puddle"):  # below all else
            canvas = self._added(canvas, edit, before)
        for id in redrawn:
            x, unit = self.geometry.beams[id].x, self.geometry.unit
            canvas = new_things.level_balance(canvas, self.image, self.masks[id], x, unit)
        before = canvas
        for id in sorted(self.poses, key=self._drawing_order):
            canvas = self._pasted(canvas, plate, id)
            canvas = self._restored(canvas, before, self.geometry.near[id] + DEPTH_TOLERANCE, partner=id)
        return canvas

    def _is(self, id: str) -> str:
        return self.geometry.categories[id]

    def _footprint(self, id: str) -> Mask:
        """All pixels that a thing darkens or lights: its outline, what it encloses, its shadow, its glow."""
        unit, mask, box = self.geometry.unit, self.masks[id], self.geometry.boxes[id]
        clear = self._is(id) in CLEAR
        full = binary_fill_holes(mask) if clear else mask
        margin = GLOW_REACH.get(self._is(id), 3.0 if clear else 1.8)
        full = binary_dilation(full, iterations=max(1, round(margin * unit)))
        if box.bottom > self.geometry.horizon and self._is(id) not in ("shadow", "ice", "flame"):
            half = 0.5 * box.width * 1.2 + 3 * unit
            rows, columns = np.mgrid[0 : mask.shape[0], 0 : mask.shape[1]]
            full |= ((columns - box.x) / half) ** 4 + ((rows - box.bottom) / (5.0 * unit)) ** 2 < 1
        return full

    def _with_appearance(self, canvas: Array) -> Array:
        """Attributes other than pose and size."""
        for edit in self.event.net_edits:
            if not isinstance(edit, Update) or edit.o not in self.masks:
                continue
            mask, category = self.masks[edit.o], self._is(edit.o)
            if edit.key == "extent" and category == "water":
                canvas = self._raised(canvas, edit)
            elif edit.key == "color" and not self._behind_glass(edit.o):
                canvas = appearance.tint(canvas, mask, edit.value)
            elif edit.key == "surface" and edit.value in ("wet", "damp in the middle", "soaked"):
                canvas = appearance.wet(canvas, self._completed(edit.o), edit.value)
            elif edit.key == "surface" and edit.value == "brightly lit":
                canvas = appearance.brightened(canvas, mask)
            elif edit.key == "surface" and edit.value == "glowing":
                canvas = appearance.glowing(canvas, mask, self._faces_right(edit.o))
        return canvas

    def _completed(self, id: str) -> Mask:
        """The outline of a thing with what was hidden of it by things that are gone or smaller now."""
        box, mask = self.geometry.boxes[id], self.masks[id]
        rows = np.arange(mask.shape[0])[:, None]
        columns = np.arange(mask.shape[1])[None]
        within = (rows >= box.top) & (rows < box.bottom) & (columns >= box.left) & (columns < box.right)
        hidden = np.zeros_like(mask)
        for other, pixels in self.masks.items():
            if other in self.poses or other not in self.event.graph:
                hidden |= pixels
        return mask | (within & hidden)

    def _raised(self, canvas: Array, edit: Update) -> Array:
        vessel = self._vessel(edit.o)
        if vessel is None:
            return canvas
        share = self.geometry.boxes[edit.o].height / vessel.height
        level = FILL_LEVELS.get(edit.value, share + LEVEL_STEP)
        room = new_things.inside(vessel, self.geometry.unit)
        return new_things.paint(
            canvas, "water", room, unit=self.geometry.unit, level=level * vessel.height / room.height
        )

    def _vessel(self, content: str) -> Box | None:
        edges = (e for e in self.event.graph.edges if e.r == "containment" and e.b == content)
        return next((self.geometry.boxes[e.a] for e in edges if e.a in self.masks), None)

    def _behind_glass(self, id: str) -> bool:
        graph = self.event.graph
        panes = (other for other in self.masks if other in graph and self._is(other) in SHEETS)
        return any(Edge(pane, "in front of", id) in graph for pane in panes if pane != id)

    def _faces_right(self, id: str) -> bool:
        return "right" in self.event.graph.node(id).attributes.get("configuration", "")

    def _afloat(self) -> dict[str, Pose]:
        """What floats on a liquid rises with it."""
        raised: dict[str, Pose] = {}
        for edit in self.event.net_edits:
            if (
                isinstance(edit, Update)
                and edit.key == "extent"
                and (vessel := self._vessel(edit.o)) is not None
            ):
                for edge in self.event.graph.edges_of(edit.o):
                    if edge.r == "support" and edge.a == edit.o and edge.b in self.masks:
                        box = self.geometry.boxes[edge.b]
                        pose = self.poses.get(edge.b, Pose(pivot=(box.x, box.bottom)))
                        raised[edge.b] = replace(pose, pivot=(box.x, box.y)).moved(
                            0, -LEVEL_STEP * vessel.height
                        )
        return raised

    def _added(self, canvas: Array, edit: Spawn, before: Array) -> Array:
        """One new thing, where the thing it comes from is or where a relation of the new state puts it."""
        graph, geometry, unit = self.event.graph, self.geometry, self.geometry.unit
        origin = self.request.chain.origin(edit.id)
        if origin not in self.masks:
            return canvas
        source, near = geometry.boxes[origin], geometry.near[origin]
        holders = {e.r: e.a for e in graph.edges if e.b == edit.id and e.a in self.masks}
        extent = graph.node(edit.id).attributes.get("extent", "medium")
        if edit.category == "stream":
            rows, columns = np.nonzero(self.masks[origin])
            spout = float(columns[rows >= rows.max() - unit].mean() + 0.5)
            vessels = [
                b for id, b in geometry.boxes.items() if self._is(id) in VESSELS and b.left < spout < b.right
            ]
            floor = vessels[0].bottom - 2 * unit if vessels else geometry.table_row(near) + unit
            return new_things.stream(canvas, source, spout, floor, unit)
        if edit.category == "water" and "containment" in holders:
            vessel = geometry.boxes[holders["containment"]]
            canvas = new_things.water_in(canvas, vessel, extent, unit)
            running = any(graph.node(id).category == "stream" for id in graph.ids)
            return new_things.spill(canvas, vessel, unit) if extent == FULL and running else canvas
        if edit.category == "puddle":
            held = holders.get("support")
            dish = geometry.boxes[held] if held and self._is(held) != "table" else None
            row = geometry.table_row(near)
            if extent in new_things.FLOODS:
                canvas = new_things.flood(canvas, geometry, source, row, extent)
            else:
                canvas = new_things.puddle(canvas, geometry, dish, self._puddle_at(origin), row, extent)
            return canvas if dish else self._restored(canvas, before, near - DEPTH_TOLERANCE)
        if edit.category == "blot" and "support" in holders:
            return new_things.blot(
                canvas, geometry.boxes[holders["support"]], edit.attributes.get("color", "dark"), unit
            )
        if edit.category == "beam":
            canvas = new_things.beam(canvas, source, self._faces_right(origin), unit)
            return self._restored(canvas, before, near - DEPTH_TOLERANCE)
        if edit.category == "smoke":
            return new_things.smoke(canvas, source, unit)
        # Anything else: a soft patch where it comes from, better than nothing on a photograph.
        return new_things.paint(canvas, "cloud", source, unit=unit, color=(0.6, 0.62, 0.65))

    def _puddle_at(self, origin: str) -> float:
        """Where across the picture water collects: below what it comes from, or at the foot of its slope."""
        unit, first = self.geometry.unit, self.request.chain.graph
        slopes = (e.a for e in first.edges if e.r == "support" and e.b == origin and e.a in self.masks)
        slope = next((id for id in slopes if self._is(id) == "ramp"), None)
        if slope is not None:
            return self.geometry.boxes[slope].right + 4 * unit
        rows, columns = np.nonzero(self.masks[origin])
        return float(columns[rows >= rows.max() - unit].mean() + 0.5)

    def _drawing_order(self, id: str) -> tuple[float, bool, bool, float]:
        """Far before near, what hangs after what carries it, glass last, a row from right to left."""
        hangs = any(
            isinstance(e, Link) and e.r in ("attachment", "support") and e.b == id
            for e in self.event.net_edits
        )
        row = round(self.geometry.near[id], 1)
        return row, hangs, self._is(id) in CLEAR, -self.geometry.boxes[id].x

    def _pasted(self, canvas: Array, plate: Array, id: str) -> Array:
        pose, box = self.poses[id], self.geometry.boxes[id]
        there = box.posed(pose)
        row = self.geometry.table_row(self.geometry.near[id])
        grounded = (
            self._is(id) not in ("shadow", "sun", "ice") and there.bottom > row - 3 * self.geometry.unit
        )
        if grounded:
            canvas = appearance.contact_shadow(
                canvas, there.x, there.bottom, 0.55 * there.width, self.geometry.unit
            )
        image, mask = self._uncovered(id)
        image = self._emptied(image, id, plate)
        cutout = Cutout.of(image, mask, self._is(id), plate)
        if self._is(id) == "sun":
            canvas = _halo(canvas, there.x, there.y, there.width)
        return cutout.posed(pose).onto(canvas)

    def _emptied(self, image: Array, id: str, plate: Array) -> Array:
        """The picture of a glass without what was in it and is gone: the background shines through."""
        if self._is(id) not in CLEAR:
            return image
        first, graph = self.request.chain.graph, self.event.graph
        for edge in first.edges:
            if edge.a == id and edge.r == "containment" and edge.b in self.masks and edge.b not in graph:
                image = np.where(self.masks[edge.b][..., None], new_things.through_glass(plate), image)
        return image

    def _uncovered(self, id: str) -> tuple[Array, Mask]:
        """A thing that moves leaves what hid a part of it: the picture and mask with that part guessed."""
        mask, box = self.masks[id], self.geometry.boxes[id]
        outline = _disc(mask.shape, box) if self._is(id) in ROUND else hull(mask)
        if self._is(id) in BOXES:
            outline = np.zeros_like(mask)
            outline[int(box.top) : int(box.bottom), int(box.left) : int(box.right)] = True
        hidden = np.zeros_like(mask)
        for other, pixels in self.masks.items():
            if (
                self.geometry.near[other] > self.geometry.near[id] + DEPTH_TOLERANCE
                and self._is(other) != "table"
            ):
                hidden |= pixels
        hidden = binary_dilation(hidden, iterations=max(1, round(RIM_UNITS * self.geometry.unit))) & outline
        if not (hidden & ~mask).any():
            return self.image, mask
        seen = mask & ~hidden  # pixels at an edge are half of what hides it
        guessed = rows_from(self.image, hidden, seen)
        if self._is(id) in ROUND:
            guessed = _turned_about(guessed, hidden, seen, box)
        return np.where(hidden[..., None], guessed, self.image), mask | hidden

    def _restored(
        self, canvas: Array, before: Array, nearer_than: float, partner: str | None = None
    ) -> Array:
        """What stands nearer is in front of what was drawn: its pixels come back.

        Where the graph relates a thing to what was drawn (`partner`), the relation says it, not the depth.
        """
        graph = self.event.graph
        edges = [edge for edge in graph.edges_of(partner) if edge.r not in SIDE_RELATIONS] if partner else []
        related = {id for edge in edges for id in (edge.a, edge.b)}
        for id, mask in self.masks.items():
            still = id in graph and id not in self.poses and self._is(id) != "table"
            in_front = self.geometry.near[id] > nearer_than
            if id in related:
                in_front = Edge(id, "in front of", partner or id) in graph if id != partner else False
            if still and in_front:
                weight = np.clip(gaussian_filter(mask.astype(np.float32), 0.5) * 1.3 - 0.15, 0, 1)[..., None]
                canvas = canvas * (1 - weight) + before * weight
        return canvas


def _refined(
    image: Array, masks: Mapping[str, Mask], categories: Mapping[str, str], request: EditRequest
) -> dict[str, Mask]:
    """The masks with finer outlines for the things that change: a segmenter's are often coarse."""
    changing = {id for edit in request.chain.events[request.event].net_edits for id in edit.targets()}
    unit = max(1, round(image.shape[0] / 96))
    held = {id: request.chain.graph.edges_of(id) for id in masks}
    refined = dict(masks)
    for id in changing:
        # In and behind liquid there is no background to tell a thing from.
        afloat = any(e.r == "support" and categories.get(e.a) == "water" for e in held.get(id, ()))
        if id in masks and not afloat and categories[id] not in ("table", "water", "glass"):
            others = {o: m for o, m in masks.items() if o != id and categories[o] != "table"}
            tables = [m for o, m in masks.items() if categories[o] == "table"]
            horizon = int(np.argmax(tables[0].mean(1) > 0.02)) if tables else image.shape[0]
            clear = categories[id] in CLEAR
            full = binary_fill_holes(masks[id]) if clear else masks[id]
            plate = erase(image, binary_dilation(full, iterations=3 * unit), others, horizon)
            fine = matte(image, masks[id], plate, clear=clear) > 0.5
            if categories[id] in ROUND:
                fine = _disc(fine.shape, Box(*whole(masks[id], categories[id])))
            for other in others.values():
                fine &= ~other | masks[id]
            refined[id] = main_parts(fine) if fine.any() else masks[id]
    return refined


def _disc(shape: tuple[int, ...], box: Box) -> Mask:
    """A ball's whole outline."""
    rows, columns = np.mgrid[0 : shape[0], 0 : shape[1]] + 0.5
    inside: Mask = np.hypot(columns - box.x, rows - box.y) <= 0.5 * max(box.width, box.height)
    return inside


def _turned_about(image: Array, wanted: Mask, seen: Mask, box: Box) -> Array:
    """The hidden part of a ball as the opposite part looks, where that is seen."""
    rows, columns = np.nonzero(wanted)
    across = np.clip(np.round(2 * box.x - 1 - columns).astype(int), 0, image.shape[1] - 1)
    down = np.clip(np.round(2 * box.y - 1 - rows).astype(int), 0, image.shape[0] - 1)
    known = seen[down, across]
    guessed = image.copy()
    guessed[rows[known], columns[known]] = image[down[known], across[known]]
    return guessed


def _halo(canvas: Array, x: float, y: float, width: float) -> Array:
    rows, columns = np.mgrid[0 : canvas.shape[0], 0 : canvas.shape[1]].astype(np.float32)
    weight = 0.5 * np.exp(-((np.hypot(columns - x, rows - y) / (0.85 * width)) ** 2))[..., None]
    return canvas * (1 - weight) + np.array([1.0, 0.92, 0.6], np.float32) * weight
