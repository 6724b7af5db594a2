"""`physplan accept`: every preset on tiny models of the real classes, kills in between, planted faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from accepting import accept, failures, recipe_of, rewrite, spoilt
from safetensors.torch import load_file, save_file
from tests.pipeline import tiny_pipelines

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan_bench.accept import run as running
from physplan_bench.accept.compare import comparison, load_acceptance
from physplan_bench.accept.findings import StageResult, judged
from physplan_testing.loopback import Answer, GeminiServer, OpenAIServer

PRESETS = ("paper", "best", "open", "home", "desk", "storyboard")
OWN = (*PRESETS, "sandbox")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_pipelines.build(tmp_path_factory.mktemp("models"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """The address of the loopback service that a preset calls."""
    with GeminiServer(tiny_pipelines.respond) as gemini, OpenAIServer(tiny_pipelines.respond) as openai:
        monkeypatch.setenv("GEMINI_API_KEY", gemini.key)
        monkeypatch.setenv("OPENAI_API_KEY", openai.key)
        yield lambda preset: gemini.url if preset in ("paper", "best", "storyboard") else openai.url


def test_a_figure_that_is_no_number_fails() -> None:
    assert judged("x", float("nan"), good=1, bad=2, meaning="m").level == "failure"
    assert [judged("x", v, good=1, bad=2, meaning="m").level for v in (1.0, 1.5, 3.0)] == [
        *("pass", "warning", "failure"),
    ]


def test_nothing_of_the_machine_leaves_in_the_file() -> None:
    told = {"a": ["no file /Users/anna/models/x.safetensors here"], "b": "key sk-abcdefghijklmnop is bad"}
    assert running.scrubbed(told) == {"a": ["no file (path) here"], "b": "key (key) is bad"}


def test_two_files_are_compared_and_what_is_none_is_refused(tmp_path: Path, capsys) -> None:
    def file(name: str, level: str, value: float) -> Path:
        finding = {"name": "seconds", "level": level, "meaning": "", "value": value}
        stages = [{"stage": 4, "findings": [finding]}]
        path = tmp_path / name
        path.write_text(
            json.dumps({"schema": running.SCHEMA, "preset": "home", "card": name, "stages": stages})
        )
        return path

    a, b = file("A.json", "pass", 2.0), file("B.json", "warning", 3.0)
    (row,) = comparison(load_acceptance(a), load_acceptance(b)).rows
    assert row.cells == ("pass", "warning", 2.0, 3.0, 1.5)
    assert comparison(load_acceptance(a), load_acceptance(a)).rows == ()
    assert main(["accept", "--compare", str(a), str(b)]) == 0
    assert "4: seconds" in capsys.readouterr().out
    (tmp_path / "C.json").write_text("{}")
    with pytest.raises(PhysPlanError, match=r"is no acceptance\.json"):
        load_acceptance(tmp_path / "C.json")


def test_without_weights_the_stages_that_need_them_are_not_begun(tmp_path: Path) -> None:
    recipe = {"preset": "home", "video": {"source": str(tmp_path / "nothing")}}
    code, result = accept(recipe, tmp_path / "a", "--stages", 1, 2, 4)
    assert code == 1
    assert failures(result) == {1: ["weights are here"], 2: [], 4: []}
    assert [stage["level"] for stage in result["stages"]] == ["failure", "skipped", "skipped"]
    assert str(tmp_path) not in (tmp_path / "a" / "acceptance.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("preset", OWN)
def test_a_preset_is_accepted(
    preset: str, models: Path, server: Callable[[str], str], tmp_path: Path
) -> None:
    recipe = {"preset": "sandbox"} if preset == "sandbox" else recipe_of(preset, models, server(preset))
    _, result = accept(recipe, tmp_path / "a", "--budget", 5)
    assert result["complete"]
    found = failures(result)
    # Random decoders see nothing and random videos show nothing: what must hold is that nothing breaks.
    assert all(not names for names in found.values()), found
    text = (tmp_path / "a" / "acceptance.json").read_text()
    assert str(tmp_path) not in text
    assert str(models) not in text
    page = (tmp_path / "a" / "index.html").read_text()
    assert all(f"<h2>{number}." in page for number in range(1, 7))


@pytest.mark.slow
def test_a_killed_acceptance_goes_on_behind_the_stages_that_are_done(
    models: Path, server: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    recipe = recipe_of("open", models, server("open"))

    def killed(here: Any) -> StageResult:
        raise KeyboardInterrupt

    for stage in (3, 5):
        with monkeypatch.context() as patch:
            patch.setitem(running.STAGES, stage, killed)
            with pytest.raises(FileNotFoundError):  # stopped: there is no result yet
                accept(recipe, tmp_path / "a")
    capsys.readouterr()
    _, result = accept(recipe, tmp_path / "a")
    assert result["complete"]
    assert capsys.readouterr().err.count("done before") == 4


FAULTS: dict[str, tuple[int, str]] = {
    "wrong scaling factor": (1, "vae.scaling_factor"),
    "other scheduler": (1, "scheduler"),
    "another prediction": (1, "scheduler"),
    "swapped mean and deviation": (1, "vae.latents_std"),
    "another revision": (1, "revision"),
    "weights cut off": (1, "weight files are whole"),
    "channels that do not fit": (1, "latent channels"),
    "overflow": (2, "latents are finite"),
    "a sampler that departs": (2, "latents off the library's pipeline, share of their norm"),
    "a window shifted by one": (2, "previews show their own frame"),
    "tiles under gradient": (2, "previews are decoded whole"),
    "flat depth": (3, "coffee: depth"),
    "features that are no numbers": (3, "coffee: features"),
    "a gradient that overflows": (4, "gradient is finite"),
    "a step that is far too long": (4, "step, share of the latent's norm"),
    "a video of one colour": (5, "sketch: video"),
    "a key that is refused": (6, "one plan"),
    "a service that talks": (6, "one plan"),
}


def plant(fault: str, recipe: dict[str, Any], folder: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One fault, in files where it would lie in files, else in the code."""
    if fault in ("wrong scaling factor", "swapped mean and deviation", "channels that do not fit"):
        recipe, copy = spoilt(recipe, folder)
        config = copy / "vae" / "config.json"
        known = json.loads(config.read_text())
        if fault == "wrong scaling factor":
            rewrite(config, scaling_factor=0.18215)
        elif fault == "swapped mean and deviation":
            rewrite(config, latents_mean=known["latents_std"], latents_std=known["latents_mean"])
        else:
            rewrite(copy / "transformer" / "config.json", out_channels=7)
    elif fault in ("other scheduler", "another prediction"):
        recipe, copy = spoilt(recipe, folder)
        config = copy / "scheduler" / "scheduler_config.json"
        if fault == "other scheduler":
            rewrite(config, _class_name="PNDMScheduler")
        else:
            rewrite(config, prediction_type="epsilon")
    elif fault == "another revision":
        recipe = recipe | {"video": recipe["video"] | {"revision": "0" * 40}}
    elif fault == "weights cut off":
        recipe, copy = spoilt(recipe, folder)
        file = next((copy / "vae").glob("*.safetensors"))
        file.write_bytes(file.read_bytes()[:-100])
    elif fault == "overflow":
        recipe, copy = spoilt(recipe, folder)
        file = next((copy / "transformer").glob("*.safetensors"))
        save_file({name: one * 1e30 for name, one in load_file(file).items()}, file)
    else:
        return plant_in_code(fault, recipe, patch)
    return recipe


def plant_in_code(fault: str, recipe: dict[str, Any], patch: pytest.MonkeyPatch) -> dict[str, Any]:
    if fault == "a sampler that departs":
        kept = FamilyModel.predict
        patch.setattr(
            FamilyModel, "predict", lambda self, z, n, c, **more: 1.05 * kept(self, z, n, c, **more)
        )
    elif fault in ("a window shifted by one", "tiles under gradient"):
        whole = FamilyModel.decode_window

        def decode_window(self: FamilyModel, latents: torch.Tensor, window: Any) -> torch.Tensor:
            if fault == "tiles under gradient":
                self.codec.vae.use_tiling = True  # type: ignore[attr-defined]
                return whole(self, latents, window)
            clip = self.codec.decode(latents)
            return clip[window.index - (1 + self.codec.temporal_ratio * (window.length - 1)) - 1]

        patch.setattr(FamilyModel, "decode_window", decode_window)
    elif fault == "flat depth":
        from physplan_bench.accept import perception_stage

        seen = perception_stage._seen
        patch.setattr(perception_stage, "_seen", lambda here, name, image: seen(flat(here), name, image))
    elif fault == "features that are no numbers":
        from physplan_bench.accept import perception_stage

        seen = perception_stage._seen
        patch.setattr(perception_stage, "_seen", lambda here, name, image: seen(blind(here), name, image))
    elif fault == "a gradient that overflows":
        from physplan_bench.accept import guided_stage

        kept_direction = guided_stage.direction

        def overflow(*arguments: Any, **more: Any) -> Any:
            found = kept_direction(*arguments, **more)
            found.gradient.fill_(float("inf"))
            return found

        patch.setattr(guided_stage, "direction", overflow)
    elif fault == "a step that is far too long":
        return recipe | {"guidance": recipe["guidance"] | {"step_size": 1e4}}
    elif fault == "a video of one colour":
        decode = FamilyModel.decode
        patch.setattr(
            FamilyModel, "decode", lambda self, z, layout, **more: 0 * decode(self, z, layout, **more) + 0.5
        )
    elif fault == "a key that is refused":
        patch.setenv("GEMINI_API_KEY", "another-key-altogether")
    return recipe


def flat(here: Any) -> Any:
    here.pp.backends.__dict__["depth"] = lambda images: torch.zeros(len(images), *images.shape[-2:])
    return here


def blind(here: Any) -> Any:
    here.pp.backends.__dict__["encoder"] = lambda images: torch.full((len(images), 4, 8, 8), float("nan"))
    return here


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_by_its_stage(
    fault: str, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, name = FAULTS[fault]

    def answer(asked: Any) -> Answer:
        return (
            Answer(text="I would rather not.")
            if fault == "a service that talks"
            else tiny_pipelines.respond(asked)
        )

    with GeminiServer(answer) as gemini:
        monkeypatch.setenv("GEMINI_API_KEY", gemini.key)
        recipe = recipe_of("paper", models, gemini.url)
        if fault == "swapped mean and deviation":
            recipe["video"] = {**recipe["video"], "model": "wan2.2-5b", "source": str(wan(models))}
        with monkeypatch.context() as patch:
            recipe = plant(fault, recipe, tmp_path, patch)
            code, result = accept(recipe, tmp_path / "a", "--budget", 5, "--stages", stage)
    assert code == 1
    assert name in failures(result)[stage], result["stages"]


def wan(models: Path) -> Path:
    from physplan_testing import tiny_models

    return tiny_models.build("wan22_5b", models / "wan22_5b")
