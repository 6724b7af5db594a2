"""What the run took, and how to repeat it."""

from __future__ import annotations

from shlex import quote

from physplan.calls.ledger import Ledger, total
from physplan.foreign import inside
from physplan.report.escaping import escape, table
from physplan.report.files import RunFiles
from physplan.runs import layout


def cost_section(run: RunFiles) -> str:
    path = inside(run.folder.path, layout.LEDGER)
    entries = Ledger(path).entries() if path.exists() else ()
    stage_of = {"keyframe": "keyframes"}
    rows: list[tuple[object, ...]] = []
    seconds = 0.0
    for stage in layout.STAGES:
        record = run.folder.record(stage)
        if record is None:
            continue
        mine = tuple(e for e in entries if stage_of.get(e.purpose, "plan") == stage)
        cost = total(mine)
        seconds += record.seconds
        held = f"{record.peak_memory_bytes / 1e9:.2f} GB" if record.peak_memory_bytes else ""
        usd = f"{cost.usd:.4f}" if cost.calls else ""
        rows.append((stage, f"{record.seconds:.1f} s", held, cost.calls or "", usd))
    everything = total(entries)
    rows.append(
        ("all", f"{seconds:.1f} s", "", everything.calls or "", f"{everything.usd:.4f}" if entries else "0")
    )
    notes = {
        f"{everything.unpriced} calls have no known price.": everything.unpriced,
        f"{everything.cut_off} calls were cut off, and count at their worst case.": everything.cut_off,
    }
    said = "".join(f'<p class="caption">{note}</p>' for note, count in notes.items() if count)
    return table(("stage", "time", "memory", "calls", "USD"), rows, numbers=range(1, 5)) + said


def again_section(run: RunFiles) -> str:
    about = run.about
    command = (
        f"physplan generate --config {layout.CONFIG} --image {layout.INPUT} \\\n"
        f"    --prompt {quote(about.prompt)} \\\n"
        f"    --seed {about.seed} --method {quote(about.method)} -o again"
    )
    if about.attempts > 1:
        command += f" --attempts {about.attempts}"
    if about.plan:
        command += f" --plan {layout.PLAN}"
    versions = ", ".join(f"{name} {version}" for name, version in about.versions.items())
    config = run.content(layout.CONFIG).decode("utf-8", "replace")
    return (
        '<p class="lead">From within the folder of the run:</p>'
        f"<pre>{escape(command)}</pre><p class='caption'>Made with {escape(versions)}.</p>"
        f"<details><summary>All settings</summary><pre>{escape(config)}</pre></details>"
    )
