"""The guidance's part of the report: the terms as they fell, and where each may change the video."""

from __future__ import annotations

from collections import Counter

from physplan.report.escaping import escape
from physplan.report.files import RunFiles
from physplan.report.losses import loss_chart
from physplan.report.pictures import region_over, still
from physplan.runs import layout

KEEP = "keep"  # the term of what no edit names


def repeats_words(run: RunFiles) -> str:
    """How many guided repeats there were, and how many there might have been; empty where none."""
    done, planned = run.repeats
    return "" if not planned else str(done) if done >= planned else f"{done} of at most {planned}"


def terms_section(run: RunFiles) -> str:
    if run.chain is None or not run.steps:
        return ""
    charts = "".join(
        f"<figure><h3>Event {event + 1}</h3>{loss_chart(run.steps, event)}</figure>"
        for event in range(len(run.chain.events))
    )
    skipped = Counter(
        f"event {term['event'] + 1}, {term['term']}: {term['skipped']}"
        for step in run.steps
        for term in step["terms"]
        if term.get("skipped")
    )
    left_out = "".join(f"<li>{escape(what)} ({times} times)</li>" for what, times in skipped.items())
    return (
        '<p class="lead">What each edit asks of the video, measured on the frame at which its event ends, '
        "over the guided repeats of the sampling. Every line is scaled to its own largest value; the numbers "
        f"are its first and its last.{_ended_early(run)}{_explained(run)}</p>"
        f'<div class="charts">{charts}</div>'
        + (f'<p class="caption">Left out:</p><ul class="rule">{left_out}</ul>' if left_out else "")
    )


def _ended_early(run: RunFiles) -> str:
    done, planned = run.repeats
    if done >= planned:
        return ""
    return f" {done} of at most {planned} repeats were done: in a step they end when every term is satisfied."


def _explained(run: RunFiles) -> str:
    """What readers stumble over, where it is there to be seen."""
    words = ""
    measured = [{term["event"] for term in step["terms"] if term["term"] != KEEP} for step in run.steps]
    if any(events != measured[0] for events in measured):
        words += (
            " The events take turns: a line has a point only in the repeats of its own event. In between, "
            "others pull the same video their way, so lines zigzag; what counts is where they come to rest."
        )
    if any(term["term"] == KEEP for step in run.steps for term in step["terms"]):
        words += (
            f" <b>{KEEP}</b> holds objects that no edit names to how they look in the first frame. Each "
            "repeat looks at another frame of the video, so it jumps; it should stay low rather than fall."
        )
    return words


def regions_section(run: RunFiles) -> str:
    if run.chain is None or not run.regions:
        return ""
    figures = []
    for label, region in run.regions.items():
        number = layout.event_of(label) or 0
        if number > len(run.chain.events):
            continue
        picture = run.picture(layout.keyframe(number))
        label = escape(label)
        figures.append(still(region_over(picture, region), f"where the video may be changed: {label}", label))
    return (
        '<p class="lead">In the layout stage a term changes the video only here (in colour), over its '
        f'keyframe; elsewhere its pull is weak.</p><div class="thumbs">{"".join(figures)}</div>'
    )
