from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from physplan.video.base import FamilyModel
from physplan_models.loading import LoadOptions, load_video_model
from physplan_testing import tiny_models


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)  # faster than two for tiny models


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The saved tiny model of a family, built once."""
    base = tmp_path_factory.mktemp("models")
    return lambda name: tiny_models.build(name, base / name)


@pytest.fixture(scope="session")
def load(folder: Callable[[str], Path]) -> Callable[..., FamilyModel]:
    """A tiny model as a user loads it; the same options give the same object."""
    cache: dict[tuple[str, LoadOptions], FamilyModel] = {}

    def get(name: str, **options: object) -> FamilyModel:
        key = (name, LoadOptions(**{"checkpointing": False, "keep_encoders": True, **options}))  # type: ignore[arg-type]
        if key not in cache:
            cache[key] = load_video_model(folder(name), key[1])
        return cache[key]

    return get


@pytest.fixture(scope="session")
def picture() -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    return Image.fromarray(pixels)
