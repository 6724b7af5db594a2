"""`physplan generate` as people call it, with everything that can be wrong with what they give it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from PIL import Image
from tests.pipeline import tiny_pipelines

from physplan.cli import build_parser, main
from physplan.cli.generate import default_folder
from physplan.runs.layout import STAGES
from physplan_testing import melting
from physplan_testing.loopback import GeminiServer

PROMPT = tiny_pipelines.PROMPT
Generate = Callable[..., int]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_pipelines.build(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def server() -> Iterator[GeminiServer]:
    with GeminiServer(tiny_pipelines.respond) as server:
        yield server


@pytest.fixture
def generate(tmp_path: Path, models: Path, server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> Generate:
    """The command with a config of tiny models, in a folder with ice.png."""
    monkeypatch.setenv("GEMINI_API_KEY", GeminiServer.key)
    monkeypatch.chdir(tmp_path)
    melting.draw(tmp_path / "ice.png")
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(tiny_pipelines.paper(models, server.url)))

    def run(*more: str, image: str = "ice.png", prompt: str | None = PROMPT) -> int:
        words = ["--prompt", prompt] if prompt is not None else []
        return main(["generate", "--config", "tiny.yaml", "--image", image, *words, *more])

    return run


def one_sentence(capsys: pytest.CaptureFixture[str]) -> str:
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("physplan:")]
    assert len(told) == 1
    assert "Traceback" not in told[0]
    return told[0]


def text_file(folder: Path) -> None:
    (folder / "bad.png").write_text("not a picture")


def truncated(folder: Path) -> None:
    whole = (folder / "ice.png").read_bytes()
    (folder / "bad.png").write_bytes(whole[: len(whole) // 2])


def huge(folder: Path) -> None:
    Image.new("1", (20_000, 20_000)).save(folder / "bad.png")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "There is no image at bad.png"),
        (text_file, "bad.png is not a readable image"),
        (truncated, "bad.png is not a readable image"),
        (huge, "bad.png has far too many pixels"),
    ],
)
def test_pictures_that_cannot_be_used(
    generate: Generate,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], None],
    message: str,
) -> None:
    make(tmp_path)
    assert generate("-o", "run", image="bad.png") != 0
    assert message in one_sentence(capsys)
    assert not (tmp_path / "run").exists(), "nothing is begun"


@pytest.mark.parametrize(
    ("prompt", "more", "message"),
    [
        ("", [], "The prompt is empty"),
        ("melt " * 2000, [], "characters, the limit is 2000"),
        (None, [], "The prompt is missing"),
        (PROMPT, ["--method", "physplam"], "Did you mean 'physplan'?"),
        (PROMPT, ["--set", "video.frames=3"], "Did you mean 'num_frames'?"),
        (PROMPT, ["--set", "video.num_frames"], "--set takes FIELD=VALUE"),
        (PROMPT, ["--preset", "paper"], "Give --preset or --config, not both"),
        (PROMPT, ["--num-frames", "1"], "1 frames cannot hold a plan"),
        (PROMPT, ["--num-frames", "10"], "10 is not such a number: use 9 or 17"),
        (PROMPT, ["--seed", "-1"], "The seed is -1"),
        (PROMPT, ["--set", "video.num_inference_steps=1"], "The schedule guides 2 steps"),
        (PROMPT, ["--keyframes", "."], "holds no keyframes"),
        (PROMPT, ["-o", "ice.png"], "ice.png is a file"),
        (PROMPT, ["-o", "ice.png/x"], "cannot be written to"),
        (PROMPT, ["--plan", "nowhere.json"], "nowhere.json cannot be read"),
        (PROMPT, ["--device", "cuda"], "There is no CUDA device here"),
    ],
)
def test_words_that_cannot_be_used(
    generate: Generate,
    capsys: pytest.CaptureFixture[str],
    prompt: str | None,
    more: list[str],
    message: str,
) -> None:
    assert generate(*more, prompt=prompt) != 0
    assert message in one_sentence(capsys)


def test_no_key_and_a_wrong_key(
    generate: Generate, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "wrong-5f1c")
    assert generate("-o", "run") != 0
    told = one_sentence(capsys)
    assert "key" in told
    assert "wrong-5f1c" not in told
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    assert generate("-o", "run") != 0
    assert "GEMINI_API_KEY" in one_sentence(capsys)


@pytest.fixture
def plan(generate: Generate, tmp_path: Path, models: Path, server: GeminiServer) -> Path:
    from physplan.pipeline import PhysPlan

    pp = PhysPlan.from_preset(str(tmp_path / "tiny.yaml"))
    pp.plan(tmp_path / "ice.png", PROMPT).save(tmp_path / "plan.json")
    return tmp_path / "plan.json"


def test_plans_that_cannot_be_used(
    generate: Generate, plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.new("RGB", (64, 48), "grey").save(tmp_path / "other.png")
    assert generate("--plan", "plan.json", image="other.png") != 0
    assert "made for another picture" in one_sentence(capsys)
    assert generate("--plan", "plan.json", prompt="a ball rolls") != 0
    assert "The plan is for the prompt 'an ice cube melting in the sun'" in one_sentence(capsys)
    # Three events need four frames.
    assert generate("--plan", "plan.json", "--num-frames", "3", prompt=None) != 0
    assert "3" in one_sentence(capsys)
    edited = json.loads(plan.read_text())
    edited["graph"]["edges"].append({"a": "ice#1", "r": "support", "b": "table#4"})
    plan.write_text(json.dumps(edited))
    assert generate("--plan", "plan.json") != 0
    assert "support" in one_sentence(capsys)


def test_a_run_its_dry_run_its_report_and_another_seed(
    generate: Generate,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    server: GeminiServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("physplan.cli.progress.QUIET_EVERY", 0.0)  # however fast the machine is
    asked = len(server.asked)
    assert generate("--dry-run") == 0
    told = capsys.readouterr().out
    assert "3 steps of cogvideox-5b with 2 guided repeats" in told
    assert "Calls: 11, about 0.4" in told
    assert "Memory on cpu: sampling about 0.0 GB" in told
    assert not (tmp_path / "runs").exists()
    assert len(server.asked) == asked
    assert generate() == 0
    out, err = capsys.readouterr()
    folder = Path("runs/ice-an-ice-cube-melting-in-the-sun-tiny-physplan-seed0")
    assert f"The video is {folder / 'video.mp4'} (9 frames" in out
    assert "loading the video model cogvideox-5b, memory about" in err
    assert "sampling: finished" in err
    assert "left" in err
    assert len(server.asked) - asked == 11
    assert generate("--dry-run") == 0
    assert capsys.readouterr().out.count(" done ") == len(STAGES)
    assert generate("--seed", "1", "-o", str(folder)) != 0
    assert "holds a run with other settings (seed 0, not 1)" in one_sentence(capsys)
    assert generate("--seed", "1", "--dry-run") == 0, "another seed has a folder of its own"
    assert " done " not in capsys.readouterr().out
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page), "nothing is fetched"
    for text in (
        PROMPT,
        "ice above its melting point",
        "data:video/mp4",
        "guided repeats",
        "0.42",
        "--seed 0",
    ):
        assert text in page
    assert main(["report", str(tmp_path)]) != 0
    assert "is no folder of a run" in one_sentence(capsys)


def test_ctrl_c_ends_with_a_sentence(
    generate: Generate, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from physplan.pipeline import planning

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(planning, "plan", interrupted)
    assert generate("-o", "run") == 130
    assert "Stopped. The same command goes on where this one was" in capsys.readouterr().err


def test_a_folder_with_other_peoples_files_is_refused_and_left_as_it_was(
    generate: Generate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".pre-commit-config.yaml", ".ssh-keys", ".physplan-unfinished-notes"):
        (tmp_path / name).write_text("mine")
    (tmp_path / ".vscode-server").mkdir()
    (tmp_path / ".vscode-server" / "state-1.json").write_text("mine")

    def held() -> dict[str, bytes]:
        files = (path for path in tmp_path.rglob("*") if path.is_file())
        return {str(path.relative_to(tmp_path)): path.read_bytes() for path in files}

    before = held()
    assert generate("-o", ".") == 2
    assert "holds files that are not of a PhysPlan run (.pre-commit-config.yaml and" in one_sentence(capsys)
    assert held() == before


def test_the_default_folders_of_two_recipes_are_two() -> None:
    given = ["generate", "--image", "ice.png", "--prompt", "it melts", "--method", "physplan"]
    more = [[], ["--preset", "sandbox"], ["--preset", "paper"], ["--config", "mine.yaml"]]
    folders = [default_folder(build_parser().parse_args([*given, *one])).name for one in more]
    assert folders[0] == folders[1] == "ice-it-melts-physplan-seed0"
    assert folders[2:] == ["ice-it-melts-paper-physplan-seed0", "ice-it-melts-mine-physplan-seed0"]
