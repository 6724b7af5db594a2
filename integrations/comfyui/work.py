"""What the nodes do, over ComfyUI's tensors (images [N, H, W, 3], masks [N, H, W]) and without ComfyUI.

Each function is one stage of PhysPlan. ComfyUI runs nodes in inference mode, where no gradient can be taken,
and with its own number of threads, which changes the last bits of sums: `as_alone` and `cpu_threads` give a
stage what it has when PhysPlan runs by itself, so that the same seed gives the same frames.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import torch
from PIL import Image
from torch import Tensor

from physplan import presets
from physplan.drawing.plan import draw_plan
from physplan.drawing.png import save_png
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.guidance import Guide
from physplan.methods import METHODS as KNOWN_METHODS
from physplan.origin import Origin
from physplan.perception import Evidence
from physplan.pictures import to_picture, to_tensor
from physplan.pipeline import stages
from physplan.pipeline.backends import Backends, cpu_threads
from physplan.pipeline.checking import check_video
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config, read_assignments, to_plain
from physplan.pipeline.consent import refuse_consent
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.events import Tell, say_nothing
from physplan.pipeline.latents_stage import SamplingRequest, make_latents
from physplan.pipeline.origins import origin_with, write_told
from physplan.pipeline.planning import make_plan, renew_plan
from physplan.pipeline.run import Run, RunRequest, prepare_run
from physplan.reasoning.recheck import read_edited
from physplan.runs import RunFolder
from physplan.sketch.registry import sketch_by
from physplan.verify import Checked, NotChecked
from physplan.video.frames import FrameLayout
from physplan.video.known import video_model
from physplan.video.upscale import to_watch

from .model_files import Models, find_files, find_folder

PRESETS = presets.NAMES
METHODS = tuple(name for name in KNOWN_METHODS if not KNOWN_METHODS.load(name).conditioned)
WEIGHTS = ("source", "detector", "sam")  # options of a component that name weights
NOWHERE = Models()
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """A picture with its plan, and the models that work on it."""

    config: Config
    backends: Backends
    picture: Image.Image
    chain: EventChain

    def run(self, *, method: str | None = None, seed: int = 0, config: Config | None = None) -> Run:
        """Everything that can be wrong is found here, in a sentence; nothing is written into the folder."""
        folder = RunFolder(Path(tempfile.gettempdir()) / "physplan-comfyui")
        request = RunRequest(
            image=self.picture, prompt=self.chain.prompt, plan=self.chain, seed=seed, method=method
        )
        return prepare_run(folder, config or self.config, self.backends, request)


@dataclass(frozen=True, kw_only=True, eq=False)
class Keyframes:
    drawn: stages.Drawn
    given: bool  # drawn elsewhere


@dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    frames: Tensor  # [F, 3, H, W] in [0, 1]
    origin: Origin
    run: Run
    evidence: Evidence | None


def as_alone(stage: Callable[P, T]) -> Callable[P, T]:
    @functools.wraps(stage)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        with torch.inference_mode(False), torch.enable_grad():
            return stage(*args, **kwargs)

    return wrapped


@functools.lru_cache(maxsize=2)
def _backends(settings: str) -> Backends:
    """Models stay loaded from one run of a workflow to the next."""
    return Backends(with_defaults(load_config(json.loads(settings))))


def configure(preset: str, settings: str = "", models: Models = NOWHERE) -> Config:
    """A preset with lines of FIELD=VALUE, and weights from ComfyUI's folders where these hold them."""
    lines = [line.strip() for line in settings.splitlines() if line.strip()]
    usual = load_config(preset)
    config = refuse_consent(usual, load_config(usual, read_assignments(lines)), "The workflow")
    return with_defaults(with_models(config, models))


def with_models(config: Config, models: Models) -> Config:
    """Names on the hub become paths: of a whole model's folder, or of the single files of its parts."""
    wanted = config.video.source or video_model(config.video.model).repo
    if found := find_folder(wanted, models.folders):
        config = load_config(config, {"video.source": str(found)})
    else:
        for part, file in find_files(wanted, models.find_file).items():
            if getattr(config.video.files, part) is None:
                config = load_config(config, {f"video.files.{part}": file})
    for part in ("editor", "perception.segmenter", "perception.depth", "perception.encoder"):
        component: Any = functools.reduce(getattr, part.split("."), config)
        for name in WEIGHTS:
            if found := find_folder(component.options.get(name), models.folders):
                config = load_config(config, {f"{part}.options": {**component.options, name: str(found)}})
                component = functools.reduce(getattr, part.split("."), config)
    return config


@as_alone
def plan(image: Tensor, prompt: str, preset: str, settings: str = "", models: Models = NOWHERE) -> Scene:
    config = configure(preset, settings, models)
    backends = _backends(json.dumps(to_plain(config)))
    picture = to_picture(_channels_first(image)[0])
    run = prepare_run(
        RunFolder(Path(tempfile.gettempdir()) / "physplan-comfyui"),
        config,
        backends,
        RunRequest(image=picture, prompt=prompt),
    )
    with cpu_threads(config.runtime.threads):
        chain = make_plan(config, backends, run.frame, run.inputs.prompt)
    return Scene(config=config, backends=backends, picture=run.picture.image, chain=chain)


def plan_text(scene: Scene) -> str:
    return json.dumps(scene.chain.to_json(), indent=2, ensure_ascii=False)


def edit_plan(scene: Scene, text: str) -> tuple[Scene, str]:
    """The plan in the box, checked, with what follows from it computed anew; an empty box changes nothing."""
    if not text.strip():
        return scene, ""
    with tempfile.TemporaryDirectory(prefix="physplan-") as folder:
        path = Path(folder) / "plan.json"
        path.write_bytes(text.encode("utf-8", "replace"))
        chain, notes = read_edited(path)
    run = replace(scene, chain=chain).run()
    chain, rewritten = renew_plan(scene.config, scene.backends, run.frame, chain)
    return replace(scene, chain=chain), "\n".join([*notes, *rewritten])


def show_plan(scene: Scene) -> Tensor:
    with tempfile.TemporaryDirectory(prefix="physplan-") as folder:
        save_png(draw_plan(scene.chain), Path(folder) / "plan.png")
        with Image.open(Path(folder) / "plan.png") as drawn:
            return _channels_last(to_tensor(drawn.convert("RGB"))[None])


@as_alone
def keyframes(scene: Scene, images: Tensor | None = None) -> tuple[Keyframes, Tensor, str]:
    """Drawn by the preset's editor, or given by any other; either way each is looked at and judged."""
    run = scene.run()
    given = None
    if images is not None:
        given = [to_picture(one).resize(run.frame.size) for one in _channels_first(images)]
        if len(given) != len(scene.chain.events):
            raise PhysPlanError(
                f"The plan has {len(scene.chain.events)} events, but {len(given)} keyframes are given."
            )
    with cpu_threads(scene.config.runtime.threads):
        drawn = stages.make_keyframes(scene.config, scene.backends, run.frame, scene.chain, given=given)
    report = "\n".join(keyframe.report() for keyframe in drawn.keyframes)
    return Keyframes(drawn=drawn, given=given is not None), pictures(drawn.images), report


@as_alone
def evidence(scene: Scene, drawn: Keyframes, masks: Tensor | None = None) -> tuple[Evidence, Tensor, str]:
    """Every object's mask in the first frame and every keyframe, in a row, with the names of the rows.

    Masks that come back, as many and in the same order, take their places: paint over one, and it counts.
    """
    found = stages.make_evidence(scene.chain, drawn.drawn.sightings)
    if masks is not None:
        found = with_masks(found, masks)
    frames = (found.first, *found.keyframes)
    rows = [mask for frame in frames for mask in frame.masks.values()]
    names = [
        f"{'first frame' if i == 0 else f'keyframe {i}'}: {node}"
        for i, frame in enumerate(frames)
        for node in frame.masks
    ]
    size = found.first.image.shape[-2:]
    stacked = torch.stack(rows).float() if rows else torch.zeros(1, *size)
    return found, stacked, "\n".join([*names, *found.missing])


def with_masks(found: Evidence, masks: Tensor) -> Evidence:
    frames = (found.first, *found.keyframes)
    wanted, size = sum(len(frame.masks) for frame in frames), tuple(found.first.image.shape[-2:])
    fits = masks.ndim == 3 and len(masks) == wanted and tuple(masks.shape[-2:]) == size
    if not fits or masks.is_complex():
        raise PhysPlanError(
            f"{wanted} masks of {size[1]} x {size[0]} pixels are needed, in the order in which they came "
            f"out; given are {list(masks.shape)}."
        )
    rows = iter(masks.cpu() > 0.5)
    painted = [{node: next(rows).clone() for node in frame.masks} for frame in frames]
    kept = [{node: mask for node, mask in one.items() if mask.any()} for one in painted]  # empty: not there
    new = [replace(frame, masks=one) for frame, one in zip(frames, kept, strict=True)]
    return Evidence(first=new[0], keyframes=tuple(new[1:]))


@as_alone
def sketch(scene: Scene, seen: Evidence) -> tuple[Tensor, Tensor]:
    """The plan in motion: frames, and where it acts."""
    with cpu_threads(scene.config.runtime.threads):
        made = sketch_by(scene.config, scene.chain, seen)
    return _channels_last(made.frames), made.masks[:, 0].float()


@as_alone
def generate(
    scene: Scene,
    method: str,
    seed: int,
    *,
    drawn: Keyframes | None = None,
    seen: Evidence | None = None,
    steps: int = 0,
    tell: Tell = say_nothing,
    preview: Path | None = None,
) -> Made:
    """`steps` 0 stands for the preset's own number."""
    config = load_config(scene.config, {"video.num_inference_steps": steps}) if steps else scene.config
    run = scene.run(method=method, seed=seed, config=config)
    if run.method.follows_plan and (drawn is None or seen is None):
        raise PhysPlanError(f"The method {method} follows keyframes: connect keyframes and evidence.")
    with cpu_threads(config.runtime.threads):
        frames = _frames(run, scene.chain, seen, tell, preview)
    shown = frames if run.fit.mode == "crop" else run.fit.undo(frames, run.picture.image)
    if drawn is not None and drawn.given:
        run = replace(run, keyframes=drawn.drawn.images)
    images = drawn.drawn.images if drawn is not None and run.method.follows_plan else None
    return Made(frames=shown, origin=origin_with(run, scene.chain, images, shown), run=run, evidence=seen)


def _frames(run: Run, chain: EventChain, seen: Evidence | None, tell: Tell, preview: Path | None) -> Tensor:
    sketched = sketch_by(run.config, chain, seen) if run.start == "sketch" and seen is not None else None
    if not run.method.samples and sketched is not None:
        return sketched.frames
    guided_by = None
    if run.guidance is not None and seen is not None:
        guided_by = Guide(chain=chain, evidence=seen, config=run.guidance)
    tell(f"loading the video model {run.config.video.model}")
    sampled = make_latents(
        SamplingRequest(
            config=run.config,
            backends=run.backends,
            frame=run.frame,
            prompt=run.inputs.prompt,
            seed=run.inputs.seed,
            guided_by=guided_by,
            sketch=sketched,
            tell=tell,
            preview=preview,
        )
    )
    return decode(run.backends, sampled.latents, sampled.layout)


def decode(backends: Backends, latents: Tensor, layout: FrameLayout) -> Tensor:
    with tempfile.TemporaryDirectory(prefix="physplan-") as folder:
        return stages.make_video(backends, latents, layout, kept_at=Path(folder) / "latents.safetensors")


@as_alone
def verify(scene: Scene, images: Tensor, seen: Evidence | None = None) -> tuple[str, float, str]:
    """Of any video of the scene: holds, doubtful, fails or not checked; a number from 0 to 1; a sentence."""
    with cpu_threads(scene.config.runtime.threads):
        frames = (_channels_first(images) * 255).round() / 255  # as in a file
        found: Checked = check_video(scene.run(), scene.chain, seen, frames)
    score = 0.0 if isinstance(found, NotChecked) else float(found.score)
    return found.verdict, score, found.sentence()


def save(made: Made, path: Path) -> None:
    """As `physplan generate` writes it: with settings, plan, versions and hashes in its metadata."""
    write_told(path, to_watch(made.frames), made.origin)


def pictures(images: Sequence[Image.Image]) -> Tensor:
    return _channels_last(torch.stack([to_tensor(image) for image in images]))


def _channels_first(images: Tensor) -> Tensor:
    if images.ndim != 4 or images.shape[-1] not in (3, 4) or not images.numel() or images.is_complex():
        raise PhysPlanError(f"Pictures [N, H, W, 3] are needed, not {list(images.shape)} {images.dtype}.")
    found = images[..., :3].permute(0, 3, 1, 2).detach().float().cpu().clone()
    if not torch.isfinite(found).all():
        raise PhysPlanError("The pictures hold values that are no numbers: look at the node that made them.")
    return found.clamp(0, 1)


def _channels_last(images: Tensor) -> Tensor:
    return images.permute(0, 2, 3, 1).contiguous()
