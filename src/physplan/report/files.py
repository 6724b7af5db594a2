"""The files of a run as a report reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from safetensors import safe_open
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.runs import RunFolder
from physplan.video.files import read_video

ORDER = ("plan", "keyframes", "evidence", "latents", "video")


@dataclass
class RunFiles:
    """What a folder holds by now; a run that is not finished has a shorter report."""

    folder: RunFolder

    @cached_property
    def about(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.folder / "run.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise PhysPlanError(
                f"{self.folder.path} is no folder of a run: give one that `physplan generate` made."
            ) from None

    def has(self, stage: str) -> bool:
        return self.folder.record(stage) is not None

    @cached_property
    def chain(self) -> EventChain | None:
        return EventChain.load(self.folder / "plan.json") if self.has("plan") else None

    @cached_property
    def evidence(self) -> Evidence | None:
        return Evidence.load(self.folder / "evidence.safetensors") if self.has("evidence") else None

    @cached_property
    def keyframes(self) -> list[dict[str, Any]]:
        if not self.has("keyframes"):
            return []
        return list(json.loads((self.folder / "keyframes.json").read_text(encoding="utf-8")))

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        if not self.has("latents"):
            return []
        return list(json.loads((self.folder / "losses.json").read_text(encoding="utf-8"))["steps"])

    @cached_property
    def regions(self) -> dict[str, Tensor]:
        path = self.folder / "regions.safetensors"
        if not self.has("latents") or not path.exists():
            return {}
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict

    @cached_property
    def frames(self) -> Tensor | None:
        return read_video(self.folder / "video.mp4").frames if self.has("video") else None
