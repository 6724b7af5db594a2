"""The progress of a run on a terminal: foreign words are words, not markup and not orders."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from physplan.cli.progress import Display
from physplan.pipeline.events import RunEvent


@pytest.mark.parametrize("words", ["[/x] puddle", "[red]", "a\x1b]0;mine\x07\u202eb"])
def test_brackets_and_control_characters_in_names_and_folders(words: str) -> None:
    display = Display(Path(f"runs/{words}"))
    display.console = display.bars.live.console = Console(
        file=io.StringIO(), force_terminal=True, width=120, color_system=None
    )
    with display:
        for kind in ("started", "progress", "finished"):
            display(RunEvent(stage="latents", kind=kind, message=f"keyframe of {words}", total=2))
    shown = display.console.file.getvalue()
    assert words.partition("\x1b")[0] in shown
    assert "\x1b]0" not in shown
    assert "\u202e" not in shown
