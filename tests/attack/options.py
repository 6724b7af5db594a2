"""Settings that nobody should give, typed or in a file: taken or refused in one sentence."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from tests.attack.campaign import Arena, Probe

from physplan_models.cli.settings_table import all_settings
from physplan_testing import melting

VALUES = (
    *(
        "",
        "0",
        "-1",
        "1",
        "0.5",
        "nan",
        ".nan",
        "inf",
        ".inf",
        "-.inf",
        "1e308",
        "1e999",
        str(10**30),
        "9" * 5000,
        "true",
    ),
    *(
        "null",
        "~",
        "x",
        "x" * 100_000,
        "[]",
        "[1, 2",
        "{}",
        "{a: 1}",
        "[.nan]",
        "!!python/object/apply:os.getcwd []",
    ),
    *(
        "&a [*a]",
        "\x1b[2J",
        "\u202e",
        "\ud800",
        "../../notes.txt",
        "/dev/zero",
        "notes.txt",
        "http://134744072/",
        "a: b: c",
    ),
)
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
EVIL = "evil.example"
# Half of them say yes to it as well, in the name of the user.
FOREIGN = tuple(
    f"preset: paper\nreasoner: {{base_url: '{address}'}}\n{said}"
    for said in ("", f"runtime: {{allow_hosts: [{EVIL}, '*']}}\n")
    for address in (
        *(f"https://{EVIL}/", f"https://{EVIL}/", f"https://{EVIL}/v1", f"http://{EVIL}/v1"),
        *(f"http://127.0.0.1@{EVIL}/", "http://134744072/"),
    )
)
FILES = (
    "!!python/object/apply:os.system ['touch started']\n",
    "preset: !!python/name:os.system\n",
    "preset: sandbox\nruntime: !!python/object/new:subprocess.Popen [['touch', 'started']]\n",
    LAUGHS,
    "preset: " + "[" * 20_000,
    "preset: ../../notes.txt\n",
    *FOREIGN,
    "preset: paper\nruntime: {prices: notes.txt}\n",
    "preset: sandbox\nruntime: {at_once: 0}\n",
    "preset: sandbox\nvideo: {num_inference_steps: .inf, eta: .nan}\n",
    "preset: sandbox\nvideo: {num_inference_steps: 10000000000}\n",
    "? {a: 1}\n: 2\n",
    "- a\n- b\n",
    "\x00\x01\x02",
    "preset: sandbox\npreset: paper\n",
    "guidance: {schedule: {layout_steps: -1, guided_steps: 99999, repeats: [1, x]}}\n",
    "preset: sandbox\n\x1b[2J: \u202e\n",
    "",
)


def attack(arena: Arena) -> None:
    names = sorted(one.name for one in all_settings())
    for probe in arena.probes():
        probe.take("ice.png")
        content = probe.chance.choice(FILES)
        given = typed(probe.chance, names) if probe.number % 3 else in_a_file(probe, content)
        argv = (
            "generate",
            "--image",
            "ice.png",
            "--prompt",
            melting.PROMPT,
            "-o",
            "run",
            "--dry-run",
            *given,
        )
        outcome = probe.command(*argv)
        probe.expect(outcome.code in (0, 2), f"exit code {outcome.code} for {given!r:.100}")
        probe.expect(not (probe.folder / "started").exists(), f"a program was started by {given!r:.100}")
        if content in FOREIGN and "--config" in given:
            probe.expect(outcome.code == 2, "the host that a file names was taken without a yes")
        probe.expect(len(outcome.text) < 5_000, f"{len(outcome.text)} characters for {given!r:.100}")
        probe.tried()


def typed(chance: Random, names: list[str]) -> list[str]:
    given = []
    for _ in range(chance.randint(1, 3)):
        name = (
            chance.choice(names)
            if chance.random() < 0.9
            else chance.choice(["", "x", "video", "a.b.c", "__class__"])
        )
        given += ["--set", f"{name}={_typeable(chance.choice(VALUES))}"]
    return given


def _typeable(text: str) -> str:
    """What a shell can hand over: any bytes but zero."""
    return os.fsdecode(text.encode("utf-8", "surrogatepass")).replace("\0", "")


def in_a_file(probe: Probe, content: str) -> list[str]:
    path: Path = probe.folder / f"c.{probe.chance.choice(['yaml', 'yaml', 'toml'])}"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    if probe.chance.random() < 0.1:
        path.unlink()
        os.mkfifo(path) if probe.chance.random() < 0.5 else path.symlink_to("/dev/zero")
    return ["--config", path.name]
