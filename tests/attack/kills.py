"""SIGKILL at any moment of any command, then the same again: the same result, nothing torn or lost."""

from __future__ import annotations

import json
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from PIL import Image
from safetensors import safe_open
from tests.attack.campaign import KEY, Arena, Probe, digests
from tests.attack.nursery import OPERATIONS

from physplan.calls.ledger import Ledger
from physplan.calls.prices import PriceTable
from physplan.files import TEMPORARY, write_atomic
from physplan.video.files import read_video
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer

RUN = ["plan.json", "latents.safetensors", "losses.json", "evidence.safetensors", "video.mkv", "video.mp4"]
BASE = ["run/latents.safetensors", "run/video.mkv", "run/video.mp4"]
GIVEN = ("ice.png", "quick.yaml", "rows.csv")
STEPS = ("--config", "quick.yaml")
OLD = b"an older plan of the user's"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A command, and what it leaves that must be the same after kills."""

    name: str
    argv: tuple[str, ...]
    results: Callable[[Path], dict[str, str]]
    kills: int  # of one probe, in as many lives of the command as it takes
    paid: bool = False
    old: str | None = None  # a file of the user's that the command is to replace, and only whole


def of_files(*names: str) -> Callable[[Path], dict[str, str]]:
    return lambda folder: digests(folder, list(names))


def of_evaluation(folder: Path) -> dict[str, str]:
    """Without what a clock says."""
    found = {}
    for path in sorted(folder.glob("work/cases/*/result.json")):
        result = json.loads(path.read_text())["result"]
        found[path.parent.name] = json.dumps(
            {k: v for k, v in result.items() if k not in ("seconds", "cpu_seconds")}, sort_keys=True
        )
    return found


def of_batch(folder: Path) -> dict[str, str]:
    return digests(folder, sorted(str(p.relative_to(folder)) for p in folder.glob("out/*.mp4")))


PICTURE = ("--image", "ice.png", "--prompt", melting.PROMPT)
SCENARIOS = (
    Scenario(name="plan", argv=("plan", *PICTURE, "-o", "plan.json"), results=of_files("plan.json"),
             kills=4, old="plan.json"),
    Scenario(name="paid plan", argv=("plan", *PICTURE, "-o", "plan.json", "--preset", "paper"),
             results=of_files("plan.json"), kills=5, paid=True),
    Scenario(name="generate base", argv=("generate", *PICTURE, "-o", "run", "--method", "base", *STEPS),
             results=of_files(*BASE), kills=6),
    Scenario(name="generate", argv=("generate", *PICTURE, "-o", "run", *STEPS),
             results=of_files(*(f"run/{name}" for name in RUN)), kills=9),
    Scenario(name="batch", argv=("batch", "rows.csv", "-o", "out", *STEPS), results=of_batch, kills=7),
    Scenario(name="evaluate", results=of_evaluation, kills=7, argv=(
        "evaluate", "sandbox", "--scenes", "1", "--seeds", "2", "--methods", "base", "--work", "work",
        "--set", "video.num_inference_steps=2")),
)  # fmt: skip
PLANS = 2  # the first scenarios, which cost little: two probes of three are theirs


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """What a command leaves and takes if nobody interferes."""

    results: dict[str, str]
    seconds: float
    operations: dict[str, int]


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        scenario = turn(probe.number)
        with serving(scenario) as server:
            left, life = (2 if arena.short else scenario.kills), 0
            while left > 0 and life < 2 * scenario.kills:
                left -= one_life(probe, scenario, server, probe.folder / f"life-{life}", most=left)
                life += 1
        probe.expect(left <= 0, f"{scenario.name}: {left} kills came too late")


def turn(number: int) -> Scenario:
    rounds, place = divmod(number, PLANS + 1)
    return SCENARIOS[place] if place < PLANS else SCENARIOS[PLANS + rounds % (len(SCENARIOS) - PLANS)]


@contextmanager
def serving(scenario: Scenario) -> Iterator[GeminiServer | None]:
    """Answers take a while, so that kills also fall into calls."""
    if not scenario.paid:
        yield None
        return

    def respond(asked: Asked) -> Answer:
        return replace(melting.respond(asked), stall=0.02)

    with GeminiServer(respond, key=KEY) as server:
        yield server


def command(scenario: Scenario, server: GeminiServer | None) -> tuple[str, ...]:
    return (*scenario.argv, "--set", f"reasoner.base_url={server.url}") if server else scenario.argv


def undisturbed(probe: Probe, scenario: Scenario, server: GeminiServer | None) -> Undisturbed:
    """Found out once."""
    known = probe.arena.models / f"undisturbed {scenario.name}.json"
    if not known.exists():
        folder = probe.folder / "undisturbed"
        folder.mkdir()
        probe.take(*GIVEN, into=folder)
        outcome = probe.command(*command(scenario, server), cwd=folder)
        found = scenario.results(folder)
        shutil.rmtree(folder)
        if outcome.code != 0 or not found or "missing" in found.values():
            raise RuntimeError(f"{scenario.name} does not work undisturbed: {outcome.text[-300:]}")
        alone = Undisturbed(results=found, seconds=outcome.seconds, operations=dict(outcome.operations))
        write_atomic(known, json.dumps(asdict(alone)))  # another kind may read it
    return Undisturbed(**json.loads(known.read_text()))


def one_life(
    probe: Probe, scenario: Scenario, server: GeminiServer | None, folder: Path, *, most: int
) -> int:
    """Kill it, and again while it goes on, until it is done or was killed often enough. How often it was."""
    alone = undisturbed(probe, scenario, server)
    folder.mkdir()
    probe.take(*GIVEN, into=folder)
    for name in (".pre-commit-config.yaml", ".ssh-keys/id-1", f"{TEMPORARY}mine"):
        probe.guard(f"{folder.name}/{name}", b"mine")
    if scenario.old:
        (folder / scenario.old).write_bytes(OLD)
    before = len(server.asked) if server else 0
    killed = 0
    while killed < most and kill_once(probe, command(scenario, server), folder, alone):
        killed += 1
        check_whole(probe, folder)
        if scenario.old:
            check_old_or_new(probe, folder / scenario.old)
    outcome = probe.command(*command(scenario, server), cwd=folder)
    probe.expect(outcome.code == 0, f"{scenario.name} does not go on after kills: {outcome.text[-200:]}")
    found = scenario.results(folder)
    differ = sorted(name for name in alone.results if found.get(name) != alone.results[name])
    probe.expect(not differ, f"{scenario.name}: another result after kills: {', '.join(differ)}")
    left = [p.name for p in folder.rglob(f"{TEMPORARY}*") if p.name != f"{TEMPORARY}mine"]
    if scenario.name not in ("batch", "evaluate"):  # whose folders may hold what a kill left in a case
        probe.expect(not left, f"{scenario.name} leaves {left}")
    if server:
        check_money(probe, folder, server, before)
    return killed


def kill_once(probe: Probe, argv: tuple[str, ...], folder: Path, alone: Undisturbed) -> bool:
    """By the clock, or at a file operation of its own. False if the kill came too late."""
    chance, nursery = probe.chance, probe.arena.nursery
    early = chance.random() ** 1.5  # a command that goes on has less before it than one that begins
    if chance.random() < 0.5:
        outcome = nursery.run(probe.victim(*argv, cwd=folder), after=alone.seconds * early)
    else:
        name = chance.choice([name for name in OPERATIONS if alone.operations[name]])
        dies = (name, 1 + int(alone.operations[name] * early), chance.random() < 0.5)
        outcome = nursery.run(probe.victim(*argv, cwd=folder, dies=dies))
    probe.judge(outcome, argv)
    killed = outcome.code == -signal.SIGKILL
    if not killed and outcome.code != 0:
        probe.fell(f"exit code {outcome.code} instead of going on: {outcome.text[-200:]}")
    probe.tried(int(killed))
    return killed


def check_old_or_new(probe: Probe, path: Path) -> None:
    content = path.read_bytes()
    try:
        content == OLD or json.loads(content)
    except ValueError:
        probe.fell(f"{path.name} is neither the old file nor the new one: {content[:40]!r}")


def check_whole(probe: Probe, folder: Path) -> None:
    """Every file that has its name can be read."""
    for path in (p for p in folder.rglob("[!.]*") if p.is_file() and p.name != "plan.json"):
        try:
            if path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".png":
                Image.open(path).load()
            elif path.suffix == ".safetensors":
                with safe_open(path, "pt") as file:
                    file.keys()
            elif path.suffix in (".mp4", ".mkv"):
                read_video(path)
        except Exception as error:
            if path.parent.parent.name != "cases" or path.suffix != ".mp4":  # a copy that no result names yet
                probe.fell(f"{path.name} is torn: {error}")


def check_money(probe: Probe, folder: Path, server: GeminiServer, before: int) -> None:
    """The server knows what it charged for."""
    prices = PriceTable.load()
    taken, given = Answer().tokens
    truth = 0.0
    for asked in server.asked[before:]:
        price = prices.find(asked.model)
        assert price is not None
        truth += (taken * price.input + given * price.output) / 1e6
    ledger = Ledger(folder / "plan.calls" / "ledger.jsonl")
    probe.expect(
        ledger.totals().usd >= truth * (1 - 1e-9), f"the ledger has {ledger.totals().usd} of {truth} USD"
    )
    answered = Counter(entry.key for entry in ledger.entries() if entry.outcome == "answered")
    twice = [key for key, times in answered.items() if times > 1]
    probe.expect(not twice, f"{len(twice)} questions have two answers in the ledger")
