"""What a run gives back: the video, and how it came about."""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from PIL import Image

from physplan.calls.ledger import Ledger, Totals
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.origin.record import TAG
from physplan.runs import RunFolder, layout
from physplan.runs.records import Attempt
from physplan.runs.verdicts import verdict_of
from physplan.verify.verdict import Checked, NotChecked

if TYPE_CHECKING:
    import torch

    from physplan.pipeline.run import Run

OutputType = Literal["pt", "np", "pil"]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the run's calls cost so far, and the seconds of each stage."""

    usd: float = 0.0
    calls: Totals = field(default_factory=Totals)
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    video: Any  # frames [F, 3, H, W] in [0, 1]; [F, H, W, 3] as "np", a list of pictures as "pil"
    plan: EventChain | None  # None for the base model without one
    keyframes: tuple[Image.Image, ...]
    losses: Mapping[str, Any]  # every term of every guided repeat
    cost: Cost
    notes: tuple[str, ...]  # what is off: objects not found, keyframes that failed their check
    folder: Path | None  # the run's folder, when one was given
    fps: float
    attempts: tuple[Attempt, ...] = ()  # with their verdicts, when several were asked for
    verdict: Checked = field(default_factory=lambda: NotChecked(reason="nobody has looked at it"))
    tags: Mapping[str, str] = field(default_factory=dict)  # what the video's file says of it

    @property
    def repeats(self) -> int:
        """Guided repeats that were done; fewer than the schedule's where all terms were satisfied."""
        return int(self.losses.get("repeats", len(self.losses.get("steps", ()))))

    def __repr__(self) -> str:
        """One line; frames and graphs have too many numbers to print."""
        events = f"{len(self.plan.events)} events" if self.plan else "unguided"
        seconds = sum(self.cost.seconds.values())
        where = f", {self.folder}" if self.folder else ""
        notes = f", {len(self.notes)} notes" if self.notes else ""
        return (
            f"Result({len(self.video)} frames at {self.fps:g} per second, {events}, {seconds:.0f} s, "
            f"{self.cost.usd:.2f} USD, {self.verdict.verdict}{notes}{where})"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """The video as a file: .mp4, or .mkv without loss."""
        from physplan.files import atomic_path
        from physplan.video.files import write_video

        target = Path(path)
        if self.folder is not None and target.suffix == Path(layout.VIDEO).suffix:
            with atomic_path(target) as temporary:
                shutil.copyfile(self.folder / layout.VIDEO, temporary)
        elif target.suffix in (".mp4", ".mkv"):
            write_video(target, self._frames(), fps=self.fps, tags=self.tags)
        else:
            raise PhysPlanError(f"{target} is no name of a video: let it end in .mp4 or .mkv.")
        return target

    def _repr_html_(self) -> str:
        """The video itself, for a notebook."""
        with tempfile.TemporaryDirectory(prefix="physplan-") as folder:
            encoded = base64.b64encode(self.save(Path(folder) / "video.mp4").read_bytes()).decode("ascii")
        return (
            '<video controls loop muted playsinline style="max-width: 100%" '
            f'src="data:video/mp4;base64,{encoded}"></video>'
        )

    def _frames(self) -> torch.Tensor:
        import numpy as np
        import torch

        if isinstance(self.video, torch.Tensor):
            return self.video
        if isinstance(self.video, list):
            arrays = np.stack([np.asarray(picture) for picture in self.video]) / np.float32(255)
        else:
            arrays = self.video
        return torch.from_numpy(np.ascontiguousarray(arrays)).permute(0, 3, 1, 2)


def collect(run: Run, output_type: OutputType, *, keep: bool) -> Result:
    """The result from the run's files."""
    folder = run.folder.path
    video = layout.load_video(folder)
    records = [record for stage in layout.STAGES if (record := run.folder.record(stage))]
    return Result(
        video=convert(video.frames, output_type),
        plan=layout.load_plan(folder) if run.planned else None,
        keyframes=tuple(layout.load_keyframes(folder)) if run.guided else (),
        losses=layout.load_losses(folder) if "latents" in run.stages else {},
        cost=cost_of(run.folder),
        notes=(*filter(None, [run.fit.warning()]), *(note for record in records for note in record.notes)),
        folder=folder if keep else None,
        fps=video.fps,
        attempts=layout.load_attempts(folder),
        verdict=verdict_of(run.folder),
        tags={name: text for name, text in video.tags.items() if name == TAG},
    )


def cost_of(folder: RunFolder) -> Cost:
    ledger = folder / layout.LEDGER
    totals = Ledger(ledger).totals() if ledger.exists() else Totals()
    records = [record for stage in layout.STAGES if (record := folder.record(stage))]
    return Cost(usd=totals.usd, calls=totals, seconds={record.stage: record.seconds for record in records})


def convert(frames: torch.Tensor, output_type: OutputType) -> Any:
    if output_type == "pt":
        return frames
    arrays = frames.permute(0, 2, 3, 1).numpy()
    if output_type == "np":
        return arrays
    return [Image.fromarray(array) for array in (arrays * 255).round().astype("uint8")]
