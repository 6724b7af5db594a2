"""Physics-IQ from files: what is refused, and what comes out of a (small) copy of the benchmark."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from evaluation_videos import write_video

from physplan.errors import PhysPlanError
from physplan_bench.physics_iq import compare, mean_metrics, motion_masks, physics_iq_score
from physplan_bench.physics_iq.benchmark import PhysicsIQ, PhysicsIQConfig, data_warnings
from physplan_bench.physics_iq.dataset import check_generated, load_videos, read_descriptions
from physplan_bench.physics_iq.masks import iter_motion_masks, lossy_round_trip, resize_masks
from physplan_bench.physics_iq.prompts import fill
from physplan_bench.physics_iq.score import official_variance
from physplan_bench.videos import read_video

FPS = 4
COUNTS = {"Solid Mechanics": 114, "Fluid Dynamics": 45, "Optics": 24, "Thermodynamics": 9, "Magnetism": 6}
VIEWS = ("perspective-left", "perspective-center", "perspective-right")


def square(shift: int, *, frames: int = 20) -> np.ndarray:
    video = np.full((frames, 48, 64, 3), 80, np.uint8)
    for t in range(frames):
        x = 4 + t * 40 // frames
        video[t, 10 + shift : 26 + shift, x : x + 16] = (230, 200, 90)
    return video


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory) -> dict[str, Path]:
    """A copy with real names and counts, made of four different videos (hard links keep it quick)."""
    root = tmp_path_factory.mktemp("physics-iq")
    videos = {
        shift: write_video(root / f"shift{shift}.mp4", square(shift), fps=FPS) for shift in (0, 2, 4, 8)
    }
    generated, real = root / "generated", root / "bench" / "split-videos" / "testing-videos" / f"{FPS}FPS"
    generated.mkdir()
    real.mkdir(parents=True)
    categories = [category for category, count in COUNTS.items() for _ in range(count)]
    rows = []
    for take in (1, 2):
        for i, category in enumerate(categories):
            number, scenario, view = i + 1 + 198 * (take - 1), f"trimmed-scene-{i // 3:02d}", VIEWS[i % 3]
            rows.append(
                {
                    "scenario": f"{number:04d}_{view}_take-{take}_{scenario}.mp4",
                    "description": "Something happens, and the camera is static.",
                    "category": category,
                    "generated_video_name": f"{number:04d}_{view}_{scenario}.mp4",
                }
            )
            name = f"{number:04d}_testing-videos_{FPS}FPS_{view}_take-{take}_{scenario}.mp4"
            os.link(videos[0 if take == 1 else 2], real / name)
            if take == 1:
                shift = {"Solid Mechanics": 4, "Fluid Dynamics": 0, "Optics": 8}.get(category, 4)
                os.link(videos[shift], generated / f"{number:04d}_{view}_{scenario}.mp4")
    descriptions = root / "descriptions.csv"
    with descriptions.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return {"generated": generated, "real": root / "bench", "descriptions": descriptions, "root": root}


@pytest.fixture
def generated(benchmark, tmp_path: Path) -> Path:
    """A folder of the 198 videos that a test may spoil."""
    folder = tmp_path / "generated"
    folder.mkdir()
    for path in benchmark["generated"].iterdir():
        os.link(path, folder / path.name)
    return folder


def pick(folder: Path, number: int) -> Path:
    return next(folder.glob(f"{number:04d}_*"))


def replace_all(folder: Path, frames: np.ndarray, *, fps: int) -> None:
    video = write_video(folder.parent / "other.mp4", frames, fps=fps)
    for path in list(folder.iterdir()):
        path.unlink()
        os.link(video, path)


def test_197_videos_are_refused(generated: Path) -> None:
    pick(generated, 42).unlink()
    with pytest.raises(PhysPlanError, match=r"holds 197 videos \(.mp4\), not 198; missing: 0042\."):
        check_generated(generated)


def test_a_wrong_name_is_refused(generated: Path) -> None:
    pick(generated, 42).rename(generated / "ball.mp4")
    with pytest.raises(PhysPlanError, match=r"ball.mp4 has no id in front of its name"):
        check_generated(generated)


def test_an_id_out_of_range_is_refused(generated: Path) -> None:
    pick(generated, 42).rename(generated / "0242_ball.mp4")
    with pytest.raises(PhysPlanError, match="has the id 0242, which is not 0001 to 0198"):
        check_generated(generated)


def test_an_id_that_occurs_twice_is_refused(generated: Path) -> None:
    pick(generated, 42).rename(generated / "0041_again.mp4")
    with pytest.raises(PhysPlanError, match="has the id 0041 2 times"):
        check_generated(generated)


def test_a_wrong_frame_rate_is_refused(generated: Path) -> None:
    pick(generated, 42).unlink()
    write_video(generated / "0042_fast.mp4", square(0, frames=30), fps=6)
    with pytest.raises(PhysPlanError, match=r"0042_fast.mp4 has 6 frames a second, the others have 4"):
        check_generated(generated)


def test_a_video_of_4_9_seconds_is_refused(generated: Path) -> None:
    replace_all(generated, square(0, frames=50), fps=10)
    pick(generated, 42).unlink()
    write_video(generated / "0042_short.mp4", square(0, frames=49), fps=10)
    with pytest.raises(PhysPlanError, match=r"0042_short.mp4 lasts 4.900 s, not 5 s"):
        check_generated(generated)


def test_a_file_that_is_no_video_is_refused(generated: Path) -> None:
    path = pick(generated, 42)
    path.unlink()
    path.write_text("not a video")
    with pytest.raises(PhysPlanError, match=r"cannot be read as a video"):
        check_generated(generated)


def test_every_fault_gets_its_own_sentence_up_to_a_limit(generated: Path) -> None:
    for number in range(1, 12):
        pick(generated, number).unlink()
        write_video(generated / f"{number:04d}_short.mp4", square(0, frames=18), fps=FPS)
    with pytest.raises(PhysPlanError) as caught:
        check_generated(generated)
    lines = str(caught.value).splitlines()
    assert len(lines) == 9
    assert all("lasts 4.500 s" in line for line in lines[:8])
    assert lines[8] == "And 3 more faults like these."


def test_real_videos_of_another_frame_rate_are_refused(benchmark, generated: Path) -> None:
    replace_all(generated, square(0, frames=40), fps=8)
    with pytest.raises(PhysPlanError, match=r"has 4 frames a second, the generated videos have 8"):
        load_videos(
            generated, benchmark["real"] / "split-videos/testing-videos/4FPS", benchmark["descriptions"]
        )


def test_a_missing_take_is_named(benchmark, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    for path in (benchmark["real"] / "split-videos/testing-videos/4FPS").iterdir():
        if not path.name.startswith("0240_"):
            os.link(path, real / path.name)
    with pytest.raises(PhysPlanError, match=r"lacks take 2 of 0042 \(trimmed-scene-13, perspective-right\)"):
        load_videos(benchmark["generated"], real, benchmark["descriptions"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "lacks the column"),
        (
            "scenario,description,category,generated_video_name\nx.mp4,d,Optics,y.mp4\n",
            "row 2: 'x.mp4' is not",
        ),
        (
            "scenario,description,category,generated_video_name\n0001_perspective-left_take-1_a.mp4,d,Magic,y.mp4\n",
            "there is no category 'Magic'",
        ),
        (
            "scenario,description,category,generated_video_name\n0001_perspective-left_take-1_a.mp4,d,Optics,y.mp4\n",
            "holds 1 rows, not 198",
        ),
    ],
)
def test_wrong_descriptions_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "descriptions.csv"
    path.write_text(text)
    with pytest.raises(PhysPlanError, match=message):
        read_descriptions(path)


def test_the_command_scores_the_whole_benchmark(benchmark, evaluate_command, tmp_path: Path) -> None:
    output, plot = tmp_path / "iq.json", tmp_path / "iq.svg"
    (benchmark["generated"] / "generation.json").write_text('{"settings": {"seed": 3}}')
    arguments = ("--generated", benchmark["generated"], "--real", benchmark["real"])
    arguments += ("--descriptions", benchmark["descriptions"], "-o", output, "--exact")
    code, out, _ = evaluate_command("physics-iq", *arguments, "--plot", plot, "--label", "ours")
    assert code == 0
    result = json.loads(output.read_text())

    # independently, from the four videos that all files are links to
    at_size = {}
    for shift in (0, 2, 4, 8):
        video = read_video(benchmark["root"] / f"shift{shift}.mp4")
        import cv2

        at_size[shift] = (
            np.stack([cv2.resize(f, (16, 12)) for f in video]),
            motion_masks(video, size=(16, 12)),
        )
    variance = compare(*at_size[0], *at_size[2])
    per_shift = {shift: compare(*at_size[0], *at_size[shift]) for shift in (0, 4, 8)}
    shifts = [4] * 114 + [0] * 45 + [8] * 24 + [4] * 15
    overall = physics_iq_score(mean_metrics([per_shift[s] for s in shifts]), variance)
    assert result["unclipped_score"] == pytest.approx(overall, abs=1e-6)
    assert result["score"] == round(overall, 2)
    assert np.mean([video["score"] for video in result["videos"].values()]) == pytest.approx(
        overall, abs=1e-6
    )
    assert {name: group["count"] for name, group in result["categories"].items()} == COUNTS
    optics = physics_iq_score(per_shift[8], variance)
    assert result["categories"]["Optics"]["unclipped_score"] == pytest.approx(optics, abs=1e-6)
    assert result["categories"]["Fluid Dynamics"]["score"] == 100
    assert result["interval"]["low"] < overall < result["interval"]["high"]
    assert result["provenance"]["protocol"] == "physics-iq original"
    assert result["provenance"]["versions"]["physplan"]
    assert result["generation"] == {"settings": {"seed": 3}}
    assert "ours" in out
    assert plot.read_text().startswith("<?xml")

    # the Verified protocol reuses every measurement, and only the score differs
    before = {p: p.stat().st_mtime_ns for p in output.with_suffix(".cases").glob("cases/*/result.json")}
    code, out, _ = evaluate_command("physics-iq", *arguments, "--protocol", "verified", "--json")
    assert json.loads(out)["provenance"]["protocol"] == "physics-iq verified"
    assert json.loads(out)["score"] != result["score"]
    assert {
        p: p.stat().st_mtime_ns for p in output.with_suffix(".cases").glob("cases/*/result.json")
    } == before
    assert len(before) == 198


def test_the_default_is_the_official_number_and_only_that_stands_beside_the_papers(
    benchmark, evaluate_command
) -> None:
    import cv2

    arguments = ("--generated", benchmark["generated"], "--real", benchmark["real"])
    arguments += ("--descriptions", benchmark["descriptions"], "--reported")
    code, out, _ = evaluate_command("physics-iq", *arguments, "--json")
    assert code == 0
    result = json.loads(out)
    at_size = {}
    for shift in (0, 2, 4, 8):
        video = read_video(benchmark["root"] / f"shift{shift}.mp4")
        masks = resize_masks(lossy_round_trip(iter_motion_masks(video), fps=FPS), (16, 12))
        at_size[shift] = np.stack([cv2.resize(f, (16, 12)) for f in video]), masks
    per_shift = {s: compare(*at_size[0], *at_size[s], official_rounding=True) for s in at_size}
    shifts = [4] * 114 + [0] * 45 + [8] * 24 + [4] * 15
    overall = physics_iq_score(mean_metrics([per_shift[s] for s in shifts]), official_variance(per_shift[2]))
    assert result["unclipped_score"] == pytest.approx(overall, abs=1e-9)
    settings = result["provenance"]["settings"]
    assert settings["lossy_masks"]
    assert settings["official_rounding"]
    for other in (["--exact"], ["--protocol", "verified"]):
        code, out, err = evaluate_command("physics-iq", *arguments, *other)
        assert code == 2
        assert "The paper reports the official number of the original protocol" in err
        assert out == ""


def test_shipped_masks_are_used_as_they_are(benchmark, tmp_path: Path) -> None:
    """As the official runner does: a folder of masks in the data is not computed again."""
    real = tmp_path / "verified"
    shutil.copytree(benchmark["real"], real, copy_function=os.link)
    folder = real / "video-masks" / "real" / f"{FPS}FPS"
    folder.mkdir(parents=True)
    full = write_video(tmp_path / "mask.mp4", np.full((20, 48, 64, 3), 255, np.uint8), fps=FPS)
    for path in (real / "split-videos" / "testing-videos" / f"{FPS}FPS").iterdir():
        os.link(full, folder / path.name.replace("testing-videos", "video-masks"))
    videos = load_videos(benchmark["generated"], real, benchmark["descriptions"])
    assert videos.shipped_masks
    config = PhysicsIQConfig(protocol="verified")
    study = PhysicsIQ(videos=videos, config=config)
    result = study.setup()(study.cases()[0], tmp_path)
    assert result["variance"]["spatial"] == 1.0  # both takes' masks are everything
    computed = PhysicsIQ(videos=load_videos(*(benchmark[k] for k in ("generated", "real", "descriptions"))))
    assert computed.setup()(computed.cases()[0], tmp_path)["variance"]["spatial"] < 1
    assert computed.cases()[0].identity != study.cases()[0].identity


def test_a_number_that_is_not_what_its_protocol_promises_carries_a_warning() -> None:
    verified = PhysicsIQConfig(protocol="verified", chosen_with="original")
    assert data_warnings(PhysicsIQConfig(chosen_with="original"), shipped_masks=False) == []
    (no_masks, chosen) = data_warnings(verified, shipped_masks=False)
    assert "not a Physics-IQ Verified score" in no_masks
    assert "chosen with the original data" in chosen


CARD = """
public_info: {organization: o, model: m, model_version: v, input_type: i2v, availability: api,
  date: 2026-11-18, model_source: none, generation_cost: 0.1, bon_sampling: 1, prompt_upsampling: false}
terms: {terms_version: "1.0", terms_accepted: true, accepted_on_behalf_of: o, accepted_at: "2026-11-18"}
warranties: {has_rights_to_submit: true, no_ip_infringement: true, permitted_by_provider_tos: true,
  no_personal_data_in_content: true, metadata_accurate: true}
"""


def test_two_runs_give_mean_deviation_and_a_submission(benchmark, evaluate_command, tmp_path: Path) -> None:
    second = tmp_path / "run_02"
    shutil.copytree(benchmark["generated"], second, copy_function=os.link)
    folder = tmp_path / "descriptions"
    folder.mkdir()
    shutil.copy(benchmark["descriptions"], folder / "descriptions_original.csv")
    card = tmp_path / "card.yaml"
    card.write_text(CARD.replace("organization: o", "organization: ''"))
    arguments = ("--generated", benchmark["generated"], second, "--real", benchmark["real"])
    arguments += ("--descriptions", folder, "--prompts", "op", "--protocol", "verified", "--card", card)
    arguments += ("--submission", tmp_path / "entry", "--work", tmp_path / "work", "-o", tmp_path / "iq.json")
    code, _, error = evaluate_command("physics-iq", *arguments)
    assert code == 2
    assert "public_info.organization is empty" in error
    assert not (tmp_path / "work").exists()  # refused before anything is measured
    card.write_text(CARD)
    code, _, error = evaluate_command("physics-iq", *arguments)
    assert code == 0
    assert "2 of 4 runs" in error
    result = json.loads((tmp_path / "iq.json").read_text())
    assert result["score"]["std"] == 0
    assert result["score"]["mean"] == pytest.approx(result["runs"]["run_02"]["unclipped_score"])
    assert [(one["seed"], Path(one["video"]).parent.name) for one in result["records"][197:199]] == [
        (0, benchmark["generated"].name),
        (1, "run_02"),
    ]
    entry = tmp_path / "entry"
    assert sorted(path.name for path in entry.iterdir()) == [
        *("descriptions.csv", "runs", "submission.yaml", "tables"),
    ]
    assert len(list((entry / "runs" / "run_02").glob("*.mp4"))) == 198
    about = yaml.safe_load((entry / "submission.yaml").read_text())
    assert about["public_info"]["resolution"] == "64x48"
    assert about["reported_scores"]["physiq_mean"] == pytest.approx(result["score"]["mean"], abs=1e-4)
    rows = list(csv.DictReader((entry / "tables" / "run_02.csv").open()))
    assert len(rows) == 66
    assert len(json.loads(rows[0]["v1_mse_perspective-left"])) == 20


def test_a_template_orders_the_parts_of_best_practice_prompts() -> None:
    parts = {"camera": "Still camera.", "setup": "", "scene": "A table.", "action": "The ball falls."}
    assert fill("{action}, {setup}, {scene} {camera}", parts) == "The ball falls., A table. Still camera."
    assert fill("Where:\\n{setup} {scene}\\n- {action}", parts) == "Where:\nA table.\n- The ball falls."
    assert fill("{action}, {scene} {setup}, {camera}", parts) == "The ball falls., A table., Still camera."
    bare = parts | {"scene": ""}
    assert fill("{action}, {setup} {scene}, {camera}", bare) == "The ball falls., Still camera."
    with pytest.raises(PhysPlanError, match="its parts are camera"):
        fill("{action} {mood}", parts)
    with pytest.raises(PhysPlanError, match=r"lacks \{action\}"):
        fill("{scene}", parts)
