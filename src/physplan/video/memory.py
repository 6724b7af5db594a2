"""How much memory a run needs, and whether it is there; who brings a model estimates it (docs/video.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from physplan.errors import PhysPlanError

GradientMode = Literal["none", "direct", "fused", "exact"]
GB = 1e9


@dataclass(frozen=True, kw_only=True)
class MemoryRequest:
    """What decides a run's peak, beside the model and its weights."""

    height: int
    width: int
    num_frames: int
    guidance_scale: float
    gradient_mode: GradientMode = "fused"
    anchors: int = 3  # events
    keyframes: int = 0  # pictures that are given to the model
    clip: bool = False  # whether a whole clip is encoded: a sketch, or one in which nothing moves
    checkpointing: bool = True
    offload: str = "none"
    tiling: bool = False
    quantisation: str | None = None
    attention: str | None = None
    eta: float = 0.0
    tiny_decoder: bool = False  # whether previews go through a small one
    use_dynamic_cfg: bool = False


@dataclass(frozen=True, kw_only=True)
class MemoryEstimate:
    """Bytes; `peak` is what must be free."""

    weights: int  # denoisers and autoencoder; of streamed ones what is not in blocks
    encoders: int  # text and picture encoders, while they encode
    denoiser_saved: int  # kept for the backward pass through the denoiser
    decoder_saved: int  # kept for the backward pass through one window's decode
    sampling: int  # the most that activations, and the block that is there, take during a step
    decoding: int  # the most that the final decode takes
    evidence: int  # keyframes, masks and gradients of K anchors
    encoding: int = 0  # the most that encoding a whole clip takes, where the run does that

    @property
    def peak(self) -> int:
        step = self.sampling + self.evidence
        return self.weights + max(self.encoders, self.encoding, step, self.decoding)

    def __str__(self) -> str:
        parts = (
            f"weights {self.weights / GB:.1f}, encoders {self.encoders / GB:.1f}, a step"
            f" {(self.sampling + self.evidence) / GB:.1f}, the final decode {self.decoding / GB:.1f}"
        )
        parts += f", the sketch {self.encoding / GB:.1f}" if self.encoding else ""
        return f"about {self.peak / GB:.1f} GB ({parts})"


def require_memory(needed: MemoryEstimate, device: torch.device) -> None:
    """Refuse a run that cannot fit, before anything is loaded."""
    free = available_memory(device)
    if free is not None and needed.peak > free:
        raise PhysPlanError(
            f"This run needs {needed}, and {free / GB:.1f} GB are free on {device}: use a smaller size or"
            " fewer frames, gradient mode direct, runtime.tiling, another offload, a smaller model, or a"
            " larger device."
        )


def available_memory(device: torch.device) -> int | None:
    """Bytes free on a device, within this process's own limit; None when that cannot be known."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    lines = _read_if_there(Path("/proc/meminfo")).splitlines()
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    group = Path("/sys/fs/cgroup")
    limit, used = (_read_if_there(group / f"memory.{name}").strip() for name in ("max", "current"))
    found += [int(limit) - int(used)] if limit.isdigit() and used.isdigit() else []  # "max": no limit
    return min(found, default=None)


def _read_if_there(path: Path) -> str:
    """Nothing where the kernel does not tell (not Linux, no control group): then the amount is not known."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
