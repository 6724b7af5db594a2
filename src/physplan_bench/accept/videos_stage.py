"""Stage 5: one short video by each method of the preset, on the same plan and keyframes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.files import atomic_path
from physplan.runs import layout
from physplan.video.sheets import contact_sheet
from physplan_bench.accept.context import Acceptance
from physplan_bench.accept.findings import Finding, Level, StageResult, checked

METHODS = ("base", "sketch", "conditioned", "guided_sketch", "physplan")
MIN_CONTRAST = 0.004  # deviation of brightness in a frame, below which it shows nothing


def make(here: Acceptance) -> StageResult:
    methods: tuple[str, ...] = (
        METHODS if here.samples or here.config.video.model == "sandbox" else ("storyboard",)
    )
    if here.config.video.model == "server":
        methods = ()
    findings: list[Finding] = []
    rows: list[tuple[str, Tensor]] = []
    for method in methods:
        findings += _made(here, method, rows)
    pictures = {}
    if rows:
        with atomic_path(here.folder / "videos.png") as temporary:
            contact_sheet(rows, temporary)
        pictures["videos.png"] = "the same plan by every method"
    if not findings:
        findings.append(
            Finding(name="videos", level="skipped", meaning="a server makes them: stage 6 asks for one")
        )
    return StageResult(stage=5, findings=findings, pictures=pictures)


def _made(here: Acceptance, method: str, rows: list[tuple[str, Tensor]]) -> Iterator[Finding]:
    folder = here.folder / "runs" / method
    given = here.given if method != "base" else {"plan": here.given["plan"]}
    try:
        made = here.pp.generate(
            here.picture, **given, method=method, seed=0, reuse=here.states, output_dir=folder
        )
    except PhysPlanError as error:
        # No keyframes in this model, or settings that only another method reads: nothing is wrong with it.
        lacks = any(words in str(error) for words in ("takes no keyframes", "are settings of"))
        level: Level = "skipped" if lacks else "failure"
        yield Finding(name=f"{method}: video", level=level, meaning=str(error).splitlines()[0])
        return
    frames = layout.load_video(folder).frames
    rows.append((method, frames))
    still = float(frames.std((1, 2, 3)).min())
    fault = "a frame is of one colour: the decode or the sampling broke down"
    yield checked(f"{method}: video", still > MIN_CONTRAST, fault, value=made.verdict.verdict)
    yield Finding(name=f"{method}: seconds", level="pass", value=round(seconds_of(folder), 2))


def seconds_of(folder: Path) -> float:
    from physplan.runs import RunFolder

    records = [RunFolder(folder).record(stage) for stage in ("latents", "video")]
    return sum(record.seconds for record in records if record)
