"""Who acts: the objects that the plan changes, event by event, and which scenery is behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from physplan.graph import Consume, EventChain, Motion, Spawn, Update
from physplan.graph.motion import LAWS
from physplan.graph.moving import moved
from physplan.perception import Evidence, KeyframeEvidence
from physplan.sketch.alignment import aligned, slip
from physplan.sketch.cuts import MIN_SHADOW, RIM_WIDTH, SHADOW_REACH, reach
from physplan.sketch.pixels import fill, grow, without_specks
from physplan.sketch.whole import Layers, LayerSource, Whole, wholes

LARGEST_MOVED = 0.3  # of the picture: what is larger and only changes its relations is scenery
MAX_AREA = 0.6
MIN_PART_AREA = 0.03  # of an object's pixels: a part by itself that is smaller is a segmenter's error
TURNING = ("tip", "swing")
LOOKS = frozenset({"color", "surface", "integrity"})  # what changes an object's look and not its outline


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one event does to one object."""

    event: int
    comes: bool = False
    goes: bool = False
    moves: bool = False
    keys: frozenset[str] = frozenset()  # the attributes it updates

    @property
    def look_only(self) -> bool:
        return not (self.comes or self.goes or self.moves) and self.keys <= LOOKS

    def rigid_by(self, law: Motion) -> bool:
        """Whether it stays what it is and goes elsewhere: so too where its pose is said and nothing turns."""
        shifts = LAWS[law.law].moves and law.law not in TURNING
        return not (self.comes or self.goes) and (
            (self.moves and not self.keys) or (shifts and self.keys <= {"configuration"})
        )


def changes(chain: EventChain) -> dict[str, tuple[Change, ...]]:
    """For every object that the plan changes, its changes in order. Relations alone count where it moves."""
    found: dict[str, list[Change]] = {}
    for i, event in enumerate(chain.events):
        for id in dict.fromkeys(target for edit in event.edits for target in edit.targets()):
            change = Change(
                event=i,
                comes=any(isinstance(edit, Spawn) and edit.id == id for edit in event.edits),
                goes=any(isinstance(edit, Consume) and edit.o == id for edit in event.edits),
                moves=moved(id, event.delta, event.edits),
                keys=frozenset(e.key for e in event.edits if isinstance(e, Update) and e.o == id),
            )
            if change.comes or change.goes or change.moves or change.keys:
                found.setdefault(id, []).append(change)
    return {id: tuple(entries) for id, entries in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SketchScene:
    """What the sketch is made of: keyframes laid over the first frame, and the scene without its actors."""

    first: KeyframeEvidence
    keyframes: tuple[KeyframeEvidence, ...]
    plate: Tensor  # [3, H, W]: the first frame without what moves, changes shape or goes
    holes: Mapping[str, Tensor]  # actor -> bool [H, W]: where the first frame shows it, with its shadow
    scenery: Tensor  # bool [H, W]: objects that nothing happens to
    slips: tuple[float, ...]  # per keyframe: how much pixels differ for no reason (alignment.slip)
    actors: Mapping[str, tuple[Change, ...]]
    wholes: Mapping[str, Whole]  # of actors that something hides in part in the first frame
    notes: tuple[str, ...]


def sketch_scene(chain: EventChain, evidence: Evidence, source: LayerSource | None = None) -> SketchScene:
    evidence = replace(
        evidence,
        first=_without_specks(evidence.first),
        keyframes=tuple(_without_specks(frame) for frame in evidence.keyframes),
    )
    notes: list[str] = []
    actors = {}
    for id, entries in changes(chain).items():
        shares = [float(frame.masks[id].float().mean()) for frame in _frames(evidence) if id in frame.masks]
        only_relations = all(not (c.comes or c.goes or c.keys) for c in entries)
        if not shares:
            notes.append(f"{id} is in no picture's evidence: it is left out")
        elif max(shares) > (LARGEST_MOVED if only_relations else MAX_AREA):
            notes.append(f"{id} covers {max(shares):.0%} of the picture: it is left as it is")
        else:
            actors[id] = entries
    laid = [_laid_over(evidence.first, frame, actors) for frame in evidence.keyframes]
    keyframes, slips = tuple(frame for frame, _ in laid), tuple(slip for _, slip in laid)
    scenery = _scenery(evidence.first, actors)
    holes = {
        id: _hole(id, entries, evidence.first, keyframes, actors, slips)
        & (evidence.first.masks[id] | ~scenery)
        for id, entries in actors.items()
        if id in evidence.first.masks and not all(change.look_only for change in entries)
    }
    layers = Layers()
    if source is not None and holes:
        words = {id: chain.node(id).category for id in holes}
        layers = source(evidence.first.image, words, {id: evidence.first.masks[id] for id in holes})
    plate = _plate(evidence.first.image, holes, keyframes, actors, layers.plate)
    return SketchScene(
        first=evidence.first,
        keyframes=keyframes,
        plate=plate,
        holes=holes,
        scenery=scenery,
        slips=slips,
        actors=actors,
        wholes=wholes(chain, evidence.first, keyframes, actors, layers.objects),
        notes=tuple(notes),
    )


def _frames(evidence: Evidence) -> tuple[KeyframeEvidence, ...]:
    return (evidence.first, *evidence.keyframes)


def _without_specks(frame: KeyframeEvidence) -> KeyframeEvidence:
    """A stray pixel far from its object would put the object's middle between them."""
    return replace(frame, masks={id: without_specks(mask, MIN_PART_AREA) for id, mask in frame.masks.items()})


def _laid_over(
    first: KeyframeEvidence, frame: KeyframeEvidence, actors: Mapping[str, tuple[Change, ...]]
) -> tuple[KeyframeEvidence, float]:
    touched = union(first, actors) | union(frame, actors)
    untouched = ~grow(touched, reach(SHADOW_REACH, touched.shape[0]))
    found = aligned(first.image, frame, untouched)
    slipped = slip(first.image, found.image, untouched)
    # What only changes its look stays where the first frame shows it, whatever the editor drew.
    looks = {
        id: first.masks[id]
        for id, entries in actors.items()
        if id in first.masks and id in found.masks and all(change.look_only for change in entries)
    }
    return (replace(found, masks={**found.masks, **looks}) if looks else found), slipped


def union(frame: KeyframeEvidence, ids: Mapping[str, object]) -> Tensor:
    empty = torch.zeros_like(frame.depth, dtype=torch.bool)
    masks = [frame.masks[id] for id in ids if id in frame.masks]
    return torch.stack(masks).any(0) if masks else empty


def _hole(
    id: str,
    entries: tuple[Change, ...],
    first: KeyframeEvidence,
    keyframes: tuple[KeyframeEvidence, ...],
    actors: Mapping[str, tuple[Change, ...]],
    slips: tuple[float, ...],
) -> Tensor:
    """Its mask with the rim, and the shadow beside it that is gone once the object is."""
    mask, height = first.masks[id], first.masks[id].shape[0]
    after = keyframes[entries[0].event]
    others = union(first, {other: 0 for other in actors if other != id}) & ~mask
    elsewhere = grow(union(after, actors), 1)
    gone = (first.image - after.image).abs().amax(0) > max(MIN_SHADOW, slips[entries[0].event])
    shadow = grow(mask, reach(SHADOW_REACH, height)) & gone & ~elsewhere
    return (grow(mask, reach(RIM_WIDTH, height)) | shadow) & ~others


def _scenery(first: KeyframeEvidence, actors: Mapping[str, object]) -> Tensor:
    """Objects that nothing happens to; what covers a large part of the picture is ground, not object."""
    still = {
        id: 0 for id, mask in first.masks.items() if id not in actors and mask.float().mean() < LARGEST_MOVED
    }
    return union(first, still)


def _plate(
    image: Tensor,
    holes: Mapping[str, Tensor],
    keyframes: tuple[KeyframeEvidence, ...],
    actors: Mapping[str, object],
    behind: Tensor | None,
) -> Tensor:
    """Uncovered background from the first keyframe that shows it, then `behind`, else filled from around."""
    if not holes:
        return image
    left = torch.stack(tuple(holes.values())).any(0)
    plate = image.clone()
    for frame in keyframes:
        hidden = grow(union(frame, actors), reach(RIM_WIDTH, image.shape[-2]))
        shown = left & ~hidden
        plate[:, shown] = frame.image[:, shown]
        left = left & hidden
    return fill(plate, left) if behind is None else torch.where(left, behind, plate)
