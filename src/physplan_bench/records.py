"""One record per judged video: the common form behind pages, comparisons, tables and corrections.

A result's JSON holds them as `records`; older results of Physics-IQ, PhyGround and PhyGenBench are read from
their own lists. Paths are relative to the folder of the JSON file.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.files import atomic_path, write_atomic
from physplan.foreign import read_file
from physplan.graph.parsing import parse_json
from physplan_bench.cases import LIMITS, MAX_RESULT
from physplan_bench.tables import csv_cell

Key = tuple[str, str, int]  # method, scene, seed


@dataclass(frozen=True, kw_only=True)
class Record:
    scene: str
    method: str
    score: float  # the benchmark's measure of one video; higher is better
    seed: int = 0
    cluster: str = ""  # scenes that are no independent evidence share one, such as views; default: the scene
    good: bool | None = None  # where the benchmark says yes or no
    phenomenon: str = ""
    verdict: str = ""
    failure: str = ""
    prompt: str = ""
    plan: tuple[str, ...] = ()
    keyframes: tuple[str, ...] = ()
    video: str = ""
    values: Mapping[str, float | int | str | bool | None] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.method, self.scene, self.seed

    @property
    def group(self) -> str:
        return self.cluster or self.scene

    def moved(self, old: Path, new: Path) -> Record:
        """The same files, seen from another folder."""

        def path(name: str) -> str:
            return os.path.relpath(old / name, new) if name else ""

        return replace(self, video=path(self.video), keyframes=tuple(path(name) for name in self.keyframes))


def result_file(path: Path) -> Path:
    """The JSON file itself, or the one in a page's folder."""
    return path / "result.json" if path.is_dir() else path


def load_result(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(read_file(result_file(path), limit=MAX_RESULT), LIMITS)
    except (OSError, ValueError) as error:
        raise PhysPlanError(
            f"{path} cannot be read as a result ({error}): give what `evaluate ... -o` wrote."
        ) from None
    if not isinstance(found, dict):
        raise PhysPlanError(f"{path} is not a result: give the JSON file that `evaluate ... -o` wrote.")
    return found


def records_of(result: Mapping[str, Any], label: str = "this run") -> list[Record]:
    """Every judged video of a result. Its method is `label` where the result has one model only."""
    benchmark = result.get("benchmark")
    try:
        if "records" in result:
            return [read_record(entry) for entry in result["records"]]
        if isinstance(result.get("runs"), dict):
            return [
                replace(record, seed=number)
                for number, run in enumerate(result["runs"].values())
                for record in records_of(run, label)
            ]
        if isinstance(result.get("methods"), dict):
            parts = result["methods"].items()
            return [record for method, part in parts for record in records_of(part, method)]
        if benchmark == "physics-iq":
            return [_of_physics_iq(name, video, label) for name, video in result["videos"].items()]
        if benchmark == "phyground":
            return [_of_phyground(video, label) for video in result["videos"]]
        if benchmark == "phygenbench":
            return [_of_phygenbench(i, video, label) for i, video in enumerate(result["videos"], 1)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PhysPlanError(f"The result's list of videos is damaged ({error!r}): measure again.") from None
    return []


def need_records(path: Path) -> list[Record]:
    found = records_of(load_result(path), path.stem)
    if not found:
        raise PhysPlanError(
            f"{path} has no figures per video: give a result of sandbox, physics-iq, phygenbench or "
            "phyground that this version has measured."
        )
    return found


def read_record(entry: Mapping[str, Any]) -> Record:
    known = {one.name for one in fields(Record)}
    values = {name: value for name, value in entry.items() if name in known}
    record = Record(**{**values, "score": float(values["score"]), "seed": int(values.get("seed", 0))})
    texts = ("scene", "method", "cluster", "phenomenon", "verdict", "failure", "prompt", "video")
    if not all(isinstance(getattr(record, name), str) for name in texts):
        raise ValueError("a record's text is no text")
    lists = {name: tuple(str(one) for one in getattr(record, name)) for name in ("plan", "keyframes")}
    return replace(record, **lists, values=dict(record.values))  # type: ignore[arg-type]


def plain_records(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Without empty fields."""
    return [
        {name: value for name, value in asdict(record).items() if value not in ("", (), None, {})}
        for record in records
    ]


def write_table(records: Sequence[Record], path: Path) -> None:
    """One row per video: `.csv`, or `.parquet` with the extra `tables`."""
    rows = [flat_row(record) for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if path.suffix == ".parquet":
        from physplan.extras import need_extra

        need_extra("pyarrow", extra="tables")
        import pyarrow
        import pyarrow.parquet

        columns = {name: [row.get(name) for row in rows] for name in names}
        with atomic_path(path) as target:
            pyarrow.parquet.write_table(pyarrow.table(columns), target)
    elif path.suffix == ".csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([csv_cell(name) for name in names])
        writer.writerows([["" if row.get(n) is None else csv_cell(row[n]) for n in names] for row in rows])
        write_atomic(path, buffer.getvalue())
    else:
        raise PhysPlanError(f"{path.name}: tables per case are .csv or .parquet.")


def flat_row(record: Record) -> dict[str, Any]:
    own = asdict(record)
    own |= {"plan": "; ".join(record.plan), "keyframes": len(record.keyframes)}
    values = own.pop("values")
    return {**own, **{f"value.{name}": value for name, value in values.items()}}


def _of_physics_iq(name: str, video: Mapping[str, Any], label: str) -> Record:
    return Record(
        scene=name,
        method=label,
        score=float(video["score"]),
        cluster=str(video["scenario"]),
        phenomenon=str(video["category"]),
        values={"view": video["view"], **video["metrics"]},
    )


def _of_phyground(video: Mapping[str, Any], label: str) -> Record:
    general, laws = video["general"], video["laws"]
    known = [value for value in (*general.values(), *laws.values()) if value is not None]
    return Record(
        scene=str(video["video"]),
        method=label,
        score=sum(known) / len(known) if known else 0.0,
        phenomenon=", ".join(sorted(laws)),
        values={**general, **laws},
    )


def _of_phygenbench(number: int, video: Mapping[str, Any], label: str) -> Record:
    return Record(
        scene=str(number),
        method=label,
        score=video["final"] / 3,
        phenomenon=str(video["law"]),
        values={"domain": video["domain"], **{name: video[name] / 3 for name in ("closed", "open", "final")}},
    )
