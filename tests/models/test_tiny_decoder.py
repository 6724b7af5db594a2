"""Small decoders in TAEHV's layout: frames, gradients, refusals; random weights of the published shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.sampling import sample
from physplan_models.loading import LoadOptions, load_video_model
from physplan_models.tiny_decoder import TinyDecoder, load_tiny
from physplan_testing import tiny_models

PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], FamilyModel]:
    base, known = tmp_path_factory.mktemp("models"), {}

    def get(name: str) -> FamilyModel:
        if name not in known:
            folder = tiny_models.build(name, base / name)
            known[name] = load_video_model(folder, LoadOptions(keep_encoders=True))
        return known[name]

    return get


def saved(path: Path, network: TinyDecoder) -> Path:
    save_file({name: one.contiguous() for name, one in network.state_dict().items()}, path)
    return path


def tiny_for(model: FamilyModel, folder: Path) -> Path:
    torch.manual_seed(1)
    codec = model.codec
    shape = {"channels": codec.channels, "spatial": codec.spatial_ratio, "temporal": codec.temporal_ratio}
    return saved(folder / "tiny.safetensors", TinyDecoder.published(**shape))


def test_the_published_shapes_have_the_published_names() -> None:
    network = TinyDecoder.published(channels=16, spatial=8, temporal=4)  # taew2_1
    shapes = {name: tuple(one.shape) for name, one in network.state_dict().items()}
    assert shapes["decoder.1.weight"] == (256, 16, 3, 3)
    assert shapes["decoder.3.conv.0.weight"] == (256, 512, 3, 3)
    assert shapes["decoder.7.conv.weight"] == (256, 256, 1, 1)
    assert shapes["decoder.8.weight"] == (128, 256, 3, 3)
    assert shapes["decoder.13.conv.weight"] == (256, 128, 1, 1)
    assert shapes["decoder.22.weight"] == (3, 64, 3, 3)
    wide = TinyDecoder.published(channels=128, spatial=32, temporal=8)  # taeltx_2
    assert wide.state_dict()["decoder.22.weight"].shape[0] == 3 * 4 * 4
    assert wide.ratio == 8


@pytest.mark.parametrize("name", ["cogvideox", "wan", "wan22_5b", "ltx2", "hunyuan15", "framepack"])
def test_a_window_is_the_whole_clip_seen_through_it(
    name: str, load: Callable[[str], FamilyModel], tmp_path: Path
) -> None:
    model = load(name)
    tiny = load_tiny(tiny_for(model, tmp_path), model)
    conditioning = tiny_models.prepare(model, PICTURE)
    layout = conditioning.layout
    latents = torch.randn_like(conditioning.latents)
    whole = tiny.network(latents[:, :, layout.video])
    assert whole.shape == (layout.num_frames, 3, conditioning.height, conditioning.width)
    for frame in (0, 1, layout.num_frames - 1):
        window = layout.window(frame, layout.latents_of_video, model.preview_mode)
        assert torch.allclose(
            tiny.decode_window(latents[:, :, window.latents], window), whole[frame], atol=1e-5
        )


def test_gradients_pass_where_a_frame_is_out_of_range(
    load: Callable[[str], FamilyModel], tmp_path: Path
) -> None:
    model = load("wan")
    tiny = load_tiny(tiny_for(model, tmp_path), model)
    layout = tiny_models.prepare(model, PICTURE).layout
    window = layout.window(8)
    latents = torch.randn(1, 16, window.length, 4, 4, requires_grad=True)
    frame = tiny.decode_window(latents, window)
    (gradient,) = torch.autograd.grad((frame * 1000).sum(), latents)
    assert torch.isfinite(gradient).all()
    assert gradient[:, :, -1].abs().min() > 0


def test_live_previews_are_written_while_it_samples(
    load: Callable[[str], FamilyModel], tmp_path: Path
) -> None:
    model = load("wan")
    tiny = load_tiny(tiny_for(model, tmp_path), model)
    conditioning = tiny_models.prepare(model, PICTURE)
    steps: list[int] = []
    seen = tiny.shown(lambda n, z, clean: steps.append(n), conditioning.layout, tmp_path / "preview.png")
    sample(model, conditioning, seen)
    assert steps == [0, 1]
    with Image.open(tmp_path / "preview.png") as picture:
        assert picture.width > 5 * 100


def test_a_file_of_another_model_or_layout_is_refused(
    load: Callable[[str], FamilyModel], tmp_path: Path
) -> None:
    model, other = load("wan"), TinyDecoder.published(channels=128, spatial=32, temporal=8)
    with pytest.raises(PhysPlanError, match="decodes 128 channels and 8 frames per latent"):
        load_tiny(saved(tmp_path / "ltx.safetensors", other), model)
    save_file({"decoder.1.conv.0.weight": torch.zeros(2, 2)}, tmp_path / "super.safetensors")
    with pytest.raises(PhysPlanError, match="no small decoder in TAEHV's layout"):
        load_tiny(tmp_path / "super.safetensors", model)
    with pytest.raises(PhysPlanError, match="There is no file"):
        load_tiny(tmp_path / "taew2_1.pth", model)


def test_a_frame_depends_on_its_own_latent_and_those_before(
    load: Callable[[str], FamilyModel], tmp_path: Path
) -> None:
    model = load("wan")
    tiny = load_tiny(tiny_for(model, tmp_path), model)
    latents = torch.randn(1, 16, 3, 4, 4)
    changed = latents.clone()
    changed[:, :, 2] += 1
    assert torch.equal(tiny.network(latents)[:5], tiny.network(changed)[:5])
    assert not torch.equal(tiny.network(latents)[5:], tiny.network(changed)[5:])
