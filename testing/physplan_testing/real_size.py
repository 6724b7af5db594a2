"""A full-size network with random weights, saved and loaded as by a user: a guided repeat, a sketch step.

`python -m physplan_testing.real_size ltx FOLDER` prints seconds and the process's peak memory as JSON.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKLCogVideoX,
    AutoencoderKLLTXVideo,
    CogVideoXTransformer3DModel,
    LTXVideoTransformer3DModel,
)
from PIL import Image
from safetensors.torch import save_file
from transformers import T5Config, T5EncoderModel

from physplan.sketch.compose import Sketch
from physplan.sketch.start import sketch_start
from physplan.video.base import FamilyModel
from physplan.video.clocks import Clocks
from physplan.video.sampling import sample
from physplan_models.families.family import META
from physplan_models.loading import LoadOptions, load_video_model
from physplan_models.memory import measure_step
from physplan_models.meta_models import default_dtype
from physplan_testing import tiny_models

SIDE, FRAMES = 64, 9


T5_XXL = {"vocab_size": 32128, "d_model": 4096, "d_ff": 10240, "d_kv": 64, "num_heads": 64, "num_layers": 24}


def build(name: str, folder: Path, *, whole_text_encoder: bool = False) -> None:
    """The networks at full size, in bf16, one after the other; a text encoder of one layer, or T5-XXL's."""
    torch.manual_seed(0)
    pipe: Any = tiny_models._ltx() if name == "ltx" else tiny_models._cogvideox()
    pipe.save_pretrained(folder)
    networks: dict[str, Callable[[], Any]] = {
        "text_encoder": lambda: tiny_models._t5(width=4096),
        "transformer": LTXVideoTransformer3DModel,  # 2B
        "vae": AutoencoderKLLTXVideo,
    }
    if name != "ltx":  # CogVideoX-2B, with the channels of an image-to-video model
        networks["transformer"] = lambda: CogVideoXTransformer3DModel(in_channels=32, out_channels=16)
        networks["vae"] = AutoencoderKLCogVideoX
    if whole_text_encoder:
        del networks["text_encoder"]
        _t5_xxl(folder / "text_encoder")
    for part, make in networks.items():
        with default_dtype(torch.bfloat16):
            network = make()
        network.save_pretrained(folder / part)
        del network
        gc.collect()


def _t5_xxl(folder: Path) -> None:
    """4.8B weights, written layer by layer, so that the whole is never in memory; a shape is drawn once."""
    config = T5Config(**T5_XXL, feed_forward_proj="gated-gelu", dtype="bfloat16")
    with META, default_dtype(torch.bfloat16):
        shapes = {name: one.shape for name, one in T5EncoderModel(config).state_dict().items()}
    shapes.pop("encoder.embed_tokens.weight", None)  # the same weights as `shared`
    layers: dict[str, dict[str, torch.Size]] = {}
    for name, shape in shapes.items():
        layers.setdefault(name.partition(".layer.")[0], {})[name] = shape
    for old in folder.glob("*.safetensors"):
        old.unlink()
    weight_map: dict[str, str] = {}
    drawn: dict[torch.Size, torch.Tensor] = {}
    for number, inside in enumerate(layers.values(), start=1):
        file = f"model-{number:05}-of-{len(layers):05}.safetensors"
        drawn |= {shape: _drawn(shape) for shape in inside.values() if shape not in drawn}
        made = {name: drawn[shape].clone() for name, shape in inside.items()}  # a file holds no tensor twice
        save_file(made, folder / file, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(inside, file)
    config.save_pretrained(folder)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def _drawn(shape: torch.Size) -> torch.Tensor:
    whole = torch.ones(shape) if len(shape) == 1 else 0.02 * torch.randn(shape)
    return whole.to(torch.bfloat16)


def guided_repeat(model: FamilyModel, conditioning: Any) -> float:
    begun = time.monotonic()
    measure_step(model, conditioning, "fused")
    return time.monotonic() - begun


def sketch_step(model: FamilyModel, conditioning: Any) -> float:
    frames = torch.rand(FRAMES, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    masks = torch.ones(FRAMES, 1, SIDE, SIDE, dtype=torch.bool)
    sketch = Sketch(frames=frames, masks=masks, kept=masks[0], orders=(), notes=())
    start = sketch_start(model, conditioning, sketch, Clocks(weak=0.5, strong=1.0))
    begun = time.monotonic()
    latents = sample(model, conditioning, start=start)
    assert latents.isfinite().all()
    return time.monotonic() - begun


def main(name: str, folder: Path) -> None:
    build(name, folder)
    gc.collect()
    begun = time.monotonic()
    model = load_video_model(folder, LoadOptions(dtype="bf16"))
    loading = time.monotonic() - begun
    size: dict[str, Any] = {"height": SIDE, "width": SIDE, "num_frames": FRAMES, "num_inference_steps": 2}
    conditioning = tiny_models.prepare(model, Image.new("RGB", (SIDE, SIDE)), guidance_scale=1.0, **size)
    found = {
        "weights": sum(p.numel() for p in model.denoiser.parameters()),
        "loading": loading,
        "repeat": guided_repeat(model, conditioning),
        "sketch": sketch_step(model, conditioning),
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }
    print(json.dumps({key: round(value, 1) for key, value in found.items()}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
