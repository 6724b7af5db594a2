"""One video before the judges: which frames they see and what their answers are worth, stage by stage."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from physplan_bench.phygenbench.dataset import Entry, Question
from physplan_bench.phygenbench.protocol import Judges, OrderJudge
from physplan_bench.phygenbench.stages import (
    LAST_FRAME,
    MIDDLE_FRAME,
    PhenomenonScore,
    around,
    choice_frames,
    evenly,
    is_yes,
    order_stage,
    phenomena_stage,
    phenomenon,
    retrieved_order_stage,
)

Video = np.ndarray  # (T, H, W, 3) uint8


def judge_video(
    video: Video, entry: Entry, judges: Judges, *, official_quirks: bool = False
) -> dict[str, Any]:
    """All three stages by both sets of judges, with what was answered."""
    single, questions = judge_phenomena(video, entry, judges, official_quirks=official_quirks)
    retrieved = retrieve_middle(video, entry, judges)
    multi_gpt, closed_answers = judge_order(
        video, entry, judges.closed_order, retrieved, official_quirks=official_quirks
    )
    multi_llava, open_answers = judge_order(
        video, entry, judges.open_order, retrieved, official_quirks=official_quirks, open_judge=True
    )
    shown = list(video[choice_frames(len(video))])
    return {
        "single": single,
        "multi_gpt": multi_gpt,
        "multi_llava": multi_llava,
        "video_gpt": judges.closed_choice.choose(shown, entry.caption, entry.law, entry.choices),
        "video_intern": judges.open_choice.choose(shown, entry.caption, entry.law, entry.choices),
        "phenomena": [asdict(question) for question in questions],
        "order_answers": {"closed": closed_answers, "open": open_answers},
    }


def judge_phenomena(
    video: Video, entry: Entry, judges: Judges, *, official_quirks: bool
) -> tuple[int, list[PhenomenonScore]]:
    """Stage 1."""
    questions = [ask_phenomenon(video, question, judges) for question in entry.phenomena]
    return phenomena_stage(questions, official_quirks=official_quirks), questions


def ask_phenomenon(video: Video, question: Question, judges: Judges) -> PhenomenonScore:
    if question.retrieval == LAST_FRAME:
        return PhenomenonScore(total=judges.scorer.score(video[-1], question.statement))
    sampled = video[evenly(len(video))]
    best = int(np.argmax(judges.ranker.rank(list(sampled), question.retrieval)))
    frames = [sampled[i] for i in around(best, 2, len(sampled))]
    return phenomenon(
        *(
            [judges.scorer.score(frame, text) for frame in frames]
            for text in (question.retrieval, question.statement, question.antonym)
        )
    )


@dataclass(frozen=True, kw_only=True)
class Retrieved:
    """Sampled frames that may be the middle one: up to the best, and from the best on, with their scores."""

    before: list[tuple[np.ndarray, float]]
    after: list[tuple[np.ndarray, float]]


def retrieve_middle(video: Video, entry: Entry, judges: Judges) -> Retrieved | None:
    """None where the literal middle frame is meant (136 of 160 prompts)."""
    if entry.middle == MIDDLE_FRAME:
        return None
    sampled = video[evenly(len(video))]
    best = int(np.argmax(judges.ranker.rank(list(sampled), entry.middle)))
    tried = {
        i: (sampled[i], judges.scorer.score(sampled[i], entry.middle)) for i in around(best, 1, len(sampled))
    }
    return Retrieved(
        before=[pair for i, pair in tried.items() if i <= best],
        after=[pair for i, pair in tried.items() if i >= best],
    )


def judge_order(
    video: Video,
    entry: Entry,
    judge: OrderJudge,
    retrieved: Retrieved | None,
    *,
    official_quirks: bool,
    open_judge: bool = False,
) -> tuple[int, list[str]]:
    """Stage 2 by one judge. `official_quirks` for the open one: see `stale_texts`, `is_yes`, and the best
    frame is shown once among all, where the closed one sees it twice."""
    first, last = video[0], video[-1]
    texts = entry.open_order if open_judge else entry.order
    quirks_of_open = official_quirks and open_judge
    answers: list[str] = []

    def ask(frames: list[np.ndarray], description: str) -> bool:
        answers.append(judge.ask(frames, description))
        return is_yes(answers[-1], official_quirks=official_quirks, open_judge=open_judge)

    if retrieved is None:
        middle = video[len(video) // 2]
        groups = ([first, middle], [middle, last], [first, middle, last])
        return order_stage([ask(g, text) for g, text in zip(groups, texts, strict=True)]), answers
    after = retrieved.after[1:] if quirks_of_open else retrieved.after  # both begin or end with the best
    between = [frame for frame, _ in (*retrieved.before, *after)]
    stage = retrieved_order_stage(
        first=[(score, ask([first, frame], texts[0])) for frame, score in retrieved.before],
        second=[(score, ask([frame, last], texts[1])) for frame, score in retrieved.after],
        whole=ask([first, *between, last], texts[2]),
        ignore_retrieval_of_whole=quirks_of_open,
    )
    return stage, answers
