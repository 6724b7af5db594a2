"""The Python interface: own losses, latents, a result read back, a plan changed in a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from physplan import PhysPlan
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.graph.errors import InvalidChain
from physplan.pipeline import Result
from physplan_sandbox.samples import first_frame, sample

QUICK = {"num_inference_steps": 4}
SCENE = sample("ice-tray")


@pytest.fixture(scope="module")
def pp() -> PhysPlan:
    return PhysPlan.from_preset("sandbox")


@pytest.fixture(scope="module")
def plan(pp: PhysPlan) -> EventChain:
    return pp.plan(first_frame(SCENE), SCENE.prompt)


@pytest.fixture(scope="module")
def folder(pp: PhysPlan, plan: EventChain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run"
    pp.generate(first_frame(SCENE), plan=plan, method="sketch", output_dir=path, **QUICK)
    return path


def test_a_result_is_read_back_from_its_folder(folder: Path, tmp_path: Path) -> None:
    result = Result.load(folder)
    assert result.latents is not None
    assert result.latents.ndim == 5
    assert result.plan is not None
    assert len(result.keyframes) == len(result.plan.events)
    again = Result.load(folder, output_type="latent")
    assert torch.equal(again.video, result.latents)
    for name in ("video.gif", "video.mp4"):
        assert again.save(tmp_path / name).stat().st_size > 1000
    assert "min-width: 384px" in again._repr_html_()


def test_a_folder_without_a_video_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="no finished video"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"seed": "1"}, "The seed is '1'"),
        ({"seed": 0.5}, "The seed is 0.5"),
        ({"attempts": "2"}, "'2' attempts"),
    ],
)
def test_a_seed_and_attempts_are_whole_numbers(
    pp: PhysPlan, plan: EventChain, tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(PhysPlanError, match=message):
        pp.generate(first_frame(SCENE), plan=plan, output_dir=tmp_path / "run", **asked)
    assert not (tmp_path / "run").exists()


def test_a_loss_of_ones_own_is_called(pp: PhysPlan, plan: EventChain) -> None:
    called: list[int] = []

    def darker(frame: torch.Tensor, event: Any, keyframe: Any) -> tuple[torch.Tensor, None]:
        called.append(1)
        return frame.mean(), None

    result = pp.generate(first_frame(SCENE), plan=plan, losses=[darker], **QUICK)
    assert called
    assert any(term["term"] == "darker" for step in result.losses["steps"] for term in step["terms"])


def test_a_plan_is_changed_in_a_call_and_verified_again(plan: EventChain) -> None:
    longer = plan.with_fraction(2, 0.3)
    assert longer.events[1].delta.fraction == 0.3
    longer.verify()
    less = plan.without_event(len(plan.events))
    assert len(less.events) == len(plan.events) - 1
    less.verify()
    first = plan.events[0]
    fewer = plan.without_edit(1, str(first.edits[-1]))
    assert len(fewer.events[0].edits) == len(first.edits) - 1 or len(fewer.events) < len(plan.events)
    fewer.verify()
    with pytest.raises(InvalidChain, match="counted from 1"):
        plan.with_fraction(9, 0.3)
    with pytest.raises(InvalidChain, match="has no edit"):
        plan.without_edit(1, "Update(moon#1, color, green)")


def test_a_plan_draws_itself(plan: EventChain) -> None:
    assert plan._repr_svg_().lstrip().startswith("<svg")
