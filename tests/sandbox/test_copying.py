"""Copying from the picture: what is seen through little noise is found there, and laid over what is
behind."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan_sandbox.models.autoencoder import PATCH_VALUES, FrameAutoencoder
from physplan_sandbox.models.copying import BLOCK_STRIDE, BlockCopier, average_blocks, cell_positions
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.outline import downsample


def pictures(count: int = 2) -> Tensor:
    return torch.rand(count, 3, 96, 96, generator=torch.Generator().manual_seed(3)) * 2 - 1


def test_a_block_seen_elsewhere_is_found_in_the_picture() -> None:
    codec, whole = FrameAutoencoder(), pictures()
    blocks = codec.blocks(whole, BLOCK_STRIDE)
    moved = torch.roll(whole, (6, 9), dims=(2, 3))  # nine pixels are one cell and a half
    seen = codec.coarse(moved[:, :, None])
    copier = BlockCopier(8, blocks.shape[1])
    places = cell_positions(torch.zeros(2, 2), 16, 16)
    found = copier(torch.zeros(2, 8, 16, 16), blocks, seen, torch.ones(2), torch.full((2,), 0.1), places)
    inside = (slice(None), slice(None), slice(1, None), slice(2, None))
    assert (found[:, 0, :, 0] - seen[:, :, 0])[inside].abs().max() < 0.05


def test_under_much_noise_one_head_stays_close_and_the_other_goes_anywhere() -> None:
    codec, whole = FrameAutoencoder(), F.interpolate(pictures(1), scale_factor=1 / 24)
    whole = F.interpolate(whole, size=(96, 96), mode="bilinear")
    blocks = codec.blocks(whole, BLOCK_STRIDE)
    seen = torch.zeros(1, blocks.shape[1], 1, 16, 16)
    copier = BlockCopier(8, blocks.shape[1])
    places = cell_positions(torch.zeros(1, 2), 16, 16)
    found = copier(torch.zeros(1, 8, 16, 16), blocks, seen, torch.zeros(1), torch.ones(1), places)[0, :, :, 0]
    start = codec.coarse(whole[:, :, None])[0, :, 0]
    anywhere, near = ((copy - start).square().mean() for copy in found)
    assert near < 0.8 * anywhere


def test_the_blocks_on_the_grid_are_the_picture_s_own_latents() -> None:
    codec, whole = FrameAutoencoder(), pictures(1)
    latents = codec.encode(whole[:, :, None])
    assert torch.allclose(codec.picture(latents[:, :, 0]), whole, atol=1e-5)
    blocks = codec.blocks(whole, BLOCK_STRIDE)
    assert torch.allclose(blocks[:, :, ::2, ::2], latents[:, : blocks.shape[1], 0], atol=1e-5)
    clip = latents[:, : blocks.shape[1]].expand(-1, -1, 3, -1, -1)
    assert torch.allclose(average_blocks(blocks)[:, :, ::2, ::2], downsample(clip)[:, :, 0], atol=1e-5)


def test_one_copy_is_laid_over_the_other_where_the_mask_has_it() -> None:
    net = DrawingNet()
    net.draw_with(torch.eye(PATCH_VALUES), torch.full((24,), 0.5))
    front, back = torch.randn(2, 1, 24, 4, 4, generator=torch.Generator().manual_seed(0))
    copies = torch.stack([front, back], dim=1)
    for share, wanted in ((1.0, front), (0.0, back), (0.25, back + 0.25 * (front - back))):
        assert torch.allclose(net.laid_over(copies, torch.full((1, 36, 4, 4), share)), wanted, atol=1e-5)


def test_nothing_is_known_before_the_first_frame_nor_after_the_last() -> None:
    net = DrawingNet()
    clip = torch.arange(1.0, 34.0).view(1, 1, 33, 1, 1)
    found = net.neighbours(clip)[:, 0, :, 0, 0]
    middle = net.config.moments.index(0)
    assert found[0].eq(0).sum() == middle + 1
    assert found[1, middle] == 2.0
    assert found[1, :middle].eq(0).all()  # its past is the picture, from which nothing departs
    assert found[32, middle + 1 :].eq(0).all()
    assert found[32, middle - 1] == 32.0
