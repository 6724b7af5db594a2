"""`make attack`: a bad day, on this machine alone. Prints what was tried and what fell (exit code 1).

Every probe is decided by the seed and its number: `--only KIND --probe N` does one again. `--revert ITEM`
takes a fix away first (1 to 5 of issue 15, 42.1 to 42.9 of issue 42) and expects the campaign to notice.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [
    path for path in (str(ROOT / "testing"), str(ROOT / "tests"), str(ROOT)) if path not in sys.path
]

from tests.attack import (  # noqa: E402
    disks,
    folders,
    kills,
    nodes,
    options,
    pages,
    pairs,
    pictures,
    replies,
    servers,
    stops,
    strangers,
)
from tests.attack.campaign import Arena, Attack, Tally, stopwatch  # noqa: E402
from tests.attack.nursery import Nursery, Victim, load_everything  # noqa: E402
from tests.attack.reverts import REVERTS, Revert  # noqa: E402


@dataclass(frozen=True, kw_only=True)
class Kind:
    """`full` and `short` are how many probes of it a campaign has."""

    attack: Attack
    words: str
    full: int
    short: int


KINDS = {
    "kills": Kind(attack=kills.attack, words="SIGKILLs", full=12, short=3),
    "replies": Kind(attack=replies.attack, words="replies", full=510, short=26),
    "folders": Kind(attack=folders.attack, words="plans and folders", full=240, short=24),
    "pictures": Kind(attack=pictures.attack, words="pictures", full=110, short=10),
    "settings": Kind(attack=options.attack, words="settings", full=120, short=10),
    "disks": Kind(attack=disks.attack, words="full or read-only disks", full=15, short=2),
    "pairs": Kind(attack=pairs.attack, words="two processes at once", full=6, short=1),
    "strangers": Kind(attack=strangers.attack, words="files that speak for you", full=36, short=9),
    "stops": Kind(attack=stops.attack, words="other ends and one budget", full=28, short=2),
    "nodes": Kind(attack=nodes.attack, words="inputs of ComfyUI's nodes", full=42, short=1),
    "servers": Kind(attack=servers.attack, words="image and video servers", full=72, short=9),
    "pages": Kind(attack=pages.attack, words="studio and study pages", full=33, short=11),
}
QUICK = """preset: sandbox
editor: {redraws: 0}
video: {num_inference_steps: 2}
guided_sketch: {schedule: {layout_steps: 1, guided_steps: 1, repeats: 1}}
"""
PROMPT = replies.melting.PROMPT
AT_ONCE = min(os.cpu_count() or 1, 2)  # kinds: a machine with many cores runs out of memory first
STARTED = time.monotonic()
LONG = 25 * 60  # seconds; a campaign that takes longer says which part to leave out


def main() -> int:
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--seed", type=int, default=15, help="of all dice (default: 15)")
    parser.add_argument("--short", action="store_true", help="a few probes of each kind")
    parser.add_argument(
        "--only", choices=list(KINDS), action="append", help="this kind alone; may be repeated"
    )
    parser.add_argument(
        "--without",
        choices=list(KINDS),
        action="append",
        default=[],
        help="all but this kind; may be repeated",
    )
    parser.add_argument(
        "--at-once", type=int, default=AT_ONCE, metavar="N", help=f"kinds side by side (default: {AT_ONCE})"
    )
    parser.add_argument("--probe", type=some, metavar="N", help="this probe alone, or those from N-M")
    parser.add_argument(
        "--revert",
        action="append",
        metavar="ITEM",
        help="without a fix: 1 to 5, or 42.1 to 42.9 (--only: of this kind)",
    )
    args = parser.parse_args()
    os.environ.pop("GEMINI_API_KEY_FILE", None)
    with tempfile.TemporaryDirectory(prefix="physplan-attack-") as folder:
        models = Path(folder) / "models"
        load_everything()
        make_models(models)
        if args.revert:
            wanted = [one for one in REVERTS if one.item in args.revert and one.kind in (args.only or KINDS)]
            return sum(not noticed(revert, Path(folder), args.seed) for revert in wanted)
        kinds = [kind for kind in args.only or KINDS if kind not in args.without]
        how = {"seed": args.seed, "short": args.short, "only": args.probe}
        tallies = side_by_side(kinds, Path(folder), args.at_once, **how)
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


def side_by_side(kinds: Sequence[str], folder: Path, at_once: int, **how: Any) -> list[Tally]:
    """Some kinds at once: each computes with one core."""
    waiting, under_way, done = list(kinds), dict[int, Child](), dict[str, Tally]()
    while waiting or under_way:
        while waiting and len(under_way) < max(1, at_once):
            child = start(waiting.pop(0), folder, **how)
            under_way[child.answer] = child
        for answer in select.select(list(under_way), [], [])[0]:
            child = under_way.pop(answer)
            done[child.kind] = collect(child)
    return [done[kind] for kind in kinds]


def in_a_child(kind: str, folder: Path, **how: Any) -> Tally:
    return collect(start(kind, folder, **how))


@dataclass(frozen=True, kw_only=True)
class Child:
    kind: str
    pid: int
    answer: int  # where its tally is to be read
    started: float


def start(kind: str, folder: Path, *, before: Callable[[], None] = lambda: None, **how: Any) -> Child:
    """A process for each kind: what it does to memory, signals and threads ends with it."""
    print(f"{kind} ...", file=sys.stderr, flush=True)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        before()
        arena = folder / kind
        arena.mkdir(exist_ok=True)
        tally, chosen = Tally(kind=kind), KINDS[kind]
        count = chosen.short if how["short"] else chosen.full
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            nursery = Nursery(arena)
            stopwatch(
                chosen.attack,
                Arena(
                    tally=tally, nursery=nursery, folder=arena, models=folder / "models", count=count, **how
                ),
            )
            nursery.close()
        os.write(write, json.dumps(asdict(tally)).encode())
        os._exit(0)
    os.close(write)
    return Child(kind=kind, pid=pid, answer=read, started=time.monotonic())


def collect(child: Child) -> Tally:
    with os.fdopen(child.answer) as answer:
        content = answer.read()
    usage = os.wait4(child.pid, 0)[2]
    tally = Tally(kind=child.kind, falls=[(-1, "the attack itself died")])
    if content:
        tally = Tally(**json.loads(content))
    return replace(tally, computed=usage.ru_utime + usage.ru_stime)


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
    print(f"{'what was tried':28}{'how many':>9}{'fell':>6}{'seconds':>9}{'of CPU':>9}")
    for tally in tallies:
        counts = f"{tally.tried:9}{len(tally.falls):6}{tally.seconds:9.0f}{tally.computed:9.0f}"
        print(f"{KINDS[tally.kind].words:28}{counts}")
    for tally in tallies:
        for number, how in tally.falls:
            print(f"{tally.kind}: {how}  [--seed {seed} --only {tally.kind} --probe {number}]")
    longest = max(tallies, key=lambda tally: tally.seconds)
    if (seconds := time.monotonic() - STARTED) > LONG:
        print(
            f"That took {seconds / 60:.0f} minutes, {longest.seconds / 60:.0f} of them for {longest.kind}: "
            f"leave it out with --without {longest.kind}, or use --short."
        )
    fell = sum(len(tally.falls) for tally in tallies)
    print(f"{sum(tally.tried for tally in tallies)} tried, {fell} fell (seed {seed}).")
    return int(fell > 0)


if __name__ == "__main__":
    code = main()
    print(f"{time.monotonic() - STARTED:.0f} s in all.", file=sys.stderr)
    sys.exit(code)
