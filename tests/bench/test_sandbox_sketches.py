"""Other sketches to compare ours with: states that jump, whole keyframes."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from physplan.sketch import Sketch
from physplan_bench.sandbox.sketches import whole_keyframes, without_motion


def sketch(count: int) -> Sketch:
    """Frame t is t everywhere."""
    frames = torch.arange(count).float().view(-1, 1, 1, 1).expand(count, 3, 2, 2) / count
    masks = (torch.arange(count) % 2 == 1).view(-1, 1, 1, 1).expand(count, 1, 2, 2)
    return Sketch(
        frames=frames, masks=masks, kept=torch.zeros(1, 2, 2, dtype=torch.bool), orders=(), notes=()
    )


def test_without_motion_states_jump_half_way_and_are_exact_at_their_anchors() -> None:
    ours = sketch(9)
    found = without_motion(ours, (3, 6))
    shown = [round(float(frame[0, 0, 0]) * 9) for frame in found.frames]
    assert shown == [0, 0, 3, 3, 3, 6, 6, 6, 6]
    assert torch.equal(found.masks, ours.masks[torch.tensor(shown)])


def test_whole_keyframes_fade_into_each_other_and_are_held_everywhere() -> None:
    def picture(value: float) -> SimpleNamespace:
        return SimpleNamespace(image=torch.full((3, 2, 2), value))

    evidence = SimpleNamespace(first=picture(0.0), keyframes=(picture(1.0), picture(0.5)))
    chain = SimpleNamespace(anchors=(2, 4), num_frames=6, events=(1, 2))
    found = whole_keyframes(chain, evidence)
    assert [float(frame[0, 0, 0]) for frame in found.frames] == [0.0, 0.5, 1.0, 0.75, 0.5, 0.5]
    assert found.masks.all()
    assert found.masks.shape == (6, 1, 2, 2)
