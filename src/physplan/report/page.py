"""One self-contained HTML page of a run, made from the files in its folder alone."""

from __future__ import annotations

from html import escape
from importlib import resources
from pathlib import Path

from PIL import Image

from physplan.files import write_atomic
from physplan.report.accounts import again_section, cost_section
from physplan.report.files import RunFiles
from physplan.report.pictures import embed, embed_file
from physplan.report.steering import regions_section, terms_section
from physplan.report.story import keyframes_section, picture_section, plan_section
from physplan.runs import RunFolder, layout


def write_report(folder: RunFolder) -> Path:
    path = folder / layout.REPORT
    write_atomic(path, page(RunFiles(folder)))
    return path


def page(run: RunFiles) -> str:
    inputs = run.about["inputs"]
    sections = [
        ("result", "The video", _result(run)),
        ("picture", "What is in the picture", picture_section(run)),
        ("plan", "What happens, and why", plan_section(run)),
        ("keyframes", "The states as pictures", keyframes_section(run)),
        ("terms", "How the video was steered", terms_section(run)),
        ("regions", "What each term may touch", regions_section(run)),
        ("cost", "Time and money", cost_section(run)),
        ("again", "How to make it again", again_section(run)),
    ]
    shown = [section for section in sections if section[2]]
    links = " ".join(f'<a href="#{name}">{title}</a>' for name, title, _ in shown)
    body = "".join(
        f'<section id="{name}"><h2>{title}</h2>{content}</section>' for name, title, content in shown
    )
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    prompt = escape(inputs["prompt"])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{prompt}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>'
        f"<body><main><h1>“{prompt}”</h1>{_facts(run)}{_notes(run)}<nav>{links}</nav>{body}</main></body></html>\n"
    )


def _facts(run: RunFiles) -> str:
    inputs, settings = run.about["inputs"], run.about["identity"]
    size = f"{settings['video.width']} x {settings['video.height']}"
    facts = {
        "method": inputs["method"],
        "seed": inputs["seed"],
        "video model": settings["video.model"],
        "frames": f"{settings['video.num_frames']} of {size}",
        "reasoner": settings["reasoner.model"] or settings["reasoner.name"],
    }
    return (
        f"<ul class='facts'>{''.join(f'<li>{k} <b>{escape(str(v))}</b></li>' for k, v in facts.items())}</ul>"
    )


def _notes(run: RunFiles) -> str:
    records = [record for stage in layout.STAGES if (record := run.folder.record(stage))]
    notes = [note for record in records for note in record.notes]
    unfinished = "" if run.has("video") else "This run is not finished: the same command continues it. "
    if failure := layout.load_failure(run.folder.path):
        unfinished = f"This run did not end: {escape(failure['error'])} {escape(failure['same_command'])} "
    if not notes and not unfinished:
        return '<div class="notes fine">Every object was found and every keyframe passed its check.</div>'
    entries = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<div class="notes">{unfinished}{"Worth knowing:" if notes else ""}<ul>{entries}</ul></div>'


def _result(run: RunFiles) -> str:
    first = embed(Image.open(run.folder / layout.FRAME))
    given = (
        f'<figure><img src="{first}" alt="the first frame"><figcaption>The first frame</figcaption></figure>'
    )
    if not run.has("video"):
        return f'<div class="pair">{given}</div>'
    video = embed_file(run.folder / layout.VIDEO)
    made = (
        f'<figure><video src="{video}" autoplay loop muted controls playsinline></video>'
        "<figcaption>The video made from it</figcaption></figure>"
    )
    strip = embed_file(run.folder / layout.STRIP)
    return (
        f'<div class="pair">{given}{made}</div><p></p><img src="{strip}" alt="film strip">'
        '<p class="caption">Frames of the video under the keyframes they were steered to; events end at the '
        "framed numbers.</p>"
    )
