"""All settings of a run. Each field says which stage it changes first, or that it changes nothing.

A field made with `decides(stage)` is part of the key of that stage and of all later ones; a field made with
`runtime()` is part of none: where, how fast and how dearly, but not what. Fields of a nested dataclass that
is not of this file belong to the stage of the field that holds them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Literal, TypeVar

from physplan.errors import PhysPlanError
from physplan.guidance.config import GuidanceConfig
from physplan.guidance.recipes import FRAME_GUIDANCE, GUIDED_SKETCH, PAPER
from physplan.keyframes.settings import CheckSettings
from physplan.methods.registry import DEFAULT as DEFAULT_METHOD
from physplan.methods.stage_names import StageName
from physplan.settings import DEFAULT_PRESET, setting
from physplan.video.fit import FitMode

T = TypeVar("T")


def decides(
    stage: StageName, default: Any = MISSING, says: str = "", *, later: bool = False, **more: Any
) -> Any:
    """`later`: at its default it is in no key, so that runs which were made before it came are still done."""
    return setting(default, says, stage=stage, later=later, **more)


def runtime(default: Any = MISSING, says: str = "", **more: Any) -> Any:
    return setting(default, says, stage=None, **more)


@dataclass(frozen=True, kw_only=True)
class Component:
    """A backend by its registered name, and the arguments it is loaded with."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReasonerConfig:
    name: str = decides("plan", "sandbox", "who plans: docs/planning.md")
    model: str | None = decides("plan", None, "None: the reasoner's own")
    temperature: float | None = decides("plan", 0.0, "None leaves it to the server", low=0, high=2)
    max_output_tokens: int = decides("plan", 16_384, "of one answer", low=256, high=1_000_000)
    max_events: int = decides("plan", 7, "of a plan", low=1, high=7)
    retries: int = decides("plan", 3, "of an answer that was refused", low=0, high=20)
    regenerations: int = decides("plan", 2, "of an event whose edits stay refused", low=0, high=20)
    until: float = decides(
        "plan", 1.0, "share of the video that the plan spans; what follows shows its end", above=0, high=1,
        later=True
    )  # fmt: skip
    base_url: str | None = runtime(None, "another server than the reasoner's own")
    prompts: str | None = runtime(None, "a folder of one's own templates; their content is in Inputs")


@dataclass(frozen=True, kw_only=True)
class EditorConfig:
    name: str = decides("keyframes", "sandbox", "who draws keyframes: docs/backends.md")
    options: Mapping[str, Any] = decides("keyframes", factory=dict, says="what the editor is loaded with")
    seed: int = decides(
        "keyframes", 0, "of the drawings; another sampling seed keeps them", low=0, high=2**62
    )
    redraws: int = decides("keyframes", 2, "of a keyframe that fails its check", low=0, high=20)
    check: CheckSettings = decides("keyframes", factory=CheckSettings, says="when a keyframe fails")
    base_url: str | None = runtime(None, "another server than the editor's own")


@dataclass(frozen=True, kw_only=True)
class PerceptionConfig:
    # Both look at the keyframes while these are checked.
    segmenter: Component = decides(
        "keyframes",
        factory=lambda: Component(name="sandbox"),
        says="looks at the keyframes while these are checked, too",
    )
    depth: Component = decides(
        "keyframes",
        factory=lambda: Component(name="sandbox"),
        says="looks at the keyframes while these are checked, too",
    )
    encoder: Component = decides(
        "latents", factory=lambda: Component(name="sandbox"), says="whose features the terms compare"
    )


@dataclass(frozen=True, kw_only=True)
class WeightFiles:
    """Single safetensors files, as ComfyUI keeps them, in place of parts of the video model's source."""

    transformer: str | None = setting(None, "of the denoiser")
    transformer_2: str | None = setting(None, "of the second denoiser, where there is one")
    vae: str | None = setting(None, "of the autoencoder")
    text_encoder: str | None = setting(None, "of the text encoder")
    tiny_decoder: str | None = setting(None, "a small decoder for previews, in TAEHV's layout", later=True)


@dataclass(frozen=True, kw_only=True)
class ClipSize:
    """Of a settled config: what every video has."""

    height: int
    width: int
    num_frames: int
    fps: int


@dataclass(frozen=True, kw_only=True)
class SamplingValues:
    """Of a settled config whose video model samples here."""

    num_inference_steps: int
    guidance_scale: float
    use_dynamic_cfg: bool
    eta: float
    dtype: str


@dataclass(frozen=True, kw_only=True)
class VideoConfig:
    """None stands for the model's own value, which `with_defaults` fills in for `clip` and `sampling`."""

    model: str = decides("latents", "sandbox", "sandbox, or a published model: docs/video.md")
    source: str | None = decides("latents", None, "another folder or hub name than the model's own")
    revision: str | None = decides("latents", None, "the hub's commit")
    files: WeightFiles = decides(
        "latents", WeightFiles(), "experimental: weights from single files", later=True
    )
    dtype: str | None = decides("latents", None, "of the weights", choices=("bf16", "fp16", "fp32"))
    loras: Mapping[str, float] = decides(
        "latents", factory=dict, says="experimental: LoRA files with their weights", later=True
    )
    quantisation: str | None = decides(
        "latents", None, "experimental: a back end's name or a .gguf file: docs/video.md", later=True
    )
    attention: str | None = decides(
        "latents", None, "experimental: the library's back end by name: docs/video.md", later=True
    )
    height: int | None = decides("plan", None, "pixels", low=1, high=16_384)
    width: int | None = decides("plan", None, "pixels", low=1, high=16_384)
    num_frames: int | None = decides("plan", None, "of the video", low=1, high=100_000)
    fit: FitMode = decides("plan", "crop", "how a picture of another shape becomes the first frame")
    num_inference_steps: int | None = decides("latents", None, "of the sampling", low=1, high=1_000)
    guidance_scale: float | None = decides("latents", None, "of classifier-free guidance", low=0, high=100)
    use_dynamic_cfg: bool | None = decides("latents", None, "let that scale rise from step to step")
    eta: float | None = decides(
        "latents", None, "of DDIM: the share of fresh noise in each step", low=0, high=1
    )
    negative_prompt: str = decides("latents", "", "what the video is not to show")
    prompt: str = decides(
        "latents",
        "user",
        "words for the video model: the user's sentence, the plan's events in order, or both",
        choices=("user", "plan", "both"),
        later=True,
    )
    words: str = decides("latents", "", "further words for the video model, behind these", later=True)
    polish: str | None = decides("latents", None, "who rewrites these, such as gemini:MODEL", later=True)
    fps: int | None = decides("latents", None, "frames per second of the file", low=1, high=240)
    dialect: str | None = decides(
        "latents", None, "of model server: the protocol that it speaks", later=True,
        choices=("vllm_omni", "sglang", "openrouter", "gemini")
    )  # fmt: skip
    base_url: str | None = runtime(None, "of model server: another address than the dialect's own")
    time_limit: float = runtime(1_800.0, "of model server: seconds of one video", above=0, high=86_400)

    @property
    def clip(self) -> ClipSize:
        return _settled(ClipSize, self)

    @property
    def sampling(self) -> SamplingValues:
        return _settled(SamplingValues, self)


def _settled(kind: type[T], video: VideoConfig) -> T:
    values = {name: getattr(video, name) for name in kind.__annotations__}
    if unset := [name for name, value in values.items() if value is None]:
        raise PhysPlanError(f"video.{unset[0]} of {video.model} has no value: set it, or settle the config.")
    return kind(**values)


@dataclass(frozen=True, kw_only=True)
class SketchConfig:
    """The two clocks of the method sketch, as shares of the steps; None stands for the family's own."""

    weak: float | None = setting(None, "everything starts here, from the noised sketch", low=0, high=1)
    strong: float | None = setting(None, "until here the masks hold the sketch", low=0, high=1)
    layers: str = setting("none", "what is behind things, what of them is hidden: docs/sketch.md", later=True)
    layer_options: Mapping[str, Any] = setting(factory=dict, says="what that is loaded with", later=True)


@dataclass(frozen=True, kw_only=True)
class ConditionedConfig:
    start: Literal["noise", "sketch"] = setting("noise", "sketch: the keyframes and the two clocks together")
    where: Literal["edits", "everywhere"] = setting(
        "edits", "edits: of a keyframe only where the plan has changed something, in models that take parts"
    )
    strength: float = setting(1.0, "of a keyframe: below 1 it is a hint", above=0, high=1, later=True)
    until: float = setting(1.0, "share of the steps that see the keyframes", above=0, high=1, later=True)
    weak: float | None = setting(None, "of start sketch; None: sketch.weak", low=0, high=1, later=True)
    strong: float | None = setting(None, "of start sketch; None: sketch.strong", low=0, high=1, later=True)


@dataclass(frozen=True, kw_only=True)
class BestOfNConfig:
    count: int = setting(3, "N: how many videos; `evaluate set` finds that of equal time", low=1, high=100)
    by: Literal["verdict", "surprise", "judge"] = setting(
        "verdict", "what chooses; surprise: V-JEPA 2's, judge: the share of the plan that one finds true"
    )
    judge: str | None = setting(None, "of by judge: gemini:MODEL, openai:MODEL or server:MODEL@URL")
    surprise: str | None = setting(None, "of by surprise: another folder or hub name of V-JEPA 2")


@dataclass(frozen=True, kw_only=True)
class RuntimeConfig:
    device: str = runtime(
        "auto",
        "auto (a GPU where there is one), cpu, cuda or cuda:1",
        pattern=r"auto|cpu|mps|cuda(:\d{1,3})?",
    )
    offload: Literal["none", "model", "group", "disk"] = runtime(
        "none", "weights off the GPU while not used; experimental: group (by blocks), disk (from a file)"
    )
    tiling: bool = runtime(False, "decode in tiles")
    slicing: bool = runtime(False, "decode in slices")
    checkpointing: bool = runtime(True, "recompute in the backward pass: slower, less memory")
    compile: bool = runtime(
        False, "experimental: compile the denoiser's blocks, slow to begin with: docs/video.md"
    )
    keep_encoders: bool = runtime(False, "text and picture encoders after use")
    encoders: Literal["device", "cpu"] = runtime(
        "device", "cpu: words are encoded there, where memory is short"
    )
    keep_models: bool = runtime(True, "False: each is let go after its last stage, for memory")
    local_files_only: bool = runtime(False, "fetch no weights")
    budget: float | None = runtime(None, "USD for all calls of the run", low=0, high=1_000_000)
    total_budget: float | None = runtime(
        None, "USD for all runs that write into `total_ledger`; typed only", low=0, high=1_000_000
    )
    total_ledger: str | None = runtime(None, "a file that several runs share; typed only")
    prices: str | None = runtime(None, "a file with prices that the bundled table lacks; typed only")
    allow_hosts: tuple[str, ...] = runtime((), "may be sent a key; typed only, see docs/security.md")
    offline: bool = runtime(False, "answer from stored calls alone")
    timeout: float = runtime(120.0, "seconds of one call", above=0, high=3_600)
    attempts: int = runtime(5, "of one call", low=1, high=100)
    at_once: int = runtime(4, "calls side by side", low=1, high=64)
    threads: int | None = runtime(None, "of torch on the CPU", low=1, high=1_024)

    @property
    def paying(self) -> dict[str, Any]:
        """What a run's calls may cost and where that is kept, as `CallSettings` takes it."""
        names = ("budget", "total_budget", "total_ledger", "prices", "offline")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class Config:
    """`preset` names the recipe this began as."""

    preset: str = runtime(DEFAULT_PRESET, "the recipe this began as")
    method: str = runtime(DEFAULT_METHOD, "where a run names none")
    reasoner: ReasonerConfig = field(default_factory=ReasonerConfig)
    editor: EditorConfig = field(default_factory=EditorConfig)
    perception: PerceptionConfig = field(default_factory=PerceptionConfig)
    video: VideoConfig = field(default_factory=VideoConfig)
    guidance: GuidanceConfig = decides("latents", PAPER, "of the method physplan and its ablations")
    guided_sketch: GuidanceConfig = decides("latents", GUIDED_SKETCH, "of guided_sketch and its ablations")
    frame_guidance: GuidanceConfig = decides("latents", FRAME_GUIDANCE, "of the method frame_guidance")
    sketch: SketchConfig = decides(
        "latents", SketchConfig(), "the two clocks of the method sketch", later=True
    )
    conditioned: ConditionedConfig = decides(
        "latents", ConditionedConfig(), "of the method conditioned", later=True
    )
    next_attempt: str = decides(
        "latents",
        "verdict",
        "what another attempt changes: what the verdict asks for, or the seed alone",
        choices=("verdict", "seed"),
        later=True,
    )
    best_of_n: BestOfNConfig = decides("latents", BestOfNConfig(), "of the method best_of_n", later=True)
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What one run is given beside the config. Pictures and plans stand as hashes of their content."""

    image: str = decides("plan")
    prompt: str = decides("plan")
    plan: str | None = decides("plan", None)  # when a plan was given
    prompts: str | None = decides("plan", None, later=True)  # when prompts were given
    keyframes: str | None = decides("keyframes", None)  # when keyframes were given
    seed: int = decides("latents", 0)
    method: str = decides("latents", DEFAULT_METHOD)
    attempts: int = decides("latents", 1, later=True)  # at most so many seeds, until the verdict holds


Source = str | os.PathLike[str] | Mapping[str, Any] | Config
