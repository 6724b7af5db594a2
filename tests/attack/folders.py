"""Plans, run folders and results from somebody else; folders of the user's that are taken for ours."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.attack.campaign import SCRIPT, SECRET, Arena, Probe
from tests.attack.replies import _places, _replaced, odd_value

from physplan_testing import melting

PLAN, RUN, RESULTS = "plan.json", "run", "work"
PICTURE = ("--image", "ice.png", "--prompt", melting.PROMPT)
QUICK = ("--config", "quick.yaml")
# Files that hold what people write by hand or what other programs keep: none is PhysPlan's to remove.
MINE = (
    ".pre-commit-config.yaml",
    ".ssh-keys",
    ".vscode-server/a-b",
    ".a-b",
    "holiday.jpg",
    "run.json",
    "x-y.mp4",
)


FREE = ("prompt", "instruction", "problems", "notes", "rule")


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        ATTACKS[probe.number % len(ATTACKS)](probe)
        probe.tried()


def hostile_plan(probe: Probe) -> None:
    """A plan file of any content, given to everything that takes one."""
    probe.take("ice.png", PLAN)
    chance, path = probe.chance, probe.folder / PLAN
    name = chance.choice(list(PLANS))
    PLANS[name](chance, path)
    argv = chance.choice(
        [
            ("show", PLAN),
            ("show", PLAN, "-o", "plan.html"),
            ("show", PLAN, "-o", "plan.svg"),
            ("show", PLAN, "-o", "plan.png"),
            ("plan", "--check", PLAN),
            ("plan", "--check", PLAN, "-o", "checked.json"),
            ("evaluate", "checks", "."),
            ("generate", "--image", "ice.png", "--plan", PLAN, "-o", "out", "--dry-run"),
            ("verify", "ice.png", "--plan", PLAN, "--image", "ice.png"),
        ]
    )
    outcome = probe.command(*argv)
    probe.expect(outcome.code in (0, 1, 2), f"exit code {outcome.code} for a plan: {name}")


def _edit(change: Callable[[Random, Any], Any]) -> Callable[[Random, Path], None]:
    def edit(chance: Random, path: Path) -> None:
        value = json.loads(path.read_text())
        path.write_text(json.dumps(change(chance, value)))

    return edit


def _odd_place(chance: Random, value: Any) -> Any:
    for _ in range(chance.randint(1, 3)):
        places = [place for place in _places(value) if place]
        value = _replaced(value, chance.choice(places), odd_value(chance)) if places else value
    return value


def _texts(chance: Random, value: Any, text: str) -> Any:
    """Some of the words replaced."""
    if isinstance(value, dict):
        return {key: _texts(chance, child, text) for key, child in value.items()}
    if isinstance(value, list):
        return [_texts(chance, child, text) for child in value]
    return text if isinstance(value, str) and chance.random() < 0.2 else value


def _stacked(chance: Random, value: Any) -> Any:
    """Objects on objects, and more of them than fit."""
    count = chance.choice([1_200, 1_900, 2_500, 10_000])
    nodes = [{**value["graph"]["nodes"][0], "id": f"box#{n + 50}"} for n in range(count)]
    edges = [{"a": f"box#{n + 50}", "r": "support", "b": f"box#{n + 51}"} for n in range(count - 1)]
    value["graph"] = {**value["graph"], "nodes": nodes, "edges": edges}
    return value


def _flipped(chance: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 8)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content[: chance.randrange(len(content))] if chance.random() < 0.3 else content)


def _replace_file(chance: Random, path: Path) -> None:
    """Something else under the file's name."""
    path.unlink(missing_ok=True)
    kind = chance.choice(["pipe", "folder", "link", "zero", "loop", "nothing"])
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(path.parent.parent / "notes.txt" if path.parent.name == RUN else "notes.txt")
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path.name)


PLANS: dict[str, Callable[[Random, Path], None]] = {
    "odd values": _edit(_odd_place),
    "odd values again": _edit(_odd_place),
    "flipped bytes": _flipped,
    "something else": _replace_file,
    "scripts": _edit(lambda chance, value: _texts(chance, value, SCRIPT)),
    "scripts in free words": _edit(lambda chance, value: _said(value, SCRIPT)),
    "orders": _edit(lambda chance, value: _texts(chance, value, "a \x1b[2J\u202e[/x] [bold]puddle\x07")),
    "ways out": _edit(lambda chance, value: _texts(chance, value, "../../notes.txt")),
    "a giant word": _edit(lambda chance, value: _texts(chance, value, "w" * chance.choice([999, 100_000]))),
    "a tower": _edit(lambda chance, value: _stacked(chance, value)),
    "deep": lambda chance, path: path.write_text(chance.choice(["[", '{"graph":']) * 100_000) and None,
    "one key twice": lambda chance, path: path.write_text(
        json.dumps({f"k{n}": 0 for n in range(75_000)})[:-1] + ', "k74999": 1}') and None,
    "digits": lambda chance, path: path.write_text(path.read_text().replace("1", "1" * 5_000, 1)) and None,
    "a binary": lambda chance, path: path.write_bytes(chance.randbytes(5_000)) and None,
}  # fmt: skip


def hostile_run(probe: Probe) -> None:
    """A finished run with one thing changed: its report, its costs, and its going on."""
    probe.take("ice.png", "quick.yaml", RUN)
    chance, run = probe.chance, probe.folder / RUN
    (run / "report.html").unlink(missing_ok=True)
    for page in run.rglob("*.html"):
        page.unlink()
    name = chance.choice(list(RUNS))
    RUNS[name](chance, run)
    argv = chance.choice([("report", RUN), ("report", RUN), ("report", RUN), ("evaluate", "cost", RUN)])
    outcome = probe.command(*argv)
    probe.expect(outcome.code in (0, 2), f"exit code {outcome.code} for a run folder: {name}")
    page, elsewhere = run / "report.html", probe.folder / "elsewhere"
    if page.exists() and elsewhere.exists():
        start = base64.b64encode(elsewhere.read_bytes()[:300])
        probe.expect(start not in page.read_bytes(), "a link was followed: what it leads to is in the report")


def _edit_record(chance: Random, run: Path) -> None:
    path = run / chance.choice(
        ["run.json", "keyframes.json", "losses.json", "stages/video.json", "stages/plan.json"]
    )
    value = json.loads(path.read_text())
    path.write_text(json.dumps(_odd_place(chance, value)))


def _scripts(chance: Random, run: Path) -> None:
    for path in (run / "keyframes.json", run / "plan.json", run / "run.json", run / "losses.json"):
        value = json.loads(path.read_text())
        changed = _texts(chance, value, SCRIPT)
        if path.name == "keyframes.json" and changed:
            field = chance.choice(["attempts", "drift", "instruction", "problems", "event"])
            changed[0][field] = chance.choice([SCRIPT, [SCRIPT]])
        if chance.random() < 0.5:
            path.write_text(json.dumps(changed))


def _said(value: Any, text: str) -> Any:
    """Every word that a person or a model may write freely: nothing else says that it is not theirs."""
    if isinstance(value, dict):
        return {
            key: _texts_all(child, text) if key in FREE else _said(child, text)
            for key, child in value.items()
        }
    return [_said(child, text) for child in value] if isinstance(value, list) else value


def _texts_all(value: Any, text: str) -> Any:
    return [_texts_all(child, text) for child in value] if isinstance(value, list) else text


def _free_words(chance: Random, run: Path) -> None:
    for path in (run / "keyframes.json", run / "plan.json", run / "run.json", *run.glob("stages/*.json")):
        path.write_text(json.dumps(_said(json.loads(path.read_text()), SCRIPT)))


def _way_out(chance: Random, run: Path) -> None:
    """Names in records that lead to a file of the user's."""
    path = run / f"stages/{chance.choice(['plan', 'keyframes', 'evidence', 'latents', 'video'])}.json"
    record = json.loads(path.read_text())
    for name in ("../notes.txt", str(run.parent / "notes.txt"), "keyframes/../../notes.txt"):
        record["files"][name] = "0" * 64
    path.write_text(json.dumps(record))
    records = json.loads((run / "keyframes.json").read_text())
    if records and chance.random() < 0.5:
        records[0]["event"] = "../../notes"
        (run / "keyframes.json").write_text(json.dumps(records))


def _link(chance: Random, run: Path) -> None:
    """One of the files is a link: what it leads to would be shown in a page that is passed on."""
    name = chance.choice(
        ["strip.png", "video.mp4", "config.yaml", "config.yaml", "keyframes.json", "run.json"]
    )
    if name in ("strip.png", "video.mp4"):
        shutil.move(run / name, run.parent / "elsewhere")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(run.parent / ("elsewhere" if name in ("strip.png", "video.mp4") else "notes.txt"))


def _other_file(chance: Random, run: Path) -> None:
    files = [path for path in run.rglob("*") if path.is_file() and path.name not in (".lock", "log.txt")]
    path = chance.choice(sorted(files))
    _replace_file(chance, path) if chance.random() < 0.5 else _flipped(chance, path)


def _list_of_files(chance: Random, run: Path) -> None:
    """FFmpeg would take these for a video of what they name."""
    shutil.copyfile(run / "video.mp4", run.parent / "secret.mp4")
    head = chance.choice(["#EXTM3U\n#EXT-X-VERSION:3\n#EXTINF:1,\n", "ffconcat version 1.0\nfile "])
    (run / "video.mp4").write_text(f"{head}../secret.mp4\n")


RUNS: dict[str, Callable[[Random, Path], None]] = {
    "odd records": _edit_record,
    "odd records again": _edit_record,
    "scripts": _scripts,
    "scripts in free words": _free_words,
    "ways out": _way_out,
    "a link": _link,
    "another file": _other_file,
    "a list of files": _list_of_files,
}


def hostile_run_goes_on(probe: Probe) -> None:
    """The same command in a folder whose records name files of the user's."""
    probe.take("ice.png", "quick.yaml", RUN)
    _way_out(probe.chance, probe.folder / RUN)
    seed = probe.chance.randrange(1, 1000)
    probe.command("generate", *PICTURE, "-o", RUN, *QUICK, "--seed", seed, "--redo", "--method", "base")


def folder_of_the_user(probe: Probe) -> None:
    """A folder that is none of ours, as the place for a run, a batch, a study, a plan or frames."""
    chance = probe.chance
    probe.take("ice.png", "quick.yaml", "rows.csv")
    for name in chance.sample(MINE, chance.randint(1, 4)):
        content = b'{"scripts": {}}' if name == "run.json" else b"mine"
        probe.guard(f"home/{name}", content)
    where = chance.choice(["home", "home", "./home/../home"])
    argv = chance.choice(
        [
            ("generate", *PICTURE, "-o", where, *QUICK, "--method", "base"),
            ("generate", *PICTURE, "-o", where, *QUICK, "--method", "base", "--redo"),
            ("batch", "rows.csv", "-o", where, *QUICK),
            ("plan", *PICTURE, "-o", where),
            ("report", where),
            ("evaluate", "status", where),
        ]
    )
    outcome = probe.command(*argv)
    probe.expect(outcome.code == 2, f"{argv[0]} in a folder of the user's ends with {outcome.code}")
    left = {path.name for path in (probe.folder / "home").iterdir()}
    strange = left - {Path(name).parts[0] for name in MINE}
    probe.expect(not strange, f"{argv[0]} wrote {sorted(strange)} into a folder of the user's")


def hostile_results(probe: Probe) -> None:
    """The folder of an evaluation, with names and numbers of somebody else."""
    chance = probe.chance
    probe.take(RESULTS)
    work = probe.folder / RESULTS
    manifest, (result, *_) = work / "manifest.json", sorted(work.glob("cases/*/result.json"))
    path = chance.choice([manifest, result])
    kind = chance.choice(["odd", "names", "flip", "else"])
    if kind == "odd":
        path.write_text(json.dumps(_odd_place(chance, json.loads(path.read_text()))))
    elif kind == "names" and path is manifest:
        cases = json.loads(path.read_text())
        cases[0]["name"] = chance.choice(["../../notes.txt", SCRIPT, "/etc/passwd", "\x1b[2J", "x" * 100_000])
        path.write_text(json.dumps(cases))
    elif kind == "names":
        record = json.loads(path.read_text())
        record["files"] = {"../../../notes.txt": "0" * 64}
        path.write_text(json.dumps(record))
    else:
        _flipped(chance, path) if kind == "flip" else _replace_file(chance, path)
    outcome = probe.command("evaluate", "status", RESULTS)
    probe.expect(outcome.code in (0, 2), f"exit code {outcome.code} for a folder of results")
    probe.expect(SECRET[:20].decode() not in outcome.text, "a file of the user's was shown")


ATTACKS = (
    *(hostile_plan, hostile_run, folder_of_the_user, hostile_plan, hostile_run, hostile_results),
    *(hostile_plan, hostile_run, folder_of_the_user, hostile_plan, hostile_run, hostile_run_goes_on),
)
