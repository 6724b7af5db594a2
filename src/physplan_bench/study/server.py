"""The study over HTTP: its page, its files, and four small JSON requests."""

from __future__ import annotations

import secrets
from importlib import resources
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.foreign import inside
from physplan_bench.study.design import VOTES, load_study
from physplan_bench.study.rating import RatingSession, RatingStore, is_rating, load_rating
from physplan_bench.study.session import Session
from physplan_bench.study.store import Database, VoteStore
from physplan_studio.web.server import Answering, PageServer, Site, is_loopback, link, listen

__all__ = ["PAGE", "RATERS", "StudyServer", "link", "open_server", "page_file"]
StudyServer = PageServer
SHARED = ("page.css", "common.js", "icon.svg")
PAGE = ("index.html", "page.js", *SHARED)
RATERS = ("raters.html", "raters.js", *SHARED)


def page_file(name: str) -> bytes:
    return resources.files("physplan_bench.study").joinpath("page", name).read_bytes()


def open_server(folder: Path, *, host: str, port: int, idle_hours: float = 24.0) -> StudyServer:
    """Ready to serve. The link's key is kept with the votes, so that links stay good after a restart."""
    store: Database
    session: Answering
    if is_rating(folder):
        rating = load_rating(folder)
        store = ratings = RatingStore(folder / VOTES, rating.id)
        session, pages, files = RatingSession(rating, ratings), RATERS, rating.files()
    else:
        study = load_study(folder)
        store = votes = VoteStore(folder / VOTES, study.id)
        session, pages, files = Session(study, votes, idle=idle_hours * 3600), PAGE, study.files()
    media = {name: inside(folder, name) for name in files}
    site = Site(
        name="study",
        session=session,
        key="" if is_loopback(host) else store.remembered("key", lambda: secrets.token_urlsafe(18)),
        page={name: page_file(name) for name in pages},
        media=media.get,
    )
    try:
        return listen(host, port, site)
    except PhysPlanError:
        store.close()
        raise
