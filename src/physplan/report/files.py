"""The files of a run as a report reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.runs import RunFolder, layout


@dataclass
class RunFiles:
    """What a folder holds by now; a run that is not finished has a shorter report."""

    folder: RunFolder

    @cached_property
    def about(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.folder / layout.RUN).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise PhysPlanError(
                f"{self.folder.path} is no folder of a run: give one that `physplan generate` made."
            ) from None

    def has(self, stage: str) -> bool:
        return self.folder.record(stage) is not None

    @cached_property
    def chain(self) -> EventChain | None:
        return layout.load_plan(self.folder.path) if self.has("plan") else None

    @cached_property
    def evidence(self) -> Evidence | None:
        return layout.load_evidence(self.folder.path) if self.has("evidence") else None

    @cached_property
    def keyframes(self) -> list[dict[str, Any]]:
        return layout.load_keyframe_records(self.folder.path) if self.has("keyframes") else []

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        return list(layout.load_losses(self.folder.path)["steps"]) if self.has("latents") else []

    @cached_property
    def regions(self) -> dict[str, Tensor]:
        return layout.load_regions(self.folder.path) if self.has("latents") else {}

    @cached_property
    def frames(self) -> Tensor | None:
        return layout.load_video(self.folder.path).frames if self.has("video") else None
