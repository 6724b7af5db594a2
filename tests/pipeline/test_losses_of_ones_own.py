"""A loss of one's own decides its videos: kept by its identity, and never taken for another's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline import tiny_pipelines
from tests.pipeline.tiny_pipelines import PROMPT

from physplan.errors import PhysPlanError
from physplan.guidance import register_loss
from physplan.guidance.losses import IDENTITIES, LOSSES
from physplan.pipeline import PhysPlan, RunEvent
from physplan_testing.loopback import GeminiServer


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    LOSSES.pop("darker", None)
    IDENTITIES.pop("darker", None)


def done(pp: PhysPlan, ice: Path, folder: Path) -> list[str]:
    seen: list[RunEvent] = []
    pp.generate(ice, PROMPT, output_dir=folder, on_event=seen.append)
    return [event.stage for event in seen if event.kind == "started"]


def loss(calls: list[int]) -> Any:
    def darker(frame: Any, event: Any, keyframe: Any) -> Any:
        calls.append(1)
        return frame.mean(), None

    return darker


def test_a_changed_loss_samples_again_and_an_unchanged_one_does_not(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    settings = tiny_pipelines.paper(models, gemini.url)
    settings["guidance"] = {**settings.get("guidance", {}), "losses": ["terms", "darker"]}
    first: list[int] = []
    register_loss("darker", identity="mean brightness 1")(loss(first))
    pp = PhysPlan.from_preset(settings)
    done(pp, ice, tmp_path / "run")
    assert first
    again: list[int] = []
    register_loss("darker", identity="mean brightness 1")(loss(again))
    assert done(pp, ice, tmp_path / "run") == []
    register_loss("darker", identity="mean brightness 2")(loss(again))
    assert done(pp, ice, tmp_path / "run") == ["latents", "video", "verdict"]
    assert again
    register_loss("darker")(loss(again))
    assert "latents" in done(pp, ice, tmp_path / "run")
    assert "latents" in done(pp, ice, tmp_path / "run")  # without an identity, each time


@pytest.mark.parametrize(
    ("method", "part"),
    [("physplan", "guidance"), ("guided_sketch", "guided_sketch"), ("frame_guidance", "frame_guidance")],
)
@pytest.mark.parametrize(
    ("guidance", "sentence"),
    [
        ({"losses": ["terms", "darkr"]}, "There is no loss named 'darkr'. Did you mean 'darker'?"),
        ({"measure": {"satisfied_by": {"cuont": 0.1}}}, "there is no term 'cuont'. Did you mean 'count'?"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_is_made(
    models: Path, ice: Path, tmp_path: Path, method: str, part: str, guidance: dict[str, Any], sentence: str
) -> None:
    register_loss("darker")(loss([]))
    settings = tiny_pipelines.paper(models, "http://127.0.0.1:9")
    settings |= {"method": method, part: {**tiny_pipelines.GUIDANCE, **guidance}}
    pp = PhysPlan.from_preset(settings)
    for call in (pp.generate, pp.forecast):
        with pytest.raises(PhysPlanError) as refused:
            call(ice, PROMPT, output_dir=tmp_path / "run")
        assert sentence in str(refused.value)
    assert not (tmp_path / "run").exists()
