"""Both providers behind one fixture, and the picture of the melting scene."""

from __future__ import annotations

from pathlib import Path

import pytest

from physplan_testing import melting
from physplan_testing.sites import gemini_site, make_site

__all__ = ["gemini_site", "make_site", "picture"]


@pytest.fixture(scope="session")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return melting.draw(tmp_path_factory.mktemp("pictures") / "ice.png")
