"""Foreign words in a page: words, whatever they hold."""

from __future__ import annotations

import html

from physplan.foreign import plain


def escape(text: str) -> str:
    return html.escape(plain(text, lines=True))
