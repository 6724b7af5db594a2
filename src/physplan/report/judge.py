"""A second judge's answers beside perception's verdict, and how often both agree."""

from __future__ import annotations

from physplan.report.escaping import escape, table
from physplan.report.files import RunFiles
from physplan.verify.by_judge import agreement_with
from physplan.verify.verdict import NotChecked

COLOURS = {"yes": "fine", "no": "bad", "unclear": "unsure"}


def judge_section(run: RunFiles) -> str:
    if (judged := run.judgement) is None:
        return ""
    rows = [
        (
            "the rest" if one.question.event is None else f"event {one.question.event}",
            escape(one.question.text()),
            f'<span class="{COLOURS[one.answer]}">{one.answer}</span>',
            escape(one.reason),
        )
        for one in judged.answers
    ]
    return (
        f'<p class="lead">{escape(judged.judge)} was asked every edit and every object that should '
        f"stay. {_agreement(run)}</p>{table(('', 'asked', 'answer', 'reason'), rows)}"
    )


def _agreement(run: RunFiles) -> str:
    if isinstance(run.verdict, NotChecked) or run.judgement is None:
        return "The verdict above is not there to compare it with."
    found = agreement_with(run.verdict, run.judgement)
    kappa = "" if found["kappa"] is None else f" (Cohen's kappa {found['kappa']:.2f})"
    return (
        f"Of {found['compared']} on which both say yes or no they agree on {found['agree']}{kappa}. "
        "The verdict does not use these answers."
    )
