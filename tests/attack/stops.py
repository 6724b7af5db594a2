"""What ends a run, or a budget, other than SIGKILL: SIGTERM, Ctrl-C twice, no memory, a studio that dies."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.attack.campaign import KEY, Arena, Probe, digests
from tests.attack.kills import GIVEN, SCENARIOS, Scenario, check_whole, undisturbed
from tests.attack.nursery import Outcome

from physplan.calls.ledger import Ledger
from physplan.calls.prices import PriceTable
from physplan.runs import layout
from physplan_testing import melting
from physplan_testing.loopback import Answer, GeminiServer

sys.path.insert(0, str(Path(__file__).parents[1] / "studio"))
from studio_double import Client, Opened

ENDED = (0, 130, -signal.SIGTERM, -signal.SIGINT)
SENT = ([signal.SIGTERM], [signal.SIGINT], [signal.SIGINT] * 2, [signal.SIGINT] * 3)


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        ATTACKS[probe.number % len(ATTACKS)](probe)
        probe.tried()


def signals(probe: Probe) -> None:
    """SIGTERM, Ctrl-C, and Ctrl-C again while the first is answered; then the same command goes on.

    Twice the first scenario, which costs next to nothing, and any.
    """
    chance = probe.chance
    free = [one for one in SCENARIOS if not one.paid]
    for number, scenario in enumerate((free[0], free[0], chance.choice(free))):
        sent = [signal.SIGINT] if number == 0 else chance.choice(SENT)
        alone, share = undisturbed(probe, scenario, None), chance.random()
        for life in range(4):  # what came too late is tried earlier
            folder = probe.folder / f"{number}-{life}"
            folder.mkdir()
            probe.take(*GIVEN, into=folder)
            if interrupt(probe, scenario, folder, sent, alone.seconds * share / 3**life):
                break
        names = " and ".join(one.name for one in sent)
        go_on(probe, scenario.name, scenario.argv, scenario.results, alone.results, f"after {names}", folder)


def interrupt(
    probe: Probe, scenario: Scenario, folder: Path, sent: Sequence[signal.Signals], after: float
) -> bool:
    """Whether the signals ended the command."""
    nursery, names = probe.arena.nursery, " and ".join(number.name for number in sent)
    pid = nursery.start(probe.victim(*scenario.argv, cwd=folder))
    time.sleep(after)
    for number in sent:
        nursery.kill(pid, number)
        time.sleep(probe.chance.choice([0.0, 0.01, 0.2]))
    outcome = nursery.wait(pid)
    died = outcome.code in ENDED
    probe.expect(died, f"{scenario.name} ends with {outcome.code} after {names}: {outcome.text[-150:]}")
    traced = "Traceback" in outcome.text
    probe.expect(not traced, f"traceback: {scenario.name} after {names}: {last(outcome)}")
    probe.expect(not outcome.hung, f"hangs: {scenario.name} after {names}")
    check_whole(probe, folder)
    return outcome.code != 0


def little_memory(probe: Probe) -> None:
    """Few addresses: one sentence or a result; then, with room, the same command goes on."""
    chance = probe.chance
    scenario = chance.choice([one for one in SCENARIOS if not one.paid])
    alone = undisturbed(probe, scenario, None)
    probe.take(*GIVEN)
    room = chance.choice([2, 10, 30, 60, 120, 250, 500])
    outcome = probe.command(*scenario.argv, memory=room)
    what = f"{room} MB for {scenario.name}"
    probe.expect(outcome.code in (0, 2), f"{what}: exit code {outcome.code}: {outcome.text[-200:]}")
    if outcome.code == 2:
        probe.expect("physplan: " in outcome.text, f"{what}: no sentence: {outcome.text[-150:]}")
    check_whole(probe, probe.folder)
    go_on(probe, scenario.name, scenario.argv, scenario.results, alone.results, f"after {what}")


def go_on(
    probe: Probe,
    name: str,
    argv: tuple[str, ...],
    results: Callable[[Path], dict[str, str]],
    expected: dict[str, str],
    when: str,
    folder: Path | None = None,
) -> None:
    folder = folder or probe.folder
    outcome = probe.command(*argv, cwd=folder)
    probe.expect(outcome.code == 0, f"{name} does not go on {when}: {outcome.text[-200:]}")
    found = results(folder)
    differ = sorted(key for key in expected if found.get(key) != expected[key])
    probe.expect(not differ, f"{name}: another result {when}: {', '.join(differ)}")


def last(outcome: Outcome) -> str:
    return (outcome.text.strip().splitlines() or [""])[-1][:150]


def one_budget(probe: Probe) -> None:
    """Two workers, and the same batch twice, on one budget: the server is never owed more than it."""
    chance, price = probe.chance, PriceTable.load().find("gemini-3-flash-preview")
    assert price is not None
    taken, given = Answer().tokens
    each = (taken * price.input + given * price.output) / 1e6
    probe.take("ice.png", "quick.yaml")
    rows = "".join(f"ice.png,{melting.PROMPT},{n},sketch,{n % 3 + 2}\n" for n in range(4))
    (probe.folder / "rows.csv").write_text(f"image,prompt,seed,method,reasoner.max_events\n{rows}")
    # A call is made only where its worst case fits, which is far above what it costs.
    budget = round(chance.choice([0.0, 3, 12, 40]) * each + chance.choice([0.0, 0.06, 0.2]), 4)
    with GeminiServer(melting.respond, key=KEY) as server:
        argv = ["batch", "rows.csv", "-o", "out", "--config", "quick.yaml", "--budget", budget]
        argv += ["--set", "reasoner.name=paper", "--set", f"reasoner.base_url={server.url}"]
        argv += ["--set", "reasoner.model=gemini-3-flash-preview", "--workers", chance.choice([1, 2])]
        nursery = probe.arena.nursery
        pids = [nursery.start(probe.victim(*argv)) for _ in range(chance.choice([1, 2]))]
        outcomes = [probe.judge(nursery.wait(pid, 240), tuple(argv)) for pid in pids]
        asked = len(server.asked)
    for outcome in outcomes:
        asked_for = any(words in outcome.text for words in ("The budget of", "no usable answer"))
        well = outcome.code == 0 or (outcome.code == 2 and asked_for)
        probe.expect(well, f"a batch on a budget: {outcome.code}: {outcome.text[-150:]}")
    paid = asked * each
    probe.expect(paid <= budget + 1e-9, f"{asked} calls for {paid:.4f} USD on a budget of {budget} USD")
    if (path := probe.folder / "out" / "ledger.jsonl").exists():
        most = most_committed(path)
        probe.expect(most <= budget + 1e-9, f"{most:.4f} USD reserved at once on a budget of {budget} USD")
        said = Ledger(path).totals().usd
        probe.expect(said >= paid * (1 - 1e-9), f"the ledger has {said} of {paid} USD")


def most_committed(ledger: Path) -> float:
    """The most that was spent and reserved at any line, by all processes."""
    known, most = dict[str, float](), 0.0
    for line in ledger.read_bytes().splitlines():
        if line.endswith(b"}"):
            entry = json.loads(line)
            known[entry["id"]] = entry["usd"] or 0.0
            most = max(most, sum(known.values()))
    return most


def a_studio_killed(probe: Probe) -> None:
    """`physplan studio` dies by SIGKILL in a stage of a run; opened again, the run ends as it would have."""
    runs, expected = probe.folder / "runs", undisturbed_run(probe)
    stages = ["", *expected.pop("stages").split()]  # also before the first has ended
    rounds = probe.arena.count // len(ATTACKS)  # of one seed; the next one has the next stages
    stage = stages[(probe.arena.seed * rounds + probe.number // len(ATTACKS)) % len(stages)]
    studio = Opened(runs)
    try:
        client = Client(studio.port)
        run = begin(probe, client)
        deadline = time.monotonic() + 240
        while not (runs / run / (layout.record(stage) if stage else layout.RUN)).exists():
            if time.monotonic() > deadline:
                probe.fell(f"a studio's run makes no {stage} in four minutes")
                return
            time.sleep(0.05)
        time.sleep(probe.chance.uniform(0, 0.5))
        studio.kill()
        check_whole(probe, runs)
        studio.start()
        client = Client(studio.port)
        job = client.ask("state", run=run)["job"]
        if job is None:
            probe.fell(f"a studio killed after {stage or 'its start'} does not know its job")
            return
        if job["state"] not in ("waiting", "running", "done"):
            client.ask("continue", run=run)
        ended = client.until(run, "done", "failed", seconds=300)
        probe.expect(ended["job"]["state"] == "done", f"killed after {stage}: {ended['job']}")
        found = digests(runs / run, list(expected))
        differ = [name for name in expected if found[name] != expected[name]]
        probe.expect(not differ, f"a studio killed after {stage}: another {', '.join(differ)}")
    except AssertionError as error:
        probe.fell(f"a studio killed after {stage}: {error}")
    finally:
        said = studio.stop()
        probe.expect("Traceback" not in said, f"traceback: a studio after {stage}: {said[-200:]}")


def begin(probe: Probe, client: Client) -> str:
    picture = client.upload((probe.arena.models / "ice.png").read_bytes())[1]["picture"]
    settings = {"video.num_inference_steps": 4, "editor.redraws": 0}
    asked: dict[str, Any] = {"picture": picture, "prompt": melting.PROMPT, "settings": settings}
    return str(client.ask("start", **asked, method="sketch")["run"])


def undisturbed_run(probe: Probe) -> dict[str, str]:
    """What the same run leaves where nobody kills it."""
    known = probe.arena.models / "undisturbed studio.json"
    if not known.exists():
        runs = probe.folder / "undisturbed"
        studio = Opened(runs)
        try:
            client = Client(studio.port)
            run = begin(probe, client)
            client.until(run, "done", seconds=300)
            names = [layout.PLAN, layout.LATENTS, layout.VIDEO]
            done = [stage for stage in layout.STAGES if (runs / run / layout.record(stage)).exists()]
            known.write_text(json.dumps({**digests(runs / run, names), "stages": " ".join(done)}))
        finally:
            studio.stop()
    return dict(json.loads(known.read_text()))


ATTACKS: tuple[Callable[[Probe], None], ...] = (signals, little_memory, one_budget, a_studio_killed)
