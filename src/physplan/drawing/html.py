"""A plan as one self-contained HTML page: the picture, and the edits in words."""

from __future__ import annotations

from html import escape

from physplan.drawing.plan import draw_plan
from physplan.drawing.svg import to_svg
from physplan.drawing.words import edit_words
from physplan.foreign import plain
from physplan.graph import Event, EventChain, GraphEdit

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --paper: #fff; --rule: #e5e8ee; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --paper: #12161c; --rule: #323a46; } }
body { font: 15px/1.5 'Helvetica Neue', Helvetica, Arial, sans-serif; margin: clamp(1rem, 4vw, 2rem);
  color: var(--ink); background: var(--paper); }
.scroll { overflow-x: auto; }
svg { max-width: 100%; min-width: 720px; height: auto; display: block; }
@media (prefers-color-scheme: dark) { svg { filter: invert(.91) hue-rotate(180deg); } }
table { border-collapse: collapse; margin-top: 1rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem 1.2rem .5rem 0; }
td { border-top: 1px solid var(--rule); overflow-wrap: break-word; }
ul { margin: 0; padding-left: 1.1rem; }
"""

_WIDTH = '<meta name="viewport" content="width=device-width, initial-scale=1">'
# The page has no script and loads nothing: whatever a text smuggles in, the browser runs and fetches none.
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
)


def to_html(chain: EventChain) -> str:
    head = "<tr><th>event</th><th>frame</th><th>edits</th><th>net edits, from the first frame</th></tr>"
    rows = "\n".join(_row(i, event) for i, event in enumerate(chain.events, 1))
    title = f"<title>{escape(plain(chain.prompt))}</title>"
    header = f'<head>\n<meta charset="utf-8">\n{_POLICY}\n{_WIDTH}\n{title}\n<style>{_STYLE}</style>\n</head>'
    picture, table = to_svg(draw_plan(chain)), f"<table>\n{head}\n{rows}\n</table>"
    body = f'<body>\n<div class="scroll">{picture}</div>\n<div class="scroll">{table}</div>\n</body>'
    return f'<!doctype html>\n<html lang="en">\n{header}\n{body}\n</html>\n'


def _row(i: int, event: Event) -> str:
    cells = (str(i), str(event.anchor), _list(event.edits), _list(event.net_edits))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _list(edits: tuple[GraphEdit, ...]) -> str:
    return f"<ul>{''.join(f'<li>{escape(edit_words(edit))}</li>' for edit in edits)}</ul>"
