"""The image editor Psi of section 3.2: the first frame and an instruction in, a keyframe out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import EventChain

if TYPE_CHECKING:
    from physplan.perception import KeyframeEvidence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EditRequest:
    """One keyframe to draw, always from the first frame, so that errors do not add up.

    Most editors need only `image`, `instruction` and `seed`; the rest is there for those that can use it.
    """

    image: Image.Image  # I_0
    instruction: str  # c_i, from the net edits
    event: int  # i - 1: an index into chain.events
    chain: EventChain
    first: KeyframeEvidence | None = None  # masks and depth of I_0
    seed: int = 0  # another one for every attempt
    complaints: tuple[str, ...] = ()  # what was wrong with the last attempt, for editors that read


class KeyframeEditor(Protocol):
    # What decides the drawing beside the request: model and settings, as JSON. Part of the store's key.
    identity: Mapping[str, Any]
    # How many edits may run side by side: 1 for a model on this machine.
    at_once: int

    def edit(self, request: EditRequest) -> Image.Image:
        """A picture of state i. Raises `NoPicture` where another attempt may help."""
        ...


class NoPicture(PhysPlanError):
    """The editor answered without a picture."""
