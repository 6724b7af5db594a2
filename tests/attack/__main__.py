"""`make attack`: a bad day, on this machine alone. Prints what was tried and what fell (exit code 1).

Every probe is decided by the seed and its number: `--only KIND --probe N` does one again. `--revert ITEM`
takes a fix of issue 15 away first and expects the campaign to notice.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [
    path for path in (str(ROOT / "doubles"), str(ROOT / "tests"), str(ROOT)) if path not in sys.path
]

from tests.attack import disks, folders, kills, options, pairs, pictures, replies  # noqa: E402
from tests.attack.campaign import Arena, Tally, stopwatch  # noqa: E402
from tests.attack.nursery import Nursery, Victim, load_everything  # noqa: E402
from tests.attack.reverts import REVERTS, Revert  # noqa: E402

KINDS = {
    "kills": (kills.attack, "SIGKILLs"),
    "replies": (replies.attack, "replies"),
    "folders": (folders.attack, "plans and folders"),
    "pictures": (pictures.attack, "pictures"),
    "settings": (options.attack, "settings"),
    "disks": (disks.attack, "full or read-only disks"),
    "pairs": (pairs.attack, "two processes at once"),
}
QUICK = """preset: sandbox
editor: {redraws: 0}
video: {num_inference_steps: 2}
guidance: {schedule: {layout_steps: 1, guided_steps: 1, repeats: 1}}
"""
PROMPT = replies.melting.PROMPT


def main() -> int:
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--seed", type=int, default=15, help="of all dice (default: 15)")
    parser.add_argument("--short", action="store_true", help="a few probes of each kind")
    parser.add_argument(
        "--only", choices=list(KINDS), action="append", help="this kind alone; may be repeated"
    )
    parser.add_argument("--probe", type=some, metavar="N", help="this probe alone, or those from N-M")
    parser.add_argument(
        "--revert", type=int, action="append", metavar="ITEM", help="without a fix of item 1 to 5"
    )
    args = parser.parse_args()
    os.environ.pop("GEMINI_API_KEY_FILE", None)
    with tempfile.TemporaryDirectory(prefix="physplan-attack-") as folder:
        models = Path(folder) / "models"
        load_everything()
        make_models(models)
        if args.revert:
            wanted = [revert for revert in REVERTS if revert.item in args.revert]
            return sum(not noticed(revert, Path(folder), args.seed) for revert in wanted)
        tallies = [
            in_a_child(kind, Path(folder), seed=args.seed, short=args.short, only=args.probe)
            for kind in args.only or KINDS
        ]
    return show(tallies, args.seed)


def some(words: str) -> range:
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


def make_models(folder: Path) -> None:
    """What probes start from: a picture, a plan, rows, a finished run and a finished evaluation."""
    folder.mkdir()
    (folder / "quick.yaml").write_text(QUICK)
    rows = "".join(f"ice.png,{PROMPT},{seed},base\n" for seed in range(2))
    (folder / "rows.csv").write_text(f"image,prompt,seed,method\n{rows}")
    nursery = Nursery(folder)
    given = ("--image", "ice.png", "--prompt", PROMPT)
    study = ("--scenes", "1", "--seeds", "1", "--methods", "base", "--set", "video.num_inference_steps=2")
    for argv in (
        ("sample", "ice-tray", "-o", "ice.png"),
        ("plan", *given, "-o", "plan.json"),
        ("generate", *given, "-o", "run", "--config", "quick.yaml"),
        ("evaluate", "sandbox", *study, "--work", "work"),
    ):
        outcome = nursery.run(Victim(argv=argv, cwd=folder))
        if outcome.code != 0:
            raise SystemExit(f"physplan {' '.join(argv)} does not work here: {outcome.text[-500:]}")
    nursery.close()


def in_a_child(kind: str, folder: Path, *, before: Callable[[], None] = lambda: None, **how: Any) -> Tally:
    """A process for each kind: what it does to memory, signals and threads ends with it."""
    print(f"{kind} ...", file=sys.stderr, flush=True)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        before()
        arena = folder / kind
        arena.mkdir(exist_ok=True)
        tally = Tally(kind=kind)
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            nursery = Nursery(arena)
            stopwatch(
                KINDS[kind][0],
                Arena(tally=tally, nursery=nursery, folder=arena, models=folder / "models", **how),
            )
            nursery.close()
        os.write(write, json.dumps(asdict(tally)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        content = answer.read()
    os.waitpid(pid, 0)
    if not content:
        return Tally(kind=kind, falls=[(-1, "the attack itself died")])
    return Tally(**json.loads(content))


def noticed(revert: Revert, folder: Path, seed: int) -> bool:
    """Whether the campaign, with a fix gone, says so. It goes as far as the first probe that does."""
    tally = in_a_child(
        revert.kind, folder, before=revert.apply, seed=seed, short=False, only=None, until=revert.words
    )
    falls = [how for _, how in tally.falls if any(word in how for word in revert.words)]
    said = f"fell, such as: {falls[0]}" if falls else f"NOT NOTICED ({tally.falls[:1]})"
    print(f"item {revert.item}, {revert.what}: of {tally.tried} {revert.kind} {said}", flush=True)
    return bool(falls)


def show(tallies: list[Tally], seed: int) -> int:
    print(f"{'what was tried':28}{'how many':>9}{'fell':>6}{'seconds':>9}")
    for tally in tallies:
        print(f"{KINDS[tally.kind][1]:28}{tally.tried:9}{len(tally.falls):6}{tally.seconds:9.0f}")
    for tally in tallies:
        for number, how in tally.falls:
            print(f"{tally.kind}: {how}  [--seed {seed} --only {tally.kind} --probe {number}]")
    fell = sum(len(tally.falls) for tally in tallies)
    print(f"{sum(tally.tried for tally in tallies)} tried, {fell} fell (seed {seed}).")
    return int(fell > 0)


if __name__ == "__main__":
    started = time.monotonic()
    code = main()
    print(f"{time.monotonic() - started:.0f} s in all.", file=sys.stderr)
    sys.exit(code)
