"""A study's design, study.json: prompts, pairs, who rates how many. It says who made what: never served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.foreign import inside, read_file
from physplan.graph.errors import GraphError
from physplan.graph.json_values import read_as, read_object
from physplan.graph.parsing import parse_json
from physplan.runs.records import LIMITS
from physplan_bench.study.assign import Pair, Trial, deal

FILE, VIDEOS, FRAMES, VOTES = "study.json", "videos", "frames", "votes.sqlite"
VERSION = 1


class _Design(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def files(self) -> list[str]: ...


Design = TypeVar("Design", bound=_Design)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A sentence, its first frame, and a video of every method; files relative to the study's folder."""

    prompt: str
    domain: str
    frame: str
    videos: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Known:
    """A pair with a known answer: a video, and the same video damaged."""

    prompt: str
    frame: str
    good: str
    bad: str


@dataclass(frozen=True, kw_only=True)
class Study:
    id: str
    title: str
    seed: int
    methods: tuple[str, ...]
    prompts: tuple[Prompt, ...]
    pairs: tuple[Pair, ...]
    example: Known
    per_participant: int
    participants: int
    checks: tuple[Known, ...] = ()
    codes: bool = False
    contact: str = ""
    consent: tuple[str, ...] = ()  # paragraphs of one's own; empty for ours
    notes: tuple[str, ...] = field(default=())  # what a reader of the result should know

    @cached_property
    def hands(self) -> list[list[Trial]]:
        """The trials of every participant's place."""
        return deal(
            self.pairs,
            each=self.per_participant,
            participants=self.participants,
            checks=len(self.checks),
            seed=self.seed,
        )

    def sides(self, trial: Trial) -> tuple[str, str, str, str]:
        """What is shown: the sentence, the first frame, Video A and Video B."""
        if trial.kind == "check":
            known = self.checks[trial.index]
            shown = (known.good, known.bad)
            sentence, frame = known.prompt, known.frame
        else:
            pair = self.pairs[trial.index]
            prompt = self.prompts[pair.prompt]
            shown = (prompt.videos[pair.first], prompt.videos[pair.second])
            sentence, frame = prompt.prompt, prompt.frame
        a, b = reversed(shown) if trial.flipped else shown
        return sentence, frame, a, b

    def files(self) -> list[str]:
        """Every file that a participant may see."""
        known = (self.example, *self.checks)
        found = [name for one in known for name in (one.frame, one.good, one.bad)]
        found += [name for one in self.prompts for name in (one.frame, *one.videos.values())]
        return list(dict.fromkeys(found))

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, {"physplan_study": VERSION, **asdict(self)})


def load_study(folder: Path) -> Study:
    study = read_design(folder, FILE, Study, ("study", VERSION))
    for pair in study.pairs:
        if not 0 <= pair.prompt < len(study.prompts) or not {pair.first, pair.second} <= set(
            study.prompts[pair.prompt].videos
        ):
            raise _no_design(folder / FILE, "study", f"a pair of what is not there: {pair}")
    try:
        if not all(0 <= n < 1_000_000 for n in (study.seed, study.per_participant, study.participants)):
            raise ValueError("a number is out of range")
        study.hands  # noqa: B018 - dealt here, so that a wrong number is an error now
    except (ValueError, IndexError) as error:
        raise _no_design(folder / FILE, "study", error) from None
    return study


def read_design(folder: Path, name: str, kind: type[Design], mark: tuple[str, int]) -> Design:
    """A study or a rating. The folder is untrusted input: any fault in it is one sentence."""
    path, (what, version) = folder / name, mark
    try:
        content = parse_json(read_file(path, limit=LIMITS.max_bytes), LIMITS)
        given = read_object(content, "$", optional=(f"physplan_{what}", *kind.__dataclass_fields__))
        if (found := given.pop(f"physplan_{what}", None)) != version:
            raise ValueError(f"version {found!r}, this PhysPlan reads {version}")
        design: Design = read_as(kind, given, "$")
        for file in design.files():
            if not inside(folder, file).is_file():
                raise PhysPlanError(f"{folder} lacks the file {file}: make it again.")
        return design
    except FileNotFoundError:
        raise PhysPlanError(f"There is no {path}: make a study with `physplan study make`.") from None
    except OSError as error:
        raise PhysPlanError(f"{path} cannot be read ({error.strerror}).") from None
    except (GraphError, ValueError) as error:
        raise _no_design(path, what, error) from None


def _no_design(path: Path, what: str, why: object) -> PhysPlanError:
    return PhysPlanError(f"{path} is not a {what} of PhysPlan ({why}): make it again.")
