"""The library's own pipeline on the same weights, asked as our sampler is: latents [1, C, F, H, W]."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import torch
from PIL.Image import Image
from torch import Tensor

from physplan.pipeline.config import VideoConfig
from physplan_models.families import family_of
from physplan_models.published import PUBLISHED
from physplan_models.sources import find_folder, read_index

SEED = 7
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, None: torch.float32}


def library_latents(
    video: VideoConfig, image: Image, prompt: str, *, steps: int, device: str, offload: bool
) -> Tensor:
    """Loaded and let go here: the two never share the memory."""
    import diffusers

    known = PUBLISHED.get(video.model)
    folder = find_folder(
        video.source or (known.repo if known else ""), revision=video.revision, local_files_only=True
    )
    index = read_index(folder)
    family = family_of(index["_class_name"])
    dtype = DTYPES[video.dtype]
    kind = getattr(diffusers, family.pipelines[index["_class_name"]])
    pipe = kind.from_pretrained(
        folder,
        dtype=_dtypes(dtype, family),
        local_files_only=True,
        scheduler=_scheduler(folder, family),
        **dict.fromkeys(family.unused),
        **family.given,
    )
    pipe.set_progress_bar_config(disable=True)
    if offload:
        pipe.enable_model_cpu_offload(device=device)
    else:
        pipe.to(device)
    try:
        with torch.no_grad():
            return _asked(pipe, family.name, video, image, prompt, steps).float().cpu()
    finally:
        del pipe
        gc.collect()
        if device.startswith("cuda"):
            torch.cuda.empty_cache()


def _dtypes(dtype: torch.dtype, family: Any) -> Any:
    own = family.codec_dtype
    return dtype if own in (None, dtype) else {"default": dtype, "vae": own}


def _scheduler(folder: Path, family: Any) -> Any:
    import diffusers

    scheduler = getattr(diffusers, family.scheduler)
    return scheduler.from_config(family.read_scheduler(scheduler.load_config(folder / "scheduler")))


def _asked(pipe: Any, name: str, video: VideoConfig, image: Image, prompt: str, steps: int) -> Tensor:
    """The families' pipelines differ in names, and in the order of a latent's axes."""
    height, width = video.clip.height, video.clip.width
    given: dict[str, Any] = {
        "image": image,
        "height": height,
        "width": width,
        "num_frames": video.clip.num_frames,
        "num_inference_steps": steps,
        "generator": torch.Generator().manual_seed(SEED),
        "output_type": "latent",
    }
    scale = video.sampling.guidance_scale
    if name == "svd":
        found: Tensor = pipe(max_guidance_scale=scale, fps=video.fps or 7, **given).frames
        return found.transpose(1, 2)
    given |= {"prompt": prompt, "negative_prompt": video.negative_prompt}
    if name.startswith("hunyuan"):
        import diffusers

        pipe.guider = diffusers.ClassifierFreeGuidance(guidance_scale=scale)
        del given["height"], given["width"]
        return pipe(**{**given, "image": image.resize((width, height))}).frames  # type: ignore[no-any-return]
    given["guidance_scale"] = scale
    if name.startswith("ltx") and video.fps:
        given["frame_rate"] = video.fps
    if name == "ltx2":
        off = {"stg_scale": 0.0, "modality_scale": 1.0, "guidance_rescale": 0.0}
        given |= off | {f"audio_{key}": value for key, value in off.items()} | {"audio_guidance_scale": None}
        made = pipe(**given, spatio_temporal_guidance_blocks=None, use_cross_timestep=False).frames
        return pipe._normalize_latents(made, pipe.vae.latents_mean, pipe.vae.latents_std)  # type: ignore[no-any-return]
    if name == "cogvideox":
        given["use_dynamic_cfg"] = bool(video.use_dynamic_cfg)
        given["max_sequence_length"] = pipe.transformer.config.max_text_seq_length
        return pipe(**given).frames.transpose(1, 2)  # type: ignore[no-any-return]
    if name == "cosmos3":
        return pipe(**given, fps=float(video.fps or 24)).video  # type: ignore[no-any-return]
    if name == "framepack":  # one section; the first picture's latent comes before it
        del given["negative_prompt"]
        section = {"num_frames": 1, "latent_window_size": video.clip.num_frames // 4}
        return pipe(**{**given, **section}).frames[0]  # type: ignore[no-any-return]
    latents: Tensor = pipe(**given).frames
    if name == "ltx":
        space, time = pipe.vae_spatial_compression_ratio, pipe.vae_temporal_compression_ratio
        latents = pipe._unpack_latents(
            latents, (given["num_frames"] - 1) // time + 1, height // space, width // space
        )
    return latents
