"""The page of an acceptance: pictures, figures and versions, without a script."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from physplan.files import write_atomic

PAGE = "index.html"
STYLE = """
:root { color-scheme: light dark; --good: #1a7f37; --unsure: #9a6700; --bad: #cf222e; --line: #8884; }
@media (prefers-color-scheme: dark) { :root { --good: #4ac26b; --unsure: #d4a72c; --bad: #ff7b72; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
td, th { border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: left;
vertical-align: top; overflow-wrap: anywhere; }
th:nth-child(1) { width: 5.6rem; } th:nth-child(2) { width: 33%; } th:nth-child(3) { width: 22%; }
@media (max-width: 36rem) { thead { display: none; } td:empty { display: none; }
tr { display: block; border-bottom: 1px solid var(--line); }
td { display: block; border: 0; padding: .1rem 0; } }
img { max-width: 100%; } .pass { color: var(--good); } .warning { color: var(--unsure); }
.failure { color: var(--bad); } .skipped { opacity: .7; } small { opacity: .75; }
"""


def write_page(result: Mapping[str, Any], folder: Path) -> Path:
    stages = "".join(_stage(stage) for stage in result["stages"])
    settings = ", ".join(f"{name} {value}" for name, value in result["settings"].items())
    versions = ", ".join(f"{name} {value}" for name, value in result["versions"].items())
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self' file:; "
        'style-src \'unsafe-inline\'"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Acceptance: {escape(result['preset'])}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(result['preset'])}: {_level(result['level'])}</h1>"
        f"<p>Card: {escape(result['card'])}. {escape(settings)}.</p>{stages}"
        f"<p><small>{escape(versions)}</small></p></body></html>\n"
    )
    path = folder / PAGE
    write_atomic(path, text)
    return path


def _stage(stage: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{_level(one['level'])}</td><td>{escape(one['name'])}</td>"
        f"<td>{escape(_value(one['value']))}</td><td>{escape(one['meaning'])}</td></tr>"
        for one in stage["findings"]
    )
    pictures = "".join(
        f'<figure><img src="{escape(name, quote=True)}" alt="{escape(caption, quote=True)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for name, caption in stage["pictures"].items()
    )
    return (
        f"<h2>{stage['stage']}. {escape(stage['title'])}: {_level(stage['level'])} "
        f"<small>{stage['seconds']:.0f} s</small></h2><table><thead><tr><th></th><th>what</th><th>value</th>"
        f"<th>what it means</th></tr></thead><tbody>{rows}</tbody></table>{pictures}"
    )


def _level(level: str) -> str:
    return f'<b class="{escape(level, quote=True)}">{escape(level)}</b>'


def _value(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
