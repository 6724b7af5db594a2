"""`physplan plan` as people use it, against loopback servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from physplan.cli import main
from physplan.graph import EventChain
from physplan_models.published import PUBLISHED
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer, OpenAIServer

Plan = Callable[..., int]
OFFLINE = ("--set", "runtime.offline=true")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return melting.draw(tmp_path / "ice.png")


@pytest.fixture
def run(image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEMINI_API_KEY", GeminiServer.key)
    monkeypatch.setenv("OPENAI_API_KEY", OpenAIServer.key)

    def run(server: GeminiServer | OpenAIServer | None, *more: str) -> int:
        preset = "open" if isinstance(server, OpenAIServer) else "paper"
        url = ["--set", f"reasoner.base_url={server.url}"] if server else []
        return main(
            ["plan", "--image", str(image), "--prompt", melting.PROMPT, "--preset", preset, *url, *more]
        )

    return run


@pytest.mark.parametrize("kind", [GeminiServer, OpenAIServer])
def test_a_plan_its_progress_its_table_and_its_cost(
    run: Plan, capsys: pytest.CaptureFixture[str], kind: type[GeminiServer]
) -> None:
    with kind(melting.respond) as server:
        assert run(server) == 0
    shown = capsys.readouterr()
    for step in (
        "parse: 3 objects",
        "decompose: 3 events",
        "translate event 2: accepted",
        "instruct event 3: accepted",
    ):
        assert step in shown.err
    assert "puddle#3" in shown.out
    assert "keyframe 3: Replace the ice cube" in shown.out
    assert "Calls: 8 answered, 0 retries, 8000 tokens in, 1600 out" in shown.out
    chain = EventChain.load("plan.json")
    video = PUBLISHED["cogvideox-5b" if kind is GeminiServer else "ltx"]
    assert chain.num_frames == video.num_frames, "the preset's"
    assert chain.provenance["image"]["size"] == [video.width, video.height], "the fitted picture"
    assert len(chain.provenance["calls"]) == 8
    assert {"sha256", "size"} <= set(chain.provenance["image"])


def test_verbose_shows_what_the_model_saw_and_said(run: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    with GeminiServer(melting.respond) as server:
        run(server, "--verbose")
    shown = capsys.readouterr().err
    assert '<data name="user_prompt">' in shown
    assert '"category": "ice cube"' in shown
    assert "1 picture(s)" in shown


def test_offline_replays_the_stored_answers(run: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    with GeminiServer(melting.respond) as server:
        run(server, "-o", "live.json")
    assert run(None, *OFFLINE, "-o", "replayed.json", "--calls", "live.calls") == 0
    assert Path("replayed.json").read_bytes() == Path("live.json").read_bytes()
    assert run(None, *OFFLINE, "-o", "other.json") == 2
    assert "No stored answer" in capsys.readouterr().err


def test_a_budget_stops_and_what_there_is_stays(run: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    with GeminiServer(melting.respond) as server:
        assert run(server, "--budget", "0.0555") == 2
        shown = capsys.readouterr().err
        assert "budget of 0.0555 USD stops before the next call" in shown
        assert "Traceback" not in shown
        left = json.loads(Path("plan.unfinished.json").read_text())
        assert left["graph"]["nodes"][0]["id"] == "ice#1"
        assert not Path("plan.json").exists()
        made = len(server.asked)
        assert run(server, "--budget", "1") == 0
        assert len(server.asked) == 8 > made
    assert not Path("plan.unfinished.json").exists()


def test_an_ablations_plan_is_that_of_its_method(run: Plan) -> None:
    scenes = {"scenes": [{"description": "A puddle on a tray.", "fraction": 0.5}]}
    with GeminiServer(lambda asked: Answer(text=json.dumps(scenes))) as server:
        assert run(server, "--method", "physplan.prompt_derived") == 0
    assert EventChain.load("plan.json").graph.ids == ("scene#1",)


def test_an_edited_plan_is_verified_and_recomputed(run: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    with GeminiServer(melting.respond) as server:
        run(server)
    plan = json.loads(Path("plan.json").read_text())
    plan["events"][0]["delta"]["fraction"] = 0.1
    plan["events"][0]["edits"][1]["value"] = "frosted"
    Path("plan.json").write_text(json.dumps(plan))
    assert main(["plan", "--check", "plan.json", "-o", "new.json"]) == 0
    assert "event 1: recomputed: anchor, net_edits, graph" in capsys.readouterr().out
    new = EventChain.load("new.json")
    assert new.anchors == (5, 19, 31)
    assert new.events[2].graph.node("tray#2").attributes["surface"] == "frosted"


def test_an_edit_that_makes_the_plan_wrong_is_named(run: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    with GeminiServer(melting.respond) as server:
        run(server)
    plan = json.loads(Path("plan.json").read_text())
    plan["events"][0]["edits"][1]["o"] = "table#4"
    Path("plan.json").write_text(json.dumps(plan))
    assert main(["plan", "--check", "plan.json"]) != 0
    assert "(coverage)" in capsys.readouterr().err


def test_a_stale_instruction_is_written_anew(run: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    with GeminiServer(melting.respond) as server:
        run(server)
    plan = json.loads(Path("plan.json").read_text())
    del plan["events"][1:]
    plan["events"][0]["delta"]["states"].append({"object": "table#4", "state": "wet", "rule": "water flows"})
    plan["events"][0]["edits"].append({"op": "Update", "o": "table#4", "key": "surface", "value": "wet"})
    Path("plan.json").write_text(json.dumps(plan))
    assert main(["plan", "--check", "plan.json", "-o", "plan.json"]) == 0
    assert "instruction was rewritten" in capsys.readouterr().out
    assert "table" in (EventChain.load("plan.json").events[0].instruction or "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--image", "nowhere.png"], "There is no image at nowhere.png"),
        (["--image", "."], "is a folder"),
        (["--image", "text.png"], "is not a readable image"),
        (["--image", "cut.png"], "is not a readable image"),
        (["--image", "tiny.png"], "each side needs at least 16"),
        (["--image", "vast.png"], "megapixels or less"),
        (["--image", "heavy.png"], "larger than 30 MB"),
        (["--prompt", "  "], "The prompt is empty"),
        (["--prompt", "x" * 10_000], "has 10000 characters, the limit is 2000"),
        (["--prompt", "a\x1b[2Jb"], "control characters"),
        (["--frames", "1"], "1 frames cannot hold a plan"),
        (["--frames", "-5"], "video.num_frames is -5"),
        (["--set", "video.frames=5"], "There is no setting video.frames. Did you mean 'num_frames'"),
        (["--preset", "papr"], "Did you mean 'paper'"),
        (["--set", "reasoner.base_url=nonsense"], "must look like https://host/v1"),
        (["--budget", "-1"], "runtime.budget is -1.0: give a number from 0"),
        (["--budget", "nan"], "runtime.budget is nan: give a number from 0"),
        (["--set", "runtime.timeout=0"], "runtime.timeout is 0: give a number above 0, at most 3 600"),
        (["--set", "reasoner.temperature=warm"], "reasoner.temperature is 'warm'"),
        (
            ["--set", "reasoner.max_output_tokens=5"],
            "max_output_tokens is 5: give a whole number from 256",
        ),
        (["--image", "x" * 5000], "There is no image at"),
        (["-o", "."], "is a folder: give the plan a file name"),
        (["-o", "text.png/plan.json"], "cannot be written"),
        (["--set", "runtime.prices=nowhere.json"], "is not a price table"),
        (
            ["--stats", "plans"],
            "--stats is no option of physplan plan any more: use physplan evaluate checks",
        ),
        (["--offline"], "--offline is no option of physplan plan any more: use --set runtime.offline=true"),
        (["--check", "nowhere.json"], "cannot be read"),
    ],
)
def test_bad_input_is_one_sentence_and_no_call(
    run: Plan,
    image: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    Path("text.png").write_text("not an image")
    Path("cut.png").write_bytes(image.read_bytes()[:100])
    Image.new("RGB", (8, 8)).save("tiny.png")
    if "vast.png" in arguments:
        Image.new("1", (9000, 9000)).save("vast.png")
    if "heavy.png" in arguments:
        with Path("heavy.png").open("wb") as file:
            file.truncate(31_000_000)
    asked: list[Asked] = []
    with GeminiServer(lambda a: asked.append(a)) as server:
        assert run(server, *arguments) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert shown.startswith("physplan: ")
    assert len(shown.strip().splitlines()) == 1
    assert asked == []


def test_without_an_image_it_says_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan"]) == 2
    assert "needs --image FILE and --prompt TEXT" in capsys.readouterr().err


def test_without_a_key_it_says_which(
    run: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    assert run(None) == 2
    assert "set GEMINI_API_KEY" in capsys.readouterr().err
