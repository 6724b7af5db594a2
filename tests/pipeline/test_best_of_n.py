"""`best_of_n` on a preset: N unguided videos of one plan, of which one is kept by what was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from physplan import PhysPlan
from physplan.errors import PhysPlanError
from physplan.runs import layout
from physplan_sandbox.world.phenomena import scene
from physplan_testing.loopback import Answer, Asked, OpenAIServer

PROMPT = "the ball drops"
SHORT: dict[str, Any] = {"method": "best_of_n", "num_inference_steps": 2, "seed": 5}


@pytest.fixture(scope="module")
def picture() -> Image.Image:
    return Image.fromarray(scene("validation", 200).render().frames[0])


@pytest.fixture(scope="module")
def kept(picture: Image.Image, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("best") / "run"
    pp = PhysPlan.from_preset("sandbox", **{"best_of_n.count": 2})
    pp.generate(picture, PROMPT, output_dir=folder, **SHORT)
    return folder


def again(folder: Path, picture: Image.Image, **settings: Any) -> list[Any]:
    names = {f"best_of_n.{name}": value for name, value in settings.items()}
    pp = PhysPlan.from_preset("sandbox", **{"best_of_n.count": 2, **names})
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("attempts/*/latents.safetensors")}
    pp.generate(picture, PROMPT, output_dir=folder, redo=True, **SHORT)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps  # no video is sampled again
    return list(layout.load_attempts(folder))


def test_all_n_are_made_and_the_best_verdict_is_kept(kept: Path) -> None:
    made = layout.load_attempts(kept)
    assert [one.seed for one in made] == [5, 6]
    best = max(made, key=lambda one: one.score or 0)
    assert [one.seed for one in made if one.chosen] == [best.seed]
    assert (kept / layout.VIDEO).read_bytes() == (
        kept / layout.attempt(best.name) / layout.VIDEO
    ).read_bytes()
    assert not (kept / layout.SKETCH).exists() or layout.load_run(kept).method == "best_of_n"


def test_the_one_that_surprises_least_is_kept(
    kept: Path, picture: Image.Image, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Through transformers' own V-JEPA 2 with random weights, named by a setting."""
    from transformers import VJEPA2Config, VJEPA2Model

    torch.manual_seed(0)
    tiny = VJEPA2Config(
        crop_size=32, patch_size=16, tubelet_size=2, frames_per_clip=8, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=2, pred_hidden_size=16, pred_num_hidden_layers=1, pred_num_attention_heads=2,
    )  # fmt: skip
    VJEPA2Model(tiny).save_pretrained(tmp_path / "vjepa2")
    made = again(kept, picture, by="surprise", surprise=str(tmp_path / "vjepa2"))
    assert all(one.preference is not None and one.preference <= 0 for one in made)
    assert max(made, key=lambda one: one.preference).chosen


def test_the_one_that_a_judge_finds_true_is_kept(
    kept: Path, picture: Image.Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def second_is_right(asked: Asked) -> Answer:
        seen.append(asked.images[-1])
        word = "no" if asked.images[-1] == seen[0] else "yes"
        entries = [{"number": i, "answer": word, "reason": "so"} for i in range(1, 20)]
        return Answer(text=json.dumps({"answers": entries}))

    with OpenAIServer(second_is_right) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        made = again(kept, picture, by="judge", judge=f"server:seer@{server.url}")
    assert [one.chosen for one in made] == [False, True]
    assert made[0].preference < made[1].preference
    assert (kept / layout.attempt("seed6") / layout.JUDGE).is_file()


def test_a_judge_that_is_not_named_is_refused_before_anything_is_made(
    picture: Image.Image, tmp_path: Path
) -> None:
    pp = PhysPlan.from_preset("sandbox", **{"best_of_n.by": "judge"})
    with pytest.raises(PhysPlanError, match=r"best_of_n\.judge names none"):
        pp.generate(picture, PROMPT, output_dir=tmp_path / "run", **SHORT)
    assert not (tmp_path / "run").exists()
