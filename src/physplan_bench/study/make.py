"""From folders of videos to a study's folder: pairs, neutral names, first frames, attention checks."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.foreign import plain
from physplan_bench.new_folder import new_folder, require_new
from physplan_bench.study.assign import Pair
from physplan_bench.study.design import FRAMES, VIDEOS, Known, Prompt, Study
from physplan_bench.study.match_videos import Shown, match, read_folder
from physplan_bench.study.media import copy_video, damage, first_frame
from physplan_bench.videos import VideoInfo, probe


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The size of a study; the defaults are the paper's."""

    pairs: int = 80
    per_participant: int = 40
    participants: int = 60
    all_pairs: bool = False  # every two methods, not only the first with each other
    attention: int = 0  # checks per participant
    codes: bool = False
    seed: int = 0
    title: str = "Which video is better?"
    contact: str = ""
    consent: tuple[str, ...] = ()


def make_study(
    folders: Mapping[str, Path], output: Path, *, plan: Plan | None = None, table: Path | None = None
) -> Study:
    """Everything is written beside `output` first: a study is there whole or not at all."""
    plan = plan or Plan()
    _check(folders, output, plan)
    shown = match({method: read_folder(folder) for method, folder in folders.items()}, table)
    with new_folder(output) as folder:
        study = _write(shown, tuple(folders), folder, plan)
        study.save(folder)
    return study


def couples(methods: Sequence[str], *, all_pairs: bool) -> list[tuple[str, str]]:
    """Who is compared with whom."""
    return list(combinations(methods, 2)) if all_pairs else [(methods[0], other) for other in methods[1:]]


def choose(shown: Sequence[Shown], count: int, rng: random.Random) -> list[Shown]:
    """So many prompts, from every domain in turn."""
    domains: dict[str, list[Shown]] = {}
    for one in rng.sample(list(shown), len(shown)):
        domains.setdefault(one.domain, []).append(one)
    chosen: list[Shown] = []
    while len(chosen) < min(count, len(shown)):
        chosen += [domains[name].pop() for name in sorted(domains) if domains[name]]
    return chosen[:count]


def _check(folders: Mapping[str, Path], output: Path, plan: Plan) -> None:
    if len(folders) < 2:
        raise PhysPlanError("A study compares at least two folders of videos: give one per method.")
    sizes = {"--pairs": plan.pairs, "--per-participant": plan.per_participant}
    sizes["--participants"] = plan.participants
    for name, value in sizes.items():
        if not 1 <= value <= 100_000:
            raise PhysPlanError(f"{name} must be from 1 to 100000, not {value}.")
    if not 0 <= plan.attention <= 20:
        raise PhysPlanError(f"--attention must be from 0 to 20, not {plan.attention}.")
    if not 0 <= plan.seed < 1_000_000:
        raise PhysPlanError(f"--seed must be from 0 to 999999, not {plan.seed}.")
    require_new(output)


def _write(shown: Sequence[Shown], methods: tuple[str, ...], folder: Path, plan: Plan) -> Study:
    rng = random.Random(f"physplan study {plan.seed} of {len(shown)}")
    compared = couples(methods, all_pairs=plan.all_pairs)
    wanted = -(-plan.pairs // len(compared))
    chosen = choose(shown, wanted, rng)
    spare = [one for one in shown if one not in chosen] or chosen
    (folder / VIDEOS).mkdir()
    (folder / FRAMES).mkdir()
    names = _NeutralNames(rng)
    notes: list[str] = []
    prompts = tuple(_prompt(one, folder, names, notes) for one in chosen)
    pairs = [Pair(prompt=i, first=a, second=b) for i in range(len(prompts)) for a, b in compared]
    pairs = pairs[: plan.pairs]
    if len(pairs) < plan.pairs:
        notes.insert(0, f"There are {len(pairs)} pairs, not {plan.pairs}: {len(shown)} prompts have videos.")
    each = min(plan.per_participant, len(pairs))
    if each < plan.per_participant:
        notes.append(f"Every participant rates all {each} pairs, not {plan.per_participant}.")
    known = [_known(spare[i % len(spare)], methods[0], folder, names, i) for i in range(plan.attention + 1)]
    return Study(
        id=secrets.token_hex(8),
        title=plain(plan.title),
        seed=plan.seed,
        methods=methods,
        prompts=prompts,
        pairs=tuple(pairs),
        example=known[0],
        checks=tuple(known[1:]),
        per_participant=each,
        participants=plan.participants,
        codes=plan.codes,
        contact=plain(plan.contact),
        consent=tuple(plain(text) for text in plan.consent),
        notes=tuple(notes),
    )


class _NeutralNames:
    """Names that say nothing, also not by their order."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self._used = rng, set[str]()

    def __call__(self, folder: str, suffix: str) -> str:
        while (name := f"{self._rng.getrandbits(48):012x}") in self._used:
            pass
        self._used.add(name)
        return f"{folder}/{name}{suffix}"


def _prompt(one: Shown, folder: Path, names: _NeutralNames, notes: list[str]) -> Prompt:
    videos = {method: names(VIDEOS, ".mp4") for method in one.items}
    for method, item in one.items.items():
        if copy_video(item.video, folder / videos[method]):
            notes.append(f"{item.video.name} of {method} was encoded anew, because browsers cannot play it.")
    notes += _unlike(one)
    frame = names(FRAMES, ".jpg")
    first_frame(_picture(one), folder / frame)
    return Prompt(prompt=one.prompt, domain=one.domain, frame=frame, videos=videos)


def _picture(one: Shown) -> Path:
    kept = [item.frame for item in one.items.values() if item.frame]
    return kept[0] if kept else next(iter(one.items.values())).video


def _known(one: Shown, method: str, folder: Path, names: _NeutralNames, number: int) -> Known:
    frame, good, bad = names(FRAMES, ".jpg"), names(VIDEOS, ".mp4"), names(VIDEOS, ".mp4")
    video = one.items[method].video
    first_frame(_picture(one), folder / frame)
    copy_video(video, folder / good)
    damage(video, folder / bad, seed=number)
    return Known(prompt=one.prompt, frame=frame, good=good, bad=bad)


def _unlike(one: Shown) -> list[str]:
    """What tells two methods apart without looking at the physics."""
    infos = {method: probe(item.video) for method, item in one.items.items()}
    (first, reference), *others = infos.items()
    return [
        f"{one.prompt[:60]!r}: {first} shows {_size(reference)}, {method} {_size(info)}."
        for method, info in others
        if _size(info) != _size(reference)
    ]


def _size(info: VideoInfo) -> str:
    return f"{info.width} x {info.height}, {info.seconds:.1f} s at {info.fps:g} fps"
