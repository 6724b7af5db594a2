"""What each preset needs of a machine, as data for `physplan doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Needs:
    """`keys`: alternatives, one of which must be set; `extras`: extra -> the module it brings."""

    about: str
    keys: tuple[str, ...] = ()
    server: tuple[str, str] | None = None  # environment variable, default address
    extras: Mapping[str, str] | None = None
    weights: tuple[str, ...] = ()  # names on the Hugging Face hub
    memory_gb: float = 2.0  # of the machine
    gpu_memory_gb: float = 0.0  # estimated for the preset's own sizes; 0: a CPU is enough


PRESETS: Mapping[str, Needs] = {
    "sandbox": Needs(about="everything embedded, on a CPU, no key, no download"),
    "paper": Needs(
        about="Gemini, Grounded-SAM-2, Depth Anything V2, DINOv3, CogVideoX-I2V-5B",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        extras={"gemini": "google.genai"},
        weights=(
            "THUDM/CogVideoX-5b-I2V",
            "IDEA-Research/grounding-dino-tiny",
            "facebook/sam2.1-hiera-large",
            "depth-anything/Depth-Anything-V2-Small-hf",
            "facebook/dinov3-vitb16-pretrain-lvd1689m",
        ),
        memory_gb=24.0,
        gpu_memory_gb=51.0,
    ),
    "open": Needs(
        about="open weights only: a VLM behind an OpenAI-compatible server, SAM 3, DINOv2, LTX",
        server=("OPENAI_BASE_URL", "http://localhost:8000/v1"),
        extras={"openai": "openai"},
        weights=(
            "Lightricks/LTX-Video",
            "black-forest-labs/FLUX.1-Kontext-dev",
            "facebook/sam3",
            "depth-anything/Depth-Anything-V2-Small-hf",
            "facebook/dinov2-base",
        ),
        memory_gb=24.0,
        gpu_memory_gb=34.0,
    ),
}
