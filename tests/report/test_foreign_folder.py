"""A run folder from somebody else: nothing in it runs, leads outside, or ends in a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tests.report.test_report_page import Page

from physplan.errors import PhysPlanError
from physplan.graph import GraphError
from physplan.report import write_report
from physplan.runs import RunFolder, layout
from physplan_bench.cost import read_run
from physplan_bench.failures.runs import describe_run

SCRIPT = "<script>alert(1)</script>"
Break = Callable[[Path], None]


def edit(name: str, change: Callable[[Any], Any]) -> Break:
    """Change a JSON file of the run."""

    def broken(path: Path) -> None:
        value = json.loads((path / name).read_text())
        (path / name).write_text(json.dumps(change(value) or value))

    return broken


def first(**fields: Any) -> Callable[[Any], None]:
    return lambda entries: entries[0].update(fields)


BROKEN: dict[str, Break] = {
    "attempts is a script": edit("keyframes.json", first(attempts=SCRIPT)),
    "event leads outside": edit("keyframes.json", first(event="../../secret")),
    "event is not the first": edit("keyframes.json", first(event=2)),
    "drift is a text": edit("keyframes.json", first(drift=SCRIPT)),
    "problems is a text": edit("keyframes.json", first(problems=SCRIPT)),
    "instruction is a list": edit("keyframes.json", first(instruction=[SCRIPT])),
    "a keyframe less": edit("keyframes.json", lambda entries: entries[:-1]),
    "keyframes is an object": edit("keyframes.json", lambda entries: {"a": 1}),
    "keyframes is cut": lambda path: (path / "keyframes.json").write_text("[{"),
    "keyframes is a folder": lambda path: replace_by_folder(path / "keyframes.json"),
    "keyframes is deep": lambda path: (path / "keyframes.json").write_text("[" * 100_000),
    "seed is a script": edit("run.json", lambda run: run["inputs"].update(seed=SCRIPT)),
    "inputs is a list": edit("run.json", lambda run: run.update(inputs=[])),
    "identity is a number": edit("run.json", lambda run: run.update(identity=3)),
    "versions is a text": edit("run.json", lambda run: run.update(versions="1")),
    "run is cut": lambda path: (path / "run.json").write_text("{"),
    "steps is missing": edit("losses.json", lambda losses: {"ended": "finished"}),
    "losses is cut": lambda path: (path / "losses.json").write_text('{"steps": ['),
    "a value is a script": edit("losses.json", lambda v: v["steps"][0]["terms"][0].update(value=SCRIPT)),
    "objects is a number": edit("losses.json", lambda v: v["steps"][0]["terms"][0].update(objects=1)),
    "an event is a text": edit("losses.json", lambda v: v["steps"][0]["terms"][0].update(event="1")),
    "a plan of another kind": lambda path: (path / "plan.json").write_text('{"a": 1}'),
    "regions is cut": lambda path: (path / "regions.safetensors").write_bytes(b"\x10"),
    "regions is a pipe": lambda path: replace_by_pipe(path / "regions.safetensors"),
    "evidence is a pipe": lambda path: replace_by_pipe(path / "evidence.safetensors"),
    "a region without event": lambda path: save_file({"x": torch.ones(2, 2)}, path / "regions.safetensors"),
    "a region of one number": lambda path: save_file(
        {"event 1, count of a": torch.ones(1)}, path / "regions.safetensors"
    ),
    "evidence is cut": lambda path: (path / "evidence.safetensors").write_bytes(b"{"),
    "evidence of other shapes": lambda path: save_file(
        {"0.image": torch.ones(3, 4, 4), "0.depth": torch.ones(9)},
        path / "evidence.safetensors",
        {"schema": "physplan.evidence/1", "frames": json.dumps([{"nodes": [], "missing": []}])},
    ),
    "a keyframe is a text": lambda path: (path / "keyframes/1.png").write_text(SCRIPT),
    "a keyframe is missing": lambda path: (path / "keyframes/1.png").unlink(),
    "the first frame is missing": lambda path: (path / "frame.png").unlink(),
    "the video is a text": lambda path: (path / "video.mp4").write_text(SCRIPT),
    "the settings are missing": lambda path: (path / "config.yaml").unlink(),
}


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_one_sentence(finished: RunFolder, broken: Break) -> None:
    broken(finished.path)
    with pytest.raises((PhysPlanError, GraphError)) as caught:
        write_report(finished)
    told = str(caught.value)
    assert "\n" not in told
    assert str(finished.path) in told, "it says which file"
    assert not (finished.path / "report.html").exists()


@pytest.mark.parametrize(
    "name", [n for n in layout.FILES if n not in (layout.REPORT, layout.LOCK, layout.LOG)]
)
def test_no_link_is_followed(
    finished: RunFolder, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    """What a link shows would otherwise be embedded in a page that is passed on."""
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    path = finished / name
    content = path.read_bytes() if path.exists() else b"secret"
    secret.write_bytes(content)
    path.unlink(missing_ok=True)
    path.symlink_to(secret)
    with pytest.raises(PhysPlanError, match="symbolic link"), finished.locked():
        pass
    if name in (layout.STRIP, layout.VIDEO, layout.FRAME, layout.CONFIG, layout.KEYFRAMES, layout.LOSSES):
        with pytest.raises(PhysPlanError, match="symbolic link"):
            write_report(finished)
    assert secret.read_bytes() == content


@pytest.mark.parametrize("name", ["../victim.txt", "/x/victim.txt", "keyframes/../../victim.txt", "a\\b", ""])
def test_a_record_that_names_a_file_elsewhere_deletes_nothing(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    run = RunFolder(tmp_path / "run")
    run.finish("plan", "k", [], seconds=1.0, made_from={})
    name = str(victim) if name.startswith("/") else name
    edit(f"run/{layout.record('plan')}", lambda record: record.update(files={name: "0"}))(tmp_path)
    assert run.record("plan") is None, "such a record is not trusted"
    run.invalidate(["plan"])
    assert victim.read_text() == "mine"


def test_a_record_deletes_nothing_through_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "1.png").write_text("mine")
    run = RunFolder(tmp_path / "run")
    run.finish("keyframes", "k", [], seconds=1.0, made_from={})
    (run / "keyframes").symlink_to(tmp_path / "pictures")
    edit(f"run/{layout.record('keyframes')}", lambda r: r.update(files={"keyframes/1.png": "0"}))(tmp_path)
    run.invalidate(["keyframes"])
    assert (tmp_path / "pictures" / "1.png").read_text() == "mine"


def test_the_page_allows_no_script_and_no_address(finished: RunFolder) -> None:
    text = write_report(finished).read_text()
    page = Page(text)
    assert "script" not in page.tags
    assert "default-src 'none'" in text
    assert "script-src" not in text
    assert all(address.startswith(("data:", "#")) for address in page.addresses)


def test_changed_bytes_anywhere_end_in_a_sentence_or_a_page(finished: RunFolder) -> None:
    """Every reader of a run folder, on files with random changes."""
    chance = random.Random(3)
    names = ("run.json", "keyframes.json", "losses.json", "plan.json", "config.yaml", "stages/video.json")
    whole = {name: (finished / name).read_bytes() for name in names}
    for _ in range(40):
        name = chance.choice(names)
        damaged = bytearray(whole[name])
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(damaged))
            damaged[place : place + chance.randint(0, 3)] = bytes(chance.choices(b'{}[]",:0-x\xff\0', k=2))
        (finished / name).write_bytes(damaged)
        for read, given in (
            (write_report, finished),
            (read_run, finished.path),
            (describe_run, finished.path),
        ):
            with contextlib.suppress(PhysPlanError, GraphError):
                read(given)  # type: ignore[operator]
        (finished / name).write_bytes(whole[name])
