"""Objects that nothing happens to: are they in the video as they were in the first frame?"""

from __future__ import annotations

from torch import Tensor

from physplan.graph import EventChain
from physplan.perception import KeyframeEvidence
from physplan.sketch.cast import changes
from physplan.verify.agreement import soften
from physplan.verify.limits import GROUND, Limits
from physplan.verify.verdict import BystanderFound


def find_bystanders(
    chain: EventChain, first: KeyframeEvidence, softened: Tensor, limits: Limits
) -> tuple[BystanderFound, ...]:
    """Each compared with the first frame, where it was, in the last frames."""
    acting, start = changes(chain), soften(first.image)
    found = []
    for id, mask in first.masks.items():
        if id in acting or id not in chain.graph or float(mask.float().mean()) > GROUND:
            continue
        late = range(max(1, len(softened) - limits.late - 2), len(softened))
        differences = {t: float((softened[t] - start)[:, mask].abs().mean()) for t in late}
        frame = max(differences, key=lambda t: differences[t])
        kept = differences[frame] < limits.kept
        found.append(BystanderFound(object=id, change=differences[frame], frame=frame, kept=kept))
    return tuple(found)
