"""The two clocks on tiny models of every family, with their real schedulers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.sketch.compose import Sketch
from physplan.sketch.start import (
    SketchStart,
    clocks_of,
    latent_masks,
    sketch_start,
)
from physplan.video.base import FamilyModel
from physplan.video.checkpoint import CheckpointFile
from physplan.video.clocks import Clocks
from physplan.video.frames import FrameLayout
from physplan.video.noise import keep_frozen
from physplan.video.protocol import Conditioning
from physplan.video.sampling import sample
from physplan_models.families import FAMILIES
from physplan_models.loading import LoadOptions, load_video_model
from physplan_testing import tiny_models

STEPS = 6
# v-prediction, flow, EDM
NAMES = (
    "cogvideox",
    "cogvideox15",
    "wan",
    "wan22_5b",
    "wan_vace",
    "ltx",
    "ltx2",
    "hunyuan15",
    "cosmos3",
    "framepack",
    "svd",
)
Load = Callable[[str], FamilyModel]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    torch.set_num_threads(1)
    base = tmp_path_factory.mktemp("models")
    loaded: dict[str, FamilyModel] = {}

    def get(name: str) -> FamilyModel:
        if name not in loaded:
            options = LoadOptions(checkpointing=False, keep_encoders=True)
            loaded[name] = load_video_model(tiny_models.build(name, base / name), options)
        return loaded[name]

    return get


def prepared(model: FamilyModel) -> Conditioning:
    picture = Image.linear_gradient("L").convert("RGB")
    return tiny_models.prepare(model, picture, num_inference_steps=STEPS)


class Watched:
    """The model, with the latents it is asked about at every step."""

    def __init__(self, model: FamilyModel) -> None:
        self.model, self.seen = model, {}

    def predict(self, latents: Tensor, n: int, conditioning: Conditioning) -> Tensor:
        self.seen[n] = latents.clone()
        return self.model.predict(latents, n, conditioning)


def left_half(conditioning: Conditioning) -> Tensor:
    masks = torch.zeros_like(conditioning.latents[:, :1], dtype=torch.bool)
    masks[..., : masks.shape[-1] // 2] = True
    return masks


def started(conditioning: Conditioning, clean: Tensor, masks: Tensor, weak: int, strong: int) -> SketchStart:
    return SketchStart(conditioning=conditioning, clean=clean, masks=masks, first=weak, free=strong)


@pytest.mark.parametrize("name", NAMES)
def test_with_empty_masks_and_weak_0_it_is_the_base_model_to_the_bit(load: Load, name: str) -> None:
    model = load(name)
    conditioning = prepared(model)
    empty = torch.zeros_like(conditioning.latents[:, :1], dtype=torch.bool)
    sketch = torch.randn_like(conditioning.latents)
    found = sample(model, conditioning, start=started(conditioning, sketch, empty, 0, STEPS))
    assert torch.equal(found, sample(model, conditioning))


@pytest.mark.parametrize("name", NAMES)
def test_the_boundaries_are_exact(load: Load, name: str) -> None:
    """Inside the masks the sketch until `strong`, outside them and from then on what the model made."""
    model = load(name)
    conditioning = prepared(model)
    noise, masks = conditioning.noise, left_half(conditioning)
    sketch = torch.randn_like(conditioning.latents)
    watched, after = Watched(model), {}
    sample(
        watched,  # type: ignore[arg-type]
        conditioning,
        lambda n, z, clean: after.__setitem__(n, z.clone()),
        start=started(conditioning, sketch, masks, 2, 4),
    )
    drawn = conditioning.latents / noise.sigma(0)
    assert sorted(watched.seen) == list(range(2, STEPS))
    for n, seen in watched.seen.items():
        held = keep_frozen(noise.frozen, conditioning.latents, noise.add_noise(sketch, n, drawn))
        if n == 2:
            assert torch.equal(seen, held)
        elif n < 4:
            assert torch.equal(seen, torch.where(masks, held, after[n - 1]))
            assert not torch.equal(seen, after[n - 1])
        else:
            assert torch.equal(seen, after[n - 1])


@pytest.mark.parametrize("name", NAMES)
def test_the_given_picture_stays_frozen(load: Load, name: str) -> None:
    model = load(name)
    conditioning = prepared(model)
    everywhere = torch.ones_like(conditioning.latents[:, :1], dtype=torch.bool)
    sketch = torch.randn_like(conditioning.latents)
    found = sample(model, conditioning, start=started(conditioning, sketch, everywhere, 1, STEPS))
    frozen = conditioning.noise.frozen
    assert torch.equal(found[:, :, :frozen], conditioning.latents[:, :, :frozen])


@pytest.mark.parametrize("name", NAMES)
def test_frames_are_encoded_in_the_denoisers_shape_and_scale(load: Load, name: str) -> None:
    model = load(name)
    conditioning = prepared(model)
    frames = torch.full((conditioning.layout.num_frames, 3, conditioning.height, conditioning.width), 0.5)
    latents = model.encode_frames(frames, conditioning.layout)
    assert latents.shape == conditioning.latents.shape
    assert latents.dtype == torch.float32
    assert torch.equal(latents, model.encode_frames(frames, conditioning.layout))
    assert model.decode(latents, conditioning.layout).shape == frames.shape
    if name in ("wan", "wan22_5b", "wan_vace", "svd"):  # their pictures are encoded without a draw
        alone = model.codec.encode_image(frames[:1] * 2 - 1, torch.Generator())
        scale = model.codec.vae.config.scaling_factor if name == "svd" else 1.0
        assert torch.allclose(latents[:, :, :1], alone.float() * scale, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_run_from_a_sketch(load: Load, name: str) -> None:
    model = load(name)
    conditioning = prepared(model)
    count, side = conditioning.layout.num_frames, 2 * conditioning.height  # another size than the video's
    masks = torch.zeros(count, 1, side, side, dtype=torch.bool)
    masks[:, :, : side // 2] = True
    sketch = Sketch(
        frames=torch.rand(count, 3, side, side),
        masks=masks,
        kept=torch.zeros(1, side, side, dtype=torch.bool),
        orders=(),
        notes=(),
    )
    found = sample(model, conditioning, start=sketch_start(model, conditioning, sketch))
    assert found.shape == conditioning.latents.shape
    assert found.isfinite().all()
    assert model.clocks is not None


def test_no_family_is_left_out(load: Load) -> None:
    """Every family that can be loaded has clocks, and is tried above."""
    assert {load(name).name for name in NAMES} == {*FAMILIES}


def test_masks_go_to_the_latent_that_holds_their_frame() -> None:
    layout = FrameLayout(num_frames=9, ratio=4, padding=1)
    masks = torch.zeros(9, 1, 16, 16, dtype=torch.bool)
    masks[5, 0, 3, 9] = True
    found = latent_masks(masks, layout, (2, 2))
    assert found.shape == (1, 1, 4, 2, 2)
    assert torch.nonzero(found[0, 0]).tolist() == [[3, 0, 1]]


def test_clocks_count_steps_and_refuse_nonsense() -> None:
    assert Clocks(weak=0.4, strong=0.9).steps(20) == (8, 18)
    assert Clocks(weak=0.08, strong=0.18).steps(50) == (4, 9)
    assert Clocks(weak=0.0, strong=0.0).steps(50) == (0, 0)
    with pytest.raises(PhysPlanError, match="0 <= weak <= strong <= 1"):
        Clocks(weak=0.5, strong=0.4)
    with pytest.raises(PhysPlanError, match="says no clocks"):
        clocks_of(SimpleNamespace(name="hologram"))


@pytest.mark.parametrize("name", ["cogvideox", "wan"])
def test_a_sampling_that_was_cut_off_goes_on_to_the_same_bits(load: Load, name: str, tmp_path: Path) -> None:
    model = load(name)
    stop_after = 3

    def run(checkpoint: CheckpointFile | None, on_step: Any = None) -> torch.Tensor:
        conditioning = prepared(model)
        clean = torch.randn(conditioning.latents.shape, generator=torch.Generator().manual_seed(1))
        start = started(conditioning, clean, left_half(conditioning), 1, 4)
        drawn = torch.Generator().manual_seed(2)
        return sample(model, conditioning, on_step, generator=drawn, checkpoint=checkpoint, start=start)

    def killed(n: int, z: torch.Tensor, estimate: torch.Tensor) -> None:
        if n == stop_after:
            raise KeyboardInterrupt

    whole, kept = run(None), CheckpointFile(tmp_path / "sampling.safetensors", "key")
    with pytest.raises(KeyboardInterrupt):
        run(kept, killed)
    steps: list[int] = []
    assert torch.equal(run(kept, lambda n, z, clean: steps.append(n)), whole)
    assert steps[0] == stop_after + 1
