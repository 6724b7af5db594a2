"""What the stages ask of models. Each has a `name`, which every result carries: the judge moves the PCA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Frame = np.ndarray  # (H, W, 3) uint8


class FrameRanker(Protocol):
    """CLIP: how well each frame fits a text."""

    name: str

    def rank(self, frames: Sequence[Frame], text: str) -> np.ndarray: ...


class VQAScorer(Protocol):
    """VQAScore: the probability that a frame shows what the text says."""

    name: str

    def score(self, frame: Frame, text: str) -> float: ...


class OrderJudge(Protocol):
    """Answers, in words with its reason, whether frames in order match a description."""

    name: str

    def ask(self, frames: Sequence[Frame], description: str) -> str: ...


class ChoiceJudge(Protocol):
    """The index of the description that fits the video best."""

    name: str

    def choose(self, frames: Sequence[Frame], caption: str, law: str, choices: Sequence[str]) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Judges:
    ranker: FrameRanker
    scorer: VQAScorer
    closed_order: OrderJudge
    closed_choice: ChoiceJudge
    open_order: OrderJudge
    open_choice: ChoiceJudge
