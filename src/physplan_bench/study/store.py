"""Votes in SQLite. A vote that was answered with "kept" is on disk, whatever happens to the process."""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan_bench.study.criteria import KEYS

ABOUT = "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
SCHEMA = """
CREATE TABLE IF NOT EXISTS participants (
  token TEXT PRIMARY KEY, place INTEGER NOT NULL, joined REAL NOT NULL, seen REAL NOT NULL,
  finished REAL, code TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS places ON participants (place);
CREATE TABLE IF NOT EXISTS votes (
  token TEXT NOT NULL REFERENCES participants (token), trial INTEGER NOT NULL, criterion TEXT NOT NULL,
  choice TEXT NOT NULL CHECK (choice IN ('a', 'b')), seconds REAL NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (token, trial, criterion)
) STRICT;
"""


@dataclass(frozen=True, kw_only=True)
class Participant:
    token: str
    place: int
    answered: int  # trials
    finished: bool
    code: str


class Full(Exception):
    """Every place is taken."""


def steady_clock() -> Callable[[], float]:
    """Seconds since 1970 that only go forwards, by a second in a second, when somebody sets the clock."""
    began = time.time() - time.monotonic()
    return lambda: began + time.monotonic()


class Database:
    """One connection behind a lock: a vote takes one sync of the disk, and order is what is wanted."""

    schema = ""

    def __init__(self, path: Path, study: str, *, clock: Callable[[], float] | None = None) -> None:
        self._lock, self._clock = threading.Lock(), clock or steady_clock()
        try:
            # It holds the key of the link: its owner's alone, and its side files take its mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
            os.chmod(path, 0o600)
            self._database = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")  # a power cut loses no vote either
            self._database.executescript(ABOUT + self.schema)
        except (sqlite3.Error, OSError) as error:
            raise PhysPlanError(f"{path} cannot be used as the study's votes ({error}).") from None
        if self.remembered("study", lambda: study) != study:
            raise PhysPlanError(f"{path} holds the votes of another study: move it away.")

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                self._roll_back()
                raise PhysPlanError(
                    f"This could not be kept ({error}): tell whoever runs the study, and send it again later."
                ) from None
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        """A full disk ends a transaction by itself."""
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def remembered(self, name: str, make: Callable[[], str]) -> str:
        """A value that is made once and stays."""
        with self._writing() as database:
            database.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (name, make()))
            return str(database.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()[0])


class VoteStore(Database):
    schema = SCHEMA

    def join(self, token: str, places: int, *, idle: float) -> Participant:
        """The first free place; one whose participant has been away for `idle` seconds is free again.

        Who has joined already keeps the place: a page may ask twice, when the first answer was lost.
        """
        now = self._clock()
        with self._writing() as database:
            if found := self._find(token):
                return found
            query = "SELECT place FROM participants WHERE finished IS NOT NULL OR seen > ?"
            taken = {row[0] for row in database.execute(query, (now - idle,))}
            place = next((place for place in range(places) if place not in taken), None)
            if place is None:
                raise Full
            database.execute(
                "INSERT INTO participants VALUES (?, ?, ?, ?, NULL, NULL)", (token, place, now, now)
            )
        return Participant(token=token, place=place, answered=0, finished=False, code="")

    def participant(self, token: str) -> Participant | None:
        with self._lock:
            return self._find(token)

    def _find(self, token: str) -> Participant | None:
        row = self._database.execute(
            "SELECT place, finished, code,"
            " (SELECT COUNT(DISTINCT trial) FROM votes v WHERE v.token = p.token)"
            " FROM participants p WHERE token = ?",
            (token,),
        ).fetchone()
        if row is None:
            return None
        return Participant(
            token=token, place=row[0], finished=row[1] is not None, code=row[2] or "", answered=row[3]
        )

    def vote(
        self, token: str, trial: int, choices: Mapping[str, str], *, seconds: float, of: int, code: bool
    ) -> Participant | None:
        """Keep one trial's answers, if it is the next; a repeated answer changes nothing."""
        now = self._clock()
        with self._writing() as database:
            found = self._find(token)
            if found is None or trial != found.answered or trial >= of:
                return found
            database.executemany(
                "INSERT INTO votes VALUES (?, ?, ?, ?, ?, ?)",
                [(token, trial, key, choices[key], seconds, now) for key in KEYS],
            )
            database.execute("UPDATE participants SET seen = ? WHERE token = ?", (now, token))
            if trial + 1 == of:
                given = secrets.token_hex(4).upper() if code else None
                database.execute(
                    "UPDATE participants SET finished = ?, code = ? WHERE token = ?", (now, given, token)
                )
            return self._find(token)
