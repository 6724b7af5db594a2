"""Whose videos there are of which prompt: runs of ours and files of any tool, matched by their words."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.foreign import inside, plain, read_file
from physplan.runs import layout
from physplan_bench.videos import SUFFIXES

MAX_TABLE = 20_000_000  # bytes of the CSV
MAX_PROMPT = 2000  # letters; longer ones are no captions
# Our own names first, then those of Physics-IQ's and PhyGenBench's files.
NAME = ("name", "generated_video_name")
PROMPT = ("prompt", "description", "caption")
DOMAIN = ("domain", "category", "main_category")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One video in a folder."""

    name: str
    video: Path
    prompt: str = ""  # where a run says it
    frame: Path | None = None  # where a run kept its first frame


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One prompt with a video of every method."""

    prompt: str
    domain: str
    items: Mapping[str, Item]  # by method


def words(text: str) -> str:
    """What two spellings of a prompt or of a file's name have in common."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def read_folder(folder: Path) -> list[Item]:
    """The runs in a folder (or the one run it is), else its video files."""
    if not folder.is_dir():
        raise PhysPlanError(f"There is no folder {folder} with videos or runs.")
    places = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    runs = [_run(place / part) for place in places for part in ("", "run")]
    items = [item for item in runs if item]
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    if not items:
        items = [Item(name=path.stem, video=path) for path in files]
    if not items:
        raise PhysPlanError(f"{folder} holds no video and no run with a {layout.VIDEO}.")
    return items


def _run(folder: Path) -> Item | None:
    if not (folder / layout.RUN).is_file() or not (folder / layout.VIDEO).is_file():
        return None
    frame = inside(folder, layout.FRAME)
    return Item(
        name=folder.parent.name if folder.name == "run" else folder.name,
        video=inside(folder, layout.VIDEO),
        prompt=layout.load_run(folder).prompt,
        frame=frame if frame.is_file() else None,
    )


def match(folders: Mapping[str, Sequence[Item]], table: Path | None = None) -> list[Shown]:
    """The prompts of which every method has a video."""
    shown = _by_table(folders, table) if table else _by_words(folders)
    if not shown:
        names = " and ".join(folders)
        remedy = "see the names in --prompts" if table else "give a CSV with name and prompt as --prompts"
        raise PhysPlanError(f"{names} have no video of the same prompt: {remedy}.")
    for one in shown:
        if len(one.prompt) > MAX_PROMPT:
            raise PhysPlanError(
                f"The prompt that begins with {one.prompt[:40]!r} has over {MAX_PROMPT} letters: shorten it."
            )
    return shown


def _by_words(folders: Mapping[str, Sequence[Item]]) -> list[Shown]:
    (reference, items), *others = folders.items()
    shown = []
    for item in items:
        found = {reference: item}
        for method, theirs in others:
            if partner := _partner(item, items, method, theirs):
                found[method] = partner
        if len(found) == len(folders):
            said = [one.prompt for one in found.values() if one.prompt]
            prompt = said[0] if said else _from_name(item.name)
            shown.append(Shown(prompt=plain(prompt), domain="", items=found))
    return shown


def _partner(item: Item, ours: Sequence[Item], method: str, theirs: Sequence[Item]) -> Item | None:
    """The same words in the other folder; of several takes of a prompt, the one with the same name."""
    key = words(item.prompt or item.name)
    same = [one for one in theirs if key == words(one.prompt or one.name)]
    twice = len(same) > 1 or sum(words(one.prompt or one.name) == key for one in ours) > 1
    if not same or twice:
        named = [one for one in theirs if words(one.name) == words(item.name)]
        if twice and not named:
            raise PhysPlanError(
                f"{method} and {item.name} have several videos of {item.prompt or item.name!r}: name those "
                "that belong together alike, or give a CSV as --prompts."
            )
        same = named
    return same[0] if same else None


def _from_name(name: str) -> str:
    """Many tools name a video after its prompt."""
    prompt = re.sub(r"^\d+[_ -]+", "", name)
    if len(words(prompt).split()) < 2:
        raise PhysPlanError(
            f"No prompt is known of the video {name!r}: give a CSV with name and prompt as --prompts."
        )
    return re.sub(r"[_ ]+", " ", prompt).strip()


def _by_table(folders: Mapping[str, Sequence[Item]], table: Path) -> list[Shown]:
    shown = []
    for number, row in enumerate(read_table(table), 2):
        name, prompt = _cell(row, NAME), _cell(row, PROMPT)
        if not name or not prompt:
            raise PhysPlanError(f"{table}, line {number}: a row needs a name and a prompt.")
        found = {}
        for method, items in folders.items():
            wanted = Path(row.get(method, "").strip() or name)
            wanted_name = wanted.stem if wanted.suffix.lower() in SUFFIXES else wanted.name
            if item := _called(items, wanted_name, prompt):
                found[method] = item
        if len(found) == len(folders):
            shown.append(Shown(prompt=plain(prompt), domain=plain(_cell(row, DOMAIN)), items=found))
    return shown


def _called(items: Sequence[Item], name: str, prompt: str) -> Item | None:
    """Of that name, else with that name in front of its own, else a run of that prompt."""
    tests = (
        lambda item: item.name == name,
        lambda item: re.match(re.escape(name) + r"[^0-9A-Za-z]", item.name),
        lambda item: item.prompt and words(item.prompt) == words(prompt),
    )
    return next((item for test in tests for item in items if test(item)), None)


def read_table(path: Path) -> list[dict[str, str]]:
    try:
        text = read_file(path, limit=MAX_TABLE).decode("utf-8-sig")
    except OSError as error:
        raise PhysPlanError(f"{path} cannot be read ({error.strerror}): give a CSV file.") from None
    except UnicodeDecodeError:
        raise PhysPlanError(f"{path} is not UTF-8 text: save the CSV as UTF-8.") from None
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        rows = [
            {key.strip(): value or "" for key, value in row.items() if key and not isinstance(value, list)}
            for row in reader
        ]
        names = [name.strip() for name in reader.fieldnames or ()]
    except csv.Error as error:
        raise PhysPlanError(f"{path} is not a CSV ({error}).") from None
    for wanted in (NAME, PROMPT):
        if not set(wanted) & set(names):
            raise PhysPlanError(f"{path} has no column {wanted[0]}: its first line must name the columns.")
    return rows


def _cell(row: Mapping[str, str], names: Sequence[str]) -> str:
    return next((row[name].strip() for name in names if row.get(name, "").strip()), "")
