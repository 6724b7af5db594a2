"""What people chose, as rates, scores and tables; from the server's votes and from saved files."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from study_people import METHODS

from physplan.errors import PhysPlanError
from physplan_bench.study.analysis import analyse, scores
from physplan_bench.study.assign import Pair
from physplan_bench.study.criteria import KEYS
from physplan_bench.study.design import Known, Prompt, Study, load_study
from physplan_bench.study.votes import Rater, counted, read_votes

RATES = {"plausibility": (0.76, 0.68), "quality": (0.63, 0.57), "smoothness": (0.77, 0.69)}  # the paper's
DOMAINS = ("Mechanics", "Optics", "Thermal", "Material")


@pytest.fixture(scope="module")
def paper() -> Study:
    """The paper's design: 40 prompts, two baselines, 60 people with 40 pairs each."""
    prompts = tuple(
        Prompt(
            prompt=f"prompt {i}", domain=DOMAINS[i % 4], frame="f.jpg", videos={m: f"{m}{i}" for m in METHODS}
        )
        for i in range(40)
    )
    return Study(
        id="s",
        title="t",
        seed=5,
        methods=METHODS,
        prompts=prompts,
        pairs=tuple(Pair(prompt=i, first=METHODS[0], second=m) for i in range(40) for m in METHODS[1:]),
        example=Known(prompt="e", frame="f.jpg", good="g", bad="b"),
        per_participant=40,
        participants=60,
    )


def vote_exactly(study: Study, rates: dict[str, tuple[float, ...]]) -> list[Rater]:
    """People whose votes have these rates to the vote: the rest are dealt to random trials."""
    trials = [(place, i) for place, hand in enumerate(study.hands) for i in range(len(hand))]
    chosen: dict[str, set[tuple[int, int]]] = {}
    for number, key in enumerate(KEYS):
        chosen[key] = set()
        for method, rate in zip(METHODS[1:], rates[key], strict=True):
            mine = [t for t in trials if study.pairs[study.hands[t[0]][t[1]].index].second == method]
            chosen[key] |= set(random.Random(number).sample(mine, round(rate * len(mine))))
    raters = []
    for place, hand in enumerate(study.hands):
        answers = [
            {key: "ab"[((place, i) not in chosen[key]) != trial.flipped] for key in KEYS}
            for i, trial in enumerate(hand)
        ]
        raters.append(Rater(name=f"p{place}", place=place, answers=answers, seconds=[9.0] * len(hand)))
    return raters


def test_the_papers_rates_come_out_of_votes_that_have_them(paper: Study) -> None:
    result = analyse(paper, vote_exactly(paper, RATES))
    assert result["votes"] == dict.fromkeys(KEYS, 2400)
    assert result["votes_per_pair"]["counts"] == [30] * 80
    for key, rates in RATES.items():
        for method, rate in zip(METHODS[1:], rates, strict=True):
            found = result["preference"][key][method]
            assert found["value"] == pytest.approx(rate)
            assert found["low"] < rate < found["high"]
            assert (found["votes"], found["wins"]) == (1200, round(1200 * rate))
            wilson = found["wilson"]
            assert wilson["high"] - wilson["low"] < 0.06
        pooled = result["preference"][key]["Pooled"]
        assert pooled["value"] == pytest.approx(sum(rates) / 2)
        assert pooled["p"] < 1e-20
        domains = [result["domains"][domain][key] for domain in DOMAINS]
        assert [rate["votes"] for rate in domains] == [600] * 4
        assert np.mean([rate["value"] for rate in domains]) == pytest.approx(pooled["value"])
        strength = result["bradley_terry"][key]
        odds = strength["PhysPlan"]["value"] - strength["Frame Guidance"]["value"]
        assert odds == pytest.approx(np.log(rates[1] / (1 - rates[1])), abs=0.01)
        assert strength["PhysPlan"]["low"] < strength["PhysPlan"]["value"] < strength["PhysPlan"]["high"]
        assert result["position"][key]["low"] < 0.5 < result["position"][key]["high"]
        assert abs(result["alpha"][key]) < 0.1 + (2 * pooled["value"] - 1) ** 2


def test_people_who_always_take_the_left_show_as_bias_and_not_as_preference(paper: Study) -> None:
    answers = [dict.fromkeys(KEYS, "a")] * 40
    raters = [Rater(name=str(i), place=i, answers=answers, seconds=[1.0] * 40) for i in range(60)]
    result = analyse(paper, raters)
    for key in KEYS:
        assert result["position"][key]["value"] == 1.0
        assert result["preference"][key]["Pooled"]["value"] == 0.5
        assert result["alpha"][key] < 0


def test_agreement_is_full_when_all_choose_the_same(paper: Study) -> None:
    everybody = vote_exactly(paper, dict.fromkeys(KEYS, (1.0, 0.0)))
    assert analyse(paper, everybody)["alpha"] == dict.fromkeys(KEYS, 1.0)


def test_who_did_not_finish_counts_unless_told_otherwise(paper: Study) -> None:
    first, second = vote_exactly(paper, RATES)[:2]
    left = Rater(name="x", place=1, answers=second.answers[:7], seconds=second.seconds[:7])
    assert analyse(paper, [first, left])["votes"]["quality"] == 47
    only = analyse(paper, [first, left], finished_only=True)
    assert (only["votes"]["quality"], only["participants"]["finished"]) == (40, 1)
    with pytest.raises(PhysPlanError, match="no vote"):
        analyse(paper, [left], finished_only=True)


def saved(study: Study, place: int, answer: dict[str, str], name: str) -> dict:
    votes = [{"choices": answer, "seconds": 3.5}] * len(study.hands[place])
    return {"study_votes": 1, "study": study.id, "participant": name, "place": place, "votes": votes}


def test_saved_files_are_read_checked_and_shown_in_every_format(
    made: Path, tmp_path: Path, study_command
) -> None:
    study = load_study(made)
    files = []
    for place, side in ((0, "a"), (1, "b")):
        files.append(tmp_path / f"votes-{place}.json")
        content = saved(study, place, dict.fromkeys(KEYS, side), f"{place:032x}")
        files[-1].write_text(json.dumps(content))
    options = ("--votes", *files)
    result = tmp_path / "result.json"
    arguments = (*options, "--reported", "-o", result, "--plot", tmp_path / "p.svg")
    code, out, err = study_command("analyse", made, *arguments, "--votes-csv", tmp_path / "votes.csv")
    assert code == 0, err
    assert "How often PhysPlan was preferred (%)" in out
    assert "reported" in out
    assert "76" in out
    content = json.loads(result.read_text())
    assert content["votes"] == dict.fromkeys(KEYS, 16)
    assert content["participants"]["passed_checks"] <= 1  # one of them took the damaged video
    assert (tmp_path / "p.svg").read_text().count("reported") > 2
    rows = list(csv.DictReader((tmp_path / "votes.csv").read_text().splitlines()))
    assert len(rows) == 48
    assert Counter(row["side"] for row in rows) == {"A": 24, "B": 24}
    assert not {f"{0:032x}", f"{1:032x}"} & {value for row in rows for value in row.values()}
    for format, sign in {"markdown": "|---|", "latex": r"\begin{table}", "csv": "Against,"}.items():
        code, out, _ = study_command("analyse", made, *options, "--format", format)
        assert code == 0
        assert sign in out
    code, out, _ = study_command("analyse", made, *options, "--json", "--passed-only")
    assert json.loads(out)["participants"]["counted"] == content["participants"]["passed_checks"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"study": "other"}, "another study"),
        ({"place": 99}, "no place 99"),
        ({"place": "1"}, "no place"),
        ({"votes": [{"choices": {"quality": "a"}, "seconds": 1}]}, "not an answer"),
        ({"votes": [{"choices": dict.fromkeys(KEYS, "c"), "seconds": 1}]}, "not an answer"),
        ({"votes": [{"choices": dict.fromkeys(KEYS, "a"), "seconds": 1}] * 99}, "99 answers"),
        ({"votes": [{"seconds": 1}]}, "not a file of votes"),
        ({"votes": None}, "not a file of votes"),
    ],
)
def test_a_file_that_the_page_did_not_save_is_refused(
    made: Path, tmp_path: Path, change: dict, sentence: str
) -> None:
    study = load_study(made)
    path = tmp_path / "v.json"
    path.write_text(json.dumps(saved(study, 0, dict.fromkeys(KEYS, "a"), "x") | change))
    with pytest.raises(PhysPlanError, match=sentence):
        read_votes(study, made, [path])


def test_the_same_file_twice_is_refused(made: Path, tmp_path: Path) -> None:
    study = load_study(made)
    path = tmp_path / "v.json"
    path.write_text(json.dumps(saved(study, 0, dict.fromkeys(KEYS, "a"), "x")))
    with pytest.raises(PhysPlanError, match="given twice"):
        read_votes(study, made, [path, path])


def test_attention_checks_are_no_votes(made: Path) -> None:
    study = load_study(made)
    answers = [dict.fromkeys(KEYS, "a")] * 9
    rater = Rater(name="x", place=0, answers=answers, seconds=[1.0] * 9)
    assert len(list(counted(study, [rater]))) == 8 * 3


def test_a_method_that_few_people_saw_has_a_score_without_an_interval(paper: Study) -> None:
    """Thirty people voted, three of them on the last method."""
    votes = [
        vote
        for vote in counted(paper, vote_exactly(paper, RATES)[:30])
        if vote.criterion == KEYS[0]
        and (paper.pairs[vote.pair].second != METHODS[-1] or vote.rater in ("p0", "p1", "p2"))
    ]
    found = scores(paper, votes)
    assert found[METHODS[-1]]["low"] is None
    assert found[METHODS[0]]["low"] < found[METHODS[0]]["value"] < found[METHODS[0]]["high"]
