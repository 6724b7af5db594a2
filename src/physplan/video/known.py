"""The video models by name, as far as they are known before one is loaded; packages register theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from physplan.errors import PhysPlanError
from physplan.registry import Registry, did_you_mean

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

    from physplan.calls.cost_estimate import CostEstimate
    from physplan.graph import EventChain
    from physplan.guidance.config import GuidanceConfig
    from physplan.machine import Missing
    from physplan.pipeline.config import Config, RuntimeConfig, VideoConfig
    from physplan.pipeline.run import Run
    from physplan.sketch import Sketch
    from physplan.video.memory import GradientMode, MemoryEstimate, MemoryRequest
    from physplan.video.protocol import VideoModel

VIDEO_MODELS = Registry("video model", {}, group="video_models")


class KnownVideoModel:
    """`values` are what None stands for in the config's `video`; where that is asked for it is complete."""

    @property
    def values(self) -> Mapping[str, Any]:
        raise NotImplementedError

    repo: str | None = None  # its weights on the hub
    reads: bool = True  # whether it takes a prompt
    keyframes: Literal["none", "last", "any"] = "none"  # where pictures can be given beside the first

    @property
    def frame_guidance(self) -> GuidanceConfig | None:
        """The settings that Frame Guidance's own code has for it, where they differ."""
        return None

    def check_size(self, video: VideoConfig) -> None:
        """Refuse a size, or what the steps ignore, where that is known before anything is loaded."""

    def check_keyframes(self, video: VideoConfig) -> None:
        """Refuse a model that is known to take none."""

    def check_hints(self, video: VideoConfig) -> None:
        """Refuse a model that takes no keyframes of a strength below 1."""
        raise PhysPlanError(no_hints(video.model))

    def check_held(self, video: VideoConfig, runtime: RuntimeConfig, *, differentiated: bool) -> None:
        """Refuse weights that would not be held as a run needs them; `differentiated`: by gradients."""

    def lacking(self, video: VideoConfig, runtime: RuntimeConfig) -> Iterator[tuple[str, str]]:
        """What this machine lacks to load it, and what helps."""
        yield from ()

    def usual_memory(self, mode: GradientMode) -> Mapping[str, float] | None:
        """GB by number of events at the model's own size, kept because an estimate takes seconds."""
        return None

    def memory(self, video: VideoConfig, request: MemoryRequest) -> MemoryEstimate | None:
        """The estimated peak of sampling; None where that is nothing to speak of."""
        return None

    def warnings(self, picture: tuple[int, int]) -> list[str]:
        """What a reader of the result should know where a picture of this size was given."""
        return []

    def load(self, video: VideoConfig, runtime: RuntimeConfig) -> VideoModel:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, eq=False)
class Material:
    """What a server is asked with, beside picture and sentence."""

    chain: EventChain | None = None
    keyframes: tuple[Image, ...] = ()  # given to the server; none: the first frame alone
    sketch: Sketch | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Served:
    frames: Tensor  # [F, 3, H, W] in [0, 1]
    notes: tuple[str, ...]


class ServedVideoModel(KnownVideoModel):
    """A model that sends frames, not latents: nothing is loaded, so there is no stage `latents`."""

    def check_served(self, run: Run) -> None:
        """Refuse what no answer of the server could change."""

    def check_abilities(self, run: Run) -> None:
        """Refuse what the server's own list rules out, before the plan is paid for."""

    def served_lacks(self, config: Config) -> Iterator[Missing]:
        """The key or the server that is not there."""
        yield from ()

    def estimate(self, config: Config, events: int, *, conditioned: bool) -> CostEstimate:
        """At most, of a plan with so many events; without asking the server."""
        raise NotImplementedError

    def served_work(self, run: Run, events: int) -> tuple[str, CostEstimate]:
        """What the video stage would ask for, and at most pay; without asking the server."""
        raise NotImplementedError

    def serve(self, run: Run, material: Material) -> Served:
        raise NotImplementedError


def no_keyframes(name: str) -> str:
    """The sentence for a model that takes no keyframes."""
    able = [name for name in VIDEO_MODELS if _local(name) and VIDEO_MODELS.load(name).keyframes != "none"]
    return f"{name} takes no keyframes: use {', '.join(able)}, or the method sketch, which any model takes."


def no_hints(name: str) -> str:
    """The sentence for a model that holds keyframes whole and to the end."""
    return (
        f"{name} holds keyframes to the end: use an ltx model, or leave conditioned.strength and .until at 1."
    )


def _local(name: str) -> bool:
    return not isinstance(VIDEO_MODELS.load(name), ServedVideoModel)


def video_model(name: str) -> KnownVideoModel:
    """A video model that an installed package brings."""
    if name in VIDEO_MODELS:
        found: KnownVideoModel = VIDEO_MODELS.load(name)
        return found
    raise PhysPlanError(
        f"There is no video model called {name!r}. {did_you_mean(name, VIDEO_MODELS)} "
        "A model in a folder of yours goes into video.source, with video.model as its kind."
    )


def is_served(name: str) -> bool:
    return name in VIDEO_MODELS and isinstance(VIDEO_MODELS.load(name), ServedVideoModel)
