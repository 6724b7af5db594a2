"""Two processes at once on one store of answers, one run folder, one batch, one evaluation, one plan."""

from __future__ import annotations

import time

from tests.attack.campaign import Arena, Probe
from tests.attack.kills import GIVEN, SCENARIOS, Scenario, command, serving, undisturbed
from tests.attack.nursery import Outcome

from physplan.calls.ledger import Ledger
from physplan_testing.loopback import GeminiServer

CALLS = 8  # of the melting scene's plan


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        scenario = SCENARIOS[(probe.number + 1) % len(SCENARIOS)]
        with serving(scenario) as server:
            alone = undisturbed(probe, scenario, server)
            before = len(server.asked) if server else 0
            both = run_both(probe, scenario, server, alone.seconds)
            check(probe, scenario, both, alone.results)
            if server:
                check_calls(probe, server, before)
        probe.tried()


def run_both(probe: Probe, scenario: Scenario, server: GeminiServer | None, seconds: float) -> list[Outcome]:
    probe.take(*GIVEN)
    argv, nursery = command(scenario, server), probe.arena.nursery
    first = nursery.start(probe.victim(*argv))
    time.sleep(probe.chance.uniform(0, seconds * 0.5))
    second = nursery.start(probe.victim(*argv))
    return [probe.judge(nursery.wait(pid), argv) for pid in (first, second)]


def check(probe: Probe, scenario: Scenario, both: list[Outcome], expected: dict[str, str]) -> None:
    """One at least ends well; the other too, or is told that somebody is at work there."""
    for outcome in both:
        told = outcome.code == 2 and "Another process" in outcome.text
        probe.expect(
            outcome.code == 0 or told, f"{scenario.name}: exit code {outcome.code}: {outcome.text[-200:]}"
        )
    probe.expect(any(outcome.code == 0 for outcome in both), f"{scenario.name}: neither of two ended well")
    found = scenario.results(probe.folder)
    differ = sorted(name for name in expected if found.get(name) != expected[name])
    probe.expect(not differ, f"{scenario.name}: another result of two at once: {', '.join(differ)}")


def check_calls(probe: Probe, server: GeminiServer, before: int) -> None:
    asked = len(server.asked) - before
    probe.expect(asked == CALLS, f"two processes asked {asked} times for {CALLS} questions")
    totals = Ledger(probe.folder / "plan.calls" / "ledger.jsonl").totals()
    probe.expect(totals.calls == CALLS, f"the ledger has {totals.calls} calls of {CALLS}")
