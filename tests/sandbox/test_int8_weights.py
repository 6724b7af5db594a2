"""Weights in a byte each."""

from __future__ import annotations

from pathlib import Path

import torch

from physplan_sandbox.models.int8_weights import WEIGHTS_NAME, load_packed, pack, save_packed, unpack
from physplan_sandbox.models.outline import OutlineNet


def test_a_weight_comes_back_within_half_a_step_of_its_row() -> None:
    torch.manual_seed(0)
    rows = torch.randn(64, 8, 3, 3) * torch.logspace(-4, 2, 64).view(-1, 1, 1, 1)
    rows[5] = 0.0
    found = unpack(pack({"weight": rows, "bias": torch.linspace(-1, 1, 64)}))
    step = rows.flatten(1).abs().amax(dim=1) / 127
    assert ((found["weight"] - rows).flatten(1).abs().amax(dim=1) <= 0.501 * step + 1e-12).all()
    assert not found["weight"][5].any()
    torch.testing.assert_close(found["bias"], torch.linspace(-1, 1, 64), rtol=1e-3, atol=1e-3)


def test_what_is_small_stays_in_half_precision() -> None:
    packed = pack({"gain": torch.ones(3, 4), "large": torch.ones(64, 64)})
    assert {name: value.dtype for name, value in packed.items()} == {
        "gain": torch.float16,
        "large": torch.int8,
        "large.step": torch.float32,
    }


def test_a_network_is_saved_in_about_a_byte_a_weight_and_loads_again(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = OutlineNet(width=64, depth=2, asks_after=1, retouches=1, retouch_width=16)
    save_packed(network, tmp_path)
    again = load_packed(OutlineNet, tmp_path)
    weights = sum(value.numel() for value in network.state_dict().values())
    assert (tmp_path / WEIGHTS_NAME).stat().st_size < 1.1 * weights
    assert again.config.width == 64
    for name, value in network.state_dict().items():
        torch.testing.assert_close(
            again.state_dict()[name], value, rtol=0.0, atol=float(value.abs().max()) / 100
        )
