"""PhysPlan as a Python object: from a picture and a sentence to a video."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.guidance.losses import own_losses
from physplan.methods import find
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config, Source
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.events import OnEvent, silent
from physplan.pipeline.failure import record_failure
from physplan.pipeline.forecast import Forecast, forecast
from physplan.pipeline.requirements import (
    check_names,
    check_prompt,
    check_video,
    missing,
    require,
    stages_to_do,
    wanted,
)
from physplan.pipeline.result import Cost, OutputType, Result, collect
from physplan.pipeline.run import (
    AnyPicture,
    Run,
    RunRequest,
    begin,
    check_folder,
    prepare_run,
    refuse_void_guidance,
)
from physplan.pipeline.step_callback import OnStepEnd, step_callback
from physplan.registry import did_you_mean
from physplan.runs import RunFolder, layout
from physplan.settings import DEFAULT_PRESET

if TYPE_CHECKING:
    import torch

    from physplan.guidance.losses import Loss

__all__ = ["Cost", "PhysPlan", "Result"]
# What may differ from call to call; another model is another PhysPlan.
CALL_SETTINGS = (
    *("height", "width", "num_frames", "num_inference_steps", "guidance_scale", "use_dynamic_cfg"),
    "eta",
    *("negative_prompt", "fps", "fit"),
)
# diffusers' arguments that have another name here.
RENAMED = {
    "callback": "give callback_on_step_end, or on_event, a function of a RunEvent (physplan.pipeline.events)",
    "num_videos_per_prompt": "use generate_seeds(..., seeds=[0, 1, 2])",
}


class PhysPlan:
    """Models are loaded when first used, and kept for the next run."""

    def __init__(self, config: Config) -> None:
        self.config = with_defaults(config)
        self.backends = Backends(self.config)

    @classmethod
    def from_preset(cls, source: Source = DEFAULT_PRESET, **overrides: Any) -> PhysPlan:
        """A preset's name, a YAML or TOML file, a mapping or a `Config`.

        Overrides are fields by their dotted names: `from_preset("paper", **{"video.num_frames": 25})`.
        """
        return cls(load_config(source, overrides))

    def plan(
        self, image: AnyPicture, prompt: str, *, output_dir: str | os.PathLike[str] | None = None,
        redo: bool = False, on_event: OnEvent = silent,
    ) -> EventChain:  # fmt: skip
        """What happens, as a verified chain of events: JSON that you can read and edit."""
        request = RunRequest(image=image, prompt=prompt, on_event=on_event)
        with self._run(output_dir, redo, request, upto="plan") as run:
            self._do(run, "plan")
            return layout.load_plan(run.folder.path)

    def keyframes(
        self, image: AnyPicture, prompt: str | None = None, *,
        plan: EventChain | str | os.PathLike[str] | None = None,
        output_dir: str | os.PathLike[str] | None = None, redo: bool = False, on_event: OnEvent = silent,
    ) -> tuple[Image.Image, ...]:  # fmt: skip
        """A picture of each state, drawn from the first frame."""
        request = RunRequest(image=image, prompt=prompt, plan=plan, on_event=on_event)
        with self._run(output_dir, redo, request, upto="keyframes") as run:
            self._do(run, "keyframes")
            return tuple(layout.load_keyframes(run.folder.path))

    def sketch(
        self, image: AnyPicture, prompt: str | None = None, *,
        plan: EventChain | str | os.PathLike[str] | None = None,
        keyframes: Sequence[AnyPicture] | None = None, method: str | None = None,
        reuse: str | os.PathLike[str] | None = None,
        output_dir: str | os.PathLike[str], redo: bool = False, on_event: OnEvent = silent,
    ) -> Path:  # fmt: skip
        """The plan as a crude animation, from its keyframes. No video model is loaded.

        `method` counts where it plans in its own way; what the run folder `reuse` holds is not made again."""
        request = RunRequest(
            image=image, prompt=prompt, plan=plan, keyframes=keyframes, method=method, on_event=on_event
        )
        with self._run(output_dir, redo, request, upto="sketch") as run:
            self._do(run, "sketch", reuse=None if reuse is None else RunFolder(reuse))
            return run.folder / layout.SKETCH

    def redraw(
        self, image: AnyPicture, plan: EventChain | str | os.PathLike[str], event: int, *, seed: int,
        output_dir: str | os.PathLike[str],
    ) -> Image.Image:  # fmt: skip
        """The keyframe of one event, counted from 1, with another seed; nothing of the run is changed."""
        request = RunRequest(image=image, plan=plan)
        run = prepare_run(RunFolder(output_dir), self.config, self.backends, request)
        assert run.plan is not None
        if not 1 <= event <= len(run.plan.events):
            raise PhysPlanError(f"The plan has {len(run.plan.events)} events: there is no keyframe {event}.")
        from physplan.keyframes import RenderOptions
        from physplan.pipeline.stages import make_keyframes

        config, options = load_config(self.config, {"editor.seed": seed}), RenderOptions(only=[event - 1])
        drawn = make_keyframes(config, self.backends, run.frame, run.plan, calls=run.calls, options=options)
        return drawn.images[0]

    def generate(
        self,
        image: AnyPicture,
        prompt: str | None = None,
        *,
        plan: EventChain | str | os.PathLike[str] | None = None,
        keyframes: Sequence[AnyPicture] | None = None,
        method: str | None = None,
        generator: torch.Generator | None = None,
        seed: int | None = None,
        attempts: int = 1,
        with_base: bool = False,
        reuse: str | os.PathLike[str] | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        output_type: OutputType = "pt",
        losses: Sequence[Loss] = (),
        callback_on_step_end: OnStepEnd | None = None,
        callback_on_step_end_tensor_inputs: Sequence[str] = ("latents",),
        redo: bool = False,
        on_event: OnEvent = silent,
        **overrides: Any,
    ) -> Result:
        """A video in which it happens. In `output_dir` the run can be continued, and nothing is paid twice.

        `overrides` are the video's settings under diffusers' names (`CALL_SETTINGS`). Of `generator` the seed
        counts. With `attempts`, further seeds are sampled until the verdict holds, or the best is kept.
        `with_base` makes the video model's own video too, for the report. What the folder `reuse` holds of
        the same plan and keyframes is not made again. `method` is the preset's own by default. `losses` are
        yours (docs/guidance.md), `callback_on_step_end` is diffusers' (`pipeline.step_callback`).
        """
        if output_type not in ("pt", "np", "pil", "latent"):
            raise PhysPlanError(f"output_type is {output_type!r}: use 'pt', 'np', 'pil' or 'latent'.")
        chosen = find(method or self.config.method, self.config.method)
        refuse_void_guidance(chosen, self.config)
        if with_base and not (chosen.follows_plan and chosen.samples and output_dir is not None):
            raise PhysPlanError(
                "The base model's video is shown beside that of another method, in the report: give a method "
                "that uses the video model, and a folder."
            )
        request = RunRequest(
            image=image, prompt=prompt, plan=plan, keyframes=keyframes, method=chosen.name,
            seed=seed_of(generator, seed), attempts=attempts, on_event=on_event,
            callback=step_callback(self, callback_on_step_end, callback_on_step_end_tensor_inputs),
        )  # fmt: skip
        with self._run(output_dir, redo, request, overrides=overrides, losses=own_losses(losses)) as run:
            try:
                self._do(run, reuse=None if reuse is None else RunFolder(reuse))
                if with_base:
                    from physplan.pipeline.baseline_run import make_base

                    make_base(run)
            except BaseException as error:
                if output_dir is not None:
                    record_failure(run.folder, error)
                raise
            if output_dir is not None:
                from physplan.report import write_report

                write_report(run.folder)
            return collect(run, output_type, keep=output_dir is not None)

    def generate_seeds(
        self,
        image: AnyPicture,
        prompt: str | None = None,
        *,
        seeds: Sequence[int],
        output_dir: str | os.PathLike[str] | None = None,
        **given: Any,
    ) -> list[Result]:
        """A video with each seed, in `output_dir`/seedN; plan and keyframes are made once."""
        if not seeds:
            raise PhysPlanError("There are no seeds: give at least one, such as [0, 1, 2].")
        with _folder(output_dir) as parent:
            first = parent / f"seed{seeds[0]}"
            made = [
                self.generate(image, prompt, seed=one, output_dir=parent / f"seed{one}", reuse=first, **given)
                for one in seeds
            ]
        return made if output_dir is not None else [replace(one, folder=None) for one in made]

    def forecast(
        self,
        image: AnyPicture,
        prompt: str | None = None,
        *,
        output_dir: str | os.PathLike[str],
        redo: bool = False,
        with_memory: bool = True,
        **given: Any,
    ) -> Forecast:
        """What `generate` would do, call, pay and need; what it would refuse is refused, what this machine
        lacks is named. To estimate the memory of a large model takes a minute: `with_memory`."""
        request = RunRequest(image=image, prompt=prompt, **given)
        run = prepare_run(RunFolder(output_dir), self.config, self.backends, request)
        refuse_void_guidance(run.method, run.config)
        check_folder(run, redo=redo)
        check_names(run.config)
        check_prompt(run, stages_to_do(run))
        check_video(run)
        todo = stages_to_do(run)
        found = forecast(run, with_memory=with_memory)
        return replace(found, missing=tuple(missing(run, todo)), wanted=tuple(wanted(run, todo)))

    def config_for(self, overrides: Mapping[str, Any], losses: Sequence[str] = ()) -> Config:
        """The config of one call: `num_frames=25` stands for `video.num_frames`; `losses` are registered."""
        for name in overrides:
            if name in RENAMED:
                raise PhysPlanError(f"generate() has no argument {name!r}: {RENAMED[name]}.")
            if name not in CALL_SETTINGS:
                raise PhysPlanError(
                    f"generate() has no argument {name!r}. {did_you_mean(name, CALL_SETTINGS)}"
                )
        changes: dict[str, Any] = {f"video.{name}": value for name, value in overrides.items()}
        if losses:
            for part in ("guidance", "guided_sketch"):
                changes[f"{part}.losses"] = [*getattr(self.config, part).losses, *losses]
        return with_defaults(load_config(self.config, changes))

    def _do(self, run: Run, upto: layout.StageName | None = None, *, reuse: RunFolder | None = None) -> None:
        """The stages of the run's method; what loads torch is imported only here."""
        if "torch" not in sys.modules:
            run.tell(run.stages[0])("loading PyTorch")
        from physplan.pipeline.attempts import adopt, attempted_stages
        from physplan.pipeline.stage_runner import do_stages, stages_of

        if reuse is not None and reuse.path.resolve() != run.folder.path.resolve():
            adopt(run, reuse)
        stages = attempted_stages(run) if run.inputs.attempts > 1 else stages_of(run)
        do_stages(run, stages, upto=upto)

    @contextmanager
    def _run(
        self,
        output_dir: str | os.PathLike[str] | None,
        redo: bool,
        request: RunRequest,
        *,
        overrides: Mapping[str, Any] | None = None,
        losses: Sequence[str] = (),
        upto: layout.StageName | None = None,
    ) -> Iterator[Run]:
        """A run that may begin: nothing is written before all that can be refused is."""
        config = self.config_for(overrides or {}, losses) if overrides or losses else self.config
        with _folder(output_dir) as path:
            run = prepare_run(RunFolder(path), config, self.backends, request)
            check_folder(run, redo=redo)
            require(run, upto=upto)
            with run.folder.locked():
                begin(run, redo=redo)
                yield run


def seed_of(generator: torch.Generator | None, seed: int | None) -> int:
    """Runs are continued by their seed, so a generator counts by its seed and must be fresh."""
    if generator is None:
        return seed or 0
    if seed is not None and seed != generator.initial_seed():
        raise PhysPlanError("Give a generator or a seed, not both.")
    import torch

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
