"""Training loop of all parts: seeded, resumable, with an exponential moving average of the weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from physplan.files import atomic_path, write_json

CURVE_EVERY = 50  # steps per point of the loss curve


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    steps: int
    learning_rate: float
    batch: int = 16
    warmup: int = 100
    weight_decay: float = 0.01
    clip: float = 1.0
    ema: float = 0.999
    seed: int = 0
    save_seconds: float = 60.0
    bf16: bool = False  # autocast; two to three times as fast on the CPU the weights were trained on


#: (step, generator) -> loss. The generator is seeded by the step, so a resumed run equals an unbroken one.
StepLoss = Callable[[int, np.random.Generator], Tensor]


def train(model: nn.Module, loss_at: StepLoss, config: TrainConfig, folder: Path, *, name: str) -> dict:
    """Train until `config.steps` and load the averaged weights; returns loss curve and time."""
    folder.mkdir(parents=True, exist_ok=True)
    state_path = folder / f"{name}.state"
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        parameters, lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=config.weight_decay
    )
    average = {k: v.detach().clone() for k, v in model.state_dict().items()}
    start, seconds, curve = 0, 0.0, []
    if state_path.exists():
        state = torch.load(state_path, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        average, start, seconds, curve = state["average"], state["step"], state["seconds"], state["curve"]
    model.train()
    saved = begun = time.monotonic()
    recent: list[float] = []
    bar = tqdm(range(start, config.steps), initial=start, total=config.steps, desc=f"training the {name}")
    for step in bar:
        torch.manual_seed(config.seed * 1_000_003 + step)
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * schedule(step, config)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=config.bf16):
            loss = loss_at(step, np.random.default_rng([config.seed, step]))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, config.clip)
        optimizer.step()
        _average(average, model, min(config.ema, (step + 1) / (step + 10)))
        recent.append(float(loss.detach()))
        if len(recent) == CURVE_EVERY or step + 1 == config.steps:
            curve.append([step + 1, sum(recent) / len(recent)])
            bar.set_postfix(loss=f"{curve[-1][1]:.4f}")
            recent = []
        if time.monotonic() - saved > config.save_seconds or step + 1 == config.steps:
            saved = time.monotonic()
            spent = seconds + saved - begun
            _save(state_path, model, optimizer, average, step + 1, spent, curve)
            write_json(folder / f"{name}.curve.json", {"seconds": round(spent), "curve": curve})
    model.load_state_dict(average)
    model.eval()
    return {"steps": config.steps, "seconds": round(seconds + time.monotonic() - begun), "curve": curve}


def schedule(step: int, config: TrainConfig) -> float:
    """Linear warm-up, then a half cosine down to 5 %."""
    if step < config.warmup:
        return (step + 1) / config.warmup
    done = (step - config.warmup) / max(config.steps - config.warmup, 1)
    return 0.05 + 0.95 * 0.5 * (1.0 + math.cos(math.pi * min(done, 1.0)))


@torch.no_grad()
def _average(average: dict[str, Tensor], model: nn.Module, decay: float) -> None:
    for key, value in model.state_dict().items():
        if value.dtype.is_floating_point:
            average[key].lerp_(value, 1.0 - decay)
        else:
            average[key].copy_(value)


def _save(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: dict,
    step: int,
    s: float,
    curve: list,
) -> None:
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "average": average,
        "step": step,
        "seconds": s,
        "curve": curve,
    }
    with atomic_path(path) as temporary:
        torch.save(state, temporary)
