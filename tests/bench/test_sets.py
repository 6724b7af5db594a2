"""A set: what its file may say, how it goes on, what it may spend, and old videos judged anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from physplan import PhysPlan
from physplan.calls.ledger import Ledger
from physplan.errors import PhysPlanError
from physplan_bench.sets import run as running
from physplan_bench.sets.equal_time import equal_count
from physplan_bench.sets.file import read_set
from physplan_bench.sets.parts import parts_of
from physplan_bench.sets.run import run_parts
from physplan_sandbox.world.phenomena import scene
from physplan_testing.loopback import Answer, OpenAIServer

SET = """
presets: [sandbox]
methods: [best_of_n@sketch, base, sketch]
seeds: [0, 1]
benchmarks:
  phyground: {data: pg, judge: gemini:x}
"""


def test_parts_are_all_combinations_with_best_of_n_last(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(SET)
    parts = parts_of(read_set(tmp_path / "set.yaml"), tmp_path)
    assert [(one.method, one.seed) for one in parts] == [
        *(("base", 0), ("base", 1), ("sketch", 0), ("sketch", 1)),
        *(("best_of_n@sketch", 0), ("best_of_n@sketch", 1)),
    ]
    make, score = parts[4].commands(["--workers", "2", "--ray", "local"], count=4)
    assert make[make.index("--method") + 1] == "best_of_n"
    assert "best_of_n.count=4" in make
    assert "--judge" not in make
    assert "--generate" not in score
    assert all("--ray local" in " ".join(command) for command in (make, score))
    assert len({one.folder for one in parts}) == 6
    shared = {one.commands()[0][one.commands()[0].index("--shared") + 1] for one in parts}
    assert len(shared) == 1  # a plan is paid once for all methods and seeds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("benchmarks:", "marks:"), "names no benchmarks"),
        (("phyground:", "vbench:"), "makes no videos"),
        (("judge: gemini:x", "seed: 3"), "does not choose 'seed'"),
        (("judge: gemini:x", "budge: 1000"), "does not choose 'budge'"),  # argparse takes it for --budget
        (("judge: gemini:x", "'set=runtime.allow_hosts=[a]': true"), "does not choose"),
        (("judge: gemini:x", "set: 'runtime.allow_hosts=[a]'"), "sets runtime.allow_hosts"),
        (("judge: gemini:x", "set: ' runtime.allow_hosts=[a]'"), "sets runtime.allow_hosts"),
        (("judge: gemini:x", "set: 'runtime={allow_hosts: [a]}'"), "sets runtime.allow_hosts"),
        (("judge: gemini:x", "judge: ['gemini:x', '--set=runtime.allow_hosts=[a]']"), "not a value"),
        (("judge: gemini:x", "judge: 'openai:x@https://far.example/v1'"), "a key may not be sent"),
        (("judge: gemini:x", "judge: 'openai:x@HTTPS://far.example/v1'"), "a key may not be sent"),
        (("judge: gemini:x", "judge: 'openai:x@http://10.0.0.7/v1'"), "a key may not be sent"),
        (("[sandbox]", "['--set=runtime.allow_hosts=[a]']"), "not a name"),
        (("[sandbox]", "['mine:load']"), "would run code"),
        (("base, sketch", "sketch"), "with both METHOD and base"),
        (("[0, 1]", "[-1]"), "seeds are a list"),
        (("seeds:", "budget: many\nseeds:"), "not a number of USD"),
    ],
)
def test_a_file_that_says_too_much_or_too_little_is_refused(
    change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "set.yaml").write_text(SET.replace(*change))
    with pytest.raises(PhysPlanError, match=said):
        read_set(tmp_path / "set.yaml")


def test_a_wrong_option_is_said_before_anything_is_made(tmp_path: Path, evaluate_command) -> None:
    (tmp_path / "set.yaml").write_text(SET.replace("judge: gemini:x", "jugde: gemini:x"))
    code, _, error = evaluate_command("set", tmp_path / "set.yaml", "--work", tmp_path / "work")
    assert code == 2
    assert "phyground: a set does not choose 'jugde'. Did you mean 'judge'?" in error
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(("method", "base", "count"), [(10.0, 3.0, 3), (9.0, 3.0, 3), (1.0, 3.0, 1)])
def test_n_is_what_fits_into_the_methods_time(method: float, base: float, count: int) -> None:
    assert equal_count(method, base) == count


def test_one_budget_holds_over_all_parts_and_a_stopped_set_goes_on(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(SET.replace("best_of_n@sketch, ", ""))
    parts = parts_of(read_set(tmp_path / "set.yaml"), tmp_path / "work")
    asked: list[float] = []
    told: list[str] = []

    def pays(arguments: Any) -> int:
        """0.3 USD for the videos of a part, nothing for its judge; stopped in the second part."""
        asked.append(float(arguments[arguments.index("--budget") + 1]))
        folder = Path(arguments[arguments.index("--videos") + 1]).parent
        if "--generate" not in arguments:
            (folder / "result.json").write_text("{}")
            return 0
        path = folder / "videos.cases" / "ledger.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            given = {"purpose": "plan", "provider": "gemini", "model": "m", "attempt": 1}
            Ledger(path).begin(key="k", worst_usd=0.3, **given)  # type: ignore[arg-type]
        if len(asked) == 3:
            raise KeyboardInterrupt
        return 0

    with pytest.raises(KeyboardInterrupt):
        run_parts(parts, pays, budget=0.8, tell=told.append)
    assert asked == pytest.approx([0.8, 0.5, 0.5])
    with pytest.raises(PhysPlanError, match=r"budget of 0\.8 USD is spent"):
        run_parts(parts, pays, budget=0.8, tell=told.append)
    assert asked[3:] == pytest.approx([0.5, 0.2, 0.2])  # its own 0.3 are in its own ledger
    assert running.spent(parts) == pytest.approx(0.9)  # the third part began below the budget
    assert sum("done before" in line for line in told) == 1


def test_old_runs_are_judged_anew_without_making_them(tmp_path: Path, evaluate_command, monkeypatch) -> None:
    pp = PhysPlan.from_preset("sandbox")
    picture = Image.fromarray(scene("validation", 200).render().frames[0])
    run = tmp_path / "runs" / "ball"
    pp.generate(picture, "the ball drops", method="storyboard", output_dir=run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    entries = [{"number": i, "answer": "no", "reason": "so"} for i in range(1, 20)]
    with OpenAIServer(lambda asked: Answer(text=json.dumps({"answers": entries}))) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        arguments = ("rescore", tmp_path / "runs", "--judge", f"server:x@{server.url}")
        code, out, error = evaluate_command(*arguments, "-o", tmp_path / "again.json")
    assert code == 0, error
    assert "storyboard" in out
    (record,) = json.loads((tmp_path / "again.json").read_text())["records"]
    assert record["verdict"] == record["values"]["before"]
    assert record["values"]["judge"] == 0
    assert record["score"] == pytest.approx(json.loads((run / "verdict.json").read_text())["score"], abs=1e-3)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_a_set_of_the_sandbox_makes_one_page_and_is_not_done_twice(tmp_path: Path, evaluate_command) -> None:
    (tmp_path / "set.yaml").write_text(
        "methods: [base, sketch, best_of_n@sketch]\nbenchmarks:\n  sandbox: {scenes: 2}\n"
    )
    arguments = ("set", tmp_path / "set.yaml", "--work", tmp_path / "work", "--page", tmp_path / "page")
    code, out, error = evaluate_command(*arguments)
    assert code == 0, error
    assert "sandbox: best_of_n@sketch" in out
    result = json.loads((tmp_path / "page" / "result.json").read_text())
    methods = {record["method"] for record in result["records"]}
    assert {"base", "sketch"} < methods
    assert any(name.startswith("best_of_n:") for name in methods)
    assert (tmp_path / "page" / "index.html").is_file()
    _, _, error = evaluate_command(*arguments)
    assert error.count("done before") == 3
