from __future__ import annotations

import pytest
from PIL import Image

from physplan.graph import EventChain
from physplan.pictures import to_picture
from scenes import MELTING_FIRST, melting_chain


@pytest.fixture(scope="session")
def chain() -> EventChain:
    return melting_chain()


@pytest.fixture(scope="session")
def first_frame() -> Image.Image:
    return to_picture(MELTING_FIRST)
