"""VideoPhy-2: shares from the two files that its judge writes, or from a judge behind a server."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from evaluation_videos import write_video

from physplan.cli import main
from physplan_bench.videophy2_judge import segment_frames
from physplan_testing.loopback import Answer, Asked, OpenAIServer

CAPTIONS = [f"A ball, thrown {i} times, lands; it rolls." for i in range(10)]
SA = [5, 5, 4, 4, 3, 5, 2, 4, 5, 1]
PC = [4, 3, 4, 5, 5, 2, 2, 4, 4, 4]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, scores in (("sa", SA), ("pc", PC)):
        numbered = enumerate(zip(CAPTIONS, scores, strict=True))
        rows = [f'{i},"{c}","examples/v,_{i}.mp4",{score}.0' for i, (c, score) in numbered]
        (tmp_path / f"{name}.csv").write_text(",caption,videopath,score\n" + "\n".join(rows) + "\n")
    rows = [f'"{c}",{int(i < 4)}' for i, c in enumerate(CAPTIONS)]
    (tmp_path / "prompts.csv").write_text("caption,is_hard\n" + "\n".join(rows) + "\n")
    return ["evaluate", "videophy2", "--sa", str(tmp_path / "sa.csv"), "--pc", str(tmp_path / "pc.csv")]


def test_joint_needs_both_to_be_high(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*files, "--prompts", str(tmp_path / "prompts.csv"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    whole, hard = result["parts"]["all"], result["parts"]["hard"]
    assert [whole[k]["value"] for k in ("sa", "pc", "joint")] == pytest.approx([70, 70, 50])
    assert (hard["videos"], hard["joint"]["value"]) == (4, pytest.approx(75))
    assert {r["scene"]: r.get("failure") for r in result["records"]}["v,_1.mp4"] == "physical commonsense"


def test_files_that_do_not_fit_are_refused(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (tmp_path / "pc.csv").read_text()
    (tmp_path / "pc.csv").write_text(text.replace("v,_3.mp4", "v,_33.mp4"))
    assert main(files) != 0
    assert "do not score the same videos" in capsys.readouterr().err
    (tmp_path / "pc.csv").write_text(text.replace(",3.0\n", ",7\n"))
    assert main(files) != 0
    assert "not 1 to 5" in capsys.readouterr().err


def test_an_answer_that_autoeval_did_not_read_counts_as_low(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The official code writes 0 there; video 0 was good on both."""
    text = (tmp_path / "pc.csv").read_text()
    (tmp_path / "pc.csv").write_text(text.replace('examples/v,_0.mp4",4.0', 'examples/v,_0.mp4",0.0'))
    assert main([*files, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["parts"]["all"]["joint"]["value"] == pytest.approx(40)
    assert "1 answers held no number" in printed.err


def test_frames_are_taken_one_segment_apart() -> None:
    """Of 65 frames every second, from half a segment on; a video shorter than the count repeats frames."""
    assert [int(f) for f in segment_frames(np.arange(65), 32)] == list(range(1, 65, 2))
    assert [int(f) for f in segment_frames(np.arange(3), 4)] == [0, 0, 1, 2]


def test_a_judge_behind_a_server_is_asked_in_the_benchmarks_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The template is read as text: what else stands in it does not run."""
    (tmp_path / "template.py").write_text(
        'open("ran", "w")\nPROMPT_SA = (\n    "Talk.\\nHuman: <|video|>\\n"\n'
        '    "Human: Does it match \\"{caption}\\"?\\nAI: "\n)\n'
        'PROMPT_PHYSICS = "Human: <|video|>\\nHuman: Is it physical?\\nAI: "\n'
    )
    rows = [f'"{caption}",v{i}.mp4' for i, caption in enumerate(CAPTIONS[:3])]
    (tmp_path / "in.csv").write_text("caption,videopath\n" + "\n".join(rows) + "\n")
    (tmp_path / "prompts.csv").write_text(
        "caption,is_hard\n" + "\n".join(f'"{c}",{int(i == 0)}' for i, c in enumerate(CAPTIONS))
    )
    for i in range(3):
        write_video(tmp_path / f"v{i}.mp4", np.full((12, 48, 64, 3), 60 * i, np.uint8))

    def answer(asked: Asked) -> Answer:
        if asked.text.startswith("Is it physical?"):
            return Answer(text="5")
        return Answer(text="none of it, 7" if "thrown 2 times" in asked.text else "The score is 4.")

    with OpenAIServer(answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        arguments = ["evaluate", "videophy2", "--videos", str(tmp_path / "in.csv"), "--frames", "4"]
        arguments += ["--judge", f"server:autoeval@{server.url}", "--template", str(tmp_path / "template.py")]
        arguments += ["--prompts", str(tmp_path / "prompts.csv"), "-o", str(tmp_path / "out.json")]
        assert main(arguments) == 0
        texts = {asked.text for asked in server.asked}
        assert f'Does it match "{CAPTIONS[1]}"?' in texts
        assert all(len(asked.images) == 4 for asked in server.asked)
        assert len(server.asked) == 8  # two of each video, and two more for the answer without a number
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["parts"]["all"]["joint"]["value"] == pytest.approx(200 / 3)
    assert result["parts"]["hard"]["videos"] == 1
    assert "1 answers held no number" in capsys.readouterr().err
    assert not Path("ran").exists()
