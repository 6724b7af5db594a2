"""Where a key goes and what a call counts as is typed: nothing that can be passed on says it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from physplan import presets
from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.pipeline import PhysPlan
from physplan.pipeline.config import RuntimeConfig
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.consent import CONSENT
from physplan_bench.batch.jobs import read_jobs
from physplan_sandbox.samples import first_frame, sample

SAID: dict[str, Any] = {
    "runtime.allow_hosts": ["evil.example"],
    "runtime.prices": "free.json",
    "runtime.total_budget": 1e6,
    "runtime.total_ledger": "elsewhere.jsonl",
}


@pytest.fixture
def ice(tmp_path: Path) -> Path:
    first_frame(sample("ice-tray", 0)).save(tmp_path / "ice.png")
    return tmp_path / "ice.png"


def in_a_config(tmp_path: Path, name: str, suffix: str) -> None:
    part, field = name.split(".")
    value = json.dumps(SAID[name])
    text = {".yaml": f"{part}: {{{field}: {value}}}\n", ".toml": f"[{part}]\n{field} = {value}\n"}[suffix]
    (tmp_path / f"c{suffix}").write_text(text)
    load_config(tmp_path / f"c{suffix}")


def in_a_row(tmp_path: Path, name: str, form: str) -> None:
    row: dict[str, Any] = {"image": "ice.png", "prompt": sample("ice-tray", 0).prompt}
    part, field = name.split(".")
    path = tmp_path / "rows.jsonl"
    if form == "dotted":
        row[name] = SAID[name]
    elif form == "settings":
        row["settings"] = {name: SAID[name]}
    elif form == "nested":
        row["settings"] = {part: {field: SAID[name]}}
    path.write_text(json.dumps(row) + "\n")
    if form == "csv":
        path = tmp_path / "rows.csv"
        cell = json.dumps(SAID[name]).replace('"', '""')
        path.write_text(f'image,prompt,{name}\nice.png,{row["prompt"]},"{cell}"\n')
    read_jobs(path, "sandbox", {"runtime.total_budget": 1.0}, tmp_path / "out", here=False)


def in_a_page(tmp_path: Path, name: str) -> None:
    from physplan_studio.spec import read_spec
    from physplan_studio.worker_tasks import Work

    given = {"picture": "0" * 64, "prompt": "", "settings": {name: SAID[name]}}
    with pytest.raises(PhysPlanError, match="The page cannot set"):
        read_spec(given)
    Work()._physplan({"source": "sandbox", "settings": {name: SAID[name]}})  # as if that had let it pass


def in_a_workflow(tmp_path: Path, name: str) -> None:
    from integrations.comfyui.work import configure

    configure("sandbox", f"{name}={json.dumps(SAID[name])}")


def in_a_preset(tmp_path: Path, name: str) -> None:
    """Of a package that somebody else made: its recipe is a file like any other."""
    part, field = name.split(".")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("physplan.presets.NAMES", (*presets.NAMES, "theirs"))
        patch.setattr("physplan.presets.recipe", lambda _: {part: {field: SAID[name]}})
        load_config("theirs")


def in_a_request(tmp_path: Path, name: str) -> None:
    """To `physplan serve`: extra_params refuse it by name, and what they let pass is looked at by value."""
    from physplan_studio.serving.videos import EXTRA, Videos

    assert not {name, name.split(".")[1], "settings"} & set(EXTRA)
    Videos._check(cast("Any", None), {"preset": "sandbox", "settings": {name: SAID[name]}})


WAYS: dict[str, Callable[[Path, str], None]] = {
    **{suffix: partial(in_a_config, suffix=suffix) for suffix in (".yaml", ".toml")},
    **{form: partial(in_a_row, form=form) for form in ("dotted", "settings", "nested", "csv")},
    "page": in_a_page,
    "request": in_a_request,
    "preset": in_a_preset,
    "workflow": in_a_workflow,
}


@pytest.mark.parametrize("name", list(CONSENT))
@pytest.mark.parametrize("way", list(WAYS))
def test_no_file_row_page_or_workflow_gives_consent(tmp_path: Path, ice: Path, way: str, name: str) -> None:
    with pytest.raises(PhysPlanError, match=rf"sets {name}, which only the command line may"):
        WAYS[way](tmp_path, name)


def test_the_command_line_and_python_do(tmp_path: Path, ice: Path) -> None:
    typed = {"runtime.allow_hosts": ["mine.example"], "runtime.prices": "p.json"}
    assert load_config("paper", typed).runtime.allow_hosts == ("mine.example",)
    row = {
        "image": "ice.png",
        "prompt": sample("ice-tray", 0).prompt,
        "runtime.allow_hosts": ["mine.example"],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    (job,) = read_jobs(tmp_path / "rows.jsonl", "sandbox", typed, tmp_path / "out", here=False)
    assert job.config.runtime.allow_hosts == ("mine.example",)


@pytest.mark.parametrize(
    ("typed", "row"),
    [
        ({"runtime.budget": 0.1}, {"runtime.budget": 100.0}),
        ({"runtime.budget": 0.1}, {"runtime.budget": None}),
        ({"runtime.offline": True}, {"runtime.offline": False}),
        ({"runtime.local_files_only": True}, {"settings": {"runtime": {"local_files_only": False}}}),
    ],
)
def test_a_row_undoes_no_limit_that_was_typed(
    tmp_path: Path, ice: Path, typed: dict[str, Any], row: dict[str, Any]
) -> None:
    given = {"image": "ice.png", "prompt": sample("ice-tray", 0).prompt}
    (tmp_path / "rows.jsonl").write_text(json.dumps({**given, **row}))
    with pytest.raises(PhysPlanError, match="typed"):
        read_jobs(tmp_path / "rows.jsonl", "sandbox", typed, tmp_path / "out", here=False)


def test_every_runtime_setting_that_names_a_file_or_a_host_is_in_the_list() -> None:
    """A new one is either consent, or stands here with the reason why it is none."""
    harmless = {"device"}  # a pattern
    kinds = {f.name: str(f.type) for f in dataclasses.fields(RuntimeConfig)}
    texts = {name for name, kind in kinds.items() if "str" in kind and "Literal" not in kind}
    assert {f"runtime.{name}" for name in texts - harmless} <= set(CONSENT)


def test_a_copy_of_a_run_holds_no_consent_of_its_maker(
    tmp_path: Path, ice: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"runtime.allow_hosts": ["mine.example"], "runtime.total_ledger": str(tmp_path / "l.jsonl")}
    pp = PhysPlan.from_preset("sandbox", **given)
    pp.plan(ice, sample("ice-tray", 0).prompt, output_dir=tmp_path / "run")
    kept = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert not {f"runtime.{name}" for name in kept["runtime"]} & set(CONSENT)
    load_config(tmp_path / "run" / "config.yaml")
    stranger = kept | {"runtime": kept["runtime"] | {"allow_hosts": ["evil.example"]}}
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump(stranger))
    argv = [
        "generate",
        "--image",
        str(ice),
        "--prompt",
        "the ice melts",
        "--dry-run",
        "-o",
        str(tmp_path / "x"),
    ]
    assert main([*argv, "--config", str(tmp_path / "run" / "config.yaml")]) == 2
    assert "sets runtime.allow_hosts" in capsys.readouterr().err
