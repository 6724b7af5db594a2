"""Disks that are full or read-only: one sentence, and the same command goes on afterwards."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.attack.campaign import Arena, Probe
from tests.attack.kills import GIVEN, SCENARIOS, Scenario, check_whole, undisturbed

PLENTY = "200m"
KINDS = ("a small disk", "small files", "a disk to read only")


def attack(arena: Arena) -> None:
    chosen = [one for one in SCENARIOS if not one.paid]
    for probe in arena.probes():
        scenario = chosen[probe.number % len(chosen)]
        kind = KINDS[probe.number // len(chosen) % len(KINDS)]
        fill_and_go_on(probe, scenario, kind, undisturbed(probe, scenario, None).results)
        probe.tried()


def fill_and_go_on(probe: Probe, scenario: Scenario, kind: str, expected: dict[str, str]) -> None:
    disk = probe.folder / "disk"
    disk.mkdir()
    with small_disk(disk) as mounted:
        probe.take(*GIVEN, into=disk)
        if kind == "small files" or not mounted:
            limit = probe.chance.choice([500, 2_000, 8_000, 30_000, 100_000])
            outcome = probe.command(*scenario.argv, cwd=disk, file_size=limit)
        else:
            used = sum(path.stat().st_blocks * 512 for path in disk.iterdir())
            room = probe.chance.choice([0, 4_096, 20_480, 81_920, 327_680, 1_310_720])
            _mount(disk, f"remount,size={used + room}" if kind == "a small disk" else "remount,ro")
            outcome = probe.command(*scenario.argv, cwd=disk)
            _mount(disk, f"remount,rw,size={PLENTY}")
        what = f"{kind}, {scenario.name}"
        probe.expect(outcome.code in (0, 2), f"{what}: exit code {outcome.code}: {outcome.text[-150:]}")
        if outcome.code == 2:
            said = [line for line in outcome.text.splitlines() if line.startswith("physplan: ")]
            probe.expect(len(said) == 1, f"{what}: not one sentence: {outcome.text[-150:]}")
        check_whole(probe, disk)
        outcome = probe.command(*scenario.argv, cwd=disk)
        probe.expect(outcome.code == 0, f"{what}: does not go on: {outcome.text[-200:]}")
        found = scenario.results(disk)
        differ = sorted(name for name in expected if found.get(name) != expected[name])
        probe.expect(not differ, f"{what}: another result: {', '.join(differ)}")


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """The folder as a disk of its own that can be remounted; False where the system allows none."""
    mounted = os.geteuid() == 0 and _mount(folder, f"size={PLENTY}")
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=False, capture_output=True)


def _mount(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "physplan-attack", str(folder)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
