"""One self-contained HTML page of a run, made from the files in its folder alone."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from physplan.files import write_atomic
from physplan.report.costs import again_section, cost_section
from physplan.report.escaping import escape
from physplan.report.files import RunFiles
from physplan.report.judge import judge_section
from physplan.report.judgement import attempts_section, verdict_box, verdict_section
from physplan.report.pictures import embed_bytes, film, still
from physplan.report.steering import regions_section, repeats_words, terms_section
from physplan.report.story import keyframes_section, picture_section, plan_section
from physplan.runs import RunFolder, layout
from physplan.runs.records import notes_of
from physplan.video.fit import Fit

# The page has no script, and loads nothing: whatever a text smuggles in, the browser runs and fetches none.
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
    "media-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
)

GIVEN = "the plan was given"  # a note of older runs, and no warning


def write_report(folder: RunFolder) -> Path:
    path = folder / layout.REPORT
    write_atomic(path, page(RunFiles(folder)))
    return path


def page(run: RunFiles) -> str:
    prompt = escape(run.about.prompt)
    sections = [
        ("result", "The video", _result(run)),
        ("verdict", "Does it show the plan?", verdict_section(run)),
        ("judge", "What a second judge says", judge_section(run)),
        ("attempts", "The attempts", attempts_section(run)),
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
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{POLICY}<title>{prompt}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><style>{style}</style></head>'
        f"<body><main><h1>“{prompt}”</h1>{_facts(run)}{verdict_box(run)}{_notes(run)}<nav>{links}</nav>{body}</main></body></html>\n"
    )


def _facts(run: RunFiles) -> str:
    settings = {name: str(value) for name, value in run.about.identity.items() if value is not None}
    size = f"{settings.get('video.width')} x {settings.get('video.height')}"
    facts = {
        "method": run.about.method,
        "seed": next((one.seed for one in run.attempts if one.chosen), run.about.seed),
        "guided repeats": repeats_words(run),
        "video model": settings.get("video.model"),
        "frames": f"{settings.get('video.num_frames')} of {size}",
        "plan": "given" if run.about.plan else "made by the reasoner" if run.chain else "none",
        "reasoner": settings.get("reasoner.model") or settings.get("reasoner.name"),
    }
    facts = {name: fact for name, fact in facts.items() if fact != ""}
    return (
        f"<ul class='facts'>{''.join(f'<li>{k} <b>{escape(str(v))}</b></li>' for k, v in facts.items())}</ul>"
    )


def _notes(run: RunFiles) -> str:
    """What is off before the video was sampled."""
    records = [record for stage in layout.STAGES if (record := run.folder.record(stage))]
    notes = [*filter(None, [_cut_off(run)]), *(note for note in notes_of(records) if note != GIVEN)]
    unfinished = "" if run.has("video") else "This run is not finished: run it again to continue. "
    if failure := layout.load_failure(run.folder.path):
        unfinished = f"This run did not end: {escape(failure['error'])} {escape(failure['same_command'])} "
    if notes or unfinished:
        entries = "".join(f"<li>{escape(note)}</li>" for note in notes)
        listed = f"Worth knowing:<ul>{entries}</ul>" if notes else ""
        return f'<div class="notes">{unfinished}{listed}</div>'
    if not (run.keyframes and run.evidence):
        return ""
    return '<div class="notes plain">Every object was found, and every keyframe passed its check.</div>'


def _cut_off(run: RunFiles) -> str | None:
    mode = run.about.identity.get("video.fit")
    if mode != "crop" or not (run.folder / layout.INPUT).exists():
        return None
    sizes = [run.picture(name).size for name in (layout.INPUT, layout.FRAME)]
    return Fit(mode="crop", source=sizes[0], target=sizes[1]).warning()


def _sketch(run: RunFiles) -> str:
    """As long as the video and started with it, so that both play in step; then what contradicts it."""
    if not run.has("sketch") or not (run.folder / layout.SKETCH).exists():
        return ""
    told = "a sketch from the first frame and the keyframes, before any video model ran"
    shown = film(run.content(layout.SKETCH), "the plan in motion", f"The plan in motion: {told}")
    if (run.folder / layout.SIMULATION).exists():
        words = "What the simulation gives: it contradicts the plan"
        shown += film(run.content(layout.SIMULATION), "the simulation", words)
    return shown


def _base(run: RunFiles) -> str:
    """With its own verdict: it was checked as the video beside it was."""
    if run.base is None:
        return ""
    caption = f"The video model alone, with the same seed: {escape(run.base.verdict.verdict)}"
    return film(run.base.content(layout.VIDEO), "the video model alone", caption)


def _result(run: RunFiles) -> str:
    given = still(run.picture(layout.FRAME), "the first frame", "The first frame")
    if not run.has("video"):
        return f'<div class="pair">{given}{_sketch(run)}</div>'
    words = escape(f"the video: {run.about.prompt}")
    made = film(run.content(layout.VIDEO), words, "The video made from it")
    beside = f'<div class="pair">{given}{_sketch(run)}{_base(run)}{made}</div>'
    strip = embed_bytes(run.content(layout.STRIP), "image/png")
    under = "Frames of the video."
    if run.keyframes:
        under = "Keyframes, sketch and video at the same frames; events end at the framed numbers."
    return (
        f"{beside}<p></p>"
        f'<div class="scroll"><img class="strip" src="{strip}" alt="frames of the video in a row"></div>'
        f'<p class="caption">{under}</p>'
    )
