"""What of a keyframe a model is given: where the plan has changed something, not what else was redrawn."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image
from torch import Tensor

from physplan.graph import Event, EventChain
from physplan.keyframes.check import edited_region
from physplan.perception import Evidence, KeyframeEvidence
from physplan.sketch.scene import changes
from physplan.video.keyframe_conditioning import GivenFrame


def frames_to_give(
    chain: EventChain, images: Sequence[Image.Image], evidence: Evidence | None, *, margin: float
) -> tuple[list[GivenFrame], list[str]]:
    """Each event's keyframe at its anchor, with evidence only where the edits are; and what is to be said."""
    given, notes = [], []
    for index, (anchor, image) in enumerate(zip(chain.anchors, images, strict=True)):
        where = place_of_edits(chain, evidence, index, margin=margin) if evidence is not None else None
        given.append(GivenFrame(frame=anchor, image=image, where=where))
        if evidence is not None and where is None:
            notes.append(f"the keyframe of frame {anchor} is given whole: where its edits are is not known")
    return given, notes


def place_of_edits(chain: EventChain, evidence: Evidence, index: int, *, margin: float) -> Tensor | None:
    """Where an event's keyframe shows what the plan has changed by then, bool [H, W]; None: not known.

    The other end of a relation, a table that something comes to lie on, is as the first frame has it.
    """
    event, first, keyframe = chain.events[index], evidence.first, evidence.keyframes[index]
    changed = changed_by(chain, index)
    around = {id: beside(id, event, keyframe) for id in changed if id in event.graph}
    unknown = [id for id in changed if id in chain.graph and id not in first.masks]
    unknown += [id for id, others in around.items() if not others]
    if unknown or not changed:
        return None
    shown = dict.fromkeys([*changed, *(other for others in around.values() for other in others)])
    return edited_region(chain, index, first, keyframe, margin=margin, nodes=tuple(shown))


def changed_by(chain: EventChain, index: int) -> tuple[str, ...]:
    """The objects of the first state or of an event's that some event up to it has changed."""
    here = {*chain.graph.ids, *chain.events[index].graph.ids}
    found = changes(chain).items()
    return tuple(id for id, entries in found if id in here and min(c.event for c in entries) <= index)


def beside(id: str, event: Event, keyframe: KeyframeEvidence) -> tuple[str, ...]:
    """The object itself where it is in sight; else those in sight that an edit names with it: it is behind,
    in or against one of them."""
    named = (other for edit in event.net_edits if id in edit.targets() for other in edit.targets())
    return (id,) if id in keyframe.masks else tuple(other for other in named if other in keyframe.masks)
