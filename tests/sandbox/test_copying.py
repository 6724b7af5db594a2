"""The copier: pixels of the picture, where they were and where they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from physplan.sandbox.components import WEIGHTS
from physplan.sandbox.models.autoencoder import FrameGroupAutoencoder
from physplan.sandbox.models.copying import PictureCopier, pixel_places, sample
from physplan.sandbox.train.copier import copying_loss
from physplan.sandbox.world.phenomena import scene


def moving_ball():
    return next(s for s in (scene("validation", k) for k in range(40)) if s.phenomenon.name == "drop")


def test_sources_say_where_what_moves_was() -> None:
    clip = moving_ball().render()
    first = torch.from_numpy(clip.frames[:1]).permute(0, 3, 1, 2).float()
    sources = torch.from_numpy(clip.sources).permute(0, 3, 1, 2)
    copied = sample(first.expand(len(sources), -1, -1, -1), sources).permute(0, 2, 3, 1).numpy()
    ball = next(name for name in clip.names if "ball" in name)
    last = len(clip.frames) - 1
    inside = clip.mask(ball, last)
    assert np.abs(sources[last].permute(1, 2, 0).numpy()[inside] - np.argwhere(inside)[:, ::-1]).max() > 5
    assert (
        np.abs(copied[last] - clip.frames[last])[inside].mean()
        < 0.5 * np.abs(clip.frames[0].astype(float) - clip.frames[last])[inside].mean()
    )


def test_in_the_first_frame_everything_is_where_it_was() -> None:
    clip = moving_ball().render()
    here = pixel_places(*clip.frames.shape[1:3])[0].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(clip.sources[0], here, atol=1e-3)


def test_a_picture_sampled_at_its_own_places_is_the_picture() -> None:
    picture = torch.rand(2, 3, 24, 24)
    torch.testing.assert_close(sample(picture, pixel_places(24, 24).expand(2, -1, -1, -1)), picture)


def test_a_new_copier_mixes_what_is_painted_with_the_picture_and_can_learn() -> None:
    torch.manual_seed(0)
    copier, frames, picture = (
        PictureCopier(16, 16, (1, 1)),
        torch.rand(2, 3, 96, 96),
        torch.rand(1, 3, 96, 96),
    )
    found, sources, logits, shares = copier.explain(frames, picture)
    assert found.shape == frames.shape
    assert logits.shape == (2, 576, 576)
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(2, 96, 96))
    batch = {"truth": frames, "painted": frames, "picture": picture.expand(2, -1, -1, -1), "sources": sources}
    copying_loss(copier, {**batch, "known": torch.ones(2, 1, 96, 96)}).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in copier.parameters())


def test_frame_0_is_painted_and_every_other_is_redrawn_by_itself() -> None:
    model = FrameGroupAutoencoder.from_pretrained(
        WEIGHTS / "video" / "autoencoder", torch_dtype=torch.float32
    )
    assert model.copier is not None
    video = torch.from_numpy(moving_ball().render().frames).permute(3, 0, 1, 2)[None].float() / 127.5 - 1.0
    with torch.no_grad():
        latents = model.encode(video)
        whole = model.decode(latents)
        few = model.decode(latents[:, :, [0, 3]])
    torch.testing.assert_close(whole[:, :, 0], model.paint(latents[:, :, :1])[:, :, -1])
    torch.testing.assert_close(whole[:, :, 9:13], few[:, :, 1:], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_what_moves_is_sharper_after_than_before(seed: int) -> None:
    model = FrameGroupAutoencoder.from_pretrained(
        WEIGHTS / "video" / "autoencoder", torch_dtype=torch.float32
    )
    truth = torch.from_numpy(moving_ball().render().frames).permute(3, 0, 1, 2).float() / 127.5 - 1.0
    with torch.no_grad():
        latents = model.encode(truth[None])
        latents = latents + 0.2 * torch.randn(latents.shape, generator=torch.Generator().manual_seed(seed))
        painted, redrawn = model.paint(latents)[0, :, 3:], model.decode(latents)[0]
    moved = (truth - truth[:, :1]).abs().amax(dim=0) > 0.1
    before, after = ((frames - truth)[:, moved].square().mean() for frames in (painted, redrawn))
    assert after < before
