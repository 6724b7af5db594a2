"""Whether the video shows the plan: the first lines of the report, and every edit in a table."""

from __future__ import annotations

from physplan.report.escaping import escape, table
from physplan.report.files import RunFiles
from physplan.runs import layout
from physplan.verify.limits import Limits
from physplan.verify.verdict import NotChecked
from physplan.verify.words import edit_in_words

LIMITS = Limits()
BOXES = {"holds": "fine", "doubtful": "unsure", "fails": "bad", "not checked": "plain"}


def verdict_box(run: RunFiles) -> str:
    """In the verdict's own colour: nothing is green that was not found to be right."""
    if not run.has("video"):
        return ""
    found = run.verdict
    words = escape(found.sentence())
    more = "" if isinstance(found, NotChecked) else ' <a href="#verdict">Edit by edit</a>'
    return (
        f'<div class="notes {BOXES[found.verdict]}"><b class="verdict">{found.verdict}</b>{words}{more}</div>'
    )


def verdict_section(run: RunFiles) -> str:
    if not run.has("video") or isinstance(found := run.verdict, NotChecked):
        return ""
    rows = [
        (
            f"event {event.event}",
            escape(edit_in_words(edit.edit)),
            _marked(edit.verdict),
            "not seen" if edit.value is None else f"{edit.value:.2f}",
            edit.frame,
        )
        for event in found.events
        for edit in event.edits
    ]
    rows += [
        (
            "the rest",
            escape(f"{one.object} stays as it was"),
            _marked("holds" if one.kept else "fails"),
            f"{one.change:.3f}",
            one.frame,
        )
        for one in found.bystanders
    ]
    how = "the keyframes" if found.compared_with == "keyframes" else "the plan, by sight alone"
    motion = ", ".join(f"{escape(name)} {value:.2g}" for name, value in found.motion.items())
    return (
        f'<p class="lead">Every edit was looked for in the video and held against {how}: 1 is as planned, 0 '
        "is not there. What should stay is given by how much of its brightness changed. The score is "
        f"{found.score:.2f}: from {LIMITS.holds:g} the video holds, below {LIMITS.fails:g} it fails.</p>"
        f"{table(('', 'edit', 'found', 'value', 'at frame'), rows, numbers=(3, 4))}"
        f'<p class="caption">Smoothness, which is no part of the verdict: {motion}.</p>'
    )


def attempts_section(run: RunFiles) -> str:
    """What each changed, with its verdict; the pages of the attempts lie in the run's folder."""
    if not run.attempts:
        return ""
    rows = [
        (
            ("; ".join(escape(f"{it.what} ({it.why})") for it in one.changed) or f"seed {one.seed}")
            + (" (kept)" if one.chosen else ""),
            _marked(one.verdict),
            ("" if one.score is None else f"{one.score:.2f}")
            + ("" if one.preference is None else f" (chosen by {one.preference:.3f})"),
            f"{one.seconds:.1f} s",
            f'<a href="{layout.attempt(one.name)}/{layout.REPORT}">its report</a>',
        )
        for one in run.attempts
    ]
    if any(one.preference is not None for one in run.attempts) or run.about.method == "best_of_n":
        rule = "All were made; the one that best_of_n.by prefers is kept."
    else:
        rule = (
            "Each attempt changes what the verdict on the best one before it asks for, until a video holds;"
            " where none does, the highest score is kept."
        )
    return (
        f'<p class="lead">{rule} Plan and keyframes are the same where nothing else is said.</p>'
        f"{table(('attempt', 'verdict', 'score', 'time', ''), rows, numbers=(2, 3))}"
    )


def _marked(verdict: str) -> str:
    known = verdict if verdict in BOXES else "plain"
    return f'<span class="{known}">{escape(verdict)}</span>'
