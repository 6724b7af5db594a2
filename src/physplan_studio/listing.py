"""The list of runs, a page at a time: only the cards of the page that is shown are read from disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from physplan_studio.run_index import RunIndex
from physplan_studio.web.server import Refused

PER_PAGE = 48


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One page (from 0) of the runs that have all `words`; `seen` is the digest of what the page shows."""

    page: int = 0
    words: tuple[str, ...] = ()
    seen: str = ""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Asked:
        page, search, seen = given.get("page", 0), given.get("search", ""), given.get("seen", "")
        if type(page) is not int or not 0 <= page <= 1_000_000:
            raise Refused("The page of a list is a whole number from 0.")
        if not isinstance(search, str) or len(search) > 500 or not isinstance(seen, str):
            raise Refused("A search is a text of at most 500 letters.")
        return cls(page=page, words=tuple(search.lower().split()), seen=seen)


def list_runs(
    index: RunIndex, jobs: Mapping[str, Mapping[str, Any]], begun: Sequence[dict[str, Any]], asked: Asked
) -> dict[str, Any]:
    """Cards of one page, the newest first. `jobs` are by run; `begun` are cards of runs without a folder."""

    def with_job(card: dict[str, Any]) -> dict[str, Any]:
        return card | {"job": jobs.get(card["run"])}

    names = index.newest()
    while True:
        total, found = len(names) + len(begun), []
        if asked.words:
            cards = [index.card(name) for name in names]
            known = [with_job(one) for one in [*begun, *cards] if one is not None]
            found = [card for card in known if _has(card, asked.words)]
        count = len(found) if asked.words else total
        page = min(asked.page, max(0, count - 1) // PER_PAGE)
        first, last = page * PER_PAGE, (page + 1) * PER_PAGE
        if asked.words:
            shown = found[first:last]
        else:
            ahead = len(begun)
            cards = [index.card(name) for name in names[max(0, first - ahead) : max(0, last - ahead)]]
            shown = [with_job(one) for one in [*begun[first:last], *cards] if one is not None]
        # A folder that turns out to be no run is counted no more, and another run takes its place.
        left = index.newest() if None in cards else names
        if len(left) == len(names):
            return {"runs": shown, "count": count, "total": total, "page": page, "per_page": PER_PAGE}
        names = left


def unless_seen(answer: dict[str, Any], seen: str) -> dict[str, Any]:
    """The answer with its digest, or the digest alone where the page shows it already."""
    digest = hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:16]
    return {"seen": digest} if digest == seen else answer | {"seen": digest}


def _has(card: Mapping[str, Any], words: Sequence[str]) -> bool:
    job = card["job"] or {}
    state = job.get("state", "") or card["verdict"] or ("failed" if card["failure"] else "planned")
    fields = (card["prompt"], card["run"], card["method"], card["preset"], state, f"seed {card['seed']}")
    text = " ".join(fields).lower()
    return all(word in text or word in text.replace("_", " ") for word in words)
