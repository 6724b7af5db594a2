"""The sandbox's networks: shapes, gradients, and the video model behind the common protocol."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.video.protocol import VideoModel, VideoRequest
from physplan.video.sampling import sample
from physplan_sandbox.models.autoencoder import FrameAutoencoder, unsharp_mask
from physplan_sandbox.models.contour import build_contour, to_full_rate, to_half_rate
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.outline import FrameRefiner, OutlineNet, downsample, upsample
from physplan_sandbox.models.sight import group_instances
from physplan_sandbox.models.text import build_text_encoder, build_tokenizer, encode_prompts
from physplan_sandbox.train.__main__ import save, save_text_encoder
from physplan_sandbox.video import SandboxVideo
from physplan_sandbox.world.phenomena import PHENOMENA


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SandboxVideo:
    """Untrained, saved and loaded as the trained one is."""
    folder: Path = tmp_path_factory.mktemp("video")
    torch.manual_seed(0)
    save(FrameAutoencoder(), folder / "autoencoder")
    save(OutlineNet(), folder / "outline")
    save(build_contour(), folder / "contour")
    save(DrawingNet(), folder / "drawing")
    save_text_encoder(folder)
    return SandboxVideo.from_pretrained(folder)


def prepared(model: SandboxVideo, steps: int = 2):
    return model.prepare(
        VideoRequest(
            image=Image.new("RGB", (96, 96), "teal"),
            prompt="the ball drops",
            height=96,
            width=96,
            num_frames=33,
            num_inference_steps=steps,
            guidance_scale=2.0,
            generator=torch.Generator().manual_seed(0),
        )
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
    latents = torch.randn(1, 132, 33, 16, 16, generator=torch.Generator().manual_seed(1))
    window = layout.window(frame, model.preview_length, model.preview_mode)
    with torch.no_grad():
        shown = model.decode_window(latents[:, :, window.latents], window)
    assert torch.allclose(shown.clamp(0, 1), model.decode(latents, layout)[frame], atol=1e-5)


def test_a_pixel_of_a_window_moves_its_own_latent_only(model: SandboxVideo) -> None:
    layout = model.check_size(height=96, width=96, num_frames=33)
    latents = torch.randn(1, 132, 33, 16, 16).requires_grad_()
    window = layout.window(14, model.preview_length)
    model.decode_window(latents[:, :, window.latents], window)[:, 40:56, 40:56].sum().backward()
    reached = latents.grad.abs().sum(dim=(0, 1, 3, 4)) > 0
    assert reached.nonzero().flatten().tolist() == [layout.latent_index(14)]


def test_every_moment_is_retouched_by_the_same_weights() -> None:
    torch.manual_seed(0)
    retouch = FrameRefiner(drawn=4, moments=9, width=8, depth=1)
    for layer in (retouch.leave, retouch.passing[0], retouch.looks[0].second):
        torch.nn.init.normal_(layer.weight, std=0.1)
    still, told = torch.randn(1, 4 * 4 + 2, 5, 5), torch.randn(1, 64)
    seen = torch.zeros(1, 16, 9, 5, 5)
    seen[:, :, 4] = torch.randn(1, 16, 5, 5)
    with torch.no_grad():
        here, later = retouch(seen, still, told), retouch(seen.roll(1, dims=2), still, told)
        nothing = retouch(torch.zeros_like(seen), still, told)
    assert torch.allclose(here.roll(1, dims=2)[:, :, 3:7], later[:, :, 3:7], atol=1e-6)
    reached = (here - nothing).abs().amax(dim=(0, 1, 3, 4)) > 1e-7
    assert reached.nonzero().flatten().tolist() == [2, 3, 4, 5, 6]  # its neighbours, two on each side


def test_the_networks_take_turns_at_the_noise_that_is_theirs(model: SandboxVideo) -> None:
    asked: list[str] = []
    hooks = [
        network.register_forward_hook(lambda *_, name=name: asked.append(name))
        for name, network in zip(("outline", "contour", "drawing"), model.denoisers, strict=True)
    ]
    sample(model, prepared(model, steps=10))
    for hook in hooks:
        hook.remove()
    assert (
        asked == ["outline", "contour"] * 6 + ["drawing"] * 4
    )  # the steps are 999, 899 ... 599, 499 and 399


def test_an_outline_is_the_mean_of_its_block_and_leaves_the_picture_alone() -> None:
    small = torch.randn(1, 2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    large = upsample(small)
    assert large.shape == (1, 2, 7, 8, 8)
    assert not large[:, :, 0].any()
    torch.testing.assert_close(downsample(large), small)


def test_half_the_rate_is_the_mean_of_pairs_behind_the_picture() -> None:
    clip = torch.randn(1, 2, 7, 4, 4, generator=torch.Generator().manual_seed(0))
    half = to_half_rate(clip)
    assert half.shape == (1, 2, 4, 4, 4)
    assert torch.equal(half[:, :, 0], clip[:, :, 0])
    torch.testing.assert_close(half[:, :, 2], clip[:, :, 3:5].mean(dim=2))
    torch.testing.assert_close(to_half_rate(to_full_rate(half)), half)


def test_contours_follow_the_words_through_their_outlines(model: SandboxVideo) -> None:
    """Each branch of the words has its own, and gradients reach the noise beneath both."""
    conditioning = prepared(model)
    latents = conditioning.latents.clone().requires_grad_()
    start = conditioning.inputs["picture"]
    outlines = torch.randn(2, 24, 33, 16, 16, generator=torch.Generator().manual_seed(1))
    found = model._contoured(latents[:, :24], outlines, start, 1, conditioning)
    assert found.shape == (2, 24, 33, 16, 16)
    assert (found[0] - found[1]).abs().max() > 0.1
    assert torch.equal(found[:, :, 1], found[:, :, 2])  # half the rate
    found[0, :, 9].sum().backward()
    reached = latents.grad.abs().sum(dim=(0, 1, 3, 4)).nonzero().flatten().tolist()
    assert set(reached) <= set(range(5, 15))
    assert {9, 10} <= set(reached)


def test_other_sizes_are_refused_with_the_one_it_makes(model: SandboxVideo) -> None:
    with pytest.raises(PhysPlanError, match="33 frames of 96 x 96"):
        model.check_size(height=128, width=96, num_frames=33)


def test_a_folder_without_weights_says_how_to_train_them(tmp_path: Path) -> None:
    for file in (
        "drawing/config.json",
        "contour/config.json",
        "outline/config.json",
        "outline/diffusion_pytorch_model.safetensors",
    ):
        with pytest.raises(PhysPlanError, match=r"physplan_sandbox.train"):
            SandboxVideo.from_pretrained(tmp_path)
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("{}")
    with pytest.raises(PhysPlanError, match=r"physplan_sandbox.train"):  # of the version before
        SandboxVideo.from_pretrained(tmp_path)


def moving_video() -> torch.Tensor:
    """[1, 3, 5, 96, 96] in [-1, 1]: a smooth picture, and noise in a corner of the later frames."""
    generator = torch.Generator().manual_seed(2)
    picture = torch.nn.functional.interpolate(torch.rand(1, 3, 12, 12, generator=generator), (96, 96)) * 2 - 1
    video = picture.unsqueeze(2).repeat(1, 1, 5, 1, 1)
    video[:, :, 1:, :48, :48] = torch.rand(1, 3, 4, 48, 48, generator=generator) * 2 - 1
    return video


def test_before_training_the_still_part_is_lossless_and_the_rest_coarse(model: SandboxVideo) -> None:
    video, autoencoder = moving_video(), model.codec.autoencoder
    with torch.no_grad():
        decoded = autoencoder.decode(autoencoder.encode(video))
    torch.testing.assert_close(decoded[..., 48:, :], video[..., 48:, :], rtol=0, atol=1e-4)
    assert (decoded - video)[:, :, 1:, :48, :48].abs().mean() > 0.1


def test_what_departs_from_the_picture_is_made_crisper_and_the_rest_left_alone() -> None:
    picture = torch.rand(1, 3, 24, 24, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(unsharp_mask(picture, picture), picture, rtol=0, atol=0)
    frame = picture.clone()
    frame[..., :12, :] = 0.5 + 0.5 * (torch.arange(24) >= 12)
    crisp = unsharp_mask(frame, picture)
    torch.testing.assert_close(crisp[..., 12:, :], picture[..., 12:, :], rtol=0, atol=0)
    across = crisp[0, 0, 5].diff()
    assert float(across.max()) > 0.5
    assert float(across.square().sum()) < 0.5  # a touch: a step of 0.5 has 0.25


def test_what_has_left_leaves_no_ring() -> None:
    picture = torch.zeros(1, 3, 24, 24)
    picture[..., 8:16, 8:16] = 1.0
    gone = torch.zeros_like(picture)
    torch.testing.assert_close(unsharp_mask(gone, picture), gone, rtol=0, atol=0)


def test_patterns_are_ordered_by_what_they_hold_and_lose_nothing() -> None:
    torch.manual_seed(0)
    blocks = torch.randn(4000, 108) * torch.linspace(2, 0.1, 108)
    autoencoder = FrameAutoencoder()
    autoencoder.start_from_principal_components(blocks, residuals=blocks)
    held = (blocks @ autoencoder.patterns.T).square().mean(dim=0)
    assert (held[:-1] >= held[1:]).all()
    video = moving_video()
    whole = autoencoder.analyse(video)
    torch.testing.assert_close(whole.square().sum(), video.square().sum(), rtol=1e-4, atol=0)


def test_whatever_the_network_says_the_picture_behind_the_drawn_channels_stays(model: SandboxVideo) -> None:
    conditioning = prepared(model)
    latents = sample(model, conditioning)
    known, picture = slice(model.codec.drawn, None), conditioning.inputs["picture"]
    torch.testing.assert_close(
        latents[:, known], picture[:, known].expand_as(latents[:, known]), rtol=0, atol=1e-4
    )
    assert not torch.allclose(latents[:, 0], picture[:, 0], atol=1e-2)


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
