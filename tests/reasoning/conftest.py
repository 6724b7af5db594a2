"""Both providers behind one fixture, and the picture of the melting scene."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import melting
import pytest
from sites import MakeSite, Site

from loopback import GeminiServer, OpenAIServer


@pytest.fixture(params=[GeminiServer, OpenAIServer], ids=["gemini", "openai"])
def make_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeSite]:
    with ExitStack() as stack:
        yield lambda respond: Site(stack.enter_context(request.param(respond)), tmp_path / "calls")


@pytest.fixture
def gemini_site(tmp_path: Path) -> Iterator[MakeSite]:
    """For what does not depend on the provider."""
    with ExitStack() as stack:
        yield lambda respond: Site(stack.enter_context(GeminiServer(respond)), tmp_path / "calls")


@pytest.fixture(scope="session")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return melting.draw(tmp_path_factory.mktemp("pictures") / "ice.png")
