"""What is behind things in a plan's sketch, by the photo package's own means."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from physplan_photo import layers


def test_the_ground_is_continued_and_nothing_else_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "session", lambda name: None)  # a ground without edges needs no network
    across = torch.linspace(0.4, 0.6, 64).expand(64, 64)
    ground = torch.stack([across, across, across * 0.9])
    image, mask = ground.clone(), torch.zeros(64, 64, dtype=torch.bool)
    mask[20:44, 20:44] = True
    image[:, mask] = torch.tensor([0.9, 0.1, 0.1])[:, None]
    plate = layers.inpaint()(image, {"ball#1": "ball"}, {"ball#1": mask}).plate
    assert plate is not None
    assert float((plate - ground)[:, mask].abs().max()) < 0.1
    far = np.s_[:, :16]
    assert float((plate - image)[far].abs().max()) < 0.01
