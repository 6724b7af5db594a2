"""What a campaign is: kinds of attack, each with numbered probes that a seed decides, and what fell."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from tests.attack.nursery import SECONDS, Nursery, Outcome, Victim

KEY = "canary-7f3a+/=key"  # of a paid service; to be seen nowhere but at the server
SECRET = b"the user's own words, which nobody else may read " * 4
SCRIPT = "<script>alert('attack')</script>"
# Orders to a terminal: control characters other than the line's end, and turned direction.
ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Hangs(Exception):
    """Raised where the work is, when it takes too long."""


@dataclass(kw_only=True)
class Tally:
    """Of one kind of attack."""

    kind: str
    tried: int = 0
    falls: list[tuple[int, str]] = field(default_factory=list)  # the probe's number and what happened
    seconds: float = 0.0
    computed: float = 0.0  # seconds of CPU, of all its processes that were waited for


@dataclass(kw_only=True)
class Arena:
    """Where one kind of attack happens. `models` holds what is made once: a picture, a plan, a run."""

    tally: Tally
    seed: int
    short: bool
    count: int  # of its probes
    only: range | None
    folder: Path
    models: Path
    nursery: Nursery
    until: tuple[str, ...] = ()  # end at the first fall that says one of these

    def probes(self) -> Iterator[Probe]:
        for number in range(self.count):
            if self.only is not None and number not in self.only:
                continue
            probe, before = Probe(self, number), self.computed()
            try:
                yield probe
                probe.look_around()
            finally:
                shutil.rmtree(probe.folder, ignore_errors=True)
            said = (
                f"{self.tally.kind} {number}: {self.tally.tried} tried, {len(self.tally.falls)} fell, "
                f"{self.computed() - before:.1f} s of CPU"
            )
            fell = (f"  {how}" for at, how in self.tally.falls if at == number)
            print(said, *fell, sep="\n", file=sys.__stderr__, flush=True)
            if any(word in how for _, how in self.tally.falls for word in self.until):
                return

    def computed(self) -> float:
        """Seconds of CPU so far, of this process, its victims and its other children."""
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in usages) + self.nursery.computed()


class Probe:
    """One attack: a fresh folder with files of the user's in and around it, and dice of its own."""

    def __init__(self, arena: Arena, number: int) -> None:
        self.arena = arena
        self.number = number
        self.chance = random.Random(f"{arena.seed}:{arena.tally.kind}:{number}")
        self.folder = arena.folder / f"{number}"
        shutil.rmtree(self.folder, ignore_errors=True)  # of an attack that was cut off
        self.folder.mkdir(parents=True)
        self._guarded: dict[Path, bytes] = {}
        self._heard = ""
        self.guard("notes.txt", SECRET)

    def guard(self, name: str, content: bytes) -> Path:
        """A file of the user's: it must stay as it is, and be shown to nobody."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self._guarded[path] = content
        return path

    def take(self, *names: str, into: Path | None = None) -> None:
        """Copies of what was made once."""
        for name in names:
            source, target = self.arena.models / name, (into or self.folder) / name
            shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)

    def tried(self, count: int = 1) -> None:
        self.arena.tally.tried += count

    def fell(self, how: str) -> None:
        self.arena.tally.falls.append((self.number, " ".join(how.split())[:300]))

    def expect(self, true: bool, how: str) -> None:
        if not true:
            self.fell(how)

    def victim(self, *argv: object, **options: Any) -> Victim:
        environ = {"GEMINI_API_KEY": KEY, "OPENAI_API_KEY": KEY, **options.pop("environ", {})}
        cwd = options.pop("cwd", self.folder)
        return Victim(argv=tuple(map(str, argv)), cwd=cwd, environ=environ, **options)

    def command(self, *argv: object, seconds: float = SECONDS, **options: Any) -> Outcome:
        """Run `physplan ARGV` to its end, and look at what no command may do."""
        return self.judge(self.arena.nursery.run(self.victim(*argv, **options), seconds=seconds), argv)

    def judge(self, outcome: Outcome, argv: tuple[object, ...]) -> Outcome:
        said = f"physplan {' '.join(map(str, argv))}"[:120]
        if problem := outcome.problem():
            self.fell(f"{problem} ({said})")
        if found := ORDERS.search(outcome.text):
            self.fell(f"an order to the terminal, {found[0]!r} ({said})")
        self.hear(outcome.text)
        return outcome

    def hear(self, text: str) -> None:
        """Words that a person would see."""
        self._heard += text

    @contextmanager
    def within(self, seconds: float, *, megabytes: int = 300) -> Iterator[None]:
        """In this process: a sentence is an answer; anything else, a hang or a flood of memory is a fall."""
        from physplan.errors import PhysPlanError
        from physplan.graph.errors import GraphError

        def stop(number: int, frame: FrameType | None) -> None:
            raise Hangs

        for timer, after in ((signal.ITIMER_PROF, seconds), (signal.ITIMER_REAL, 20 * seconds)):
            signal.setitimer(timer, after)
        signal.signal(signal.SIGALRM, stop)
        signal.signal(signal.SIGPROF, stop)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            yield
        except (PhysPlanError, GraphError) as error:
            self.hear(str(error))
            self.expect(not ORDERS.search(str(error)), f"an order to the terminal in {str(error)[:80]!r}")
        except Hangs:
            self.fell(f"hangs: not done after {seconds:.0f} s")
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.fell(
                f"traceback: {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
            )
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000
        self.expect(grown < megabytes, f"memory: {grown} MB")

    def look_around(self) -> None:
        """After a probe: the user's files, and the places where a key or a secret must not be."""
        for path, content in self._guarded.items():
            found = path.read_bytes() if path.is_file() and not path.is_symlink() else None
            self.expect(found == content, f"{path.name}, a file of the user's, is gone or changed")
        self._look_for_the_key("what was printed", self._heard.encode("utf-8", "replace"))
        secrets = [SECRET[:40], base64.b64encode(SECRET)[:40]]
        if any(secret in self._heard.encode("utf-8", "replace") for secret in secrets):
            self.fell("a file of the user's was shown")
        for path in self._files():
            content = path.read_bytes()
            self._look_for_the_key(path.name, content)
            if path not in self._guarded and any(secret in content for secret in secrets):
                self.fell(f"a file of the user's was copied into {path.name}")
            if path.suffix in (".html", ".svg"):
                self._look_at_page(path.name, content)

    def _look_for_the_key(self, where: str, content: bytes) -> None:
        forms = {KEY.lower(), KEY.lower().replace("+", "%2b").replace("/", "%2f").replace("=", "%3d")}
        lower = content.lower()
        self.expect(not any(form.encode() in lower for form in forms), f"the key is in {where}")

    def _look_at_page(self, name: str, content: bytes) -> None:
        self.expect(SCRIPT.encode() not in content, f"{name} holds a script of somebody else")
        if name.endswith(".html"):
            self.expect(b"Content-Security-Policy" in content, f"{name} lets scripts run")
            own = content.count(b"<script")
            self.expect(
                own == content.count(b"sha256-") or own == 0, f"{name} holds a script without its hash"
            )

    def _files(self) -> Iterator[Path]:
        for at, _, names in os.walk(self.folder):
            for path in (Path(at) / name for name in names):
                if path.is_file() and not path.is_symlink() and path.stat().st_size < 20_000_000:
                    yield path


def digests(folder: Path, names: list[str]) -> dict[str, str]:
    """By name; what is not there has none."""
    found = {}
    for name in names:
        path = folder / name
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
    return found


Attack = Callable[[Arena], None]


def stopwatch(attack: Attack, arena: Arena) -> None:
    started = time.monotonic()
    try:
        attack(arena)
    except Exception:
        arena.tally.falls.append((-1, f"the attack itself broke: {traceback.format_exc()[-300:]}"))
    arena.tally.seconds = time.monotonic() - started
