"""VideoPhy-2: shares from the two files that its judge writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from physplan.cli import main

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
