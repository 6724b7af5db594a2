"""The preflight estimate against what is measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL.Image import Image

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.memory import GradientMode, MemoryEstimate, available_memory, require_memory
from physplan.video.protocol import Conditioning, VideoRequest
from physplan_models import memory
from physplan_models.memory import estimate_folder, estimate_preset, measure_step
from physplan_models.published import PUBLISHED, published_model
from physplan_testing.tiny_models import NAMES


def saved_bytes(model: FamilyModel, run: Callable[[], object]) -> int:
    """Counted independently of `Saved`: by address, on the real tensors."""
    weights = {p.data_ptr() for p in memory.parameters(model)}
    kept: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = run()
        assert result is not None
        return sum(t.untyped_storage().nbytes() for at, t in kept.items() if at not in weights)


FAMILIES = [*(name for name in NAMES if name != "hunyuan15_meanflow"), "wan_vace", "ltx095"]
LONG = "a ball rolls " * 90 + '"' + "glyphs " * 40 + '"'  # as long as words may be: the estimate is for that


def run_of(name: str) -> dict[str, Any]:
    side, frames = (16, 5) if name == "svd" else (32, 9)
    scale = 6.0 if name in ("cogvideox", "ltx2") else 1.0
    return {"height": side, "width": side, "num_frames": frames, "guidance_scale": scale}


def prepared(model: FamilyModel, name: str, picture: Image) -> Conditioning:
    generator = torch.Generator().manual_seed(0)
    long = (LONG * 2)[:1950] if name == "cosmos3" else LONG  # every letter is a token of its own
    words = {"prompt": long, "negative_prompt": long}
    return model.prepare(
        VideoRequest(image=picture, num_inference_steps=2, generator=generator, **words, **run_of(name))
    )


def near(found: int, measured: int) -> bool:
    return found == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_backward_passes_keep_is_estimated_within_15_percent(
    name: str,
    checkpointing: bool,
    load: Callable[..., FamilyModel],
    folder: Callable[[str], Path],
    picture: Image,
) -> None:
    model = load(name, checkpointing=checkpointing)
    conditioning = prepared(model, name, picture)
    z = conditioning.latents.clone().requires_grad_()
    denoiser = saved_bytes(model, lambda: model.predict(z, 0, conditioning))
    frames = conditioning.layout.num_frames
    window = conditioning.layout.window(frames - 1, model.preview_length, model.preview_mode)
    leaf = conditioning.latents[:, :, window.latents].clone().requires_grad_()
    decoder = saved_bytes(model, lambda: model.decode_window(leaf, window))
    found = estimate_folder(folder(name), dtype="fp32", checkpointing=checkpointing, **run_of(name))
    assert near(found.denoiser_saved, denoiser), (found.denoiser_saved, denoiser)
    assert near(found.decoder_saved, decoder), (found.decoder_saved, decoder)


@pytest.mark.parametrize("mode", ["none", "direct", "fused"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_step_a_sketch_and_the_final_decode_are_estimated_within_15_percent(
    name: str,
    mode: GradientMode,
    load: Callable[..., FamilyModel],
    folder: Callable[[str], Path],
    picture: Image,
) -> None:
    """Bytes alive at once, counted on real tensors; `exact` goes back as `fused` does, more often."""
    model = load(name, checkpointing=True)
    conditioning = prepared(model, name, picture)
    found = estimate_folder(folder(name), dtype="fp32", gradient_mode=mode, clip=True, **run_of(name))
    step = measure_step(model, conditioning, mode)[2]
    assert near(found.sampling, step), (found.sampling, step)
    with memory.Allocated(memory.parameters(model)) as decoding:
        model.decode(conditioning.latents, conditioning.layout)
    assert near(found.decoding, decoding.peak), (found.decoding, decoding.peak)
    frames = torch.zeros(conditioning.layout.num_frames, 3, conditioning.height, conditioning.width)
    with memory.Allocated(memory.parameters(model)) as encoding:
        model.encode_frames(frames, conditioning.layout)
    assert near(found.encoding, encoding.peak), (found.encoding, encoding.peak)
    there = sum(t.numel() * t.element_size() for t in memory.parameters(model))
    assert near(found.weights, there), (found.weights, there)


@pytest.mark.parametrize("mode", ["none", "fused"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_step_with_weights_elsewhere_is_estimated_within_15_percent(
    name: str,
    mode: GradientMode,
    load: Callable[..., FamilyModel],
    folder: Callable[[str], Path],
    picture: Image,
) -> None:
    """Weights at rest on the device, and all that is alive at once, the block that was brought included."""
    model = load(name, checkpointing=True, offload="disk")
    conditioning = prepared(model, name, picture)
    found = estimate_folder(folder(name), dtype="fp32", gradient_mode=mode, offload="disk", **run_of(name))
    there = sum(t.numel() * t.element_size() for t in memory.parameters(model))
    measured = there + measure_step(model, conditioning, mode)[2]
    assert near(found.weights + found.sampling, measured), (found.weights + found.sampling, measured)


def test_gradient_modes_and_anchors_cost_what_they_should(folder: Callable[[str], Path]) -> None:
    run = {"height": 32, "width": 32, "num_frames": 9, "guidance_scale": 1.0, "dtype": "fp32"}
    modes = {
        mode: estimate_folder(folder("cogvideox"), gradient_mode=mode, checkpointing=False, **run)
        for mode in ("none", "direct", "fused", "exact")
    }
    assert modes["none"].decoder_saved == modes["none"].denoiser_saved == modes["direct"].denoiser_saved == 0
    assert modes["none"].sampling < modes["direct"].sampling < modes["fused"].sampling
    assert modes["exact"].sampling == modes["fused"].sampling
    few, many = (estimate_folder(folder("cogvideox"), anchors=k, **run) for k in (1, 6))
    assert few.sampling == many.sampling, "activations are flat in the number of anchors"
    assert many.evidence == 6 * few.evidence


def test_a_run_that_is_given_keyframes_is_estimated(folder: Callable[[str], Path]) -> None:
    run = run_of("ltx095")
    bare, given = (
        estimate_folder(folder("ltx095"), gradient_mode="none", keyframes=k, **run) for k in (0, 1)
    )
    assert given.sampling > bare.sampling, "a keyframe is more tokens"


def test_too_little_memory_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = MemoryEstimate(
        weights=12_000_000_000,
        encoders=9_500_000_000,
        denoiser_saved=0,
        decoder_saved=0,
        sampling=27_900_000_000,
        decoding=15_800_000_000,
        evidence=0,
    )
    assert needed.peak == 39_900_000_000
    monkeypatch.setattr("physplan.video.memory.available_memory", lambda device: 24_000_000_000)
    with pytest.raises(
        PhysPlanError, match=r"needs about 39.9 GB \(weights 12.0.*24.0 GB are free on cpu: use"
    ):
        require_memory(needed, torch.device("cpu"))
    monkeypatch.setattr("physplan.video.memory.available_memory", lambda device: 80_000_000_000)
    require_memory(needed, torch.device("cpu"))


def test_free_memory_is_known_here() -> None:
    free = available_memory(torch.device("cpu"))
    assert free is not None
    assert free > 50_000_000


def test_the_least_of_machine_and_control_group_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"meminfo": "MemTotal: 9 kB\nMemAvailable: 5 kB\n", "memory.max": "4096", "memory.current": "1024"}
    monkeypatch.setattr("physplan.video.memory._read_if_there", lambda path: told.get(path.name, ""))
    cpu = torch.device("cpu")
    assert available_memory(cpu) == 3072
    told["memory.max"] = "max\n"
    assert available_memory(cpu) == 5 * 1024
    told.clear()
    assert available_memory(cpu) is None


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(PhysPlanError, match="Did you mean 'cogvideox-5b'"):
        published_model("cogvideo-5b")
    not_pinned = {name for name, preset in PUBLISHED.items() if len(preset.revision) != 40}
    known = {
        "ltx-0.9.5",
        "wan2.1-vace-1.3b",
        "wan2.2-vace-a14b",
        "ltx-2",
        "ltx-2.3",
        "ltx-2.5",
        "hunyuan-1.5",
        "cosmos3-nano",
        "hunyuan-framepack",
    }
    assert not_pinned <= known, "docs/video.md names those"


@pytest.mark.parametrize(
    ("name", "billions"), [("ltx", 2.3), pytest.param("cogvideox-5b", 5.8, marks=pytest.mark.slow)]
)
def test_a_published_model_is_estimated_without_being_fetched(name: str, billions: float) -> None:
    found = estimate_preset(published_model(name), gradient_mode="direct")
    assert found.weights / 2e9 == pytest.approx(billions, rel=0.05)
    assert found.peak < 80_000_000_000


def test_attention_on_shapes_keeps_no_matrix_and_real_attention_is_left_alone() -> None:
    from torch.nn import functional as F

    def kept(device: str) -> list[torch.Size]:
        shapes: list[torch.Size] = []
        x = torch.zeros(1, 2, 64, 8, device=device, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: shapes.append(t.shape) or t, lambda t: t):
            F.scaled_dot_product_attention(x, x, x)
        return shapes

    assert (1, 2, 64, 64) not in kept("meta")
    assert len(kept("meta")) == 5
    x = torch.randn(1, 2, 4, 8)
    scores = torch.softmax(x @ x.mT / 8**0.5, dim=-1)
    torch.testing.assert_close(F.scaled_dot_product_attention(x, x, x), scores @ x)
