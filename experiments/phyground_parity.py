"""PhyGround's aggregation against a checkout of its site's code and published scores.

    python -m experiments.phyground_parity --site phyground.github.io/

The checkout is the user's: it holds PhyJudge's scores of 2,000 videos, the leaderboards, and the functions
that made them. The raw human ratings are not in it: the human part runs on drawn ratings, in the form of the
published files for us and of the official database for them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from physplan_bench.phyground.aggregate import VideoScores, human_scores, model_row
from physplan_bench.phyground.dataset import read_prompts, read_ratings
from physplan_bench.phyground.laws import GENERAL, LAWS

TABLES = """
create table videos (id integer primary key, dataset text);
create table assignments (id integer primary key, video_id integer, status text);
create table annotations (id integer primary key, assignment_id integer);
create table annotation_items (annotation_id integer, dimension text, law text, score integer);
"""


def load_tool(site: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, site / "tools" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare_judge(site: Path) -> tuple[float, float, int]:
    """Largest difference of a row to the official function, and to the published, rounded row; videos."""
    official = load_tool(site, "export_phyjudge_leaderboard")
    published = json.loads((site / "_wmbench_src/data/phyjudge_leaderboard.json").read_text())
    rows = {row["site_model_key"]: row["scores"] for row in published["rows"]}
    worst, rounded, videos = 0.0, 0.0, 0
    for model in official.VIDEO_MODELS:
        path = official.latest_json(official.DEFAULT_SCORES_DIR, model)
        scores = [read_video(one) for one in json.loads(path.read_text())["results"]]
        ours, theirs = model_row(scores), official.aggregate(path)[0]
        worst = max(worst, *(abs((ours[name] or 0.0) - theirs[name]) for name in theirs))
        rounded = max(rounded, *(abs(round(ours[name] or 0.0, 2) - rows[model][name]) for name in theirs))
        videos += len(scores)
    return worst, rounded, videos


def read_video(one: dict[str, Any]) -> VideoScores:
    """A published score; its own means must be ours."""
    laws = {law: info.get("score") for law, info in one["physical"]["laws"].items()}
    found = VideoScores(video=one["video"], general={name: one[name] for name in GENERAL}, laws=laws)
    for ours, theirs in (
        (found.general_mean, one["general_avg"]),
        (found.laws_mean, one["physical"]["avg"]),
        (found.coverage, one["physical"]["coverage"]),
    ):
        if (ours is None) != (theirs is None) or abs((ours or 0.0) - (theirs or 0.0)) > 5.1e-5:
            raise SystemExit(f"{found.video}: {ours} here, {theirs} there.")
    return found


def compare_humans(site: Path, folder: Path) -> float:
    """Drawn ratings of 40 videos of each model by 2 to 4 people, some laws marked as not there."""
    official = load_tool(site, "export_humaneval_leaderboard")
    rng = np.random.default_rng(0)
    database = sqlite3.connect(folder / "ratings.db")
    database.executescript(TABLES)
    people: dict[str, list[dict[str, Any]]] = {}
    for video, dataset in enumerate(sorted(official.COMPARISON_DATASETS) * 40):
        database.execute("insert into videos values (?, ?)", (video, dataset))
        laws = [str(law) for law in rng.choice(list(LAWS), rng.integers(1, 6), replace=False)]
        for person in rng.choice(5, rng.integers(2, 5), replace=False):
            general = {name: int(rng.integers(1, 6)) for name in GENERAL}
            physical = {law: int(rng.integers(1, 6)) for law in laws}
            absent = laws[:1] if rng.random() < 0.2 else []
            row = {"model": dataset, "video": f"v{video}", "physical_laws": laws, "na_laws": absent}
            row["scores"] = {"general": general, "physical": physical}
            people.setdefault(f"annotator_{person:03d}", []).append(row)
            rated = database.execute("insert into assignments values (null, ?, 'completed')", (video,))
            noted = database.execute("insert into annotations values (null, ?)", (rated.lastrowid,))
            items: list[tuple[Any, ...]] = [(noted.lastrowid, name, None, general[name]) for name in general]
            items += [(noted.lastrowid, "law", law, physical[law]) for law in laws if law not in absent]
            database.executemany("insert into annotation_items values (?, ?, ?, ?)", items)
    database.commit()
    for name, rows in people.items():
        (folder / f"{name}.json").write_text(json.dumps({"annotator_id": name, "annotations": rows}))
    theirs = official.load_scores(folder / "ratings.db")
    ours = {official.model_key(k): model_row(v) for k, v in human_scores(read_ratings(folder)).items()}
    if ours.keys() != theirs.keys():
        raise SystemExit("The two tables have other models.")
    return max(abs((ours[m][name] or 0.0) - float(theirs[m][name])) for m in theirs for name in theirs[m])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--site", type=Path, required=True, help="a checkout of phyground.github.io")
    site = parser.parse_args().site.resolve()
    prompts = read_prompts(site / "snapshot/index/humaneval_prompts.json")
    physics_iq = sum(prompt.from_physics_iq for prompt in prompts)
    print(f"{len(prompts)} prompts read, {physics_iq} of them scenes of Physics-IQ")
    worst, rounded, videos = compare_judge(site)
    print(
        f"judge, {videos} videos: largest difference of a row {worst:.1e}, to the leaderboard {rounded:.2f}"
    )
    with tempfile.TemporaryDirectory() as folder:
        print(f"people, drawn ratings: largest difference of a row {compare_humans(site, Path(folder)):.1e}")


if __name__ == "__main__":
    main()
