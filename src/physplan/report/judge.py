"""A second judge's answers beside perception's verdict, and how often both agree."""

from __future__ import annotations

from physplan.foreign import plain
from physplan.report.escaping import escape
from physplan.report.files import RunFiles
from physplan.verify.by_judge import agreement_with
from physplan.verify.verdict import NotChecked

COLOURS = {"yes": "fine", "no": "bad", "unclear": "unsure"}


def judge_section(run: RunFiles) -> str:
    if (judged := run.judgement) is None:
        return ""
    rows = "".join(
        f"<tr><td>{'the rest' if one.question.event is None else f'event {one.question.event}'}</td>"
        f"<td>{escape(plain(one.question.text()))}</td>"
        f'<td><span class="{COLOURS[one.answer]}">{one.answer}</span></td>'
        f"<td>{escape(plain(one.reason))}</td></tr>"
        for one in judged.answers
    )
    return (
        f'<p class="lead">{escape(plain(judged.judge))} was asked every edit and every object that should '
        f"stay. {_agreement(run)}</p><div class='wide'><table><thead><tr><th></th><th>asked</th>"
        f"<th>answer</th><th>reason</th></tr></thead><tbody>{rows}</tbody></table></div>"
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
