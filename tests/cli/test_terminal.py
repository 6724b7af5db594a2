"""What a run prints while it goes: each thing once, words apart, the time left."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from physplan.cli import main, progress
from physplan.pipeline.events import RunEvent
from physplan_sandbox.demo import Demo

EVENTS = [
    RunEvent(stage="keyframes", kind="started"),
    RunEvent(stage="keyframes", kind="progress", message="Keyframe 1: the cup is missing.", done=1, total=1),
    RunEvent(stage="keyframes", kind="finished", message="Keyframe 1: the cup is missing."),
    RunEvent(stage="latents", kind="started"),
    RunEvent(stage="latents", kind="progress", message="loading the video model"),
    RunEvent(stage="latents", kind="progress", message="step 1 of 2", done=1, total=2, remaining=61.0),
    RunEvent(stage="latents", kind="finished"),
    RunEvent(stage="a new stage", kind="kept"),
]


def test_no_line_is_printed_twice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "QUIET_EVERY", 0.0)
    with progress.Display(Path("run")) as display:
        for event in EVENTS:
            display(event)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(set(lines)) == len(EVENTS)
    assert sum("the cup is missing" in line for line in lines) == 1
    assert "sampling: step 1 of 2, 1:01 left" in lines


def test_the_preview_is_named_once_and_words_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    wide = Console(file=screen, force_terminal=True, width=160, color_system=None)
    monkeypatch.setattr(progress, "Console", lambda **_: wide)
    with progress.Display(Path("run")) as display:
        for event in EVENTS[:6]:
            display(event)
    shown = screen.getvalue()
    assert shown.count("preview while sampling") == 1
    assert "1:01 left  step 1 of 2" in shown


def test_the_demo_tells_the_time_left_and_nothing_twice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def make_demo(folder: Path, *, tell: Callable[[str, RunEvent], None], **_: object) -> Demo:
        for event in EVENTS[3:]:
            tell("tray, PhysPlan", event)
        return Demo(picture=folder / "demo.png", video=folder / "demo.mp4", reports=(folder / "report.html",))

    later = iter(range(0, 1000, 3))
    monkeypatch.setattr("physplan_sandbox.demo.make_demo", make_demo)
    monkeypatch.setattr("time.monotonic", lambda: float(next(later)))
    assert main(["demo", "-o", str(tmp_path)]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "tray, PhysPlan, latents: step 1 of 2, 1:01 left" in lines
    assert len(lines) == len(set(lines))
