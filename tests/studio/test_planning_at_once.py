"""Twenty people plan twenty pictures at once, with the real planner: each gets the plan of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from studio_double import Client, Opened

PEOPLE = 20


@pytest.mark.slow
def test_twenty_people_plan_at_once_and_nothing_is_mixed_up(tmp_path: Path) -> None:
    opened = Opened(tmp_path / "runs")
    try:
        client = Client(opened.port)
        samples = client.ask("about")["samples"]
        chosen = [samples[i % len(samples)] for i in range(PEOPLE)]

        def plan(sample: dict[str, str]) -> dict[str, object]:
            given = {name: sample[name] for name in ("picture", "prompt")}
            return dict(client.until(client.ask("start", upto="plan", **given)["run"], "done", "failed"))

        with ThreadPoolExecutor(PEOPLE) as pool:
            found = list(pool.map(plan, chosen))
        assert len({one["run"] for one in found}) == PEOPLE
        for sample, one in zip(chosen, found, strict=True):
            details: dict = one["details"]  # type: ignore[assignment, type-arg]
            assert details["picture"] == sample["picture"]
            assert details["plan"]["prompt"] == sample["prompt"]
            assert details["plan"]["events"]
        assert opened.stop() == ""
    finally:
        opened.kill()
