"""A study's design, study.json: prompts, pairs, who rates how many. It says who made what: never served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.foreign import inside, read_file
from physplan.graph.errors import GraphError
from physplan.graph.parsing import parse_json
from physplan.runs.records import LIMITS
from physplan_bench.study.assign import Pair, Trial, deal

FILE, VIDEOS, FRAMES, VOTES = "study.json", "videos", "frames", "votes.sqlite"
VERSION = 1


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
    """The folder is untrusted input: any fault in it is one sentence."""
    path = folder / FILE
    try:
        content = parse_json(read_file(path, limit=LIMITS.max_bytes), LIMITS)
        study = _study(content)
        for name in study.files():
            if not inside(folder, name).is_file():
                raise PhysPlanError(f"{folder} lacks the file {name}: make the study again.")
        study.hands  # noqa: B018 - dealt here, so that a wrong number is an error now
        return study
    except FileNotFoundError:
        raise PhysPlanError(f"There is no {path}: make a study with `physplan study make`.") from None
    except OSError as error:
        raise PhysPlanError(f"{path} cannot be read ({error.strerror}).") from None
    except (GraphError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise PhysPlanError(f"{path} is not a study of PhysPlan ({error!r}): make it again.") from None


def _study(content: Any) -> Study:
    if content["physplan_study"] != VERSION:
        raise ValueError(f"version {content['physplan_study']!r}, this PhysPlan reads {VERSION}")
    given = {name: value for name, value in content.items() if name != "physplan_study"}
    prompts = tuple(
        Prompt(**{**one, "videos": {_text(k): _text(v) for k, v in one["videos"].items()}})
        for one in given.pop("prompts")
    )
    for one in prompts:
        _texts((one.prompt, one.domain, one.frame))
    pairs = tuple(Pair(**one) for one in given.pop("pairs"))
    for pair in pairs:
        if not 0 <= pair.prompt < len(prompts) or not {pair.first, pair.second} <= set(
            prompts[pair.prompt].videos
        ):
            raise ValueError(f"a pair of what is not there: {pair}")
    known = [Known(**one) for one in (given.pop("example"), *given.pop("checks"))]
    for check in known:
        _texts((check.prompt, check.frame, check.good, check.bad))
    for name in ("seed", "per_participant", "participants"):
        if type(given[name]) is not int or not 0 <= given[name] < 1_000_000:
            raise ValueError(f"{name} is {given[name]!r}")
    if type(given["codes"]) is not bool:
        raise TypeError(f"codes is {given['codes']!r}")
    _texts((given["id"], given["title"], given["contact"]))
    lists: dict[str, Any] = {name: _texts(given.pop(name)) for name in ("methods", "consent", "notes")}
    return Study(prompts=prompts, pairs=pairs, example=known[0], checks=tuple(known[1:]), **lists, **given)


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(_text(value) for value in values)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
