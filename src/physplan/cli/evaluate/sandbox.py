"""`physplan evaluate sandbox`"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.evaluate.common import (
    add_engine,
    add_output,
    emit,
    engine_config,
    make_parser,
    show_progress,
    work_folder,
)
from physplan.errors import PhysPlanError

if TYPE_CHECKING:
    from physplan.evaluation.bootstrap import Interval
    from physplan.evaluation.sandbox.arms import Arm
    from physplan.evaluation.tables import Table

EXAMPLES = """\
  physplan evaluate sandbox --quick --workers 2 --plot quick.png
  physplan evaluate sandbox --workers 2 -o study.json --plot study.png       base, Frame Guidance, PhysPlan
  physplan evaluate sandbox --ablations --modes --workers 2 -o full.json     with (i) to (viii)
  physplan evaluate sandbox --levels 0 1 2 3 --plot curve.png                as the image editor gets worse
  physplan evaluate sandbox --split validation --methods physplan --set guidance.step_size=2
"""
SHARES = {
    "plausible": "Plausible %",
    "plausible_and_preserved": "and the rest kept %",
    "plausible_events": "Events %",
}
QUICK = {"scenes": 25, "seeds": 1}


def add_parser(subparsers: Any) -> None:
    parser = make_parser(
        subparsers,
        "sandbox",
        help="compare the methods in the embedded world, where the truth is known",
        examples=EXAMPLES,
        run=run,
    )
    parser.add_argument("--quick", action="store_true", help="25 scenes and one seed: minutes on two cores")
    parser.add_argument("--scenes", type=int, metavar="N", help="number of scenes (default 60)")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds per scene (default 3)")
    parser.add_argument("--split", default="test", choices=("test", "validation", "train"))
    parser.add_argument("--first", type=int, metavar="N", help="number of the first scene (default 500)")
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="for example base physplan physplan:exact no_regions"
    )
    parser.add_argument("--modes", action="store_true", help="add PhysPlan's other gradient modes")
    parser.add_argument("--ablations", action="store_true", help="add the ablations (i) to (viii)")
    parser.add_argument(
        "--levels",
        nargs="+",
        type=int,
        metavar="L",
        help="the editor's error levels, 0 (truth) to 3 (default 1)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="change settings of the sandbox preset",
    )
    parser.add_argument("--keep-videos", action="store_true", help="keep every video in the --work folder")
    add_engine(parser)
    add_output(parser, reported=False)


def run(args: argparse.Namespace) -> int:
    from physplan.evaluation.sandbox.benchmark import SandboxStudy, evaluate
    from physplan.extras import need_extra
    from physplan.pipeline.config_loading import read_assignments

    need_extra("cv2", extra="eval")
    chosen = {"scenes": args.scenes, "seeds": args.seeds, "first": args.first}
    fields = {**(QUICK if args.quick else {}), **{k: v for k, v in chosen.items() if v is not None}}
    study = SandboxStudy.of_preset(
        read_assignments(args.set), arms=read_arms(args), split=args.split, **fields
    )
    with work_folder(args) as folder:
        result = evaluate(
            study,
            folder,
            keep_videos=args.keep_videos,
            engine=engine_config(args),
            progress=show_progress,
        )
    if result.get("partial"):
        print(f"{result['measured']} of {result['of']} videos made; run without --shard for the table.")
        return 0
    if args.plot:
        draw(result, args.plot)
    args.plot = None
    return emit(args, result, make_table(result))


def read_arms(args: argparse.Namespace) -> tuple[Arm, ...]:
    from physplan.evaluation.sandbox import arms

    found = list(arms.arms(*args.methods) if args.methods else arms.MAIN_ARMS)
    found += arms.MODE_ARMS if args.modes else ()
    found += arms.ABLATION_ARMS if args.ablations else ()
    if args.levels:
        guided = [arm.name for arm in found if arm.name in ("frame_guidance", "physplan")]
        if not guided:
            raise PhysPlanError("--levels needs frame_guidance or physplan among --methods.")
        found = [arm for arm in found if arm.name not in guided or arm.level in args.levels]
        found += arms.arms(*guided, levels=args.levels)
    return tuple(dict.fromkeys(found))


def make_table(result: Mapping[str, Any]) -> Table:
    from physplan.evaluation.tables import Column, Row, Table

    shown = {**SHARES, "physics_iq": "Physics-IQ"}
    rows = [
        Row(label=label, cells=(*(interval(row[name]) for name in shown), *_beside(row), row["seconds"]))
        for label, row in result["arms"].items()
    ]
    about = result["provenance"]["settings"]
    first, last = about["scenes"]
    seeds = len(result["provenance"]["seeds"])
    return Table(
        title=f"The sandbox: {last - first + 1} {about['split']} scenes, "
        f"{seeds} {'seed' if seeds == 1 else 'seeds'}",
        columns=(
            *(Column(title=t, digits=0, best="max") for t in shown.values()),
            Column(title="less physplan", digits=0),
            Column(title="won : lost"),
            Column(title="s", digits=1),
        ),
        rows=tuple(rows),
        note="95 % bootstrap intervals over scenes. Less physplan: plausible, pair by pair at the same level;"
        " won and lost: videos plausible here and not there, and the other way round; s: median time of one"
        " video.",
    )


def _beside(row: Mapping[str, Any]) -> tuple[Interval | None, str | None]:
    found = row.get("beside_physplan")
    return (interval(found["plausible"]), f"{found['won']} : {found['lost']}") if found else (None, None)


def draw(result: Mapping[str, Any], path: Path) -> None:
    """A curve over the editor's levels when there are several, else bars."""
    from physplan.evaluation.plots import bar_plot, curve_plot

    arms = list(result["arms"].values())
    curves = {
        f"{name}, {words}": [(row["level"], interval(row[key])) for row in _levels(arms, name)]
        for name in ("frame_guidance", "physplan")
        for key, words in (("plausible", "plausible"), ("plausible_and_preserved", "and the rest kept"))
        if len(_levels(arms, name)) > 1
    }
    if curves:
        title = "As the image editor gets worse"
        curve_plot(curves, path, title=title, xlabel="editor's error level", ylabel="% of videos")
    else:
        bar_plot(make_table(result), path, ylabel="%", columns=list(SHARES.values()))


def _levels(arms: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return sorted((row for row in arms if row["method"] == name), key=lambda row: row["level"])


def interval(cell: Mapping[str, float]) -> Interval:
    from physplan.evaluation.bootstrap import Interval

    return Interval(**cell)
