"""Files of strangers that speak for the user: rows, configs, workflows and videos with consent or paths."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.attack.campaign import Arena, Probe

from physplan.errors import PhysPlanError
from physplan.origin.record import TAG
from physplan_testing import melting

EVIL = "evil.example"
SAID: dict[str, Any] = {"runtime.allow_hosts": [EVIL], "runtime.prices": "free.json"}
FREE = '{"dated": "2026-01-01", "usd_per_million_tokens": {}}'
PATHS: dict[str, Any] = {
    "video.files": {"transformer": "/etc/evil.safetensors"},
    "video.files.vae": "/etc/evil.safetensors",
    "video.quantisation": "/etc/evil.gguf",
    "video.attention": "evil/kernel",
    "video.source": "evil/model",
    "video": {"source": "evil/model"},
    "editor.options": {"model": "evil"},
    "reasoner.model": "evil",
}


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        ATTACKS[probe.number % len(ATTACKS)](probe)
        probe.tried()


def consent_in_rows(probe: Probe) -> None:
    """A row names a foreign server and says yes to it, or a table of prices; dotted, nested, in CSV."""
    probe.take("ice.png")
    chance, (name, value) = probe.chance, probe.chance.choice(list(SAID.items()))
    (probe.folder / "free.json").write_text(FREE)
    row: dict[str, Any] = {"image": "ice.png", "prompt": melting.PROMPT}
    row["reasoner.base_url"] = f"https://{EVIL}/"
    form = chance.choice(["dotted", "settings", "nested", "csv"])
    part, field = name.split(".")
    if form == "csv":
        cell = json.dumps(value).replace('"', '""')
        head = f"image,prompt,reasoner.base_url,{name}"
        line = f'ice.png,{melting.PROMPT},https://{EVIL}/,"{cell}"'
        (probe.folder / "rows.csv").write_text(f"{head}\n{line}\n")
    else:
        nested = {part: {field: value}} if form == "nested" else {name: value}
        row |= nested if form == "dotted" else {"settings": nested}
        (probe.folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    file = "rows.csv" if form == "csv" else "rows.jsonl"
    outcome = probe.command("batch", file, "-o", "out", "--preset", "paper", "--dry-run")
    probe.expect(f"sets {name}" in outcome.text, f"a row ({form}) gave consent: {name} was taken")


def consent_in_a_config(probe: Probe) -> None:
    probe.take("ice.png")
    name, value = probe.chance.choice(list(SAID.items()))
    part, field = name.split(".")
    (probe.folder / "free.json").write_text(FREE)
    (probe.folder / "c.yaml").write_text(
        f"preset: paper\nreasoner: {{base_url: 'https://{EVIL}/'}}\n"
        f"{part}: {{{field}: {json.dumps(value)}}}\n"
    )
    given = ("--image", "ice.png", "--prompt", melting.PROMPT, "--config", "c.yaml")
    outcome = probe.command("generate", *given, "-o", "run", "--dry-run")
    probe.expect(f"sets {name}" in outcome.text, f"a config gave consent: {name} was taken")


def consent_in_a_workflow(probe: Probe) -> None:
    """ComfyUI's nodes take lines of settings from a workflow, which is a file that people share."""
    from integrations.comfyui.work import configure

    name, value = probe.chance.choice(list(SAID.items()))
    with suppress(PhysPlanError):
        configure("paper", f"reasoner.base_url=https://{EVIL}/\n{name}={json.dumps(value)}")
        probe.fell(f"a workflow gave consent: {name} was taken")


def consent_in_a_set(probe: Probe) -> None:
    """A file of benchmarks that says yes in any form, or names who gets the judge's key."""
    from physplan_bench.sets.file import read_set

    said: list[tuple[str, Any]] = [
        ("set", f"runtime.allow_hosts=[{EVIL}]"),
        ("set", f" runtime.allow_hosts=[{EVIL}]"),
        ("set", f"runtime={{allow_hosts: [{EVIL}]}}"),
        ("set", "runtime={prices: free.json}"),
        ("judge", ["gemini:x", f"--set=runtime.allow_hosts=[{EVIL}]"]),
        (f"set=runtime.allow_hosts=[{EVIL}]", True),
        ("judge", f"openai:x@HTTPS://{EVIL}/v1"),
        ("judge", "openai:x@http://10.0.0.7/v1"),
        ("budge", 1_000),
    ]
    option, value = probe.chance.choice(said)
    benchmarks = {"phyground": {"data": "pg", option: value}}
    (probe.folder / "set.yaml").write_text(json.dumps({"methods": ["base"], "benchmarks": benchmarks}))
    with suppress(PhysPlanError):
        read_set(probe.folder / "set.yaml")
        probe.fell(f"a set gave consent: {option}: {value} was taken")


def told(probe: Probe, changes: dict[str, Any], name: str = "v.mp4") -> bytes:
    """A real run's video, whose words about itself are others."""
    from physplan.origin import read_origin
    from physplan.video.files import read_video, write_video

    source = probe.arena.models / "run" / "video.mp4"
    origin = json.loads(read_origin(source).to_text())
    origin["settings"] |= changes
    path = probe.folder / name
    write_video(path, read_video(source).frames, fps=8, tags={TAG: json.dumps(origin)})
    return path.read_bytes()


def paths_in_a_video(probe: Probe) -> None:
    """`show --again` of a video that names weights and back ends of its own choice."""
    name, value = probe.chance.choice(list(PATHS.items()))
    told(probe, {name: value})
    outcome = probe.command("show", "v.mp4", "--again", "again")
    probe.expect(outcome.code == 2, f"a video chose {name}: exit code {outcome.code}")
    probe.expect(not (probe.folder / "again").exists(), f"a video chose {name}: a run was begun")


def bytes_that_are_no_text(probe: Probe) -> None:
    """The metadata of a video, with bytes that are not UTF-8."""
    content = told(probe, {})
    at = content.index(b'"prompt"') + probe.chance.randrange(12, 40)
    odd = bytes(probe.chance.choices(range(0x80, 0x100), k=probe.chance.randint(1, 6)))
    (probe.folder / "v.mp4").write_bytes(content[:at] + odd + content[at + len(odd) :])
    argv = probe.chance.choice([("show", "v.mp4"), ("show", "v.mp4", "--again", "again")])
    outcome = probe.command(*argv)
    probe.expect(outcome.code == 2, f"metadata that are not UTF-8: exit code {outcome.code}")
    outcome = probe.command("verify-origin", "v.mp4")
    probe.expect(outcome.code in (0, 1, 2), f"verify-origin: exit code {outcome.code}")


def odd_letters_in_rows(probe: Probe) -> None:
    probe.take("ice.png", "quick.yaml")
    row = {"image": "ice.png", "prompt": melting.PROMPT, "method": "base"}
    kind = probe.chance.choice(["nul", "separator", "digits"])
    if kind == "nul":
        row[probe.chance.choice(["plan", "image", "name", "method"])] = "a\0b"
    elif kind == "separator":
        row["prompt"] = f"{melting.PROMPT}{probe.chance.choice(chr(0x2028) + chr(0x85) + chr(0x2029))} "
    text = json.dumps(row, ensure_ascii=False)
    (probe.folder / "rows.jsonl").write_text(text + "\n", encoding="utf-8")
    extra = ("--set", "=" + "9" * 5_000) if kind == "digits" else ()
    outcome = probe.command("batch", "rows.jsonl", "-o", "out", "--dry-run", "--config", "quick.yaml", *extra)
    probe.expect(
        outcome.code == (0 if kind == "separator" else 2), f"rows with {kind}: {outcome.text[-150:]}"
    )
    probe.expect(len(outcome.text) < 4_000, f"{len(outcome.text)} characters for rows with {kind}")


def formulas_in_tables(probe: Probe) -> None:
    from physplan_bench.tables import Column, Row, Table, render

    word = probe.chance.choice(["=cmd|' /C calc'!A0", "+1", "@SUM(A1)", "-2+3"])
    table = Table(title="t", columns=(Column(title="x"),), rows=(Row(label=word, cells=(word,)),))
    cells = render(table, "csv").splitlines()[1].split(",")
    probe.expect(
        not any(cell.lstrip('"').startswith(("=", "+", "@", "-")) for cell in cells), "a formula in CSV"
    )


def a_batch_killed_early(probe: Probe) -> None:
    """At the very first file operations, where the folder is not yet known to be a batch's."""
    probe.take("ice.png", "quick.yaml", "rows.csv")
    argv = ("batch", "rows.csv", "-o", "out", "--config", "quick.yaml")
    operation, after = probe.chance.choice(["fsync", "replace", "close"]), probe.chance.random() < 0.5
    number = 1 if operation == "replace" else probe.chance.randint(1, 3)
    dies = (operation, number, after)
    probe.judge(probe.arena.nursery.run(probe.victim(*argv, dies=dies)), argv)
    out = probe.folder / "out"
    if not out.exists() or not any(out.iterdir()):  # what this kill would have left a moment later
        out.mkdir(exist_ok=True)
        (out / ".physplan-unfinished-0123456789ab-x.json").write_text("{")
    outcome = probe.command(*argv, seconds=240)
    probe.expect(outcome.code == 0, f"a batch killed early does not go on: {outcome.text[-150:]}")
    left = [path.name for path in out.glob(".physplan-unfinished-*") if "0123456789ab" not in path.name]
    probe.expect(not left, f"a batch killed early leaves {left}")
    shutil.rmtree(out, ignore_errors=True)


ATTACKS: tuple[Callable[[Probe], None], ...] = (
    *(consent_in_rows, consent_in_a_config, consent_in_a_workflow, consent_in_a_set, paths_in_a_video),
    *(bytes_that_are_no_text, odd_letters_in_rows, formulas_in_tables, a_batch_killed_early),
)
