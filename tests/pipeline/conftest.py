from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.pipeline import tiny_pipelines

from physplan_testing import melting
from physplan_testing.loopback import GeminiServer, OpenAIServer


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)  # faster than two for tiny models


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_pipelines.build(tmp_path_factory.mktemp("models"))


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch) -> Iterator[GeminiServer]:
    monkeypatch.setenv("GEMINI_API_KEY", GeminiServer.key)
    with GeminiServer(tiny_pipelines.respond) as server:
        yield server


@pytest.fixture
def openai(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", OpenAIServer.key)
    with OpenAIServer(tiny_pipelines.respond) as server:
        yield server


@pytest.fixture(scope="session")
def ice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return melting.draw(tmp_path_factory.mktemp("pictures") / "ice.png")
