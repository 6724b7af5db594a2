"""Every net edit held against its keyframe: is the video there on the way from the first frame to it?"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from physplan.graph import Consume, EventChain, GraphEdit
from physplan.perception import Evidence, KeyframeEvidence
from physplan.sketch.pixels import grow
from physplan.sketch.scene import changes, union
from physplan.verify.agreement import Agreement, Apart, agreement, soften
from physplan.verify.limits import MAX_AREA, Limits, answer, event_found, looked_at
from physplan.verify.verdict import EditFound, EventFound

Seen = dict[int, Agreement]  # by frame


def by_keyframes(
    chain: EventChain, evidence: Evidence, softened: Sequence[Tensor], limits: Limits
) -> tuple[EventFound, ...]:
    acting = changes(chain)
    first, start = evidence.first, soften(evidence.first.image)
    still = {id for id, m in first.masks.items() if id not in acting and float(m.float().mean()) < MAX_AREA}
    still_there = union(first, dict.fromkeys(still))
    reach = max(1, round(limits.margin * start.shape[-2]))
    found = []
    for index, (event, picture) in enumerate(zip(chain.events, evidence.keyframes, strict=True)):
        times = looked_at(chain, index, limits)
        key = soften(picture.image)
        differences = {t: Apart.of(start, key, softened[t]) for t in times}

        def seen(ids: Sequence[str], picture: KeyframeEvidence, differences: dict[int, Apart]) -> Seen:
            region = grow(union(first, dict.fromkeys(ids)) | union(picture, dict.fromkeys(ids)), reach)
            return {t: agreement(apart, region, still_there) for t, apart in differences.items()}

        whole, last = seen(list(acting), picture, differences), index + 1 == len(chain.events)
        edits = []
        for edit in event.net_edits:
            ids = [id for id in edit.targets() if id in acting]
            found_ids = [id for id in ids if id in first.masks or id in picture.masks]
            lost = any(id in event.graph for id in ids if id not in found_ids)  # seen in neither picture
            lost = lost or (isinstance(edit, Consume) and edit.o not in first.masks)
            per_frame = seen(found_ids, picture, differences) if found_ids and not lost else {}
            edits.append(_edit_found(edit, per_frame, times, last, limits))
        value, stray = _overall(whole, last)
        found.append(event_found(index, event.anchor, value, stray, edits, limits))
    return tuple(found)


def _overall(seen: Seen, last: bool) -> tuple[float, float]:
    """The last state must stay; an earlier one must have been there once."""
    reached, stray = [a.reached for a in seen.values()], [a.stray for a in seen.values()]
    if last:
        return sum(reached) / len(reached), sum(stray) / len(stray)
    return max(reached), min(stray)


def _edit_found(edit: GraphEdit, seen: Seen, times: range, last: bool, limits: Limits) -> EditFound:
    shown = any(found.shown for found in seen.values())  # else the keyframe does not show it either
    value = _overall(seen, last)[0] if shown else None
    return EditFound(
        edit=str(edit),
        objects=edit.targets(),
        value=value,
        frame=max(seen, key=lambda t: seen[t].reached) if shown else times[-1],
        verdict=answer(value, limits.edit_holds, limits.edit_fails),
    )
