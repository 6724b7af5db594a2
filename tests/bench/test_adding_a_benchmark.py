"""The steps of docs/evaluation.md, "Add a benchmark", followed to the letter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from evaluation_videos import write_video

import physplan_bench
import physplan_bench.cli.evaluate

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")


@pytest.fixture
def brightness(tmp_path: Path, monkeypatch) -> None:
    section = PAGE.partition("## Add a benchmark")[2].partition("\n## ")[0]
    files = re.findall(r"`src/physplan_bench/(.+?)\.py`", section)
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert files == ["brightness", "cli/evaluate/brightness", "cli/evaluate/__init__"]
    packages = (physplan_bench, physplan_bench.cli.evaluate)
    for package, name, text in zip(packages, files[:2], blocks, strict=True):
        path = tmp_path / "src" / f"{name}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(path.parent)])
    known = physplan_bench.cli.evaluate.BENCHMARKS
    monkeypatch.setattr(physplan_bench.cli.evaluate, "BENCHMARKS", (*known, "brightness"))


@pytest.mark.usefixtures("brightness")
def test_a_benchmark_of_three_files_has_all_that_the_others_have(evaluate_command, tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    for value in (50, 150):
        write_video(videos / f"{value}.mp4", np.full((4, 32, 32, 3), value, np.uint8))
    code, out, err = evaluate_command("brightness", videos, "-o", tmp_path / "result.json", "--label", "ours")
    assert code == 0, err
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["benchmark"] == "brightness"
    assert result["brightness"] == pytest.approx(100, abs=2)
    assert f"ours  {result['brightness']:8.1f}".split() in [line.split() for line in out.splitlines()]
    _, out, _ = evaluate_command("brightness", videos, "--shard", "1/2", "--work", tmp_path / "result.cases")
    assert "1 of 2 cases are done" in out
    _, out, _ = evaluate_command("status", tmp_path / "result.cases")
    assert "2 of 2 cases done" in out
    code, _, err = evaluate_command("brightness", videos, "--reported")
    assert code == 2
    assert "The paper has no figures" in err
