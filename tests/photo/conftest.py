"""Real weights, where they are: PHYSPLAN_WEIGHTS, the user's cache, or shared/ beside the tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image

from physplan.extras import is_installed
from physplan.pictures import open_picture
from physplan_photo import weights

PLACES = [folder / "shared" for folder in Path(__file__).resolve().parents[2:5]]
if named := os.environ.get(weights.VARIABLE):
    PLACES.append(Path(named).parent)


def shared(part: str) -> Path:
    """shared/ lies beside the repository, beside the folder of its work trees, or around the weights."""
    return next((place / part for place in PLACES if (place / part).is_dir()), PLACES[0] / part)


@pytest.fixture(scope="session", autouse=True)
def _weights_folder() -> None:
    if not os.environ.get(weights.VARIABLE) and shared("weights").is_dir():
        os.environ[weights.VARIABLE] = str(shared("weights"))


def need(*names: str) -> None:
    if not is_installed("onnxruntime"):
        pytest.skip("onnxruntime is not installed (extra photo)")
    if absent := [name for name in names if weights.have(name) is None]:
        pytest.skip(f"the weights {', '.join(absent)} are not on this machine")


@pytest.fixture
def coffee() -> Image.Image:
    return photograph("coffee.png")


def photograph(name: str) -> Image.Image:
    path = shared("photographs") / name
    if not path.is_file():
        pytest.skip(f"the photograph {name} is not on this machine")
    return open_picture(path)
