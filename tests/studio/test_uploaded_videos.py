"""A video that is dropped on the page gives its picture, settings and plan back, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from PIL import Image
from studio_double import PROMPT, Client, plan

from physplan.origin import Origin
from physplan.origin.record import TAG, png_of
from physplan.pipeline.stage_keys import digest
from physplan.video.files import write_video
from physplan_studio.server import Studio


def origin(**changes: object) -> Origin:
    fields: dict[str, object] = {
        "prompt": PROMPT,
        "method": "physplan",
        "seed": 7,
        "preset": "sandbox",
        "settings": {"video.num_inference_steps": 6, "editor.redraws": 1, "video.model": "sandbox"},
        "versions": {"physplan": "0"},
        "hashes": {"plan": digest(plan().to_json())},
        "plan": plan().to_json(),
        "picture": png_of(Image.new("RGB", (32, 32), "red")),
    }
    return Origin(**(fields | changes))  # type: ignore[arg-type]


def drop(client: Client, path: Path, told: Origin | None) -> tuple[int, str]:
    frames = torch.full((3, 3, 32, 32), 0.5)
    write_video(path, frames, fps=8, tags={} if told is None else {TAG: told.to_text()})
    return client.post("api/video", path.read_bytes(), Content_Type="application/octet-stream")


def test_settings_and_plan_come_back_and_are_what_a_run_is_made_with(
    client: Client, studio: Studio, tmp_path: Path
) -> None:
    status, answer = drop(client, tmp_path / "v.mp4", origin())
    found = json.loads(answer)
    assert status == 200
    assert (found["prompt"], found["seed"], found["left_out"]) == (PROMPT, 7, [])
    assert found["plan"]["events"][0]["anchor"] == plan().events[0].anchor
    assert client.get(f"pictures/{found['picture']}.png")[0] == 200
    recipe = yaml.safe_load(studio.session._uploads.path(found["recipe"]).read_text())
    assert recipe["video"]["num_inference_steps"] == 6
    assert recipe["editor"]["redraws"] == 1
    asked = {name: found[name] for name in ("picture", "prompt", "seed", "plan", "recipe")}
    client.until(client.ask("start", **asked)["run"], "done")


def test_no_model_path_or_address_is_taken_from_a_file(
    client: Client, studio: Studio, tmp_path: Path
) -> None:
    told = {
        "video.source": "someone/model",
        "video.files": {"transformer": "/etc/weights.safetensors"},
        "video.files.transformer": "/etc/weights.safetensors",
        "video.files.vae": "/etc/weights.safetensors",
        "video.quantisation": "/etc/weights.gguf",
        "video.attention": "someone/kernel",
        "video.revision": "refs/pr/1",
        "video.nothing": 3,
        "guidance.losses": ["someone"],
        "runtime.allow_hosts": ["someone.example"],
        "video": {"source": "someone/model"},
        "editor.name": "gemini",
        "perception.segmenter": {"name": "sam-3", "options": {"source": "someone/else"}},
    }
    status, answer = drop(client, tmp_path / "v.mp4", origin(settings=told))
    found = json.loads(answer)
    assert status == 200
    assert set(found["left_out"]) == set(told)
    kept = studio.session._uploads.path(found["recipe"]).read_text()
    assert "someone" not in kept
    assert "/etc" not in kept
    assert "refs/pr" not in kept


@pytest.mark.parametrize(
    "changes",
    [
        {"preset": "none"},
        {"settings": {"video.num_inference_steps": -3}},
        {"hashes": {"plan": "0" * 64}},
        {"picture": b"<svg/>"},
        {"picture": None},
    ],
)
def test_what_does_not_fit_together_is_refused_in_a_sentence(
    client: Client, tmp_path: Path, runs: Path, changes: dict[str, object]
) -> None:
    status, answer = drop(client, tmp_path / "v.mp4", origin(**changes))
    assert status == 400, answer
    assert str(runs) not in answer


def test_another_programs_video_and_what_is_none_are_refused(client: Client, tmp_path: Path) -> None:
    status, answer = drop(client, tmp_path / "v.mp4", None)
    assert status == 400
    assert "does not say how it was made" in answer
    for content in (b"", b"no video", b"#EXTM3U\nfile:///etc/passwd\n"):
        status, answer = client.post("api/video", content, Content_Type="application/octet-stream")
        assert status == 400
        assert "passwd" not in answer


def test_the_server_itself_loads_no_torch() -> None:
    code = "import sys, physplan_studio.server; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
