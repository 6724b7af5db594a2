"""The progress of a run in the terminal: a bar per stage, the time left, the terms' values as they fall."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from physplan.foreign import plain
from physplan.pipeline.events import RunEvent
from physplan.runs import layout

NAMES = {
    "plan": "plan",
    "keyframes": "keyframes",
    "evidence": "masks and depth",
    "sketch": "sketch",
    "latents": "sampling",
    "video": "video",
    "verdict": "check",
}
QUIET_EVERY = 10.0  # seconds between two lines where there is no terminal


class Display:
    """A bar per stage on a terminal; elsewhere a line now and then."""

    def __init__(self, folder: Path, *, preview: bool = True) -> None:
        self.folder = folder
        self.console = Console(stderr=True, highlight=False)
        self.bars = Progress(
            TextColumn("{task.description:16}", markup=False),
            BarColumn(bar_width=28),
            _Left(),
            TextColumn("{task.fields[words]}", style="dim", markup=False),
            console=self.console,
            transient=False,
        )
        self.tasks: dict[str, TaskID] = {}
        self._last_line = 0.0
        self._preview_named = not preview

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self.console.is_terminal:  # elsewhere it was not started, and would print an empty line
            self.bars.stop()

    def __call__(self, event: RunEvent) -> None:
        if self.console.is_terminal:
            self._draw(event)
        else:
            self._print(event)

    def _draw(self, event: RunEvent) -> None:
        if event.stage not in self.tasks:
            self.tasks[event.stage] = self.bars.add_task(
                NAMES.get(event.stage, event.stage), total=None, words="", left=None
            )
        task = self.tasks[event.stage]
        if event.kind == "kept":
            self.bars.update(task, total=1, completed=1, words="as it was", left=None)
        elif event.kind == "finished":
            whole = self.bars.tasks[task].total or 1
            self.bars.update(task, total=whole, completed=whole, words=plain(event.message)[:200], left=None)
        else:
            total = event.total or None
            self.bars.update(
                task,
                total=total,
                completed=event.done,
                words=plain(event.message)[:200],
                left=event.remaining,
            )
            if event.stage == "latents" and not self._preview_named:
                self._preview_named = True
                path = plain(self.folder / layout.PREVIEW)
                self.bars.console.print(Text(f"preview while sampling: {path}", style="dim"))

    def _print(self, event: RunEvent) -> None:
        now = time.monotonic()
        if event.kind == "progress" and event.stage == "latents" and now - self._last_line < QUIET_EVERY:
            return
        self._last_line = now
        words = {"kept": "as it was", "started": "started", "finished": "finished"}.get(event.kind, "")
        left = f", {clock(event.remaining)} left" if event.remaining is not None else ""
        # What a stage found off is said as it goes and listed at the end: not here a third time.
        said = "" if event.kind == "finished" else plain(event.message)
        parts = "; ".join(part for part in (words, said) if part)
        print(f"{NAMES.get(event.stage, event.stage)}: {parts}{left}", file=sys.stderr, flush=True)


class _Left(ProgressColumn):
    def render(self, task: Task) -> Text:
        left = task.fields.get("left")
        return Text(f"{clock(left)} left" if left is not None else "".rjust(10), style="cyan")


def clock(seconds: float | None) -> str:
    whole = round(seconds or 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
