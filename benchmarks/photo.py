"""`python -m benchmarks.photo --photos DIR -o OUT`: 24 sentences on photographs, a contact sheet for each.

Each runs `physplan photo` in a process of its own; the table has CPU seconds, seconds by stage (longer on
a busy machine) and the peak memory.
`--only TEXT` chooses by name, `--front FILE` writes the animated picture of README from finished runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.photo_sentences import SENTENCES, Sentence
from physplan.errors import PhysPlanError

FRAMES, ACROSS = 8, 4
CELL = 480  # pixels, the width of a frame of a sheet
STAGES = ("plan", "keyframes", "evidence", "sketch", "video", "verdict")
FRONT = (
    "rocket-the-rocket-rises",
    "coffee-the-saucer-slides-to-the-left",
    "chelsea-the-left-eye-turns-blue-and-the-right-eye-turns-blue",
    "astronaut-the-shuttle-blasts-off",
)
LARGEST = 2_000_000  # bytes of the animated picture


def picture_of(folder: Path, stem: str) -> Path:
    found = sorted(path for path in folder.glob(f"{stem}.*") if path.suffix in (".png", ".jpg", ".jpeg"))
    if not found:
        raise PhysPlanError(f"There is no photograph {stem} in {folder}: docs/photographs.md has its source.")
    return found[0]


def run(sentence: Sentence, photos: Path, out: Path) -> dict[str, float | str]:
    """One sentence by the command line; what it took, or its last line where it failed."""
    folder = out / sentence.name
    command = [sys.executable, "-m", "physplan", "photo", str(picture_of(photos, sentence.photo))]
    command += ["--prompt", sentence.prompt, "-o", str(folder), "--redo"]
    command += [word for one in sentence.objects for word in ("--object", one)]
    start = _cpu()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    row: dict[str, float | str] = {"name": sentence.name, "cpu": round(_cpu() - start, 1)}
    if done.returncode:
        return {**row, "failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    stages = {name: json.loads((folder / "stages" / f"{name}.json").read_text()) for name in STAGES}
    row |= {name: round(float(stage["seconds"]), 1) for name, stage in stages.items()}
    peak = max(int(stage.get("peak_memory_bytes", 0)) for stage in stages.values())
    return {**row, "peak_gb": round(peak / 1e9, 2)}


def _cpu() -> float:
    """CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def frames_of(video: Path) -> list[Image.Image]:
    import av

    with av.open(str(video)) as opened:
        return [Image.fromarray(frame.to_ndarray(format="rgb24")) for frame in opened.decode(video=0)]


def sheet(frames: Sequence[Image.Image], label: str) -> Image.Image:
    """Eight frames in two rows, with their numbers, below the sentence."""
    numbers = np.linspace(0, len(frames) - 1, FRAMES).round().astype(int)
    tall = round(CELL * frames[0].height / frames[0].width)
    page = Image.new("RGB", (CELL * ACROSS, tall * (FRAMES // ACROSS) + 20), "white")
    draw = ImageDraw.Draw(page)
    draw.text((6, 4), label, fill="black")
    for k, number in enumerate(numbers):
        left, top = k % ACROSS * CELL, 20 + k // ACROSS * tall
        page.paste(frames[number].resize((CELL, tall), Image.Resampling.LANCZOS), (left, top))
        draw.text((left + 6, top + 4), str(number), fill="yellow")
    return page


def front(out: Path, target: Path, *, width: int = 400) -> None:
    """Finished runs two in a row in one animated WebP, made smaller until it is below 2 MB."""
    clips = [frames_of(out / name / "video.mp4") for name in FRONT if (out / name / "video.mp4").is_file()]
    if not clips:
        raise PhysPlanError(f"None of {', '.join(FRONT)} is in {out}: run the sentences first.")
    tall = round(width * 0.66)
    pages = []
    for number in range(0, max(len(clip) for clip in clips), 2):
        page = Image.new(
            "RGB", (min(len(clips), 2) * (width + 4) - 4, (len(clips) + 1) // 2 * (tall + 4) - 4), "white"
        )
        for k, clip in enumerate(clips):
            shown = clip[min(number, len(clip) - 1)]
            page.paste(_cropped(shown, width, tall), (k % 2 * (width + 4), k // 2 * (tall + 4)))
        pages.append(page)
    pages += [pages[-1]] * 8
    target.parent.mkdir(parents=True, exist_ok=True)
    for quality in (70, 55, 40, 25):
        pages[0].save(
            target, save_all=True, append_images=pages[1:], duration=83, loop=0, quality=quality, method=4
        )
        if target.stat().st_size < LARGEST:
            return
    raise PhysPlanError(f"{target} has {target.stat().st_size} bytes: choose fewer or smaller clips.")


def _cropped(frame: Image.Image, width: int, height: int) -> Image.Image:
    scale = max(width / frame.width, height / frame.height)
    large = frame.resize((round(frame.width * scale), round(frame.height * scale)), Image.Resampling.LANCZOS)
    left, top = (large.width - width) // 2, (large.height - height) // 5  # heads are at the top
    return large.crop((left, top, left + width, top + height))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.photo", description=__doc__)
    parser.add_argument("--photos", type=Path, metavar="DIR", help="the photographs (docs/photographs.md)")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/photo-sheets"), metavar="DIR")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="sentences by their name")
    parser.add_argument("--front", type=Path, metavar="FILE", help="write README's animated WebP")
    args = parser.parse_args(arguments)
    chosen = [s for s in SENTENCES if not args.only or any(text in s.name for text in args.only)]
    args.output.mkdir(parents=True, exist_ok=True)
    if args.photos is not None:
        print(f"{'sentence':58} {'CPU':>6} " + " ".join(f"{name:>9}" for name in STAGES) + "   peak GB")
    for sentence in chosen if args.photos is not None else ():
        row = run(sentence, args.photos, args.output)
        if "failed" in row:
            print(f"{sentence.name:58} {row['failed']}", flush=True)
            continue
        stages = " ".join(f"{row[name]:9}" for name in STAGES)
        print(f"{sentence.name:58} {row['cpu']:6} {stages} {row['peak_gb']:9}", flush=True)
        made = sheet(frames_of(args.output / sentence.name / "video.mp4"), sentence.name)
        made.save(args.output / f"{sentence.name}.png")
    if args.front is not None:
        front(args.output, args.front)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PhysPlanError as error:
        sys.exit(f"physplan: {error}")
