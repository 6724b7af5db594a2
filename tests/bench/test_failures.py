"""Failure attribution: which videos, the guess, two raters, and the page they use."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from evaluation_videos import write_video
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.guidance.records import GuidanceResult, StepRecord, TermRecord
from physplan.runs import RunFolder
from physplan_bench.failures import STAGES
from physplan_bench.failures.agreement import agreement, lowest_third, resolve, shares_table
from physplan_bench.failures.guess import Measurements, first_guess
from physplan_bench.failures.page import FailedVideo, write_page
from physplan_bench.failures.runs import guess_of, measure_run


def test_the_lowest_third_of_198_is_66() -> None:
    scores = {f"{i:04d}": float((i * 37) % 198) for i in range(1, 199)}
    failed = lowest_third(scores)
    assert len(failed) == 66
    assert max(scores[name] for name in failed) < min(scores[n] for n in scores if n not in failed)


@pytest.mark.parametrize(
    ("measured", "stage", "reason"),
    [
        ({"rejected_edit_sets": 1, "objects_not_found": ["ice#1"]}, "Edits", "1 edit sets rejected"),
        ({"keyframe_faults": ["ice#1 is still there"], "keyframe_drift": [0.5]}, "Keyframe", "still there"),
        ({"keyframe_drift": [0.01, 0.2], "objects_not_found": ["a#1"]}, "Keyframe", "changes by 0.20"),
        (
            {"keyframe_drift": [0.01], "objects_not_found": ["nail#1 was not found in keyframe 1"]},
            "Localization",
            "nail#1",
        ),
        (
            {"terms": {"pos e1": (1.0, 0.9), "app e1": (1.0, 0.1)}},
            "Guidance",
            "still high at the end: pos e1",
        ),
        ({"terms": {"pos e1": (1.0, 0.1)}, "unmeasured_terms": ["x"]}, "Localization", "never measured: x"),
        ({"terms": {"pos e1": (1.0, 0.1)}, "regenerated_deltas": 2}, "Reasoning", "2 deltas"),
        ({"terms": {"pos e1": (1.0, 0.1)}}, "Reasoning", "the plan itself is suspect"),
    ],
)
def test_the_guess_is_the_first_stage_that_is_off(measured: dict, stage: str, reason: str) -> None:
    guess = first_guess(Measurements(**measured))
    assert guess.stage == stage
    assert reason in guess.reason


def test_kappa_is_cohens() -> None:
    first = dict(zip("abcdefghij", ["Keyframe"] * 5 + ["Guidance"] * 5, strict=True))
    second = dict(zip("abcdefghij", ["Keyframe"] * 4 + ["Guidance"] * 6, strict=True))
    found = agreement(first, second)
    assert found.share == 0.9
    assert found.kappa == pytest.approx((0.9 - 0.5) / 0.5)  # chance: 0.5 * 0.4 + 0.5 * 0.6
    assert found.disagreements == ("e",)
    assert agreement(first, first).kappa == 1
    constant = dict.fromkeys("abc", "Edits")
    assert agreement(constant, constant).kappa == 1
    with pytest.raises(PhysPlanError, match="different videos, such as j"):
        agreement(first, {name: stage for name, stage in second.items() if name != "j"})


def test_disagreements_are_settled_by_discussion() -> None:
    settled, left = resolve({"a": "Edits", "b": "Edits"}, {"a": "Edits", "b": "Guidance"}, {})
    assert (settled, left) == ({"a": "Edits"}, ["b"])
    settled, left = resolve({"a": "Edits", "b": "Edits"}, {"a": "Edits", "b": "Guidance"}, {"b": "Guidance"})
    assert (settled, left) == ({"a": "Edits", "b": "Guidance"}, [])


def test_each_row_of_shares_sums_to_100() -> None:
    rng = np.random.default_rng(0)
    names = [f"{i:04d}" for i in range(66)]
    attributions = {name: STAGES[rng.integers(5)] for name in names}
    categories = {name: ("Optics", "Magnetism", "Fluid Dynamics")[i % 3] for i, name in enumerate(names)}
    table = shares_table(attributions, categories)
    assert [row.label.split(" (")[0] for row in table.rows] == [
        "Fluid Dynamics",
        "Optics",
        "Magnetism",
        "All",
    ]
    for row in table.rows:
        assert sum(row.cells) == pytest.approx(100)


@pytest.fixture
def site(tmp_path: Path) -> dict[str, Path]:
    """A result of nine videos, three of them failed, with videos and a run folder."""
    scores = {
        f"{i:04d}": {"score": float(i), "category": "Optics" if i % 2 else "Magnetism", "scenario": f"s{i}"}
        for i in range(1, 10)
    }
    result = tmp_path / "iq.json"
    result.write_text(json.dumps({"videos": scores}))
    videos, runs = tmp_path / "videos", tmp_path / "runs"
    videos.mkdir()
    for i in range(1, 4):
        write_video(videos / f"{i:04d}_x.mp4", np.full((4, 16, 16, 3), 60 * i, np.uint8))
        keyframes = runs / f"{i:04d}" / "keyframes"
        keyframes.mkdir(parents=True)
        Image.new("RGB", (8, 8), "red").save(keyframes / "1.png")
        (runs / f"{i:04d}" / "keyframes.json").write_text(json.dumps([keyframe()]))
        notes = ["lamp#1 was not found in keyframe 1"] if i == 2 else []
        RunFolder(runs / f"{i:04d}").finish("evidence", "k", [], seconds=1.0, made_from={}, notes=notes)
        (runs / f"{i:04d}" / "losses.json").write_text(json.dumps(losses(1.0, 0.9)))
        plan = Path(__file__).parents[2] / "src" / "physplan" / "data" / "melting_ice.json"
        shutil.copy(plan, runs / f"{i:04d}" / "plan.json")
    return {"result": result, "videos": videos, "runs": runs, "root": tmp_path}


def keyframe(**more: object) -> dict:
    return {"event": 1, "instruction": "draw it", "attempts": 1, "drift": 0.01, "problems": []} | more


def losses(*values: float | None) -> dict:
    """As the guidance writes them: one term that is measured, and, after two values, one that never is."""
    moved = {"event": 0, "term": "position", "objects": ("ball#1",)}
    never = TermRecord(event=0, term="depth", objects=("cup#1", "ball#1"), value=None, skipped="no depth")
    steps = [
        StepRecord(
            step=i,
            repeat=0,
            stage="layout",
            terms=(TermRecord(**moved, value=value), *([never] if len(values) > 2 else [])),
            update_norm=1.0,
        )
        for i, value in enumerate(values)
    ]
    return GuidanceResult(latents=torch.zeros(1), steps=tuple(steps)).to_json()


def embedded(page: Path) -> dict:
    return json.loads(re.search(r"const data = (\{.*\});\n", page.read_text())[1])


def test_the_page_is_self_contained_and_hides_the_guess(site, evaluate_command) -> None:
    page = site["root"] / "rate.html"
    arguments = (
        "--result",
        site["result"],
        "--generated",
        site["videos"],
        "--runs",
        site["runs"],
        "--page",
        page,
    )
    code, out, err = evaluate_command("failures", *arguments)
    assert code == 0, err
    assert "3 failed videos" in out
    text = page.read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?:http|//)|https?://""", text)
    own = hashlib.sha256(re.search(r"<script>(.*)</script>", text, re.DOTALL)[1].encode()).digest()
    assert f"default-src 'none'; script-src 'sha256-{base64.b64encode(own).decode()}'" in text
    assert text.count("<script") == 1
    data = embedded(page)
    assert [video["name"] for video in data["videos"]] == ["0001", "0002", "0003"]
    assert data["videos"][0]["video"].startswith("data:video/mp4;base64,")
    assert data["videos"][0]["keyframes"][0].startswith("data:image/png;base64,")
    assert len(data["videos"][0]["events"]) == 3
    assert "Frame 14" in data["videos"][0]["events"][0]
    assert data["videos"][0]["guess"] is None
    evaluate_command("failures", *arguments, "--show-guesses")
    assert embedded(page)["videos"][1]["guess"] == {
        "stage": "Localization",
        "reason": "lamp#1 was not found in keyframe 1",
    }


def test_text_on_the_page_cannot_end_the_script(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script><!--"
    write_page(
        [FailedVideo(name="1", category="c", score=1.0, description=hostile)],
        tmp_path / "p.html",
        title=hostile,
    )
    text = (tmp_path / "p.html").read_text()
    assert text.count("</script>") == 1
    assert embedded(tmp_path / "p.html")["videos"][0]["description"] == hostile


NODE = shutil.which("node")

BROWSER = """
// just enough of a browser: elements, events, storage
const made = {}, listeners = {}, downloads = [];
class Node {
  constructor(tag) { this.tagName = tag.toUpperCase(); this.children = []; this.style = {}; }
  append(...c) { this.children.push(...c); }
  replaceChildren(...c) { this.children = c; }
  focus() { this.focused = true; }
  click() { downloads.push(this); }
}
globalThis.document = {
  createElement: tag => new Node(tag),
  getElementById: id => (made[id] ||= new Node("div")),
  addEventListener: (name, f) => { listeners[name] = f; },
};
const saved = {};
globalThis.localStorage = { getItem: k => saved[k] ?? null, setItem: (k, v) => { saved[k] = v; } };
globalThis.Blob = class { constructor(parts) { this.text = parts.join(""); } };
globalThis.URL = { createObjectURL: blob => blob.text };
"""
DRIVE = """
const key = k => listeners.keydown({ key: k, target: { tagName: "BODY" }, preventDefault() {} });
made.save.onclick();                       // no name yet: nothing is saved, the field is shown
const early = downloads.length;
made.rater.oninput({ target: { value: "ann" } });
key("3"); key("ArrowRight"); key("5"); key("ArrowRight"); key("ArrowRight"); key("1");
made.save.onclick();
console.log(JSON.stringify({ early, focused: made.rater.focused, place: made.place.textContent,
  name: downloads[0].download, ratings: JSON.parse(downloads[0].href) }));
"""


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_pages_script_rates_moves_and_saves(site, evaluate_command, tmp_path: Path) -> None:
    page = site["root"] / "rate.html"
    evaluate_command("failures", "--result", site["result"], "--page", page)
    script = re.search(r"<script>\n(.*)</script>", page.read_text(), re.DOTALL)[1]
    program = tmp_path / "page.js"
    program.write_text(BROWSER + script + DRIVE)
    output = json.loads(
        subprocess.run([NODE, str(program)], capture_output=True, text=True, check=True).stdout
    )
    assert output["early"] == 0
    assert output["focused"] is True
    assert output["place"] == "3 of 3 · 3 rated"
    assert output["name"] == "ratings-ann.json"
    stages = {name: rating["stage"] for name, rating in output["ratings"]["ratings"].items()}
    assert stages == {"0001": "Keyframe", "0002": "Guidance", "0003": "Reasoning"}


def save(path: Path, **stages: str) -> Path:
    path.write_text(json.dumps({"rater": "x", "ratings": {k[1:]: {"stage": v} for k, v in stages.items()}}))
    return path


def test_the_command_compares_two_raters(site, evaluate_command) -> None:
    root = site["root"]
    one = save(root / "a.json", v0001="Keyframe", v0002="Guidance", v0003="Guidance")
    two = save(root / "b.json", v0001="Keyframe", v0002="Localization", v0003="Guidance")
    code, out, err = evaluate_command("failures", "--result", site["result"], "--ratings", one, two)
    assert code == 0, err
    assert "agreement 67%" in out
    assert "Still to be discussed: 0002" in out
    final = save(root / "c.json", v0002="Localization")
    code, out, _ = evaluate_command(
        "failures", "--result", site["result"], "--ratings", one, two, "--resolved", final, "--json"
    )
    result = json.loads(out)
    assert result["unresolved"] == []
    assert result["attributions"]["0002"] == "Localization"
    wrong = save(root / "d.json", v0001="Keyframes", v0002="Guidance", v0003="Guidance")
    code, _, err = evaluate_command("failures", "--result", site["result"], "--ratings", one, wrong)
    assert code == 2
    assert "Did you mean 'Keyframe'?" in err


def test_the_command_shows_the_guesses(site, evaluate_command) -> None:
    code, out, err = evaluate_command(
        "failures", "--result", site["result"], "--runs", site["runs"], "--reported"
    )
    assert code == 0, err
    assert "Guessed from what 3 of 3 failed runs measured" in out
    assert "reported" in out
    code, _, err = evaluate_command("failures", "--result", site["result"])
    assert code == 2
    assert "Give --study or --page" in err


def test_a_run_folder_is_read_as_the_pipeline_writes_it(tmp_path: Path) -> None:
    assert measure_run(tmp_path) is None
    checks = [
        {"event": 1, "generation": 0, "attempt": 1, "violations": [{"check": "coverage", "message": "m"}]},
        {"event": 1, "generation": 1, "attempt": 1, "violations": []},
        {"event": 2, "generation": 0, "attempt": 1, "violations": []},
    ]
    (tmp_path / "plan.json").write_text(json.dumps({"events": [], "provenance": {"checks": checks}}))
    keyframes = [keyframe(drift=0.2, problems=["ice#1 is still there"])]
    (tmp_path / "keyframes.json").write_text(json.dumps(keyframes))
    (tmp_path / "losses.json").write_text(json.dumps(losses(1.0, None, 0.25)))
    measured = measure_run(tmp_path)
    assert measured.regenerated_deltas == 1
    assert measured.keyframe_faults == ["ice#1 is still there"]
    assert measured.terms == {"position of ball#1 at event 1": (1.0, 0.25)}
    assert measured.unmeasured_terms == ["depth of cup#1, ball#1 at event 1"]
    assert guess_of(tmp_path).stage == "Keyframe"
    (tmp_path / "plan.unfinished.json").write_text(
        json.dumps({"unfinished": "rejected", "provenance": {"checks": []}})
    )
    assert guess_of(tmp_path).stage == "Edits"
    (tmp_path / "losses.json").write_text("{")
    with pytest.raises(PhysPlanError, match=r"losses.json cannot be used"):
        measure_run(tmp_path)
