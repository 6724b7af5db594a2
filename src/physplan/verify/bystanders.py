"""Objects that nothing happens to: are they in the video as they were in the first frame?"""

from __future__ import annotations

from torch import Tensor

from physplan.graph import EventChain, Link
from physplan.perception import KeyframeEvidence
from physplan.sketch.pixels import grow
from physplan.sketch.scene import changes, union
from physplan.verify.agreement import VISIBLE_CHANGE, Softened, soften
from physplan.verify.limits import MAX_AREA, Limits
from physplan.verify.verdict import BystanderFound

TAKES = ("containment", "support")  # relations in which the other may come to lie over an object
LEAST_REST = 0.1  # of the picture
MIN_CONTRAST = 0.01  # a spread of brightness below which a picture was flat already
FLAT_SHARE = 0.25  # of the contrast it had


def is_repainted(
    chain: EventChain, first: KeyframeEvidence, last: Tensor | None, softened: Softened, limits: Limits
) -> bool:
    """Whether the picture outside every acting object became another scene, or flat, in all the last frames.

    `last` [3, H, W] is the last keyframe, where there is one: what it changes may change. A video painted in
    one colour shows no edit, whatever its masks say. Where nearly everything acts this cannot be told.
    """
    rest, start = ~union(first, changes(chain)), soften(first.image)
    if last is not None:
        rest &= (soften(last) - start).abs().amax(0) <= VISIBLE_CHANGE
    if float(rest.float().mean()) < LEAST_REST:
        return False
    late, before = softened[-limits.late :][..., rest], start[:, rest]  # [n, 3, pixels], [3, pixels]
    changed = ((late - before).abs().amax(1) > 2 * VISIBLE_CHANGE).float().mean(1).min()
    contrast, had = float(late.std(-1).amax(1).max()), float(before.std(-1).amax())
    flat = had > MIN_CONTRAST and contrast < FLAT_SHARE * had
    return flat or float(changed) > limits.repainted


def find_bystanders(
    chain: EventChain,
    first: KeyframeEvidence,
    last: KeyframeEvidence | None,
    softened: Softened,
    limits: Limits,
) -> tuple[BystanderFound, ...]:
    """Each compared with the first frame, where it was, in the last frames.

    Where the last keyframe has something that acts in front of it, as a ball in a crate, it is not compared.
    Without keyframes that place is not known, and what takes something in or up is left out.
    """
    acting, start = changes(chain), soften(first.image)
    takes, covered = set[str](), None
    if last is None:
        takes = {edit.a for edit in chain.events[-1].net_edits if isinstance(edit, Link) and edit.r in TAKES}
    else:
        covered = grow(union(last, dict.fromkeys(acting)), max(1, round(limits.margin * start.shape[-2])))
    found = []
    for id, whole in first.masks.items():
        if id in acting or id in takes or id not in chain.graph or float(whole.float().mean()) > MAX_AREA:
            continue
        mask = whole if covered is None else whole & ~covered
        if not mask.any():
            continue
        late = range(max(1, len(softened) - limits.late - 2), len(softened))
        differences = {t: float((softened[t] - start)[:, mask].abs().mean()) for t in late}
        frame = max(differences, key=lambda t: differences[t])
        kept = differences[frame] < limits.kept
        found.append(BystanderFound(object=id, change=differences[frame], frame=frame, kept=kept))
    return tuple(found)
