"""diffusers' callback at the end of each step; an editor and a method of one's own, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from tests.pipeline import tiny_pipelines
from tests.pipeline.tiny_pipelines import PROMPT

from physplan.errors import PhysPlanError
from physplan.keyframes.registry import EDITORS
from physplan.methods.method import Method
from physplan.methods.registry import METHODS, find
from physplan.pipeline import PhysPlan, Result
from physplan_testing.loopback import GeminiServer

STEPS = 3


@pytest.fixture
def pp(models: Path, gemini: GeminiServer) -> PhysPlan:
    return PhysPlan.from_preset(tiny_pipelines.paper(models, gemini.url))


def test_it_sees_every_step_and_changes_nothing_by_looking(pp: PhysPlan, ice: Path) -> None:
    seen: list[tuple[Any, int, float, Any]] = []

    def callback(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        seen.append((pipe, step, float(timestep), tensors["latents"].clone()))
        return tensors

    watched = pp.generate(
        ice,
        PROMPT,
        method="base",
        callback_on_step_end=callback,
        callback_on_step_end_tensor_inputs=["latents"],
    )
    plain = pp.generate(ice, PROMPT, method="base")
    assert [(pipe is pp, step) for pipe, step, _, _ in seen] == [(True, n) for n in range(STEPS)]
    assert [time for _, _, time, _ in seen] == sorted((one[2] for one in seen), reverse=True)
    assert torch.equal(seen[-1][3], watched.latents)
    assert torch.equal(plain.video, watched.video)


def test_the_latents_it_returns_are_those_of_the_next_step_under_guidance(pp: PhysPlan, ice: Path) -> None:
    given: list[Any] = []

    def still(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        given.append(tensors["latents"].clone())
        return {"latents": torch.zeros_like(tensors["latents"])} if step == STEPS - 1 else {}

    result = pp.generate(ice, PROMPT, method="physplan", callback_on_step_end=still)
    assert len(given) == STEPS
    assert result.repeats
    assert given[-1].any()
    assert result.latents is not None
    assert not result.latents.any()


def test_what_one_callback_made_is_not_taken_for_anothers(pp: PhysPlan, ice: Path, tmp_path: Path) -> None:
    called: list[int] = []

    def callback(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> None:
        called.append(step)

    def made(**given: Any) -> Result:
        return pp.generate(ice, PROMPT, method="base", output_dir=tmp_path / "run", **given)

    def calls(**given: Any) -> int:
        called.clear()
        made(**given)
        return len(called)

    made()
    assert calls(callback_on_step_end=callback) == STEPS
    assert calls(callback_on_step_end=callback) == STEPS, "without an identity it is called each time"
    callback.identity = "looks on, 1"  # type: ignore[attr-defined]
    assert [calls(callback_on_step_end=callback) for _ in range(2)] == [STEPS, 0]
    callback.identity = "looks on, 2"  # type: ignore[attr-defined]
    assert calls(callback_on_step_end=callback) == STEPS


def wrong(pipe: Any, step: int, timestep: Any, tensors: dict[str, Any]) -> Mapping[str, Any]:
    return {"latents": None}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "storyboard", "callback_on_step_end": wrong}, "nothing is sampled here"),
        ({"callback_on_step_end_tensor_inputs": ["latents", "prompt_embeds"]}, "'prompt_embeds'"),
        ({"method": "base", "callback_on_step_end": wrong}, "let them keep the shape"),
        ({"callback": print}, "give callback_on_step_end, or on_event"),
    ],
)
def test_what_cannot_work_is_refused(pp: PhysPlan, ice: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(PhysPlanError, match=words):
        pp.generate(ice, PROMPT, **given)


class Grey:
    """Draws every state as a grey picture."""

    at_once = 1
    calls_out = None
    shade = 90

    @property
    def identity(self) -> dict[str, Any]:
        return {"editor": "grey", "shade": self.shade}

    def edit(self, request: Any) -> Image.Image:
        return Image.new("RGB", request.image.size, (self.shade,) * 3)


def test_an_editor_and_a_method_of_ones_own_are_a_line_each(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for registry, name in ((EDITORS, "grey"), (METHODS, "half")):
        monkeypatch.setitem(registry, name, "")  # taken out again
        monkeypatch.setitem(registry.own, name, None)
    EDITORS.add("grey", Grey)
    METHODS.add("half", Method(name="half", about="half the step", settings="guidance", change=halved))
    settings = tiny_pipelines.paper(models, gemini.url)
    settings["editor"] = {"name": "grey"}
    folder = tmp_path / "run"
    shades = []
    for shade in (90, 30):
        monkeypatch.setattr(Grey, "shade", shade)
        pp = PhysPlan.from_preset(settings)
        shades.append({one.getpixel((5, 5)) for one in pp.keyframes(ice, PROMPT, output_dir=folder)})
    assert shades == [{(90,) * 3}, {(30,) * 3}], "another identity is another editor"
    assert find("half").guidance(pp.config) == halved(pp.config.guidance)
    with pytest.raises(PhysPlanError, match="already"):
        METHODS.add("physplan", None)


def halved(config: Any) -> Any:
    return replace(config, step_size=config.step_size / 2)
