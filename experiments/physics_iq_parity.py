"""Physics-IQ Verified against a checkout of the official code, on four runs of synthetic clips.

    python -m experiments.physics_iq_parity --code physics-IQ-benchmark/ --work parity/

The checkout is the user's: its package `physiq` computes masks, metrics and scores of the same files, and its
`submit_verified.py --validate-only` reads our `--submission` folder (it needs ffprobe).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from physplan.cli import main as physplan

FPS, FRAMES, RUNS = 8, 40, 4
VIEWS = ("perspective-left", "perspective-center", "perspective-right")
COUNTS = {"Solid Mechanics": 114, "Fluid Dynamics": 45, "Optics": 24, "Thermodynamics": 9, "Magnetism": 6}
CARD = """
public_info: {organization: o, model: m, model_version: v, input_type: i2v, availability: api,
  date: 2026-11-18, model_source: none, generation_cost: 0.1, bon_sampling: 1, prompt_upsampling: false}
terms: {terms_version: "1.0", terms_accepted: true, accepted_on_behalf_of: o, accepted_at: "2026-11-18"}
warranties: {has_rights_to_submit: true, no_ip_infringement: true, permitted_by_provider_tos: true,
  no_personal_data_in_content: true, metadata_accurate: true}
"""
OFFICIAL = """
import json, sys
from physiq.binary_mask_generator import generate_binary_masks
from physiq.calculate_and_write_metrics_to_csv import process_videos
from physiq.calculate_iq_score_stable import IQTable
real, masks, fps, *runs = sys.argv[1:]
found = {}
for run in runs:
    made = run + "-masks"
    generate_binary_masks(run, made, False)
    process_videos(real, run, masks, made, run + ".csv", int(fps))
    table = IQTable.from_csv(run + ".csv")
    ours = IQTable.from_csv(f"entry/tables/{run}.csv").get_output_dict()
    found[run] = {"scores": table.get_output_dict(), "score_of_our_table": ours["final_score_view"],
                  "videos": table.compute_scores_scenario_by_view()["final_arithmetic"].tolist()}
json.dump(found, open("official.json", "w"))
"""


def clip(rng: np.random.Generator, *, still: bool = False) -> np.ndarray:
    """A square that crosses a noisy ground, (T, 96, 128, 3) uint8."""
    video = np.repeat(rng.integers(60, 100, (1, 96, 128, 3), dtype=np.uint8), FRAMES, axis=0)
    side, y, speed = rng.integers(12, 32), rng.integers(4, 50), rng.uniform(0.5, 2)
    colour = rng.integers(120, 255, 3, dtype=np.uint8)
    for t in range(FRAMES):
        x = int(4 + (0 if still else t * speed))
        video[t, y : y + side, x : x + side] = colour
    return video


def write(path: Path, frames: np.ndarray, *, codec: str = "libx264") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=Fraction(FPS))
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())


def write_benchmark(root: Path) -> None:
    """Real takes with shipped masks, descriptions, and four runs, laid out as the Verified data set."""
    from physplan_bench.physics_iq.masks import motion_masks

    rng = np.random.default_rng(0)
    categories = [category for category, count in COUNTS.items() for _ in range(count)]
    rows, real = [], root / "bench" / "split-videos" / "testing" / f"{FPS}FPS"
    masks = root / "bench" / "video-masks" / "real" / f"{FPS}FPS"
    for i, category in enumerate(categories):
        scenario, view, still = f"trimmed-scene-{i // 3:02d}", VIEWS[i % 3], i in (5, 6)
        same = clip(rng, still=still)  # of two scenes nothing moves: a variance of zero
        for take in (1, 2):
            number = i + 1 + 198 * (take - 1)
            other = np.roll(same, int(rng.integers(0, 6)), axis=2) if take == 2 and not still else same
            write(real / f"{number:04d}_testing-videos_{FPS}FPS_{view}_take-{take}_{scenario}.mp4", other)
            moving = np.repeat(motion_masks(other)[..., None], 3, axis=-1).astype(np.uint8) * 255
            name = f"{number:04d}_video-masks_{FPS}FPS_{view}_take-{take}_{scenario}.mp4"
            write(masks / name, moving, codec="mpeg4")
            made = f"{number:04d}_{view}_{scenario}.mp4"
            rows.append((f"{number:04d}_{view}_take-{take}_{scenario}.mp4", "It moves.", category, made))
        for run in range(RUNS):
            shifted = np.roll(same, int(rng.integers(-12, 12)), axis=int(rng.integers(1, 3)))
            file = f"{i + 1:04d}_{view}_{scenario}.mp4"
            write(root / f"run_{run + 1:02d}" / file, shifted if rng.random() < 0.7 else clip(rng))
    (root / "descriptions").mkdir()
    with (root / "descriptions" / "descriptions_original.csv").open("w", newline="") as table:
        writer = csv.writer(table)
        writer.writerows([("scenario", "description", "category", "generated_video_name"), *rows])
    (root / "card.yaml").write_text(CARD)


def compare(root: Path) -> dict[str, float]:
    """The largest difference of any run's score, sub-score and video's score, in points of 100."""
    ours = json.loads((root / "ours.json").read_text())
    official = json.loads((root / "official.json").read_text())
    names = ("spatiotemporal", "spatial", "weighted_spatial", "mse")
    worst: dict[str, float] = {}
    for path, theirs in official.items():
        run, scores = ours["runs"][Path(path).name], theirs["scores"]
        apart = {"score": [run["unclipped_score"] - 100 * scores["final_score_view"]]}
        apart["sub-scores"] = [100 * (run["verified"][name] - scores[f"score_{name}_view"]) for name in names]
        rows = list(csv.DictReader((root / f"{Path(path).name}.csv").open()))
        order = [(row["scenario"].removesuffix(".mp4"), view) for row in rows for view in VIEWS]
        found = {(v["scenario"], v["view"]): v["score"] for v in run["videos"].values()}
        apart["videos"] = [
            found[key] - 100 * score for key, score in zip(order, theirs["videos"], strict=True)
        ]
        apart["per-sample table"] = table_differences(root, Path(path).name)
        apart["score of our table"] = [run["unclipped_score"] - 100 * theirs["score_of_our_table"]]
        worst = {name: max(worst.get(name, 0.0), *map(abs, values)) for name, values in apart.items()}
    means = [100 * theirs["scores"]["final_score_view"] for theirs in official.values()]
    worst["mean"] = abs(ours["score"]["mean"] - float(np.mean(means)))
    worst["std"] = abs(ours["score"]["std"] - float(np.std(means, ddof=1)))
    return worst


def table_differences(root: Path, run: str) -> list[float]:
    """Every number of our per-sample table less the official one, scenario by scenario."""
    ours, theirs = (
        {row.pop("scenario"): row for row in csv.DictReader(path.open())}
        for path in (root / "entry" / "tables" / f"{run}.csv", root / f"{run}.csv")
    )
    if ours.keys() != theirs.keys() or any(ours[name].keys() != theirs[name].keys() for name in ours):
        raise SystemExit(f"{run}: the two tables have other rows or columns.")
    pairs = [(ours[name][column], theirs[name][column]) for name in ours for column in ours[name]]
    apart = [np.ravel(json.loads(mine)) - np.ravel(json.loads(official)) for mine, official in pairs]
    return [float(np.abs(one).max()) for one in apart]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--code", type=Path, required=True, help="a checkout of physics-IQ-benchmark")
    parser.add_argument("--work", type=Path, required=True)
    args = parser.parse_args()
    code, root = args.code.resolve(), args.work.resolve()
    if not (root / "card.yaml").exists():
        write_benchmark(root)
    runs = [f"run_{run + 1:02d}" for run in range(RUNS)]
    os.chdir(root)
    entry = Path("entry")
    if not entry.exists():
        arguments = ["evaluate", "physics-iq", "--protocol", "verified", "--prompts", "op", "--workers", "2"]
        arguments += ["--real", "bench", "--descriptions", "descriptions", "--card", "card.yaml"]
        physplan([*arguments, "--submission", "entry", "-o", "ours.json", "--generated", *runs])
    real, masks = (f"bench/{part}/{FPS}FPS" for part in ("split-videos/testing", "video-masks/real"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(code), os.environ.get("PYTHONPATH", "")))}
    with Path("official.log").open("w", encoding="utf-8") as log:
        command = [sys.executable, "-c", OFFICIAL, real, masks, str(FPS), *runs]
        subprocess.run(command, check=True, env=environment, stdout=log, stderr=log)
    for name, value in compare(root).items():
        print(f"largest difference of {name}: {value:.2e}")
    validator = [sys.executable, str(code / "physiq" / "submit_verified.py"), "--validate-only"]
    validator += ["--run", "o__m__2026-11-18", "--card", "entry/submission.yaml"]
    validator += [
        "--descriptions",
        "entry/descriptions.csv",
        "--runs",
        *(f"entry/runs/{run}" for run in runs),
    ]
    return subprocess.run(validator, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
