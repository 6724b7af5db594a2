"""Open image-editing pipelines of diffusers, on this machine: FLUX, Qwen-Image-Edit, ChronoEdit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from diffusers import (
    ChronoEditPipeline,
    DiffusionPipeline,
    Flux2KleinPipeline,
    FluxKontextPipeline,
    QwenImageEditPipeline,
    QwenImageEditPlusPipeline,
)
from PIL import Image
from transformers import ProcessorMixin, Qwen2VLProcessor

from physplan.keyframes.framing import cut_out, size_of_area
from physplan.keyframes.protocol import EditRequest
from physplan.weights import load


class DiffusersEditor:
    """An editing pipeline called with a picture and an instruction; a new attempt differs by its seed alone.

    `area` is the number of pixels drawn; `options` are further arguments of the pipeline's call.
    """

    pipeline_class: ClassVar[type[DiffusionPipeline]]
    source: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]]
    at_once = 1
    calls_out = None

    def __init__(
        self,
        pipeline: DiffusionPipeline,
        *,
        area: int = 1024**2,
        name: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.area = area
        self.name = name or self.source
        self.options = {**self.defaults, **(options or {})}
        pipeline.set_progress_bar_config(disable=True)

    @classmethod
    def from_pretrained(
        cls,
        source: str | os.PathLike[str] | None = None,
        *,
        revision: str | None = None,
        torch_dtype: torch.dtype = torch.bfloat16,
        device: str | torch.device | None = None,
        cpu_offload: bool = False,
        group_offload: bool = False,
        **settings: Any,
    ) -> DiffusersEditor:
        """From a folder or the hub. `cpu_offload` keeps only the network at work on the GPU, `group_offload`
        only the layer at work: slower, for small cards."""
        source = source or cls.source
        pipeline = load(
            cls.pipeline_class,
            source,
            revision=revision,
            dtype=torch_dtype,
            use_safetensors=True,
            **cls.components(source, revision),
        )
        if group_offload:
            pipeline.enable_group_offload(torch.device(device or "cpu"), offload_type="leaf_level")
        elif cpu_offload:
            pipeline.enable_model_cpu_offload()
        elif device is not None:
            pipeline.to(device)
        return cls(pipeline, name=f"{source}@{revision}" if revision else str(source), **settings)

    @classmethod
    def components(cls, source: str | os.PathLike[str], revision: str | None) -> dict[str, Any]:
        """Parts of the pipeline that it cannot load by itself."""
        return {}

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"editor": type(self).__name__, "model": self.name, "area": self.area, **self.options}

    def edit(self, request: EditRequest) -> Image.Image:
        width, height = size_of_area(request.image.size, self.area, 16)
        drawn = self.drawn(
            image=request.image,
            prompt=request.instruction,
            width=width,
            height=height,
            # On the CPU, so that a seed means the same on every machine.
            generator=torch.Generator("cpu").manual_seed(request.seed),
            **self.options,
        )
        # Pipelines stretch pictures to whole patches: stretch them back.
        return cut_out(drawn, (0, 0, 1, 1), request.image.size)

    def drawn(self, **asked: Any) -> Image.Image:
        """The pipeline's picture."""
        picture: Image.Image = self.pipeline(**asked).images[0]
        return picture


class FluxKontextEditor(DiffusersEditor):
    pipeline_class = FluxKontextPipeline
    source = "black-forest-labs/FLUX.1-Kontext-dev"
    defaults: ClassVar[Mapping[str, Any]] = {"num_inference_steps": 28, "guidance_scale": 2.5}

    def __init__(
        self,
        pipeline: DiffusionPipeline,
        *,
        area: int = 1024**2,
        options: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        # The pipeline scales its output to `max_area`, whatever width and height say.
        super().__init__(pipeline, area=area, options={"max_area": area, **(options or {})}, **settings)

    @staticmethod
    def memory(options: Mapping[str, Any]) -> tuple[float, float]:
        """GB of weights and of work on the card (`physplan_models.stage_memory`)."""
        from physplan_models.keyframes.flux_memory import kontext_memory

        return kontext_memory(options)


class Flux2KleinEditor(DiffusersEditor):
    """FLUX.2 klein: four steps, weights under Apache-2.0; the picture is an input beside the noise."""

    pipeline_class = Flux2KleinPipeline
    source = "black-forest-labs/FLUX.2-klein-4B"
    defaults: ClassVar[Mapping[str, Any]] = {"num_inference_steps": 4, "guidance_scale": 1.0}


class ChronoEditor(DiffusersEditor):
    """ChronoEdit draws an edit as a video of five frames from the picture to the edited one.

    With `enable_temporal_reasoning` it draws `num_frames` on the way for the first
    `num_temporal_reasoning_steps` steps, and lets go of them. `way`: how many of them the sketch is made of
    (`chrono_sketch`); 0: it is made of the keyframes.
    """

    pipeline_class = ChronoEditPipeline
    source = "nvidia/ChronoEdit-14B-Diffusers"
    defaults: ClassVar[Mapping[str, Any]] = {"num_inference_steps": 50, "guidance_scale": 5.0}

    def __init__(self, pipeline: DiffusionPipeline, *, way: int = 0, **settings: Any) -> None:
        super().__init__(pipeline, **settings)
        self.way_frames = way

    def drawn(self, **asked: Any) -> Image.Image:
        return self.way(**asked)[-1]

    def way(self, **asked: Any) -> list[Image.Image]:
        """All frames that were drawn, the edited picture last."""
        frames: list[Image.Image] = self.pipeline(**asked, output_type="pil").frames[0]
        return frames

    def whole_way(self, request: EditRequest) -> list[Image.Image]:
        """`way_frames` frames, none of which it lets go, each of the picture's size."""
        width, height = size_of_area(request.image.size, self.area, 16)
        kept = {
            "enable_temporal_reasoning": True,
            "num_frames": self.way_frames,
            "num_temporal_reasoning_steps": self.options["num_inference_steps"],
        }
        frames = self.way(
            image=request.image,
            prompt=request.instruction,
            width=width,
            height=height,
            generator=torch.Generator("cpu").manual_seed(request.seed),
            **{**self.options, **kept},
        )
        return [cut_out(one, (0, 0, 1, 1), request.image.size) for one in frames]


class PictureProcessor(Qwen2VLProcessor):  # type: ignore[misc]
    """Qwen's processor for text and pictures only: its video part cannot be had without torchvision."""

    def __init__(self, image_processor: Any = None, tokenizer: Any = None, **options: Any) -> None:
        ProcessorMixin.__init__(self, image_processor, tokenizer, **options)
        self.image_token, self.video_token = "<|image_pad|>", "<|video_pad|>"
        self.image_token_id = tokenizer.convert_tokens_to_ids(self.image_token)
        self.video_token_id = tokenizer.convert_tokens_to_ids(self.video_token)


class QwenImageEditor(DiffusersEditor):
    pipeline_class = QwenImageEditPipeline
    source = "Qwen/Qwen-Image-Edit"
    # A negative prompt, even an empty one, is what switches its guidance on.
    defaults: ClassVar[Mapping[str, Any]] = {
        "num_inference_steps": 50,
        "true_cfg_scale": 4.0,
        "negative_prompt": " ",
    }

    @classmethod
    def components(cls, source: str | os.PathLike[str], revision: str | None) -> dict[str, Any]:
        return {"processor": load(PictureProcessor, source, revision=revision, subfolder="processor")}


class QwenImageEditPlusEditor(QwenImageEditor):
    """Versions 2509 and 2511: the words name the picture, which their text encoder sees smaller."""

    pipeline_class = QwenImageEditPlusPipeline
    source = "Qwen/Qwen-Image-Edit-2511"
    defaults: ClassVar[Mapping[str, Any]] = {**QwenImageEditor.defaults, "num_inference_steps": 40}
