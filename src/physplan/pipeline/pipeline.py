"""PhysPlan as a Python object: from a picture and a sentence to a video."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from PIL import Image

from physplan.calls.ledger import Ledger, Totals
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.pipeline import stored_stages as stages
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config, Source
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.events import OnEvent, silent
from physplan.pipeline.forecast import Forecast, check_fits, forecast
from physplan.pipeline.run import AnyPicture, Run, begin, prepare_run
from physplan.registry import did_you_mean
from physplan.runs import RunFolder, layout

OutputType = Literal["pt", "np", "pil"]
# What may differ from call to call; another model is another PhysPlan.
CALL_SETTINGS = (
    *("height", "width", "num_frames", "num_inference_steps", "guidance_scale", "use_dynamic_cfg"),
    "eta",
    *("negative_prompt", "fps", "fit"),
)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the run's calls cost so far, and the seconds of each stage."""

    usd: float = 0.0
    calls: Totals = field(default_factory=Totals)
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    video: Any  # frames [F, 3, H, W] in [0, 1]; [F, H, W, 3] as "np", a list of pictures as "pil"
    plan: EventChain | None  # None for the base model
    keyframes: tuple[Image.Image, ...]
    losses: Mapping[str, Any]  # every term of every guided repeat
    cost: Cost
    notes: tuple[str, ...]  # what is off: objects not found, keyframes that failed their check
    folder: Path | None  # the run's folder, when one was given
    fps: float


class PhysPlan:
    """Models are loaded when first used, and kept for the next run."""

    def __init__(self, config: Config) -> None:
        self.config = with_defaults(config)
        self.backends = Backends(self.config)
        if config.runtime.threads:
            torch.set_num_threads(config.runtime.threads)

    @classmethod
    def from_preset(cls, source: Source = "sandbox", **overrides: Any) -> PhysPlan:
        """A preset's name, a YAML or TOML file, a mapping or a `Config`.

        Overrides are fields by their dotted names: `from_preset("paper", **{"video.num_frames": 25})`.
        """
        return cls(load_config(source, overrides))

    def plan(
        self, image: AnyPicture, prompt: str, *, output_dir: str | os.PathLike[str] | None = None,
        redo: bool = False, on_event: OnEvent = silent,
    ) -> EventChain:  # fmt: skip
        """What happens, as a verified chain of events: JSON that you can read and edit."""
        with self._run(output_dir, redo, on_event, image=image, prompt=prompt) as run:
            stages.do_stage(run, stages.PLAN)
            return stages.load_plan(run)

    def keyframes(
        self, image: AnyPicture, prompt: str | None = None, *,
        plan: EventChain | str | os.PathLike[str] | None = None,
        output_dir: str | os.PathLike[str] | None = None, redo: bool = False, on_event: OnEvent = silent,
    ) -> tuple[Image.Image, ...]:  # fmt: skip
        """A picture of each state, drawn from the first frame."""
        with self._run(output_dir, redo, on_event, image=image, prompt=prompt, plan=plan) as run:
            for stage in (stages.PLAN, stages.KEYFRAMES):
                stages.do_stage(run, stage)
            return tuple(stages.load_keyframes(run))

    def generate(
        self,
        image: AnyPicture,
        prompt: str | None = None,
        *,
        plan: EventChain | str | os.PathLike[str] | None = None,
        keyframes: Sequence[AnyPicture] | None = None,
        method: str = "physplan",
        generator: torch.Generator | None = None,
        seed: int | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        output_type: OutputType = "pt",
        redo: bool = False,
        on_event: OnEvent = silent,
        **overrides: Any,
    ) -> Result:
        """A video in which it happens. In `output_dir` the run can be continued, and nothing is paid twice.

        `overrides` are the video's settings under diffusers' names: height, width, num_frames,
        num_inference_steps, guidance_scale, negative_prompt, fps. Of `generator` the seed counts.
        """
        if output_type not in ("pt", "np", "pil"):
            raise PhysPlanError(f"output_type is {output_type!r}: use 'pt', 'np' or 'pil'.")
        given: dict[str, Any] = {"image": image, "prompt": prompt, "plan": plan, "keyframes": keyframes}
        given |= {"method": method, "seed": seed_of(generator, seed)}
        with self._run(output_dir, redo, on_event, overrides=overrides, **given) as run:
            if run.folder.record("latents") is None:
                check_fits(run)
            for stage in stages.stages_of(run):
                stages.do_stage(run, stage)
            if output_dir is not None:
                from physplan.report import write_report

                write_report(run.folder)
            return collect(run, output_type, keep=output_dir is not None)

    def forecast(
        self,
        image: AnyPicture,
        prompt: str | None = None,
        *,
        output_dir: str | os.PathLike[str],
        **given: Any,
    ) -> Forecast:
        """What `generate` would do, call, pay and need."""
        run = prepare_run(
            RunFolder(output_dir), self.config, self.backends, image=image, prompt=prompt, **given
        )
        return forecast(run)

    def config_for(self, overrides: Mapping[str, Any]) -> Config:
        """The config of one call: `num_frames=25` stands for `video.num_frames`."""
        for name in overrides:
            if name not in CALL_SETTINGS:
                raise PhysPlanError(
                    f"generate() has no argument {name!r}. {did_you_mean(name, CALL_SETTINGS)}"
                )
        return with_defaults(load_config(self.config, {f"video.{name}": v for name, v in overrides.items()}))

    @contextmanager
    def _run(
        self,
        output_dir: str | os.PathLike[str] | None,
        redo: bool,
        on_event: OnEvent,
        overrides: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> Iterator[Run]:
        config = self.config_for(overrides) if overrides else self.config
        with _folder(output_dir) as path:
            run = prepare_run(RunFolder(path), config, self.backends, on_event=on_event, **given)
            with run.folder.opened():
                begin(run, redo=redo)
                yield run


def seed_of(generator: torch.Generator | None, seed: int | None) -> int:
    """Runs are continued by their seed, so a generator counts by its seed and must be fresh."""
    if generator is None:
        return seed or 0
    if seed is not None and seed != generator.initial_seed():
        raise PhysPlanError("Give a generator or a seed, not both.")
    fresh = torch.Generator().manual_seed(generator.initial_seed())
    if generator.device.type != "cpu" or not torch.equal(fresh.get_state(), generator.get_state()):
        raise PhysPlanError(
            "The generator must be fresh and on the CPU: torch.Generator().manual_seed(0). "
            "Then the same seed gives the same video everywhere."
        )
    return generator.initial_seed()


@contextmanager
def _folder(output_dir: str | os.PathLike[str] | None) -> Iterator[Path]:
    if output_dir is not None:
        yield Path(output_dir)
        return
    with tempfile.TemporaryDirectory(prefix="physplan-") as temporary:
        yield Path(temporary)


def collect(run: Run, output_type: OutputType, *, keep: bool) -> Result:
    """The result from the run's files."""
    video = layout.load_video(run.folder.path)
    records = [record for stage in stages.GUIDED if (record := run.folder.record(stage.name))]
    return Result(
        video=convert(video.frames, output_type),
        plan=stages.load_plan(run) if run.guided else None,
        keyframes=tuple(stages.load_keyframes(run)) if run.guided else (),
        losses=layout.load_losses(run.folder.path),
        cost=cost_of(run.folder),
        notes=tuple(note for record in records for note in record.notes),
        folder=run.folder.path if keep else None,
        fps=video.fps,
    )


def cost_of(folder: RunFolder) -> Cost:
    ledger = folder / layout.LEDGER
    totals = Ledger(ledger).totals() if ledger.exists() else Totals()
    records = [record for stage in stages.GUIDED if (record := folder.record(stage.name))]
    return Cost(usd=totals.usd, calls=totals, seconds={record.stage: record.seconds for record in records})


def convert(frames: torch.Tensor, output_type: OutputType) -> Any:
    if output_type == "pt":
        return frames
    arrays = frames.permute(0, 2, 3, 1).numpy()
    if output_type == "np":
        return arrays
    return [Image.fromarray(array) for array in (arrays * 255).round().astype("uint8")]
