from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tiny_perception


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny saved model, by the name of its builder; each is built once."""
    base = tmp_path_factory.mktemp("weights")

    def folder(name: str) -> Path:
        target = base / name
        return target if target.exists() else getattr(tiny_perception, name)(target)

    return folder
