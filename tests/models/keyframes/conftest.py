from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.keyframes.conftest import chain, first_frame

import tiny_editors

__all__ = ["chain", "first_frame", "folders"]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny saved pipeline, by the name of its builder; each is built once."""
    base = tmp_path_factory.mktemp("pipelines")

    def folder(name: str) -> Path:
        target = base / name
        return target if target.exists() else getattr(tiny_editors, name)(target)

    return folder
