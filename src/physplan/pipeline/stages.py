"""The stages (figure 2) as functions over values: each makes one thing from a config, models and pictures.

The pipeline (`stage_runner`) adds folders and keys, `physplan plan` a file, the sandbox study a truth to
compare with. Planning is in `planning`, because it needs no torch; sampling is in `sampling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from torch import Tensor

from physplan.graph import EventChain
from physplan.keyframes import (
    Keyframe,
    KeyframeEditor,
    RenderOptions,
    RenderSettings,
    judge_keyframes,
    render_keyframes,
)
from physplan.perception import Evidence, Sighting, evidence_of, look
from physplan.pictures import to_tensor
from physplan.pipeline.backends import Backends
from physplan.pipeline.config import Config
from physplan.video.decoding import decode_safely
from physplan.video.frames import FrameLayout


@dataclass(frozen=True, kw_only=True, eq=False)
class Sightings:
    """What was seen in the first frame and in every keyframe."""

    first: Sighting
    keyframes: tuple[Sighting, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """The keyframes, and what was seen while they were checked."""

    first: Sighting
    keyframes: tuple[Keyframe, ...]

    @property
    def images(self) -> tuple[Image.Image, ...]:
        return tuple(keyframe.image for keyframe in self.keyframes)

    @property
    def sightings(self) -> Sightings:
        return Sightings(first=self.first, keyframes=tuple(k.sighting for k in self.keyframes))


def make_keyframes(
    config: Config,
    backends: Backends,
    frame: Image.Image,
    chain: EventChain,
    *,
    editor: KeyframeEditor | None = None,
    given: Sequence[Image.Image] | None = None,
    calls: Path | None = None,
    options: RenderOptions | None = None,
) -> Drawn:
    """A picture of each state, by `editor` (where none is given, the config's); or `given`, and judged."""
    wanted = config.editor
    models = backends.perception
    first = look(chain.graph, to_tensor(frame), **models)
    if given is not None:
        return Drawn(
            first=first, keyframes=judge_keyframes(chain, given, first=first, settings=wanted.check, **models)
        )
    keyframes = render_keyframes(
        chain,
        frame,
        editor=editor or backends.editor(calls),
        first=first,
        seed=wanted.seed,
        settings=RenderSettings(redraws=wanted.redraws, check=wanted.check),
        options=options,
        **models,
    )
    return Drawn(first=first, keyframes=keyframes)


def look_at(
    backends: Backends, frame: Image.Image, chain: EventChain, keyframes: Sequence[Image.Image]
) -> Sightings:
    """Check the keyframes that this process has not checked."""
    models = backends.perception
    return Sightings(
        first=look(chain.graph, to_tensor(frame), **models),
        keyframes=tuple(
            look(event.graph, to_tensor(image), **models)
            for event, image in zip(chain.events, keyframes, strict=True)
        ),
    )


def make_evidence(chain: EventChain, seen: Sightings) -> Evidence:
    """Every object's mask and the depth in the first frame and in every keyframe."""
    return evidence_of(chain, seen.first, seen.keyframes)


def make_video(backends: Backends, latents: Tensor, layout: FrameLayout, *, kept_at: Path) -> Tensor:
    """Frames [F, 3, H, W] in [0, 1], on the CPU; `kept_at` is where the latents are if this fails."""
    model = backends.video
    return decode_safely(model, latents.to(model.device), layout, kept_at).cpu()
