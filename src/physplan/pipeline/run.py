"""One run: what was given, settled and checked before anything is loaded or paid for."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from PIL import Image

from physplan import __version__
from physplan.errors import PhysPlanError
from physplan.files import atomic_path, write_atomic, write_json
from physplan.graph import EventChain
from physplan.guidance.methods import planner_of
from physplan.keyframes.framing import fit as fit_keyframe
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config, Inputs
from physplan.pipeline.config_loading import to_plain
from physplan.pipeline.events import OnEvent, RunEvent, Tell, silent
from physplan.pipeline.methods import CONDITIONED, METHODS, SKETCHED, STORYBOARD, guidance_of
from physplan.pipeline.stage_keys import deciding_settings, differences, digest
from physplan.reasoning.picture import Picture
from physplan.reasoning.planner import check_frames, check_prompt
from physplan.reasoning.recheck import recheck
from physplan.reasoning.registry import REASONERS
from physplan.reasoning.templates import PromptSet
from physplan.registry import did_you_mean
from physplan.runs import RunFolder, layout
from physplan.video.fit import Fit, fit_picture

if TYPE_CHECKING:
    from physplan.pipeline.stages import Sightings
    from physplan.sketch import Sketch

MOST_ATTEMPTS = 1_000
AnyPicture = Picture | Image.Image | str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    folder: RunFolder
    config: Config  # settled
    inputs: Inputs
    backends: Backends
    picture: Picture
    frame: Image.Image  # the picture as the video model is given it
    fit: Fit
    plan: EventChain | None = None  # when one was given
    keyframes: tuple[Image.Image, ...] | None = None  # when they were given
    on_event: OnEvent = field(default=silent)
    seen: list[Sightings] = field(default_factory=list)  # handed from the keyframes' check to the evidence
    sketched: list[Sketch] = field(default_factory=list)  # handed from its stage to the sampling

    @property
    def calls(self) -> Path:
        return self.folder / layout.CALLS

    @property
    def guided(self) -> bool:
        """Whether it follows a plan."""
        return self.inputs.method != "base"

    @property
    def planned(self) -> bool:
        """Whether there is a plan, if only to check the video by."""
        return self.guided or self.plan is not None

    @property
    def steered(self) -> bool:
        """Whether it follows it by gradients."""
        return self.guided and self.inputs.method not in (*SKETCHED, CONDITIONED)

    @property
    def conditioned(self) -> bool:
        """Whether its video model is given the keyframes."""
        return self.inputs.method == CONDITIONED

    @property
    def from_sketch(self) -> bool:
        """Whether its video begins with the sketch, or is it."""
        method = self.inputs.method
        if self.conditioned:
            return self.config.conditioned.start == "sketch"
        return method in SKETCHED or (self.steered and guidance_of(method, self.config).start == "sketch")

    @property
    def stages(self) -> tuple[layout.StageName, ...]:
        """The names of its stages, in order."""
        left_out = set[str]()
        if not self.guided:
            left_out = {"keyframes", "evidence", "sketch"} | (set() if self.planned else {"plan"})
        elif self.inputs.method == STORYBOARD:
            left_out = {"latents"}
        return tuple(stage for stage in layout.STAGES if stage not in left_out)

    def tell(self, stage: str) -> Tell:
        """How this stage says what it is doing."""

        def tell(
            message: str, *, done: float = 0.0, total: float = 0.0, remaining: float | None = None
        ) -> None:
            self.on_event(
                RunEvent(
                    stage=stage, kind="progress", message=message, done=done, total=total, remaining=remaining
                )
            )

        return tell


def prepare_run(
    folder: RunFolder,
    config: Config,
    backends: Backends,
    *,
    image: AnyPicture,
    prompt: str | None,
    plan: EventChain | str | os.PathLike[str] | None = None,
    keyframes: Sequence[AnyPicture] | None = None,
    seed: int = 0,
    method: str | None = None,
    attempts: int = 1,
    on_event: OnEvent = silent,
) -> Run:
    """Everything that can be wrong with what was given is found here."""
    picture = Picture.of(image)
    video, method = config.video, method or config.method
    frames = check_frames(video.num_frames or 0)
    frame, fit = fit_picture(picture.image, width=video.width or 0, height=video.height or 0, mode=video.fit)
    chain = read_plan(plan, picture, Picture.of(frame), frames) if plan is not None else None
    if prompt is None and chain is None:
        raise PhysPlanError("The prompt is missing: say in a sentence what happens, or give a plan.")
    prompt = check_prompt(prompt if prompt is not None else chain.prompt)  # type: ignore[union-attr]
    if chain is not None and chain.prompt != prompt:
        raise PhysPlanError(
            f"The plan is for the prompt {chain.prompt!r}, not {prompt!r}: leave it out or plan again."
        )
    if method not in METHODS:
        raise PhysPlanError(f"There is no method {method!r}. {did_you_mean(method, METHODS)}")
    if chain is None:
        planner = planner_of(method, config.reasoner.name, REASONERS)
        config = replace(config, reasoner=replace(config.reasoner, name=planner))
    guidance = guidance_of(method, config)
    guidance.schedule.check(video.num_inference_steps or 0)
    if not 0 <= seed < 2**63 - MOST_ATTEMPTS:
        raise PhysPlanError(f"The seed is {seed}: give a whole number from 0 on.")
    if not 1 <= attempts <= MOST_ATTEMPTS:
        raise PhysPlanError(f"{attempts} attempts cannot be made: give a number from 1 to {MOST_ATTEMPTS}.")
    if attempts > 1 and method == STORYBOARD:
        raise PhysPlanError("A storyboard is the same with every seed: ask for one attempt.")
    drawn = read_keyframes(keyframes, chain, frame.size) if keyframes is not None else None
    inputs = Inputs(
        image=picture.sha256,
        prompt=prompt,
        plan=digest(chain.to_json()) if chain else None,
        prompts=str(PromptSet.read(config.reasoner.prompts).version) if config.reasoner.prompts else None,
        keyframes=picture_digest(drawn) if drawn else None,
        seed=seed,
        method=method,
        attempts=attempts,
    )
    return Run(
        folder=folder, config=config, inputs=inputs, backends=backends, picture=picture, frame=frame, fit=fit,
        plan=chain, keyframes=drawn, on_event=on_event,
    )  # fmt: skip


def read_plan(
    plan: EventChain | str | os.PathLike[str], picture: Picture, frame: Picture, num_frames: int
) -> EventChain:
    """A given plan, verified, of this picture, with its events timed for this video."""
    chain = plan.rebuilt() if isinstance(plan, EventChain) else recheck(plan)[0]
    image = chain.provenance.get("image")
    made_for = image.get("sha256") if isinstance(image, dict) else None
    if made_for not in (None, picture.sha256, frame.sha256):
        raise PhysPlanError(
            "The plan was made for another picture: give the picture it was made for, or plan this one."
        )
    return chain if chain.num_frames == num_frames else replace(chain, num_frames=num_frames).rebuilt()


def read_keyframes(
    keyframes: Sequence[AnyPicture], chain: EventChain | None, size: tuple[int, int]
) -> tuple[Image.Image, ...]:
    if chain is None:
        raise PhysPlanError("Keyframes of your own need the plan they show: give both.")
    if len(keyframes) != len(chain.events):
        raise PhysPlanError(
            f"The plan has {len(chain.events)} events, but {len(keyframes)} keyframes are given."
        )
    return tuple(fit_keyframe(Picture.of(image).image, size) for image in keyframes)


def picture_digest(pictures: Sequence[Image.Image]) -> str:
    return hashlib.sha256("".join(Picture.of(one).sha256 for one in pictures).encode()).hexdigest()


def check_folder(run: Run, *, redo: bool) -> None:
    """A folder with another run is not touched unless asked."""
    before = recorded_settings(run.folder)
    if before is None or redo:
        return
    if changed := differences(before, deciding_settings(run.config, run.inputs)):
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise PhysPlanError(
            f"{run.folder.path} holds a run with other settings ({'; '.join(changed[:3])}{more}): choose "
            "another folder, or redo what depends on them with --redo."
        )


def begin(run: Run, *, redo: bool) -> None:
    """Write down what the run is."""
    check_folder(run, redo=redo)  # again, now that nobody else can change it
    folder, now = run.folder, deciding_settings(run.config, run.inputs)
    before = recorded_settings(folder)
    if before != now:
        # Before the new settings are written: no folder ever holds a result of other settings than it names.
        stale = [
            stage for stage in layout.STAGES if before is not None and not _same(before, now, run, stage)
        ]
        folder.forget([*reversed(stale)])
        RunFolder(folder / layout.BASE).forget([*reversed(layout.STAGES)])  # it is beside another run's
        for made in (layout.REPORT, layout.SIGNED):
            (folder / made).unlink(missing_ok=True)
    (folder / layout.FAILURE).unlink(missing_ok=True)
    # First of all files: it is what makes the folder ours.
    write_json(
        folder / layout.RUN,
        {"inputs": to_plain(run.inputs), "identity": now, "versions": versions()},
    )
    for name, image in ((layout.INPUT, run.picture.image), (layout.FRAME, run.frame)):
        with atomic_path(folder / name) as temporary:
            image.save(temporary)
    settings = yaml.safe_dump(to_plain(run.config), sort_keys=False, allow_unicode=True)
    write_atomic(
        folder / layout.CONFIG, "# Read it back with: physplan generate --config config.yaml\n" + settings
    )
    folder.log(f"run: {run.inputs.method}, seed {run.inputs.seed}, prompt {run.inputs.prompt!r}")


def _same(before: dict[str, object], now: dict[str, object], run: Run, stage: str) -> bool:
    names = deciding_settings(run.config, run.inputs, stage)  # type: ignore[arg-type]
    return all(before.get(name) == now.get(name) for name in names)


def recorded_settings(folder: RunFolder) -> dict[str, object] | None:
    try:
        return dict(layout.load_run(folder.path).identity)
    except (FileNotFoundError, NotADirectoryError):
        return None


def versions() -> dict[str, str]:
    from importlib.metadata import version

    found = {name: version(name) for name in ("torch", "diffusers", "transformers", "numpy", "pillow", "av")}
    return {"physplan": __version__, "python": platform.python_version(), **found}
