"""The sandbox's networks: shapes, gradients, and the video model behind the common protocol."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.sandbox.models.autoencoder import FrameGroupAutoencoder
from physplan.sandbox.models.sight import group_instances
from physplan.sandbox.models.text import build_text_encoder, build_tokenizer, encode_prompts
from physplan.sandbox.train.__main__ import save, save_video
from physplan.sandbox.train.autoencoder import turn_latents
from physplan.sandbox.train.video import build_transformer
from physplan.sandbox.video import SandboxVideo
from physplan.sandbox.world.phenomena import PHENOMENA
from physplan.video.protocol import VideoModel
from physplan.video.sampling import sample


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SandboxVideo:
    """Untrained, saved and loaded as the trained one is."""
    folder: Path = tmp_path_factory.mktemp("video")
    torch.manual_seed(0)
    save(FrameGroupAutoencoder(), folder / "autoencoder")
    save_video(build_transformer(), folder)
    return SandboxVideo.from_pretrained(folder)


def prepared(model: SandboxVideo, steps: int = 2):
    return model.prepare(
        image=Image.new("RGB", (96, 96), "teal"),
        prompt="the ball drops",
        height=96,
        width=96,
        num_frames=33,
        num_inference_steps=steps,
        guidance_scale=2.0,
        generator=torch.Generator().manual_seed(0),
    )


def test_it_is_a_video_model_and_samples(model: SandboxVideo) -> None:
    assert isinstance(model, VideoModel)
    conditioning = prepared(model)
    video = model.decode(sample(model, conditioning), conditioning.layout)
    assert video.shape == (33, 3, 96, 96)
    assert torch.isfinite(video).all()


@pytest.mark.parametrize("frame", [0, 1, 3, 4, 5, 8, 9, 13, 32])
def test_a_window_shows_exactly_the_frame_of_the_full_decode(model: SandboxVideo, frame: int) -> None:
    layout = model.check_size(height=96, width=96, num_frames=33)
    latents = torch.randn(1, 64, 9, 12, 12, generator=torch.Generator().manual_seed(1))
    window = layout.window(frame, model.preview_length, model.preview_mode)
    with torch.no_grad():
        shown = model.decode_window(latents[:, :, window.latents], window)
    assert torch.allclose(shown.clamp(0, 1), model.decode(latents, layout)[frame], atol=1e-5)


def test_a_pixel_of_a_window_moves_its_own_latent_only(model: SandboxVideo) -> None:
    layout = model.check_size(height=96, width=96, num_frames=33)
    latents = torch.randn(1, 64, 9, 12, 12).requires_grad_()
    window = layout.window(14, model.preview_length)
    model.decode_window(latents[:, :, window.latents], window)[:, 40:56, 40:56].sum().backward()
    reached = latents.grad.abs().sum(dim=(0, 1, 3, 4)) > 0
    assert reached.nonzero().flatten().tolist() == [layout.latent_index(14)]


def test_other_sizes_are_refused_with_the_one_it_makes(model: SandboxVideo) -> None:
    with pytest.raises(PhysPlanError, match="33 frames of 96 x 96"):
        model.check_size(height=128, width=96, num_frames=33)


def test_a_folder_without_weights_says_how_to_train_them(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match=r"physplan.sandbox.train video"):
        SandboxVideo.from_pretrained(tmp_path)


def test_the_autoencoder_starts_at_the_quality_of_principal_components() -> None:
    torch.manual_seed(0)
    coarse = torch.rand(40, 12, 12, 12)
    groups = torch.nn.functional.interpolate(coarse, size=(96, 96), mode="bilinear") * 2 - 1
    autoencoder = FrameGroupAutoencoder()
    with torch.no_grad():
        before = (autoencoder.decoder(autoencoder.encoder(groups)) - groups).square().mean()
        autoencoder.start_from_principal_components(groups)
        after = (autoencoder.decoder(autoencoder.encoder(groups)) - groups).square().mean()
    assert after < 0.35 * before


def moving_video() -> torch.Tensor:
    frames = torch.rand(1, 3, 5, 96, 96, generator=torch.Generator().manual_seed(2))
    return frames * 2 - 1


def test_borrowed_latents_keep_their_coarse_channels(model: SandboxVideo) -> None:
    autoencoder = model.codec.autoencoder
    latents = autoencoder.encode(moving_video())
    borrowed = autoencoder.borrow(latents, latents[:, :, :1])
    coarse = autoencoder.config.coarse_channels
    assert torch.equal(borrowed[:, coarse:, 1], latents[:, coarse:, 0])
    assert torch.equal(borrowed[:, :coarse], latents[:, :coarse])


def test_whatever_the_network_says_fine_channels_end_as_the_pictures(model: SandboxVideo) -> None:
    conditioning = prepared(model)
    latents = sample(model, conditioning)
    fine = slice(model.codec.autoencoder.config.coarse_channels, None)
    picture = conditioning.inputs["picture"]
    torch.testing.assert_close(latents[:, fine], picture[:, fine], rtol=0, atol=1e-4)
    assert not torch.allclose(latents[:, 0], picture[:, 0], atol=1e-2)


def test_inside_its_masks_a_sketch_gives_the_fine_channels(model: SandboxVideo) -> None:
    conditioning = prepared(model)
    clean = torch.randn(conditioning.latents.shape, generator=torch.Generator().manual_seed(3))
    masks = torch.zeros(1, 1, 9, 12, 12, dtype=torch.bool)
    masks[..., 4:, :, :6] = True
    latents = sample(model, model.with_sketch(conditioning, clean, masks))
    fine = slice(model.codec.autoencoder.config.coarse_channels, None)
    picture = conditioning.inputs["picture"]
    expected = torch.where(masks, clean, picture)
    torch.testing.assert_close(latents[:, fine], expected[:, fine], rtol=0, atol=1e-4)


def test_turned_latents_say_the_same() -> None:
    torch.manual_seed(0)
    autoencoder = FrameGroupAutoencoder()
    for layer in (autoencoder.encode_residual[-1], autoencoder.decode_residual[-2]):
        torch.nn.init.normal_(layer.weight, std=0.05)
    groups = moving_video()[:, :, :4].transpose(1, 2).flatten(1, 2)
    with torch.no_grad():
        before = autoencoder.encoder(groups)
        told = autoencoder.decoder(before)
        turn = torch.linalg.qr(torch.randn(64, 64)).Q * 2
        turn_latents(autoencoder, turn)
        after = autoencoder.encoder(groups)
        torch.testing.assert_close(after, torch.einsum("ij,bjhw->bihw", turn, before), rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(autoencoder.decoder(after), told, rtol=1e-3, atol=1e-4)


def test_every_prompt_of_the_world_has_words_of_its_own() -> None:
    prompts = [prompt for p in PHENOMENA.values() for prompt in p.prompts]
    tokenizer = build_tokenizer()
    coded = encode_prompts(tokenizer, build_text_encoder(), ["", *prompts])
    assert tokenizer.unk_token_id not in {t for prompt in prompts for t in tokenizer(prompt).input_ids}
    distances = torch.cdist(coded.flatten(1), coded.flatten(1)) + 100 * torch.eye(len(coded))
    assert distances.min() > 1.0


def test_pixels_that_point_to_two_middles_are_two_objects() -> None:
    mask = np.zeros((96, 96), dtype=bool)
    mask[40:56, 20:60] = True  # two touching squares
    rows, cols = np.indices(mask.shape)
    middle = np.where(cols < 40, 29.5, 49.5)
    offsets = np.stack([middle - cols, 47.5 - rows]) / 96
    found = group_instances(mask, offsets, smallest=12)
    assert sorted(int(f.sum()) for f in found) == [320, 320]


def test_a_few_pixels_that_vote_for_the_twin_stay_with_the_object_they_touch() -> None:
    mask = np.zeros((96, 96), dtype=bool)
    mask[40:56, 20:60] = True
    rows, cols = np.indices(mask.shape)
    wrong = (rows >= 53) & (cols >= 50)  # the lower right corner of the right square
    middle = np.where((cols < 40) | wrong, 29.5, 49.5)
    found = group_instances(mask, np.stack([middle - cols, 47.5 - rows]) / 96, smallest=12)
    assert sorted(int(f.sum()) for f in found) == [320, 320]


def test_an_object_seen_on_both_sides_of_something_stays_one() -> None:
    mask = np.zeros((96, 96), dtype=bool)
    mask[40:56, 20:28] = mask[40:56, 36:44] = True
    rows, cols = np.indices(mask.shape)
    found = group_instances(mask, np.stack([31.5 - cols, 47.5 - rows]) / 96, smallest=12)
    assert [int(f.sum()) for f in found] == [256]
