"""The GPU memory of a preset, stage by stage, before anything is fetched: one figure, the same everywhere.

Video models, the editor and what guidance looks through are run on shapes. Of the models that only look at
pictures the number of weights is known and the working memory is an allowance.
`python -m physplan_models.stage_memory` computes `presets/memory.json` again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from physplan import presets
from physplan.files import write_json
from physplan.keyframes.registry import EDITORS
from physplan.methods import find
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.forecast import memory_request
from physplan.video.known import is_served, video_model
from physplan.video.memory import GB
from physplan_models.memory import Allocated

FILE = Path(presets.__file__).with_name("memory.json")
META = torch.device("meta")
CUDA_CONTEXT_GB = 0.5  # GB that CUDA takes for itself
SEGMENTER_GB = 3.0  # GB of activations of a segmenter at full size: an allowance, not computed
TYPICAL_EVENTS = 3
# Billions of weights of what looks at pictures; all of it is loaded in 32 bits.
WEIGHTS = {
    "IDEA-Research/grounding-dino-tiny": 0.172,
    "facebook/sam2.1-hiera-large": 0.224,
    "facebook/sam2.1-hiera-small": 0.046,
    "facebook/sam3": 0.848,
    "depth-anything/Depth-Anything-V2-Small-hf": 0.025,
    "facebook/dinov2-base": 0.087,
    "facebook/dinov3-vitb16-pretrain-lvd1689m": 0.086,
}


def stage_memory(config: Config) -> dict[str, float]:
    """GB on the GPU while each stage runs; what `runtime.keep_models` keeps is counted on."""
    config = with_defaults(config)
    seen = config.perception
    looks = sum(4 * WEIGHTS[name] for part in (seen.segmenter, seen.depth) for name in _names(part.options))
    editor, drawing = editor_memory(config)
    kept = editor + looks if config.runtime.keep_models else 0.0
    found = {
        "keyframes": editor + looks + max(drawing, SEGMENTER_GB),
        "evidence": looks + SEGMENTER_GB + (editor if config.runtime.keep_models else 0.0),
    }
    samples = find(config.method).samples and not is_served(config.video.model)
    if samples:
        found |= {stage: kept + gb for stage, gb in video_memory(config).items()}
    if config.runtime.device == "cpu" and not samples:
        return {}
    return {stage: round(gb + CUDA_CONTEXT_GB, 1) for stage, gb in found.items()}


def video_memory(config: Config) -> dict[str, float]:
    """The sampling, with what guidance looks through, and the final decode."""
    method = find(config.method)
    request = memory_request(config, method, TYPICAL_EVENTS)
    needed = video_model(config.video.model).memory(config.video, request)
    assert needed is not None
    encoders = 0 if config.runtime.encoders == "cpu" else needed.encoders
    step = needed.sampling + needed.evidence
    before = max(encoders, needed.encoding)
    through = (0.0, 0.0)
    if method.guidance(config) is not None:
        seen = config.perception
        names = [name for part in (seen.encoder, seen.depth) for name in _names(part.options)]
        through = sum(4 * WEIGHTS[name] for name in names), gradient_memory(config)
    sampling = needed.weights + max(before, step + through[1] * GB)
    return {
        "latents": sampling / GB + through[0],
        "video": (needed.weights + needed.decoding) / GB + through[0],
    }


def editor_memory(config: Config) -> tuple[float, float]:
    """Weights and working memory that the editor's class names; one that names none has none on the card."""
    memory = getattr(EDITORS.load(config.editor.name), "memory", None)
    return memory(config.editor.options) if memory else (0.0, 0.0)


def gradient_memory(config: Config) -> float:
    """A preview's way through the feature encoder and the depth estimator's backbone, and back: ViTs."""
    from transformers import Dinov2Config, Dinov2Model

    height, width = config.video.clip.height, config.video.clip.width
    peak = 0.0
    for side in (768, 384):  # ViT-B for features, ViT-S under the depth estimator
        with META:
            network = Dinov2Model(Dinov2Config(hidden_size=side, num_attention_heads=side // 64))
            network.requires_grad_(False).eval()
            picture = torch.empty(1, 3, height // 14 * 14, width // 14 * 14, requires_grad=True)
        with Allocated(list(network.parameters())) as allocated:
            features = network(pixel_values=picture).last_hidden_state
            torch.autograd.grad(features, picture, torch.empty_like(features))
        peak += allocated.peak / GB
    return peak


def _names(options: Any) -> list[str]:
    return [str(options[key]) for key in ("source", "detector", "sam") if key in options]


def main() -> None:
    table = dict(presets.stage_memory())
    for name in sys.argv[1:] or list(table):
        print(f"estimating {name}", flush=True)
        table[name] = stage_memory(load_config(name, {"runtime.device": "cpu"}))
        write_json(FILE, table)


if __name__ == "__main__":
    main()
