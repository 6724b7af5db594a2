"""A sketch whose movement ChronoEdit draws: its frames on the way from state to state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from physplan.graph import EventChain
from physplan.keyframes.protocol import EditRequest
from physplan.perception import Evidence
from physplan.pictures import to_picture, to_tensor
from physplan.reasoning.recheck import instruction_for
from physplan.sketch import Sketch, make_sketch
from physplan_models.keyframes.diffusers import ChronoEditor

FEWEST_FRAMES = 9  # of a way: the picture, frames of one latent, and the edited picture's four


def chrono_sketch(chain: EventChain, evidence: Evidence, *, way: int = 0, **options: Any) -> Sketch:
    """The usual sketch; with `way`, where the plan acts, what the editor draws between two states."""
    usual = make_sketch(chain, evidence)
    if way == 0:
        return usual
    editor = ChronoEditor.from_pretrained(way=max(way, FEWEST_FRAMES), **options)
    assert isinstance(editor, ChronoEditor)
    states = [evidence.first.image, *(frame.image for frame in evidence.keyframes)]
    frames, begins = usual.frames.clone(), 0
    for index, event in enumerate(chain.events):
        request = EditRequest(
            image=to_picture(states[index]),
            instruction=instruction_for(chain, index),
            event=index,
            chain=chain,
            seed=0,
        )
        moving = stretched(editor.whole_way(request), event.anchor - begins).to(frames)
        between = slice(begins + 1, event.anchor + 1)
        frames[between] = torch.where(usual.masks[between], moving, frames[between])
        begins = event.anchor
    return replace(usual, frames=frames.clamp(0, 1))


def stretched(way: Sequence[Image.Image], count: int) -> Tensor:
    """The nearest frames of a way for the `count` frames after its first, [count, 3, H, W]."""
    places = torch.linspace(0, len(way) - 1, count + 1)[1:].round().long().tolist()
    return torch.stack([to_tensor(way[k]) for k in places])
