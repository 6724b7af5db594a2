"""One run: what was given, settled and checked before anything is loaded or paid for."""

from __future__ import annotations

import hashlib
import os
import platform
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import yaml
from PIL import Image

from physplan import __version__, presets
from physplan.errors import PhysPlanError
from physplan.files import atomic_path, write_atomic, write_json
from physplan.graph import EventChain
from physplan.guidance.config import GuidanceConfig, StartAt
from physplan.keyframes.framing import fit as fit_keyframe
from physplan.methods import Method, find
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config, Inputs
from physplan.pipeline.config_loading import load_config, to_plain
from physplan.pipeline.consent import without_consent
from physplan.pipeline.events import OnEvent, RunEvent, Tell, silent
from physplan.pipeline.plan_picture import require_picture
from physplan.pipeline.stage_keys import deciding_settings, differences, digest, recorded_in_todays_words
from physplan.pipeline.step_callback import StepCallback
from physplan.reasoning.picture import Picture
from physplan.reasoning.planner import check_frames, check_prompt
from physplan.reasoning.recheck import read_edited
from physplan.reasoning.registry import REASONERS
from physplan.reasoning.templates import PromptSet
from physplan.runs import RunFolder, layout
from physplan.video.fit import Fit, fit_picture
from physplan.video.known import is_served

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
    callback: StepCallback | None = None  # after each step of its sampling
    once: str = field(default_factory=lambda: uuid.uuid4().hex)  # no other run has it

    @property
    def calls(self) -> Path:
        return self.folder / layout.CALLS

    @property
    def method(self) -> Method:
        return find(self.inputs.method)

    @property
    def guidance(self) -> GuidanceConfig | None:
        """The method's guidance under this config; None: no gradient is taken."""
        return self.method.guidance(self.config)

    @property
    def start(self) -> StartAt:
        """Where the sampling starts."""
        return self.method.start(self.config)

    @property
    def planned(self) -> bool:
        """Whether there is a plan, if only to check the video against."""
        return self.method.follows_plan or self.plan is not None

    @property
    def stages(self) -> tuple[layout.StageName, ...]:
        """The names of its stages, in order; a server sends frames, so there are no latents."""
        stages = self.method.stages(plan_given=self.plan is not None)
        return tuple(stage for stage in stages if stage != "latents") if self.served else stages

    @property
    def served(self) -> bool:
        """Whether a server makes the video."""
        return self.method.samples and is_served(self.config.video.model)

    def tell(self, stage: str) -> Tell:
        """How this stage says what it is doing."""
        event = partial(RunEvent, stage=stage, kind="progress")
        return lambda message, **progress: self.on_event(event(message=message, **progress))


@dataclass(frozen=True, kw_only=True, eq=False)
class RunRequest:
    """What is given for one run, unchecked."""

    image: AnyPicture
    prompt: str | None = None  # the plan's, where there is one
    plan: EventChain | str | os.PathLike[str] | None = None
    keyframes: Sequence[AnyPicture] | None = None
    seed: int = 0
    method: str | None = None  # the config's by default
    attempts: int = 1
    on_event: OnEvent = silent
    callback: StepCallback | None = None


def prepare_run(folder: RunFolder, config: Config, backends: Backends, request: RunRequest) -> Run:
    """Everything that can be wrong with what was given is found here."""
    picture, prompt = Picture.of(request.image), request.prompt
    plan, seed, attempts = request.plan, request.seed, request.attempts
    video, chosen = config.video, find(request.method or config.method, config.method)
    frames = check_frames(video.clip.num_frames)
    frame, fit = fit_picture(picture.image, width=video.clip.width, height=video.clip.height, mode=video.fit)
    chain = read_plan(plan, picture, Picture.of(frame), frames) if plan is not None else None
    if prompt is None and chain is None:
        raise PhysPlanError("The prompt is missing: say in a sentence what happens, or give a plan.")
    prompt = check_prompt(prompt if prompt is not None else chain.prompt)  # type: ignore[union-attr]
    if chain is not None and chain.prompt != prompt:
        raise PhysPlanError(
            f"The plan is for the prompt {chain.prompt!r}, not {prompt!r}: leave it out or plan again."
        )
    if chain is None:
        planner = chosen.reasoner(config.reasoner.name, REASONERS)
        config = replace(config, reasoner=replace(config.reasoner, name=planner))
    check_guidance(chosen, config)
    if chosen.chooses:
        check_choice(config)
        attempts = config.best_of_n.count if attempts == 1 else attempts
    if not (isinstance(seed, int) and 0 <= seed < 2**63 - MOST_ATTEMPTS):
        raise PhysPlanError(f"The seed is {seed!r}: give a whole number from 0 on.")
    if not (isinstance(attempts, int) and 1 <= attempts <= MOST_ATTEMPTS):
        raise PhysPlanError(f"{attempts!r} attempts cannot be made: give a number from 1 to {MOST_ATTEMPTS}.")
    if attempts > 1 and not chosen.samples:
        raise PhysPlanError("A storyboard is the same with every seed: ask for one attempt.")
    given = request.keyframes
    drawn = read_keyframes(given, chain, frame.size) if given is not None else None
    inputs = Inputs(
        image=picture.sha256,
        prompt=prompt,
        plan=plan_digest(chain) if chain else None,
        prompts=str(PromptSet.read(config.reasoner.prompts).version) if config.reasoner.prompts else None,
        keyframes=picture_digest(drawn) if drawn else None,
        seed=seed,
        method=chosen.name,
        attempts=attempts,
    )
    run = Run(
        folder=folder, config=config, inputs=inputs, backends=backends, picture=picture, frame=frame, fit=fit,
        plan=chain, keyframes=drawn, on_event=request.on_event, callback=request.callback,
    )  # fmt: skip
    refuse_uncalled(run)
    return run


def refuse_uncalled(run: Run) -> None:
    """Refuse a step callback where no step is done."""
    if run.callback is not None and "latents" not in run.stages:
        raise PhysPlanError(
            "callback_on_step_end is called after each step of a sampling, and nothing is sampled here "
            f"({'a server makes the video' if run.served else run.method.name}): use on_event."
        )


def check_choice(config: Config) -> None:
    """Refuse a choice that could not be made once the videos are there."""
    if config.best_of_n.by == "judge" and not config.best_of_n.judge:
        raise PhysPlanError(
            "best_of_n.by is judge, but best_of_n.judge names none: give gemini:MODEL or another."
        )


def check_guidance(method: Method, config: Config) -> None:
    """Refuse a schedule longer than the sampling; what a server takes is said later."""
    if not is_served(config.video.model) and (guidance := method.guidance(config)) is not None:
        guidance.schedule.check(config.video.sampling.num_inference_steps)


def refuse_void_guidance(method: Method, config: Config) -> None:
    """Refuse guidance settings that another method than the run's would read."""
    fields = {"guidance": "physplan", "guided_sketch": "guided_sketch"}
    if method.settings not in fields or config.preset not in presets.NAMES:
        return
    own = load_config(config.preset)
    changed = [name for name in fields if getattr(config, name) != getattr(own, name)]
    if changed and method.settings not in changed:
        raise PhysPlanError(
            f"{changed[0]}.* are settings of {fields[changed[0]]}, but the method is {method.name}: set "
            f"{method.settings}.* instead, or use --method {fields[changed[0]]}."
        )


def read_plan(
    plan: EventChain | str | os.PathLike[str], picture: Picture, frame: Picture, num_frames: int
) -> EventChain:
    """A given plan, verified, of this picture, with its events timed for this video.

    Its instructions are looked at when the plan's stage begins: to rewrite one may cost a call.
    """
    chain = plan.rebuilt() if isinstance(plan, EventChain) else read_edited(plan)[0]
    require_picture(chain, picture, frame)
    return chain if chain.num_frames == num_frames else replace(chain, num_frames=num_frames).rebuilt()


def plan_digest(chain: EventChain) -> str:
    """Of a given plan, without what says only that an instruction belongs to its edits: a plan from before
    bindings were stored is the same plan."""
    value = chain.to_json()
    for event, entry in zip(chain.events, value["events"], strict=True):
        if event.outdated is None and not event.by_user:
            entry.pop("instruction_for", None)
            entry.pop("instruction_by", None)
    return digest(value)


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
    before = recorded_settings(run)
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
    check_folder(run, redo=redo)  # again, now that this process holds the lock
    folder, now = run.folder, deciding_settings(run.config, run.inputs)
    before = recorded_settings(run)
    if before != now:
        # Before the new settings are written: no folder ever holds a result of other settings than it names.
        stale = [
            stage for stage in layout.STAGES if before is not None and not _same(before, now, run, stage)
        ]
        folder.invalidate([*reversed(stale)])
        RunFolder(folder / layout.BASE).invalidate([*reversed(layout.STAGES)])  # it is beside another run's
        for made in (layout.REPORT, layout.SIGNED):
            (folder / made).unlink(missing_ok=True)
    (folder / layout.FAILURE).unlink(missing_ok=True)
    # First of all files: it is what makes the folder ours.
    named = recorded_identity(run)
    kept = named if named is not None and before == now else now  # a record of 0.1 keys its own stages
    write_json(
        folder / layout.RUN, {"inputs": to_plain(run.inputs), "identity": kept, "versions": versions()}
    )
    for name, image in ((layout.INPUT, run.picture.image), (layout.FRAME, run.frame)):
        with atomic_path(folder / name) as temporary:
            image.save(temporary)
    settings = yaml.safe_dump(without_consent(to_plain(run.config)), sort_keys=False, allow_unicode=True)
    write_atomic(
        folder / layout.CONFIG, "# Read it back with: physplan generate --config config.yaml\n" + settings
    )
    folder.log(f"run: {run.inputs.method}, seed {run.inputs.seed}, prompt {run.inputs.prompt!r}")


def _same(before: dict[str, object], now: dict[str, object], run: Run, stage: str) -> bool:
    names = deciding_settings(run.config, run.inputs, stage)  # type: ignore[arg-type]
    return all(before.get(name) == now.get(name) for name in names)


def recorded_settings(run: Run) -> dict[str, object] | None:
    """What run.json names, in today's words; None where the folder holds no run."""
    recorded = recorded_identity(run)
    return None if recorded is None else recorded_in_todays_words(recorded, run.config, run.inputs)


def recorded_identity(run: Run) -> dict[str, object] | None:
    """What run.json names, in the words of the version that wrote it."""
    try:
        return dict(layout.load_run(run.folder.path).identity)
    except (FileNotFoundError, NotADirectoryError):
        return None


def versions() -> dict[str, str]:
    from importlib.metadata import version

    found = {name: version(name) for name in ("torch", "diffusers", "transformers", "numpy", "pillow", "av")}
    return {"physplan": __version__, "python": platform.python_version(), **found}
