"""What is wrong with a command is said before torch is loaded, all at once, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.scenes import melting_chain

from physplan import machine
from physplan.presets import PRESETS
from physplan_testing import melting

PROMPT = ["--prompt", melting.PROMPT]
GENERATE = ["generate", "--image", "ice.png", *PROMPT]
FEW_BITS = ["--set", "video.quantisation=fp8-storage", "--set", "runtime.offload=group"]
CASES = {
    "a wrong path": (["generate", "--image", "nowhere.png", *PROMPT], "There is no image at nowhere.png"),
    "a wrong plan": ([*GENERATE, "--plan", "nowhere.json"], "nowhere.json cannot be read"),
    "a misspelt setting": ([*GENERATE, "--set", "video.frames=3"], "Did you mean 'num_frames'?"),
    "a misspelt preset": ([*GENERATE, "--preset", "papr"], "Did you mean 'paper'?"),
    "a misspelt method": ([*GENERATE, "--method", "physplam"], "Did you mean 'physplan'?"),
    "a misspelt backend": ([*GENERATE, "--set", "perception.depth.name=sandbx"], "Did you mean 'sandbox'?"),
    "a misspelt option of an editor": (
        [*GENERATE, "--preset", "storyboard", "--set", "editor.options={imagesize: 1K}"],
        "Did you mean 'image_size'?",
    ),
    "a missing key": ([*GENERATE, "--preset", "paper"], "GEMINI_API_KEY"),
    "a missing server": ([*GENERATE, "--preset", "open"], "a server at http://localhost:9/v1"),
    "a missing key for a plan": (
        ["plan", "--image", "ice.png", *PROMPT, "--preset", "paper"],
        "set GEMINI_API_KEY",
    ),
    "a size the sandbox cannot make": ([*GENERATE, "--num-frames", "49"], "33 frames of 96 x 96"),
    "a missing device": ([*GENERATE, "--device", "cuda:1"], "There is no CUDA device here"),
    "a missing server for a plan": (
        ["plan", "--image", "ice.png", *PROMPT, "--preset", "home"],
        "lacks a server at http://localhost:9/v1",
    ),
    "an eta that the library ignores": (
        [*GENERATE, "--preset", "paper", "--set", "video.eta=0.5"],
        "The eta of cogvideox-5b must be 0",
    ),
    "an offload without a card": (
        [*GENERATE, "--preset", "paper", "--device", "cpu", "--set", "runtime.offload=model"],
        "on the CPU, use offload none",
    ),
    "few bits that are to rest elsewhere": (
        [*GENERATE, "--preset", "paper", *FEW_BITS],
        "Quantised weights stay on the device",
    ),
    "a report of no run": (["report", "nowhere"], "nowhere is no folder of a run"),
    "a verdict by no plan": (["verify", "x.mp4", "--plan", "no.json", "--image", "ice.png"], "no.json"),
    "a misspelt method of a study": (
        ["evaluate", "sandbox", "--methods", "physplam"],
        "Did you mean 'physplan'?",
    ),
    "a misspelt setting of a study": (
        ["evaluate", "sandbox", "--set", "video.frames=3"],
        "Did you mean 'num_frames'?",
    ),
}
SCRIPT = """
import json, sys
from physplan.cli import main
codes = [main(arguments) for arguments in json.loads(sys.argv[1])]
loaded = [name for name in ("torch", "diffusers", "scipy") if name in sys.modules]
print(json.dumps({"codes": codes, "loaded": loaded}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], list[str], Path]:
    """All commands in one process, as a fresh interpreter answers them."""
    folder = tmp_path_factory.mktemp("answers")
    melting.draw(folder / "ice.png")
    without = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([arguments for arguments, _ in CASES.values()])],
        cwd=folder,
        env={**without, "OPENAI_BASE_URL": "http://localhost:9/v1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.stderr.splitlines(), folder


def test_nothing_heavy_is_loaded(answers: tuple[dict[str, object], list[str], Path]) -> None:
    assert answers[0]["loaded"] == []


def test_each_gets_one_sentence(answers: tuple[dict[str, object], list[str], Path]) -> None:
    found, told, _ = answers
    assert found["codes"] == [2] * len(CASES)
    assert len(told) == len(CASES)
    for line, (name, (_, sentence)) in zip(told, CASES.items(), strict=True):
        assert sentence in line, name


def test_all_that_is_missing_is_listed_at_once(answers: tuple[dict[str, object], list[str], Path]) -> None:
    line = answers[1][list(CASES).index("a missing key")]
    assert "GEMINI_API_KEY" in line
    needed = PRESETS["paper"].gpu_memory_gb
    assert f"{needed:g} GB of memory for the preset paper" in line or machine.memory_gb() >= needed


def test_a_verdict_on_a_video_that_is_not_there_is_answered_before_anything_is_loaded(tmp_path: Path) -> None:
    melting.draw(tmp_path / "ice.png")
    melting_chain().save(tmp_path / "plan.json")
    arguments = ["verify", "no.mp4", "--plan", "plan.json", "--image", "ice.png"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([arguments, [*arguments, "--preset", "papr"]])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[0] == "physplan: There is no video no.mp4."
    assert "Did you mean 'paper'?" in done.stderr
    assert json.loads(done.stdout) == {"codes": [2, 2], "loaded": []}


def test_a_refusal_leaves_nothing_behind(answers: tuple[dict[str, object], list[str], Path]) -> None:
    assert sorted(path.name for path in answers[2].iterdir()) == ["ice.png"]


@pytest.mark.parametrize("case", ["a wrong path", "a misspelt setting", "a misspelt preset"])
def test_a_typing_mistake_takes_less_of_the_processor_than_loading_torch_would(
    case: str, tmp_path: Path
) -> None:
    """Of its own time, whatever else the machine does; most of it is Python's for our own modules."""
    melting.draw(tmp_path / "ice.png")
    script = f"{SCRIPT}import time\nprint(time.process_time(), 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps([CASES[case][0]])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, loaded = done.stdout.split("\n")[1].split()
    assert float(seconds) < 1.8
    assert loaded == "False"


def test_the_package_shows_what_it_offers_without_loading_it() -> None:
    script = "import sys, physplan; print('PhysPlan' in dir(physplan), {'torch', 'yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "set()"]


def test_a_sentence_that_the_sandbox_does_not_know_is_answered_with_what_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from physplan.cli import main

    monkeypatch.chdir(tmp_path)
    melting.draw(tmp_path / "ice.png")
    assert main(["generate", "--image", "ice.png", "--prompt", "a cat jumps over a fence"]) != 0
    told = capsys.readouterr().err
    assert "The sandbox does not know what happens when 'a cat jumps over a fence'" in told
    assert "physplan sample --list" in told
    assert "For pictures of your own: physplan photo PICTURE" in told
    assert not (tmp_path / "runs").exists()


def test_samples_are_every_phenomenon_and_variant_with_their_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from physplan.cli import main
    from physplan_sandbox.prompts import matching
    from physplan_sandbox.samples import names, sample
    from physplan_sandbox.world.phenomena import PHENOMENA

    monkeypatch.chdir(tmp_path)
    assert main(["sample", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == len(names()) == sum(len(found.variants) for found in PHENOMENA.values())
    for line in listed:
        name, _, prompt = line.partition(" ")
        assert prompt.strip() == sample(name).prompt
        matching(prompt)
    assert main(["sample", "ice-cloth", "-o", "ice.png"]) == 0
    assert (
        'physplan generate --image ice.png --prompt "an ice cube melting in the sun"'
        in capsys.readouterr().out
    )
    first = (tmp_path / "ice.png").read_bytes()
    assert main(["sample", "ice-cloth", "-o", "ice.png"]) == 0, "the same again is fine"
    assert main(["sample", "ice-tray", "-o", "ice.png"]) != 0
    assert "ice.png is there already" in capsys.readouterr().err
    assert (tmp_path / "ice.png").read_bytes() == first
    assert main(["sample", "icecube"]) != 0
    assert "Did you mean 'ice" in capsys.readouterr().err
