"""A result as one static page: tables, filters, and every case's videos side by side, without a server.

DIR/index.html    tables and data inside; its one script and style are named by hash in the policy
DIR/media/        videos and keyframes
DIR/result.json   the whole result
DIR/cases.csv     one row per video; cases.parquet as well where pyarrow is installed
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.extras import is_installed
from physplan.files import make_folder, write_atomic, write_json
from physplan_bench.pairs import methods_of, pairs_table
from physplan_bench.records import Record, plain_records, write_table
from physplan_bench.tables import Table, grid_of

PAGE, MEDIA = "index.html", "media"
SHOWABLE = {".mp4", ".webm", ".png", ".jpg", ".jpeg"}


@dataclass(frozen=True, kw_only=True)
class PageContent:
    """`changes`: `won` or `lost` by scene and seed, for two results compared."""

    title: str
    tables: Sequence[Table]
    records: Sequence[Record]
    result: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[tuple[str, int], str] = field(default_factory=dict)


def write_page(content: PageContent, folder: Path) -> Path:
    """Copies the media first, so that an unreadable video leaves no page."""
    if folder.exists() and not folder.is_dir():
        raise PhysPlanError(f"{folder} is a file: give a folder for the page.")
    make_folder(folder / MEDIA)
    records = copy_media(content.records, folder)
    write_json(folder / "result.json", {**content.result, "records": plain_records(records)})
    if records:
        write_table(records, folder / "cases.csv")
        if is_installed("pyarrow"):
            write_table(records, folder / "cases.parquet")
    path = folder / PAGE
    write_atomic(path, render_page(replace(content, records=records)))
    return path


def copy_media(records: Sequence[Record], folder: Path) -> list[Record]:
    """Files are named by their content's place: two records may share one."""
    names: dict[str, str] = {}

    def copied(source: str) -> str:
        if not source or Path(source).suffix.lower() not in SHOWABLE or not Path(source).is_file():
            return ""
        if source not in names:
            digest = hashlib.sha256(str(Path(source).absolute()).encode()).hexdigest()[:20]
            names[source] = f"{MEDIA}/{digest}{Path(source).suffix.lower()}"
            if Path(source).absolute() != (folder / names[source]).absolute():
                shutil.copyfile(source, folder / names[source])
        return names[source]

    return [
        replace(
            record,
            video=copied(record.video),
            keyframes=tuple(name for path in record.keyframes if (name := copied(path))),
        )
        for record in records
    ]


def render_page(content: PageContent) -> str:
    parts = resources.files(__package__)
    style, script = (parts.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    # "<" would end the element; JSON in a data block is never run.
    data = json.dumps(page_data(content), separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'sha256-{digest(style)}'; "
        "img-src 'self' file:; media-src 'self' file:; base-uri 'none'; form-action 'none'"
    )
    tables = "\n".join(render_table(table, under=content.title) for table in all_tables(content))
    warnings = "".join(f"<p class='bad'>{escape(str(w))}</p>" for w in content.result.get("warnings", ()))
    body = parts.joinpath("body.html").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(content.title)}</title><style>{style}</style></head>\n<body>\n"
        f"<header><h1>{escape(content.title)}</h1><p class='muted'>{escape(facts(content))}</p>{warnings}"
        f"</header>\n<section aria-label='Tables'>{tables}</section>\n{body}"
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{script}</script>\n</body></html>\n"
    )


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def all_tables(content: PageContent) -> list[Table]:
    paired = None if content.changes else pairs_table(content.records)
    there = {table.title for table in content.tables}
    return [*content.tables, *([paired] if paired and paired.title not in there else [])]


def facts(content: PageContent) -> str:
    about = content.result.get("provenance") or {}
    known = [f"{len(content.records)} videos"]
    known += [f"protocol {about['protocol']}"] if about.get("protocol") else []
    known += [f"judge {about['judge']}"] if about.get("judge") else []
    return " · ".join(known)


def render_table(table: Table, *, under: str) -> str:
    """With its title, unless that is the heading above."""
    head, *rows = grid_of(table)

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    note = f"<p class='muted'>{escape(table.note)}</p>" if table.note else ""
    heading = f"<h2>{escape(table.title)}</h2>" if table.title != under else ""
    return (
        f"{heading}<div class='wide' tabindex='0' role='region' "
        f"aria-label='{escape(table.title, quote=True)}'><table>"
        f"<thead>{line('th', head)}</thead><tbody>{body}</tbody></table></div>{note}"
    )


def page_data(content: PageContent) -> dict[str, Any]:
    """Cases in order: one per scene and seed, with a video per method."""
    cases: dict[tuple[str, int], dict[str, Any]] = {}
    for record in content.records:
        key = record.scene, record.seed
        case = cases.setdefault(
            key, {"id": case_id(*key), "scene": record.scene, "seed": record.seed, "videos": []}
        )
        for name in ("prompt", "phenomenon"):
            case[name] = case.get(name) or getattr(record, name)
        if change := content.changes.get(key):
            case["change"] = change
        shown = plain_records([record])[0]
        case["videos"].append({k: v for k, v in shown.items() if k not in ("scene", "seed", "prompt")})
    return {"methods": methods_of(content.records), "cases": list(cases.values())}


def case_id(scene: str, seed: int) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', scene)[:60]}.{seed}"
