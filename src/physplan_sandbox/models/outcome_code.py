"""Outcome code: the random outcome of a clip as a vector that conditions the outline network.

At high noise the outcome is undecided, and a small network predicts the mean of several. In training the
clip's outcome is known and given as a code; at inference the code is sampled once with the noise,
independently of the scene. Outcomes are numbered alphabetically, so the plausible one is no more likely.

Layout: [known, one-hot outcome, pace and nudge, one-hot distractor change, its start, amount and colour,
column of the changed object].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from physplan_sandbox.world.render import WORLD_SIZE
from physplan_sandbox.world.scene import DistractorChange, Scene, Take

TRAIN_DISTRACTOR_PROB = 0.35  # share of training clips in which a distractor changes
SAMPLE_DISTRACTOR_PROB = 0.1  # the same at inference: lower, as viewers expect bystanders to stay
OUTCOME_SLOTS = 6  # divisible by 2 and 3: each outcome of a scene has as many slots
CHANGE_KINDS = ("", *DistractorChange.KINDS)
GLOBAL_SIZE = 1 + OUTCOME_SLOTS + 2 + len(CHANGE_KINDS) + 2 + 3  # all but the column
CODE_SIZE = GLOBAL_SIZE + 1  # and the changed object's column, from -1 to 1


def clip_outcome_code(
    scene: Scene, outcome: str, take: Take, change: DistractorChange | None, rng: np.random.Generator
) -> Tensor:
    """The code [CODE_SIZE] of a rendered clip; a slot is sampled among those of its outcome."""
    names = sorted(scene.outcomes)
    slot = int(rng.choice(range(names.index(outcome), OUTCOME_SLOTS, len(names))))
    column = 0.0 if change is None else column_of(scene, change.target, rng)
    return _encode(slot, take, change, column)


def sample_outcome_code(rng: np.random.Generator) -> Tensor:
    """A code for inference: distributed as in training, with fewer distractor changes."""
    take = Take.numbered(1, rng)
    change = DistractorChange.sample([""], rng) if rng.random() < SAMPLE_DISTRACTOR_PROB else None
    return _encode(int(rng.integers(OUTCOME_SLOTS)), take, change, float(rng.uniform(0, 1)))


def column_of(scene: Scene, target: str, rng: np.random.Generator) -> float:
    """A random column in [0, 1] to which this distractor is the nearest."""
    across = {name: float(np.mean(sprite.x)) / WORLD_SIZE for name, sprite in scene.distractors.items()}
    for column in rng.uniform(0, 1, 200):
        if min(across, key=lambda name: abs(across[name] - column)) == target:
            return float(column)
    return across[target]


def _encode(slot: int, take: Take, change: DistractorChange | None, column: float) -> Tensor:
    kind = "" if change is None else change.kind
    of_take = [(take.pace - 1.0) / 0.07, take.nudge]
    of_change = [0.0] * 6 if change is None else _encode_change(change, column)
    numbers = [
        1.0,
        *_one_hot(slot, range(OUTCOME_SLOTS)),
        *of_take,
        *_one_hot(kind, CHANGE_KINDS),
        *of_change,
    ]
    return torch.tensor(numbers)


def _encode_change(change: DistractorChange, column: float) -> list[float]:
    color = [2.0 * value - 1.0 for value in change.color]
    return [(change.start - 5.0) / 3.0, change.amount, *color, 2.0 * column - 1.0]


def _one_hot(value: object, values: Sequence[object]) -> list[float]:
    return [float(value == one) for one in values]
