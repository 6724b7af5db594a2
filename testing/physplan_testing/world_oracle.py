"""Perfect perception for tests: the renderer's masks and depth by the protocols of the trained networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from physplan.perception import Instance
from physplan_sandbox.world.render import Clip
from physplan_sandbox.world.scene import Scene


class Oracle:
    """Segmenter and depth estimator for frames of clips that were shown to it before."""

    def __init__(self) -> None:
        self.frames: dict[bytes, tuple[Clip, int, dict[str, str]]] = {}

    def show(self, scene: Scene, outcome: str | None = None, *, size: int = 96) -> Clip:
        clip = scene.render(outcome, size=size)
        categories = {sprite.object: sprite.category for sprite in scene.sprites(outcome)}
        for index, frame in enumerate(clip.frames):
            self.frames.setdefault(frame.tobytes(), (clip, index, categories))
        return clip

    def segment(self, image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        clip, index, known = self._find(image)
        return tuple(
            Instance(category=category, mask=torch.from_numpy(mask), score=1.0)
            for name in clip.names
            if (category := known.get(name, name)) in categories and (mask := clip.mask(name, index)).any()
        )

    def __call__(self, images: Tensor) -> Tensor:
        found = (self._find(image) for image in images)
        return torch.stack([torch.from_numpy(clip.depth[index]) for clip, index, _ in found])

    def _find(self, image: Tensor) -> tuple[Clip, int, dict[str, str]]:
        return self.frames[np.asarray(image.permute(1, 2, 0) * 255 + 0.5).astype(np.uint8).tobytes()]


def tensor(frame: np.ndarray) -> Tensor:
    """A rendered frame [H, W, 3] as an image [3, H, W] in [0, 1]."""
    return torch.from_numpy(frame).permute(2, 0, 1).float() / 255
