"""Events of a run: progress for a callback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """What `on_event` receives: a stage began, was `kept` from before, is under way, or is finished.

    `done` and `total` are in the stage's own units (steps of sampling, frames, keyframes); `remaining` is the
    estimate in seconds, where there is one.
    """

    stage: str
    kind: Literal["started", "kept", "progress", "finished"]
    message: str = ""
    done: float = 0.0
    total: float = 0.0
    remaining: float | None = None  # seconds


OnEvent = Callable[[RunEvent], None]


# How a stage says what it is doing: a message, and by name the event's done, total and remaining.
Tell = Callable[..., None]


def say_nothing(message: str, **progress: float | None) -> None:
    """A stage without a callback."""


def silent(event: RunEvent) -> None:
    """A run without a callback."""


@cache
def quiet_libraries() -> None:
    """The libraries' own bars for loading weights would tear ours apart."""
    from diffusers.utils import logging as diffusers
    from transformers.utils import logging as transformers

    for library in (diffusers, transformers):
        library.disable_progress_bar()
        library.set_verbosity_error()
