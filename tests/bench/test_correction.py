"""Judge scores corrected by labels, and the scenes that a difference needs: coverage by simulation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan_bench.correction import correct, needed
from physplan_bench.records import Record, plain_records


def draw(rng: np.random.Generator, n: int, skill: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels of mean 3, and scores that are 0.8 too high."""
    labels = 3 + rng.normal(size=n)
    return labels, 3.8 + skill * (labels - 3) + np.sqrt(1 - skill**2) * rng.normal(size=n)


@pytest.mark.parametrize("skill", [0.9, 0.0])
def test_the_interval_covers_the_truth_and_a_good_judge_shortens_it(skill: float) -> None:
    rng = np.random.default_rng(1)
    covered, widths, alone = 0, [], []
    for _ in range(300):
        y, f = draw(rng, 30, skill)
        found = correct(y, f, draw(rng, 400, skill)[1])
        assert found.estimate.bounds
        assert found.labels_only.bounds
        covered += found.estimate.bounds[0] <= 3 <= found.estimate.bounds[1]
        widths.append(np.ptp(found.estimate.bounds))
        alone.append(np.ptp(found.labels_only.bounds))
    assert 0.91 < covered / 300 < 0.99
    ratio = np.mean(widths) / np.mean(alone)
    assert ratio < 0.6 if skill else 0.95 < ratio < 1.02


def test_the_estimate_is_the_formula() -> None:
    y, f, others = np.array([1.0, 0, 1, 1, 0]), np.array([1.0, 1, 1, 1, 0]), np.array([1.0, 1, 0, 1])
    found = correct(y, f, others, weight=1.0)
    assert found.estimate.value == pytest.approx(0.75 - 0.2)
    assert found.bias == pytest.approx(0.2)
    assert correct(y, f, others, weight=0.0).estimate.value == pytest.approx(0.6)
    with pytest.raises(PhysPlanError, match="too few"):
        correct(y[:3], f[:3], others)


def test_the_scenes_asked_for_have_the_power_promised() -> None:
    rng = np.random.default_rng(2)

    def study(scenes: int, seeds: int, gain: float) -> tuple[np.ndarray, list[int]]:
        true = gain + 20 * rng.normal(size=scenes)
        values = true[:, None] + 30 * rng.normal(size=(scenes, seeds))
        return values.ravel(), [scene for scene in range(scenes) for _ in range(seeds)]

    found = needed(*study(400, 3, 0.0), 10.0)
    assert found.between == pytest.approx(20, rel=0.15)
    assert found.within == pytest.approx(30, rel=0.1)
    asked = {seeds: scenes or 0 for seeds, scenes in found.scenes.items()}
    assert asked[1] > asked[3] > asked[5] > 0
    shown = 0
    for _ in range(400):
        means = study(asked[3], 3, 10.0)[0].reshape(-1, 3).mean(axis=1)
        shown += abs(means.mean()) > 1.96 * means.std(ddof=1) / np.sqrt(len(means))
    assert 0.74 < shown / 400 < 0.88
    equal = needed(np.full(8, 4.0), range(8), 10.0)
    assert equal.detectable is None
    assert set(equal.scenes.values()) == {None}


def test_the_commands_read_results_and_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    records = [
        Record(scene=str(i), method=m, score=float(100 * (rng.random() < p)))
        for i in range(40)
        for m, p in (("base", 0.3), ("sketch", 0.8))
    ]
    result, labels = tmp_path / "r.json", tmp_path / "labels.csv"
    result.write_text(json.dumps({"benchmark": "sandbox", "records": plain_records(records)}))
    rows = [f"{r.scene},{r.method},{r.score}" for r in records[:24]]
    labels.write_text("scene,method,label\n" + "\n".join(rows))
    assert main(["evaluate", "correct", str(result), "--labels", str(labels), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["methods"]
    assert found["sketch"]["bias"] == 0
    assert (found["base"]["labelled"], found["base"]["unlabelled"]) == (12, 28)
    assert main(["evaluate", "power", str(result), "--difference", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["methods"]["sketch"]["scenes"]["1"] > 40
    labels.write_text("scene,label\n1,good\n")
    assert main(["evaluate", "correct", str(result), "--labels", str(labels)]) != 0
    assert "row 2" in capsys.readouterr().err


def test_the_votes_of_a_study_correct_a_judges_preference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge prefers the first method too often; people voted on 20 of 80 prompts, in its file."""
    rng = np.random.default_rng(4)
    true = rng.random(80) < 0.6  # the first method is better
    judged = true | (rng.random(80) < 0.5)
    records = [
        Record(scene=str(i), method=m, score=score, prompt=f"Ball {i}, falls.", seed=seed)
        for i in range(80)
        for m, score in (("Ours", 1.0 + float(judged[i])), ("Base", 1.5))
        for seed in (0, 1)
    ]
    (tmp_path / "r.json").write_text(json.dumps({"records": plain_records(records)}))
    rows = [
        f'1,"ball {i} falls",,{criterion},Ours,Base,{"Ours" if true[i] else "Base"},A'
        for i in range(20)
        for criterion in ("plausibility", "quality")
        for _ in range(3)
    ]
    head = "participant,prompt,domain,criterion,first,second,chosen,side\n"
    (tmp_path / "votes.csv").write_text(head + "\n".join(rows))
    arguments = ["evaluate", "correct", str(tmp_path / "r.json"), "--votes", str(tmp_path / "votes.csv")]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["methods"]["Ours over Base"]
    assert (found["labelled"], found["unlabelled"]) == (20, 60)
    assert found["judge_only"] == pytest.approx(100 * judged.mean())
    assert found["labels_only"]["value"] == pytest.approx(100 * true[:20].mean())
    assert found["estimate"]["low"] < 100 * true.mean() < found["estimate"]["high"] < found["judge_only"]
    (tmp_path / "votes.csv").write_text(head + rows[0].replace("Base", "Other"))
    assert main(arguments) != 0
    assert "the result has Base, Ours" in capsys.readouterr().err
