from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

import tiny_editors
from physplan.graph import EventChain
from physplan.pictures import to_picture
from scenes import MELTING_FIRST, melting_chain


@pytest.fixture(scope="session")
def chain() -> EventChain:
    return melting_chain()


@pytest.fixture(scope="session")
def first_frame() -> Image.Image:
    return to_picture(MELTING_FIRST)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny saved pipeline, by the name of its builder; each is built once."""
    base = tmp_path_factory.mktemp("pipelines")

    def folder(name: str) -> Path:
        target = base / name
        return target if target.exists() else getattr(tiny_editors, name)(target)

    return folder
