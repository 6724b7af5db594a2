"""The plan's part of the report: what is there, what happens to it, and how each state looks."""

from __future__ import annotations

from PIL import Image

from physplan.drawing.plan import draw_plan
from physplan.drawing.svg import to_svg
from physplan.drawing.words import edit_words
from physplan.errors import PhysPlanError
from physplan.graph import Event, EventChain
from physplan.perception.preview import overlay
from physplan.pictures import to_picture
from physplan.report.escaping import escape, table
from physplan.report.files import RunFiles
from physplan.report.pictures import graph_over_picture, still
from physplan.runs import layout
from physplan.runs.records import KeyframeRecord


def picture_section(run: RunFiles) -> str:
    if run.chain is None or run.evidence is None:
        return ""
    first = run.evidence.first
    masks = still(overlay(first), "the objects' masks in the first frame", "The objects' masks")
    return (
        '<p class="lead">The state graph of the first frame: its objects where they were found, and what '
        "holds between them.</p>"
        f'<div class="pair"><figure>{graph_over_picture(run.chain, first)}<figcaption>Objects and relations'
        f"</figcaption></figure>{masks}</div>"
    )


def plan_section(run: RunFiles) -> str:
    if run.chain is None:
        return ""
    rows = [_event(number, event) for number, event in enumerate(run.chain.events, 1)]
    head = ("event", "what changes, and the rule", "edits", "at frame")
    return (
        '<p class="lead">Each event says what changes and by which rule; its edits change the graph, and '
        "passed the four checks. Time runs from left to right.</p>"
        f'<div class="scroll">{_drawn(run.chain)}</div>{table(head, rows, numbers=(3,))}'
    )


def _drawn(chain: EventChain) -> str:
    try:
        return to_svg(draw_plan(chain))
    except PhysPlanError as error:
        return f"<p>{escape(str(error))}</p>"


def _event(number: int, event: Event) -> tuple[object, ...]:
    states = "".join(
        f"<div><b>{escape(s.object)}</b>: {escape(s.state)}<br>"
        f"<span class='rule'>{escape(s.rule)}</span></div>"
        for s in event.delta.states
    )
    edits = "".join(f"<li>{escape(edit_words(edit))}</li>" for edit in event.edits)
    return number, states, f"<ul>{edits}</ul>", event.anchor


def keyframes_section(run: RunFiles) -> str:
    if run.chain is None or not run.keyframes:
        return ""
    cards = "".join(
        _keyframe(run, entry, event) for entry, event in zip(run.keyframes, run.chain.events, strict=True)
    )
    drawn = "was given" if run.about.keyframes else "was drawn from the first frame"
    again = ", and drawn again where something was off" if any(k.attempts > 1 for k in run.keyframes) else ""
    beside = " On the right, the video at the frame where the state should hold." if run.has("video") else ""
    lead = f"The picture of every state {drawn} and looked at by the check{again}.{beside}"
    return f'<p class="lead">{lead}</p>{cards}'


def _keyframe(run: RunFiles, entry: KeyframeRecord, event: Event) -> str:
    number = entry.event
    pictures: list[tuple[str, Image.Image]] = [("keyframe", run.picture(layout.keyframe(number)))]
    if run.evidence is not None:
        pictures.append(("its masks", overlay(run.evidence.keyframes[number - 1])))
    if run.frames is not None:
        pictures.append((f"the video at frame {event.anchor}", to_picture(run.frames[event.anchor])))
    row = "".join(still(image, f"state {number}: {name}", name) for name, image in pictures)
    problems = "; ".join(entry.problems)
    verdict = (
        f'<span class="off">{escape(problems)}</span>'
        if problems
        else '<span class="ok">its check found nothing off</span>'
    )
    drawn = "drawn once" if entry.attempts == 1 else f"best of {entry.attempts} drawings"
    drawn = "given" if run.about.keyframes else drawn
    whose = "<small>the instruction is in your words</small><br>" if event.by_user else ""
    return (
        f'<div class="card"><h3>State {number}, at frame {event.anchor}</h3><div class="row">{row}</div>'
        f"<blockquote>{escape(entry.instruction)}</blockquote>{whose}"
        f"<small>{drawn}; {entry.drift:.1%} of what no edit touches has changed; {verdict}</small></div>"
    )
