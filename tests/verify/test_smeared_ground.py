"""What something leaves behind: ground that goes on is as it was, a blur in its place is said."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch import Tensor

from physplan.graph import EventChain, Node, PhysicalDelta, StateChange, StateGraph, Update
from physplan.perception import Evidence, KeyframeEvidence
from physplan.verify.limits import Limits
from physplan.verify.sharpness import ground_left, is_smeared

HEIGHT, WIDTH = 120, 180
CHAIN = EventChain.build(
    prompt="the ball rolls",
    num_frames=9,
    graph=StateGraph([Node("ball#1", "ball")]),
    deltas=[PhysicalDelta((StateChange("ball#1", "further right", "a push"),), 0.9)],
    edits=[[Update("ball#1", "configuration", "moved to the right")]],
)


def disk(x: int) -> Tensor:
    ys, xs = np.mgrid[:HEIGHT, :WIDTH]
    return torch.from_numpy((xs - x) ** 2 + (ys - 60) ** 2 < 25**2)


def shown(ground: Tensor, x: int) -> KeyframeEvidence:
    ys, xs = np.mgrid[:HEIGHT, :WIDTH]
    pattern = torch.from_numpy(((xs // 4 + ys // 4) % 2).astype(np.float32)) * 0.4
    colour = torch.stack([0.6 + pattern, pattern, pattern])
    image = torch.where(disk(x), colour, ground)
    return KeyframeEvidence(image=image, masks={"ball#1": disk(x)}, depth=torch.ones(HEIGHT, WIDTH))


def ground(stripes: float) -> Tensor:
    rows = torch.arange(HEIGHT)[:, None].expand(HEIGHT, WIDTH)
    return (0.5 + stripes * ((rows // 6) % 2).float()).expand(3, -1, -1).clone()


@pytest.mark.parametrize(
    ("stripes", "blurred", "expected"), [(0.3, True, True), (0.3, False, False), (0.0, True, False)]
)
def test_a_blur_where_something_stood_is_smeared_unless_the_ground_is_even(
    stripes: float, blurred: bool, expected: bool
) -> None:
    before = ground(stripes)
    behind = before.clone()
    if blurred:
        soft = torch.from_numpy(ndimage.gaussian_filter(before.numpy(), (0, 12, 12)))
        behind = torch.where(disk(45), soft, before)
    first, last = shown(before, 45), shown(behind, 130)
    evidence = Evidence(first=first, keyframes=(last,))
    frames = torch.stack([first.image, *[last.image] * 8])
    assert is_smeared(CHAIN, evidence, frames, Limits()) is expected
    assert (ground_left(CHAIN, evidence, frames[-1]) is None) == (stripes == 0.0)
