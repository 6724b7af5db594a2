"""A run as its video tells it, and the run again from what a video tells."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from physplan import presets
from physplan.graph import EventChain
from physplan.methods.records import recorded_method
from physplan.origin.local_names import local_names, without_paths
from physplan.origin.record import TAG, Origin, OriginError, png_of
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.consent import FROM_VIDEOS
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.events import OnEvent, silent
from physplan.pipeline.run import AnyPicture, Run, picture_digest, versions
from physplan.pipeline.stage_keys import digest, identity, setting_stages
from physplan.reasoning.picture import Picture
from physplan.runs import layout
from physplan.settings import DEFAULT_PRESET
from physplan.video.fit import fit_picture

if TYPE_CHECKING:
    from torch import Tensor

    from physplan.pipeline.result import Result


def origin_of(run: Run, frames: Tensor) -> Origin:
    """What the run's video says of it, from the run's folder."""
    folder = run.folder.path
    plan = layout.load_plan(folder) if run.planned else None
    return origin_with(run, plan, layout.load_keyframes(folder) if run.method.follows_plan else None, frames)


def origin_with(
    run: Run, plan: EventChain | None, keyframes: Sequence[Image.Image] | None, frames: Tensor
) -> Origin:
    """The same for equal runs, whether the plan was made or given."""
    shown = Picture.of(_shown(run.picture.image, run.frame, run.config))
    hashes = {"picture": shown.sha256, "frames": frames_digest(frames)}
    if plan is not None:
        hashes["plan"] = digest(plan.to_json())
    if keyframes is not None:
        hashes["keyframes"] = picture_digest(keyframes)
    return Origin(
        prompt=run.inputs.prompt,
        method=run.inputs.method,
        seed=run.inputs.seed,
        preset=run.config.preset,
        settings=without_paths({name: value for name, _, value in identity(run.config)}),
        versions=versions(),
        hashes=hashes,
        keyframes_given=run.keyframes is not None,
        plan=None if plan is None else plan.to_json(),
        picture=png_of(shown.image),
    )


def write_told(path: Path, frames: Tensor, origin: Origin) -> None:
    """A video that says how it was made: for every program in a few words, for us in all."""
    from physplan.video.files import run_metadata, write_video

    about = {"method": origin.method, "prompt": origin.prompt, "video": origin.settings["video.model"]}
    metadata = run_metadata(seed=origin.seed, preset=origin.preset, **about)
    write_video(
        path, frames, fps=origin.settings["video.fps"], metadata=metadata, tags={TAG: origin.to_text()}
    )


def _shown(picture: Image.Image, frame: Image.Image, config: Config) -> Image.Image:
    """As much of the picture as the video shows: what is cut off is left out for privacy."""
    return frame if config.video.fit == "crop" else picture


def frames_digest(frames: Tensor) -> str:
    """Of the pixels [F, 3, H, W] before they are encoded."""
    from physplan.video.files import to_bytes

    pixels = to_bytes(frames)
    header = "x".join(map(str, pixels.shape))
    return hashlib.sha256(f"RGB {header}\n".encode() + pixels.contiguous().numpy().tobytes()).hexdigest()


def run_again(
    origin: Origin,
    *,
    output_dir: str | os.PathLike[str],
    image: AnyPicture | None = None,
    keyframes: Sequence[Path] | None = None,
    overrides: Mapping[str, Any] | None = None,
    redo: bool = False,
    on_event: OnEvent = silent,
) -> Result:
    """The run that a video tells of. Its plan is used unchanged: no reasoner is called.

    `image` and `keyframes` are for what the file does not hold; they must be those of the run.
    """
    from physplan.pipeline.pipeline import PhysPlan

    pp = PhysPlan(config_of(origin, overrides or {}))
    return pp.generate(
        _picture_of(origin, image, pp.config),
        origin.prompt,
        plan=plan_of(origin),
        keyframes=_keyframes_of(origin, keyframes),
        method=recorded_method(origin.method, origin.settings),
        seed=origin.seed,
        output_dir=output_dir,
        redo=redo,
        on_event=on_event,
    )


def config_of(origin: Origin, overrides: Mapping[str, Any]) -> Config:
    """The settings that decide, as the video names them; how and where it runs is this machine's."""
    base = load_config(origin.preset if origin.preset in presets.NAMES else DEFAULT_PRESET)
    deciding = {name for name, stage, _ in setting_stages(base) if stage is not None}
    told = {name: value for name, value in origin.settings.items() if name not in overrides}
    for name in told:
        if name not in deciding:
            raise OriginError(
                f"The video names the setting {name[:80]!r}, which does not decide what is made: use another."
            )
    for name, last in local_names(told):
        if name in overrides:
            continue
        raise OriginError(
            f"The video was made with files of another machine ({name}: {last[:80]}): say where they are "
            f"with --set {name.split('[')[0]}=FOLDER."
        )
    usual = dict(_leaves(_plain(base)))
    untyped = {
        name: value
        for name, value in _leaves(divide(told, base)[1])
        if name not in overrides and usual.get(name) != value
    }
    if untyped:
        options = " ".join(f"--set {shlex.quote(f'{n}={json.dumps(v)[:200]}')}" for n, v in untyped.items())
        raise OriginError(
            "The video names a model or a back end that its preset does not: a file does not choose these. "
            f"If you trust it, add {options[:1_000]}"
        )
    return load_config(base, {**told, **overrides})


def divide(told: Mapping[str, Any], base: Config) -> tuple[dict[str, Any], dict[str, Any]]:
    """A video's settings: those that it may decide (`FROM_VIDEOS`), and those that differ from `base`'s."""
    usual = _plain(base)
    taken = {name: value for name, value in told.items() if name in FROM_VIDEOS}
    others = {name: value for name, value in told.items() if name not in taken and usual.get(name) != value}
    return taken, others


def _plain(config: Config) -> dict[str, Any]:
    return {name: value for name, _, value in identity(with_defaults(config))}


def _leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and (value or not at):
        for name, entry in value.items():
            yield from _leaves(entry, f"{at}.{name}" if at else str(name))
    else:
        yield at, value


def plan_of(origin: Origin) -> EventChain | None:
    """Checked like a plan from a file, and the one that the hash names."""
    chain = origin.chain()
    if (None if chain is None else digest(chain.to_json())) != origin.hashes.get("plan"):
        raise OriginError("The plan in the video is missing or not the one it was made from: make a new run.")
    return chain


def _picture_of(origin: Origin, given: AnyPicture | None, config: Config) -> Image.Image:
    picture = Picture.of(given).image if given is not None else origin.image()
    if picture is None:
        raise OriginError("The picture is too large to be in the video's metadata: give it with --image.")
    video = config.video
    frame, _ = fit_picture(picture, width=video.clip.width, height=video.clip.height, mode=video.fit)
    if Picture.of(_shown(picture, frame, config)).sha256 != origin.hashes.get("picture"):
        raise OriginError("The picture is not the one that the video was made from: give that with --image.")
    return picture


def _keyframes_of(origin: Origin, given: Sequence[Path] | None) -> Sequence[Path] | None:
    if origin.keyframes_given and given is None:
        raise OriginError("The keyframes of the video were given by hand: give them with --keyframes.")
    if given is not None and not origin.keyframes_given:
        raise OriginError("The keyframes of the video were drawn by the run itself: leave out --keyframes.")
    return given
