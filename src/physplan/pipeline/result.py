"""What a run gives back: the video, and how it came about."""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from PIL import Image

from physplan.calls.ledger import Ledger, Totals
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.origin.record import TAG
from physplan.runs import RunFolder, layout
from physplan.runs.records import Attempt, notes_of
from physplan.runs.verdicts import verdict_of
from physplan.verify.verdict import Checked, NotChecked

if TYPE_CHECKING:
    import torch

    from physplan.pipeline.run import Run

OutputType = Literal["pt", "np", "pil", "latent"]
MIN_SHOWN_SIDE = 384  # pixels of a video in a notebook, at least


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the run's calls cost so far, and the seconds of each stage."""

    usd: float = 0.0
    calls: Totals = field(default_factory=Totals)
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    video: Any  # frames [F, 3, H, W] in [0, 1]; "np" [F, H, W, 3]; "pil" a list; "latent" the latents
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
    latents: torch.Tensor | None = None  # clean [1, C, F, h, w]; None where no model sampled
    frames: torch.Tensor | None = None  # [F, 3, H, W], where `video` is not

    @classmethod
    def load(cls, folder: str | os.PathLike[str], output_type: OutputType = "pt") -> Result:
        """The result of a run that is done, from its folder."""
        path = Path(folder)
        if not (path / layout.EXACT_VIDEO).exists():
            raise PhysPlanError(f"{path} holds no finished video: give the folder of a run that is done.")
        return _read(path, output_type)

    @property
    def repeats(self) -> int:
        """Guided repeats that were done; fewer than the schedule's where all terms were satisfied."""
        return int(self.losses.get("repeats", len(self.losses.get("steps", ()))))

    def __repr__(self) -> str:
        """One line; frames and graphs have too many numbers to print."""
        count = len(self.video if self.frames is None else self.frames)
        events = f"{len(self.plan.events)} events" if self.plan else "unguided"
        seconds = sum(self.cost.seconds.values())
        where = f", {self.folder}" if self.folder else ""
        notes = f", {len(self.notes)} notes" if self.notes else ""
        return (
            f"Result({count} frames at {self.fps:g} per second, {events}, {seconds:.0f} s, "
            f"{self.cost.usd:.2f} USD, {self.verdict.verdict}{notes}{where})"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """The video as a file: .mp4, .gif, or .mkv without loss."""
        from physplan.files import atomic_path
        from physplan.video.files import write_video

        target = Path(path)
        if self.folder is not None and target.suffix == Path(layout.VIDEO).suffix:
            with atomic_path(target) as temporary:
                shutil.copyfile(self.folder / layout.VIDEO, temporary)
        elif target.suffix in (".mp4", ".mkv", ".gif"):
            tags = {} if target.suffix == ".gif" else self.tags  # a GIF has no room for them
            write_video(target, self._frames(), fps=self.fps, tags=tags)
        else:
            raise PhysPlanError(f"{target} is no name of a video: let it end in .mp4, .gif or .mkv.")
        return target

    def _repr_html_(self) -> str:
        """The video itself, for a notebook."""
        with tempfile.TemporaryDirectory(prefix="physplan-") as folder:
            encoded = base64.b64encode(self.save(Path(folder) / "video.mp4").read_bytes()).decode("ascii")
        return (
            f'<video controls loop muted playsinline style="min-width: {MIN_SHOWN_SIDE}px; max-width: 100%" '
            f'src="data:video/mp4;base64,{encoded}"></video>'
        )

    def _frames(self) -> torch.Tensor:
        import numpy as np
        import torch

        if self.frames is not None:
            return self.frames
        if isinstance(self.video, torch.Tensor):
            return self.video
        if isinstance(self.video, list):
            arrays = np.stack([np.asarray(picture) for picture in self.video]) / np.float32(255)
        else:
            arrays = self.video
        return torch.from_numpy(np.ascontiguousarray(arrays)).permute(0, 3, 1, 2)


def collect(run: Run, output_type: OutputType, *, keep: bool) -> Result:
    """The result from the run's files."""
    found = _read(run.folder.path, output_type)
    return replace(
        found,
        plan=found.plan if run.planned else None,
        keyframes=found.keyframes if run.method.follows_plan else (),
        losses=found.losses if "latents" in run.stages else {},
        latents=found.latents if "latents" in run.stages else None,
        notes=(*filter(None, [run.fit.warning()]), *found.notes),
        folder=found.folder if keep else None,
    )


def _read(path: Path, output_type: OutputType) -> Result:
    """What the files of a run's folder say, whatever run it was."""
    from physplan.video.decoding import load_latents

    folder = RunFolder(path)
    video = layout.load_video(path)
    records = [record for stage in layout.STAGES if (record := folder.record(stage))]
    sampled = folder.record("latents") is not None
    latents = load_latents(path / layout.LATENTS)[0] if sampled else None
    if output_type == "latent" and latents is None:
        raise PhysPlanError("This run has no latents: its method samples none, or a server made the video.")
    return Result(
        video=latents if output_type == "latent" else convert(video.frames, output_type),
        plan=layout.load_plan(path) if (path / layout.PLAN).exists() else None,
        keyframes=tuple(layout.load_keyframes(path)) if (path / layout.KEYFRAMES).exists() else (),
        losses=layout.load_losses(path) if sampled else {},
        cost=cost_of(folder),
        notes=notes_of(records),
        folder=path,
        fps=video.fps,
        attempts=layout.load_attempts(path),
        verdict=verdict_of(folder),
        tags={name: text for name, text in video.tags.items() if name == TAG},
        latents=latents,
        frames=video.frames if output_type == "latent" else None,
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
