"""The nodes in a real ComfyUI on the CPU. The variable COMFYUI names its folder, COMFYUI_PYTHON the Python
with its packages; without them this is skipped. docs/comfyui.md says how to set both up."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integrations import comfyui_prompts

from physplan.origin import read_origin
from physplan.pipeline import PhysPlan
from physplan_sandbox.samples import first_frame, sample

ROOT = Path(__file__).parents[2]
COMFYUI = os.environ.get("COMFYUI", "")
pytestmark = pytest.mark.skipif(
    not COMFYUI, reason="there is no ComfyUI here: set COMFYUI to its folder (docs/comfyui.md)"
)
SCENE = sample("ice-tray", 0)
SHORT = {
    "video.num_inference_steps": 4,
    "guided_sketch.schedule": {"layout_steps": 1, "guided_steps": 2, "repeats": 1},
}
SETTINGS = "\n".join(f"{name}={json.dumps(value)}" for name, value in SHORT.items())
# torchvision's compiled operators do not load beside a torch for the CPU: their names must be there before.
STARTER = """
import os, runpy, sys, torch
library = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
folder = os.environ["COMFYUI"]
sys.path.insert(0, folder)
os.chdir(folder)
sys.argv[0] = os.path.join(folder, "main.py")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Server:
    def __init__(self, url: str, base: Path, log: Path) -> None:
        self.url, self.base, self.log = url, base, log

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=60) as answer:
            return json.loads(answer.read())

    def post(self, path: str, value: Any) -> tuple[int, Any]:
        body = json.dumps(value).encode()
        request = urllib.request.Request(
            f"{self.url}{path}", data=body, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def send(self, prompt: comfyui_prompts.Prompt) -> str:
        code, answer = self.post("/prompt", {"prompt": prompt})
        assert code == 200, answer
        return str(answer["prompt_id"])

    def wait(self, prompt_id: str) -> dict[str, Any]:
        for _ in range(2000):
            if found := self.get(f"/history/{prompt_id}").get(prompt_id):
                return dict(found)
            time.sleep(0.25)
        raise AssertionError(self.log.read_text()[-2000:])


@pytest.fixture(scope="module")
def comfyui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    base = tmp_path_factory.mktemp("comfyui")
    for name in ("custom_nodes", "input", "output", "models"):
        (base / name).mkdir()
    (base / "custom_nodes" / "physplan").symlink_to(ROOT / "integrations" / "comfyui")
    first_frame(SCENE).save(base / "input" / "ice.png")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = base / "log.txt"
    options = ["--cpu", "--disable-api-nodes", "--listen", "127.0.0.1", "--port", str(port)]
    command = [os.environ.get("COMFYUI_PYTHON", sys.executable), "-c", STARTER, *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--base-directory", str(base)], env=environment, stdout=output, stderr=output
        )
    server = Server(f"http://127.0.0.1:{port}", base, log)
    try:
        for _ in range(1200):
            assert process.poll() is None, log.read_text()[-3000:]
            try:
                server.get("/system_stats")
                break
            except OSError:
                time.sleep(0.25)
        yield server
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.timeout(900)
def test_every_node_appears_and_the_examples_fit_their_inputs(comfyui: Server) -> None:
    known = comfyui.get("/object_info")
    ours = {name for name in known if name.startswith("PhysPlan")}
    assert len(ours) == 9, comfyui.log.read_text()[-2000:]
    prompts = (
        comfyui_prompts.sandbox("ice.png", SCENE.prompt),
        comfyui_prompts.edited("ice.png", SCENE.prompt, ""),
        comfyui_prompts.wan("ice.png", SCENE.prompt),
    )
    for prompt in prompts:
        for entry in prompt.values():
            inputs = known[entry["class_type"]]["input"]
            names = {*inputs.get("required", {}), *inputs.get("optional", {})}
            assert set(entry["inputs"]) <= names, entry["class_type"]
            assert set(inputs.get("required", {})) <= set(entry["inputs"]), entry["class_type"]


@pytest.mark.timeout(900)
def test_the_sandbox_workflow_ends_in_the_command_lines_video(comfyui: Server, tmp_path: Path) -> None:
    prompt = comfyui_prompts.sandbox("ice.png", SCENE.prompt, seed=3, settings=SETTINGS)
    done = comfyui.wait(comfyui.send(prompt))
    assert done["status"]["status_str"] == "success", done["status"]
    (saved,) = (comfyui.base / "output" / "physplan").glob("*.mp4")
    folder = tmp_path / "run"
    result = PhysPlan.from_preset("sandbox", **SHORT).generate(
        first_frame(SCENE), SCENE.prompt, seed=3, output_dir=folder
    )
    assert saved.read_bytes() == (folder / "video.mp4").read_bytes()
    assert read_origin(saved).seed == 3
    assert done["outputs"]["7"]["text"] == [result.verdict.sentence()]


@pytest.mark.timeout(900)
def test_a_plan_edited_in_its_box_is_the_plan_of_the_video(comfyui: Server, tmp_path: Path) -> None:
    pipeline = PhysPlan.from_preset("sandbox", **SHORT)
    plan = pipeline.plan(first_frame(SCENE), SCENE.prompt).to_json()
    plan["events"][0]["delta"]["fraction"] = 0.2  # earlier than the reasoner has it
    prompt = comfyui_prompts.edited("ice.png", SCENE.prompt, json.dumps(plan), seed=3, settings=SETTINGS)
    prompt["8"]["inputs"]["filename_prefix"] = "edited/video"
    done = comfyui.wait(comfyui.send(prompt))
    assert done["status"]["status_str"] == "success", done["status"]
    (saved,) = (comfyui.base / "output" / "edited").glob("*.mp4")
    told = read_origin(saved).plan or {}
    assert told["events"][0]["anchor"] < plan["events"][0]["anchor"]
    (tmp_path / "plan.json").write_text(json.dumps(told), encoding="utf-8")
    pipeline.generate(first_frame(SCENE), plan=tmp_path / "plan.json", seed=3, output_dir=tmp_path / "run")
    assert saved.read_bytes() == (tmp_path / "run" / "video.mp4").read_bytes()


@pytest.mark.timeout(900)
def test_a_bad_plan_is_the_nodes_error_and_no_crash(comfyui: Server) -> None:
    prompt = comfyui_prompts.edited("ice.png", SCENE.prompt, '{"events": []}', settings=SETTINGS)
    done = comfyui.wait(comfyui.send(prompt))
    assert done["status"]["status_str"] == "error"
    (told,) = (value for kind, value in done["status"]["messages"] if kind == "execution_error")
    assert told["node_type"] == "PhysPlanEditPlan"
    assert "lacks the field" in told["exception_message"]
    assert comfyui.get("/system_stats"), "it is still there"


@pytest.mark.timeout(900)
def test_the_stop_button_ends_the_sampling(comfyui: Server) -> None:
    prompt = comfyui_prompts.sandbox(
        "ice.png", SCENE.prompt, seed=4, settings="video.num_inference_steps=900"
    )
    sent = comfyui.send(prompt)
    for _ in range(1200):  # until it samples: the preview's folder is there as long as it does
        if list((comfyui.base / "temp").glob("physplan-*")):
            break
        time.sleep(0.25)
    comfyui.post("/interrupt", {})
    done = comfyui.wait(sent)
    assert any(kind == "execution_interrupted" for kind, _ in done["status"]["messages"])
    assert not list((comfyui.base / "temp").glob("physplan-*")), "nothing is left behind"
