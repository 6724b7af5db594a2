"""The three stages as pure functions: which frames are looked at, and what answers are worth.

`official_quirks` reproduces the faults of the official scripts that change a score; the default is what is
meant. (Their other faults stop the run and are not worth reproducing.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SAMPLED_FRAMES = 32  # frames that are searched for a retrieval prompt
CHOICE_FRAMES = 26  # frames shown for the naturalness question
PASS_SCORE = 1.5  # retrieval score + yes
CHOICES = ("Completely Fantastical", "Highly Unrealistic", "Slightly Unrealistic", "Almost Realistic")
LAST_FRAME, MIDDLE_FRAME = "Last Frame", "Middle Frame"


def evenly(total: int, count: int = SAMPLED_FRAMES) -> list[int]:
    """`count` frame indices from the first to the last."""
    return [int(i) for i in np.linspace(0, total - 1, count, dtype=int)]


def around(best: int, radius: int, count: int) -> range:
    """The retrieved frame and its neighbours among the sampled ones."""
    return range(max(best - radius, 0), min(best + radius + 1, count))


def choice_frames(total: int, count: int = CHOICE_FRAMES) -> list[int]:
    """Every (total // count)-th frame, at most `count`, never the very last: the official reader's steps."""
    step = max(total // count, 1)
    return list(range(0, max(total - 1, 1), step))[:count]


# Stage 1: key phenomena


@dataclass(frozen=True, kw_only=True)
class PhenomenonScore:
    """One question: the score of its best frame, and the retrieval scores of that and of the last frame."""

    total: float
    retrieval: float = 0.0
    last_retrieval: float = 0.0


def phenomenon(
    retrieval: Sequence[float], statement: Sequence[float], antonym: Sequence[float]
) -> PhenomenonScore:
    """Over the retrieved frames the best of VQAScore(retrieval prompt) + S / (S + A)."""
    totals = [
        r + (s / (s + a) if s + a > 0 else 0.5) for r, s, a in zip(retrieval, statement, antonym, strict=True)
    ]
    best = int(np.argmax(totals))
    return PhenomenonScore(total=totals[best], retrieval=retrieval[best], last_retrieval=retrieval[-1])


def phenomena_stage(questions: Sequence[PhenomenonScore], *, official_quirks: bool = False) -> int:
    """0 to 3 from the sum of two questions, or from one question without its retrieval score.

    Quirks: the retrieval score that is taken off is that of the last frame tried, not of the best, so that
    the rest can be negative; and a negative rest falls through all bins to 3.
    """
    if len(questions) > 1:
        total = sum(question.total for question in questions)
        return int(np.searchsorted([1.0, 1.5, 2.25], total, side="left"))
    question = questions[0]
    rest = question.total - (question.last_retrieval if official_quirks else question.retrieval)
    if rest < 0 and official_quirks:
        return 3
    return int(np.searchsorted([0.25, 0.5, 0.75], rest, side="right"))


# Stage 2: order


def is_yes(answer: str, *, official_quirks: bool = False, open_judge: bool = False) -> bool:
    """The first word of the choice that is yes or no. Quirk: any "no" in it ("cannot", "know") wins, and of
    the open judge the whole answer is searched, its reason too."""
    choice = read_choice(answer).lower()
    if official_quirks:
        text = answer.lower() if open_judge else choice
        return "no" not in text and "yes" in text
    first = re.search(r"\b(yes|no)\b", choice)
    return first is not None and first[0] == "yes"


def read_choice(text: str) -> str:
    """The `choice` of a JSON answer; the whole text where a model did not keep to the form."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        answer: Any = json.loads(found[0]) if found else text
    except ValueError:
        answer = text
    if isinstance(answer, dict):
        answer = next((value for key, value in answer.items() if key.lower() == "choice"), text)
    return str(answer)


def order_stage(answers: Sequence[bool]) -> int:
    """The literal middle frame: one point for each of the three questions."""
    return sum(answers)


def retrieved_order_stage(
    *,
    first: Sequence[tuple[float, bool]],  # (retrieval score, yes) of each frame tried as the middle one
    second: Sequence[tuple[float, bool]],
    whole: bool,
    ignore_retrieval_of_whole: bool = False,
) -> int:
    """A retrieved middle frame: a question passes when the best retrieval score + yes reaches 1.5.

    Quirk (`ignore_retrieval_of_whole`): for the open judge the third question counts without it.
    """
    best_retrieval = max(retrieval for retrieval, _ in (*first, *second))
    third = whole if ignore_retrieval_of_whole else best_retrieval + whole >= PASS_SCORE
    return sum(
        [
            max(retrieval + yes for retrieval, yes in first) >= PASS_SCORE,
            max(retrieval + yes for retrieval, yes in second) >= PASS_SCORE,
            bool(third),
        ]
    )
