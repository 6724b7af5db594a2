"""Foreign words in a page: words, whatever they hold."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence

from physplan.foreign import plain


def escape(text: str) -> str:
    return html.escape(plain(text, lines=True))


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Collection[int] = ()) -> str:
    """Cells are HTML; the columns `numbers` are aligned as such."""

    def line(tag: str, cells: Sequence[object]) -> str:
        marks = (" class='number'" if i in numbers else "" for i in range(len(cells)))
        return "".join(f"<{tag}{mark}>{cell}</{tag}>" for mark, cell in zip(marks, cells, strict=True))

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    top = f"<thead><tr>{line('th', head)}</tr></thead>"
    return f"<div class='wide'><table>{top}<tbody>{body}</tbody></table></div>"
