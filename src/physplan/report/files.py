"""The files of a run as a report reads them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from PIL import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.foreign import inside, read_file
from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.runs import RunFolder, layout
from physplan.runs.records import Attempt, KeyframeRecord, RunRecord, read_from
from physplan.runs.verdicts import verdict_of
from physplan.verify.by_judge import Judgement
from physplan.verify.verdict import Checked

MAX_EMBEDDED = 500_000_000  # bytes of a video in the page


@dataclass
class RunFiles:
    """What a folder holds by now; a run that is not finished has a shorter report."""

    folder: RunFolder

    @cached_property
    def about(self) -> RunRecord:
        return layout.require_run(self.folder.path)

    def has(self, stage: str) -> bool:
        return self.folder.record(stage) is not None

    @cached_property
    def chain(self) -> EventChain | None:
        return layout.load_plan(self.folder.path) if self.has("plan") else None

    @cached_property
    def evidence(self) -> Evidence | None:
        found = layout.load_evidence(self.folder.path) if self.has("evidence") else None
        self._require_one_per_event(layout.EVIDENCE, len(found.keyframes) if found else None)
        return found

    @cached_property
    def keyframes(self) -> list[KeyframeRecord]:
        found = layout.load_keyframe_records(self.folder.path) if self.has("keyframes") else []
        self._require_one_per_event(layout.KEYFRAMES, len(found) if found else None)
        return found

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        return list(layout.load_losses(self.folder.path)["steps"]) if self.has("latents") else []

    @cached_property
    def repeats(self) -> tuple[int, int]:
        """Guided repeats: done, and allowed by the schedule."""
        found = layout.load_losses(self.folder.path) if self.has("latents") else {"steps": []}
        done = len(found["steps"])
        planned = found.get("planned_repeats")
        return done, planned if isinstance(planned, int) else done

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        return layout.load_attempts(self.folder.path) if self.has("latents") else ()

    @cached_property
    def judgement(self) -> Judgement | None:
        return layout.load_judgement(self.folder.path) if self.has("video") else None

    @cached_property
    def regions(self) -> dict[str, Tensor]:
        return layout.load_regions(self.folder.path) if self.has("latents") else {}

    @cached_property
    def frames(self) -> Tensor | None:
        if not self.has("video"):
            return None
        exact = (self.folder / layout.EXACT_VIDEO).exists()
        name = layout.EXACT_VIDEO if exact else layout.VIDEO
        frames = layout.load_video(self.folder.path, name).frames
        if self.chain is not None and max(self.chain.anchors) >= len(frames):
            raise self._unfit(name)
        return frames

    @cached_property
    def verdict(self) -> Checked:
        return verdict_of(self.folder)

    @cached_property
    def base(self) -> RunFiles | None:
        """The video model alone, where it was asked for."""
        base = RunFiles(RunFolder(self.folder / layout.BASE))
        return base if base.has("video") else None

    def picture(self, name: str) -> Image.Image:
        return layout.load_picture(self.folder.path, name)

    def content(self, name: str) -> bytes:
        path = inside(self.folder.path, name)
        with read_from(path):
            return read_file(path, limit=MAX_EMBEDDED, links=False)

    def _require_one_per_event(self, name: str, count: int | None) -> None:
        if count is not None and self.chain is not None and count != len(self.chain.events):
            raise self._unfit(name)

    def _unfit(self, name: str) -> PhysPlanError:
        return PhysPlanError(f"{self.folder / name} does not fit {layout.PLAN}: delete it and run it again.")
