"""What chance decides in a clip, as numbers that a network can be told.

Under much noise a video model has to guess what will happen, and a small one guesses a mixture: a ball
half in the crate and half beside it. A training clip's chances are known, so the outline network is told
them as it is told the words; when a video is made they are drawn, once, with the noise. Numbers name a
scene's outcomes by the alphabet, so that none is more likely for being right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from physplan.sandbox.world.render import WORLD
from physplan.sandbox.world.scene import Meddling, Scene, Take

MEDDLED = 0.35  # share of the training clips in which a distractor changes
MEDDLES = 0.1  # and of the videos: rarely, so that what nobody mentions mostly stays, as people expect
SIDES = 6  # of the die that decides the outcome: two or three of them share it evenly
HOWS = ("", *Meddling.HOWS)
ABOUT = 1 + SIDES + 2 + len(HOWS) + 2 + 3  # known, outcome, pace and nudge; of meddling how, when, colour
SIZE = ABOUT + 1  # and the column near which the object stands that is meddled with, from -1 to 1


def lot_of(
    scene: Scene, outcome: str, take: Take, meddling: Meddling | None, rng: np.random.Generator
) -> Tensor:
    """A clip's. Of the numbers that mean the same, one is drawn."""
    names = sorted(scene.outcomes)
    side = int(rng.choice(range(names.index(outcome), SIDES, len(names))))
    column = 0.0 if meddling is None else column_near(scene, meddling.target, rng)
    return _numbers(side, take, meddling, column)


def draw_lot(rng: np.random.Generator) -> Tensor:
    """A new video's: as clips have it, but that a distractor changes less often."""
    take = Take.numbered(1, rng)
    meddling = Meddling.sample([""], rng) if rng.random() < MEDDLES else None
    return _numbers(int(rng.integers(SIDES)), take, meddling, float(rng.uniform(0, 1)))


def column_near(scene: Scene, target: str, rng: np.random.Generator) -> float:
    """Any column, from 0 to 1, to which this distractor is the nearest one."""
    across = {name: float(np.mean(sprite.x)) / WORLD for name, sprite in scene.distractors.items()}
    for column in rng.uniform(0, 1, 200):
        if min(across, key=lambda name: abs(across[name] - column)) == target:
            return float(column)
    return across[target]


def _numbers(side: int, take: Take, meddling: Meddling | None, column: float) -> Tensor:
    how = "" if meddling is None else meddling.how
    of_take = [(take.pace - 1.0) / 0.07, take.nudge]
    of_meddling = [0.0] * 6 if meddling is None else _of_meddling(meddling, column)
    numbers = [1.0, *_one_of(side, range(SIDES)), *of_take, *_one_of(how, HOWS), *of_meddling]
    return torch.tensor(numbers)


def _of_meddling(meddling: Meddling, column: float) -> list[float]:
    color = [2.0 * value - 1.0 for value in meddling.color]
    return [(meddling.start - 5.0) / 3.0, meddling.amount, *color, 2.0 * column - 1.0]


def _one_of(value: object, values: Sequence[object]) -> list[float]:
    return [float(value == one) for one in values]
