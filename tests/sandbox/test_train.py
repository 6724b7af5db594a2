"""The training scripts: short runs learn, and a killed run goes on as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from physplan_sandbox.models.autoencoder import FrameAutoencoder
from physplan_sandbox.train import (
    autoencoder,
    data,
    decoder_finetuning,
    encoder,
    labelled_pictures,
    loop,
    networks,
    sight,
)
from physplan_sandbox.train.__main__ import save
from physplan_sandbox.train.half_rate_clips import cache_half_rate_clips
from physplan_sandbox.train.loop import TrainConfig, train

SHORT = TrainConfig(steps=12, learning_rate=2e-3, batch=4, warmup=2)


def falls(curve: list[list[float]]) -> bool:
    return curve[-1][1] < curve[0][1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("train")


@pytest.fixture(autouse=True)
def _fine_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CURVE_EVERY", 4)


@pytest.fixture(autouse=True)
def _rendered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve clips are drawn long before two processes have loaded torch."""
    for part in (data, labelled_pictures):
        monkeypatch.setattr(part, "ProcessPoolExecutor", lambda workers, mp_context: ThreadPoolExecutor(1))


def test_a_short_run_of_each_picture_model_learns(folder: Path) -> None:
    for part, config in ((sight, SHORT), (encoder, replace(SHORT, batch=3))):
        _, figures = part.run(folder, config=config, clips=12)
        assert falls(figures["curve"]), part.__name__
    _, figures = autoencoder.run(folder, config=replace(SHORT, steps=20), clips=12)
    assert falls(figures["curve"])


@pytest.mark.slow
def test_a_short_run_of_the_video_model_learns_and_the_decoder_finishes_on_it(folder: Path) -> None:
    frozen, _ = autoencoder.run(folder, config=replace(SHORT, steps=20), clips=12)
    save(frozen, folder / "autoencoder")
    gentle = replace(SHORT, learning_rate=4e-4, steps=24, batch=8)
    for part in ("outline", "contour", "drawing"):
        model, figures = networks.run(part, folder, folder, config=gentle, clips=12)
        assert falls(figures["curve"]), part
        save(model, folder / part)
    model, figures = decoder_finetuning.run(folder, folder, config=SHORT, clips=12)
    assert len(figures["curve"]) == 3
    before = FrameAutoencoder.from_pretrained(folder / "autoencoder", torch_dtype=torch.float32)
    assert torch.equal(model.patterns, before.patterns)  # latents stay what they were
    assert not torch.equal(model.draw[0].weight, before.draw[0].weight)


def test_clips_are_encoded_once_for_each_autoencoder(tmp_path: Path) -> None:
    torch.manual_seed(0)
    frozen, other = FrameAutoencoder().requires_grad_(False), FrameAutoencoder().requires_grad_(False)
    made = cache_half_rate_clips(tmp_path, 3, frozen)
    assert made.residuals.shape == (3, 24, 16, 16, 16)
    assert len(made) == 3
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.pt")}
    assert len(stored) == 1
    again = cache_half_rate_clips(tmp_path, 3, frozen)
    assert torch.equal(again.residuals, made.residuals)
    assert again.prompts == made.prompts
    assert {path: path.stat().st_mtime_ns for path in stored} == stored
    between = cache_half_rate_clips(tmp_path, 3, frozen, every=1)
    assert torch.equal(between.residuals[:, :, ::2], made.residuals)
    assert between.residuals.shape == (3, 24, 31, 16, 16)
    assert len(list(tmp_path.rglob("*.pt"))) == 2
    cache_half_rate_clips(tmp_path, 3, other)  # another decoder, the same latents
    assert len(list(tmp_path.rglob("*.pt"))) == 2
    other.scale.fill_(2.0)
    cache_half_rate_clips(tmp_path, 3, other)
    assert len(list(tmp_path.rglob("*.pt"))) == 3


def toy(folder: Path, steps: int) -> nn.Module:
    torch.manual_seed(1)
    model = nn.Linear(4, 1)

    def loss_at(step: int, rng: np.random.Generator) -> torch.Tensor:
        x = torch.from_numpy(rng.normal(size=(8, 4)).astype(np.float32)) + 0.1 * torch.randn(8, 4)
        return (model(x) - x.sum(dim=1, keepdim=True)).square().mean()

    train(model, loss_at, TrainConfig(steps=steps, learning_rate=1e-2, save_seconds=0.0), folder, name="toy")
    return model


def test_a_run_cut_in_two_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole = toy(tmp_path / "whole", 40)
    # The schedule depends on the number of steps, so the cut must come from outside: stop after a checkpoint.
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path; import test_train as t;"
        "t.toy(Path(sys.argv[1]), 40)"
    )
    part = tmp_path / "part"
    arguments = [sys.executable, "-c", script, str(part), str(Path(__file__).parent)]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (part / "toy.state").exists() and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    resumed = toy(part, 40)
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)
