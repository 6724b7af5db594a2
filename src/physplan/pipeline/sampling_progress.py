"""Guided sampling, watched: what is done and left, the terms' values, a preview that is refreshed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from physplan.graph import EventChain
from physplan.guidance import Progress, TermRecord
from physplan.perception import Evidence
from physplan.pictures import to_picture
from physplan.pipeline.events import Tell
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sheets import Frames, contact_sheet

PREVIEW_EVERY = 1.5  # seconds between two previews on disk, or eight times what one takes


class SamplingProgress:
    """Sees every repeat and step; nothing of what it holds is a result."""

    def __init__(
        self,
        model: VideoModel,
        conditioning: Conditioning,
        chain: EventChain,
        evidence: Evidence,
        repeats: Sequence[int],
        *,
        tell: Tell,
        preview: Path | None,
    ) -> None:
        self.model, self.chain, self.evidence = model, chain, evidence
        self.tell, self.preview, self.planned = tell, preview, repeats
        self.steps = conditioning.noise.num_steps
        self.repeats = sum(repeats)
        self.clock = Clock(repeats=self.repeats, steps=self.steps)
        self.layout = conditioning.layout
        self.previews: dict[int, Tensor] = {}
        self.terms: tuple[TermRecord, ...] = ()
        self._next_preview = 0.0

    def __call__(self, seen: Progress) -> None:
        # What lies before the first step of this process was done by an earlier one, or is skipped.
        self.clock.skip(steps=seen.step, repeats=sum(self.planned[: seen.step]))
        self.clock.tick("step" if seen.repeat is None else "repeat")
        self.previews |= seen.previews
        self.terms = seen.terms or self.terms
        if self.preview is not None:
            self._refresh(seen, self.preview)
        self.tell(
            f"step {seen.step + 1} of {self.steps} ({seen.stage}){_values(self.terms)}",
            done=self.clock.done,
            total=self.repeats + self.steps,
            remaining=self.clock.remaining(),
        )

    def _refresh(self, seen: Progress, path: Path) -> None:
        """The keyframes, and what the video shows at their frames by now."""
        now = time.monotonic()
        if now < self._next_preview:
            return
        if not seen.previews and seen.repeat is None:
            self.previews = self._decode(seen.clean)
        if not self.previews:
            return
        first = to_picture(self.evidence.first.image)
        wanted = [first, *(to_picture(one.image) for one in self.evidence.keyframes)]
        events = range(len(self.chain.events))
        now_shown: list[Image.Image | None] = [
            to_picture(self.previews[i]) if i in self.previews else None for i in events
        ]
        rows: list[tuple[str, Frames]] = [
            ("keyframes", wanted),
            (f"at step {seen.step + 1} of {self.steps}", [first, *now_shown]),
        ]
        contact_sheet(rows, path, columns=len(wanted), title=self.chain.prompt)
        took = time.monotonic() - now
        self._next_preview = now + max(PREVIEW_EVERY, 8 * took)

    @torch.no_grad()
    def _decode(self, clean: Tensor) -> dict[int, Tensor]:
        model, decoder = self.model, getattr(self.model, "tiny", None) or self.model
        windows = [
            self.layout.window(anchor, model.preview_length, model.preview_mode)
            for anchor in self.chain.anchors
        ]
        return {i: decoder.decode_window(clean[:, :, w.latents], w) for i, w in enumerate(windows)}


class Clock:
    """The time left, from the mean time of a guided repeat and of a plain step."""

    def __init__(self, *, repeats: int, steps: int) -> None:
        self._left = {"repeat": repeats, "step": steps}
        self._spent = {"repeat": 0.0, "step": 0.0}
        self._count = {"repeat": 0, "step": 0}
        self._before = 0
        self._last = time.monotonic()

    @property
    def done(self) -> int:
        return self._before + sum(self._count.values())

    def skip(self, *, steps: int, repeats: int = 0) -> None:
        """What an earlier process has done, before the first tick."""
        if not self._before and not any(self._count.values()):
            self._before = steps + repeats
            self._left = {"repeat": self._left["repeat"] - repeats, "step": self._left["step"] - steps}

    def tick(self, kind: str) -> None:
        now = time.monotonic()
        self._spent[kind] += now - self._last
        self._count[kind] += 1
        self._last = now

    def remaining(self) -> float | None:
        means: Mapping[str, float] = {
            kind: self._spent[kind] / count for kind, count in self._count.items() if count
        }
        if not means:
            return None
        guess = max(means.values())
        return sum(
            max(0, self._left[kind] - self._count[kind]) * means.get(kind, guess) for kind in self._left
        )


def _values(terms: tuple[TermRecord, ...]) -> str:
    """The mean of each kind of term, for the line of progress."""
    kinds: dict[str, list[float]] = {}
    for term in terms:
        if term.value is not None:
            kinds.setdefault(term.term, []).append(term.value)
    found = ", ".join(f"{kind} {sum(values) / len(values):.3f}" for kind, values in kinds.items())
    return f": {found}" if found else ""
