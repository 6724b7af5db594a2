"""All videos of a batch on one page: static, without scripts, and nothing from elsewhere may be loaded."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from physplan.files import write_atomic
from physplan_bench.batch.summary import Entry

PAGE = "index.html"


def write_gallery(entries: Sequence[Entry], result: Mapping[str, Any], folder: Path, *, title: str) -> Path:
    path = folder / PAGE
    write_atomic(path, page(entries, result, title=title))
    return path


def page(entries: Sequence[Entry], result: Mapping[str, Any], *, title: str) -> str:
    style = resources.files(__package__).joinpath("gallery.css").read_text(encoding="utf-8")
    cards = "\n".join(_card(entry) for entry in entries)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(style))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1><p class='muted'>{escape(_facts(result))}</p>\n"
        f'<div class="grid">\n{cards}\n</div></main></body></html>\n'
    )


def policy(style: str) -> str:
    """Videos beside the page and its one style; `file:` because a page from a disk has no origin."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; media-src 'self' file:; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _facts(result: Mapping[str, Any]) -> str:
    facts = [f"{result['made']} of {result['of']} videos made", f"{result['seconds']:.0f} s of work"]
    if result["calls"]:
        facts.append(f"{result['calls']} calls for {result['usd']:.4f} USD")
    return ", ".join(facts)


def _card(entry: Entry) -> str:
    row, found = entry.job.row, entry.result or {}
    prompt = escape(str(entry.job.identity["prompt"]))
    parts = []
    if entry.video:
        label = escape(f"Video of: {entry.job.identity['prompt']}", quote=True)
        parts.append(
            f'<video src="{_link(entry.video)}" controls loop muted playsinline preload="metadata" '
            f'aria-label="{label}"></video>'
        )
    parts.append(f"<h2>{prompt}</h2>")
    facts = [row.name, f"method {row.method}", f"seed {row.seed}"]
    facts += [f"{name} = {value}" for name, value in row.settings.items()]
    if found:
        facts += [f"{found['seconds']:.0f} s"]
        facts += [f"{found['calls']} calls, {found['usd']:.4f} USD"] if found["calls"] else []
    parts.append(f"<p class='muted'>{escape(' · '.join(facts))}</p>")
    if verdict := found.get("verdict"):
        parts.append(f"<p>Verdict: <b>{escape(str(verdict))}</b></p>")
    if entry.state != "made":
        why = f"Not made: {entry.reason}" if entry.reason else "Not made yet."
        parts.append(f"<p class='bad'>{escape(why)}</p>")
    if notes := found.get("notes"):
        parts.append(f"<ul class='muted'>{''.join(f'<li>{escape(str(note))}</li>' for note in notes)}</ul>")
    if entry.report:
        parts.append(f'<p><a href="{_link(entry.report)}">How it came about</a></p>')
    return f"<article>{''.join(parts)}</article>"


def _link(path: str) -> str:
    return escape(quote(path), quote=True)
