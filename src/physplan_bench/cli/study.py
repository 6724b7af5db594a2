"""A two-alternative user study: make it, show it to people, count their votes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_command
from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

if TYPE_CHECKING:
    from physplan_bench.study.design import Study

EXAMPLES = """
examples:
  physplan study make PhysPlan=runs/ours CogVideoX=other/videos -o study    pairs, with methods hidden
  physplan study serve study                                                the page, on this machine
  physplan study analyse study --reported --plot study.png                  what people chose
"""
MAKE = """\
  physplan study make PhysPlan=runs/ours CogVideoX=cog/ "Frame Guidance=fg/" --prompts prompts.csv -o study
  physplan study make A=a/ B=b/ C=c/ --all-pairs --pairs 30 --per-participant 15 --participants 20 -o study

A folder holds runs of PhysPlan, or video files of any tool. The first is compared with each other one. Videos
belong together when their prompts are the same words, or their names; or as a CSV says (--prompts): columns
name, prompt, domain, and, where names differ, one column per method with its file.
"""
SERVE = """\
  physplan study serve study
  physplan study serve study --host 0.0.0.0 --port 8080    for others too; the link then holds a secret key
"""
EXPORT = """\
  physplan study export study -o site    plain files to host anywhere; people send the file of their votes
"""
ANALYSE = """\
  physplan study analyse study --reported
  physplan study analyse study --votes votes-*.json --format latex --plot study.svg -o result.json
"""


def add_parser(subparsers: Any) -> None:
    about = "a user study: people choose between two videos of one prompt"
    parser = add_command(subparsers, "study", None, about, __doc__, EXAMPLES)
    parts = parser.add_subparsers(title="parts", metavar="PART", required=True)
    _add_make(parts)
    _add_serve(parts)
    site = make_parser(parts, "export", "write the study as static files", EXPORT, export)
    site.add_argument("study", type=Path, metavar="STUDY", help="the folder that `make` wrote")
    site.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="a new folder")
    _add_analyse(parts)


def _add_make(parts: Any) -> None:
    parser = make_parser(parts, "make", "pair videos by prompt and hide who made them", MAKE, make)
    parser.add_argument("folders", nargs="+", metavar="METHOD=DIR", help="videos or runs; the first is ours")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="a new folder")
    parser.add_argument("--prompts", type=Path, metavar="CSV", help="names, prompts and domains")
    parser.add_argument("--pairs", type=int, default=80, metavar="N", help="pairs in all (default: 80)")
    parser.add_argument(
        "--per-participant", type=int, default=40, metavar="N", help="pairs that one person rates (40)"
    )
    parser.add_argument("--participants", type=int, default=60, metavar="N", help="places (60)")
    parser.add_argument("--all-pairs", action="store_true", help="compare every two methods")
    parser.add_argument("--attention", type=int, default=0, metavar="N", help="attention checks per person")
    parser.add_argument("--codes", action="store_true", help="show a completion code at the end")
    parser.add_argument("--title", default="Which video is better?", help="the head of the page")
    parser.add_argument("--contact", default="", help="whom participants can ask, shown on the first page")
    parser.add_argument("--consent", type=Path, metavar="FILE", help="a consent text of your own, plain text")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of pairs, order and sides (0)")


def _add_serve(parts: Any) -> None:
    parser = make_parser(parts, "serve", "show the study to people", SERVE, serve)
    parser.add_argument("study", type=Path, metavar="STUDY", help="the folder that `make` wrote")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (this machine only)")
    parser.add_argument("--port", type=int, default=7870, metavar="N", help="(7870)")
    parser.add_argument(
        "--idle-hours",
        type=float,
        default=24.0,
        metavar="H",
        help="give the place of an unfinished participant to another after so long (24)",
    )


def _add_analyse(parts: Any) -> None:
    parser = make_parser(parts, "analyse", "count the votes", ANALYSE, analyse)
    parser.add_argument("study", type=Path, metavar="STUDY", help="the folder that `make` wrote")
    parser.add_argument(
        "--votes", type=Path, nargs="+", default=[], metavar="FILE", help="files that the static page saved"
    )
    parser.add_argument("--finished-only", action="store_true", help="only people who rated all their pairs")
    parser.add_argument("--passed-only", action="store_true", help="only people who passed attention checks")
    parser.add_argument("--reported", action="store_true", help="add the paper's rows, marked as reported")
    parser.add_argument("--votes-csv", type=Path, metavar="FILE", help="write every vote as a row")
    add_output(parser, reported=False)


def make(args: argparse.Namespace) -> int:
    from physplan.foreign import plain
    from physplan_bench.study.make import Plan, make_study

    plan = Plan(
        pairs=args.pairs,
        per_participant=args.per_participant,
        participants=args.participants,
        all_pairs=args.all_pairs,
        attention=args.attention,
        codes=args.codes,
        seed=args.seed,
        title=args.title,
        contact=args.contact,
        consent=_paragraphs(args.consent),
    )
    study = make_study(_methods(args.folders), args.output, plan=plan, table=args.prompts)
    for note in study.notes:
        print(f"note: {plain(note)}", file=sys.stderr)
    print(plain(_summary(study)))
    print(plain(f"Show it with: physplan study serve {args.output}"))
    return 0


def _summary(study: Study) -> str:
    low, rest = divmod(study.participants * study.per_participant, len(study.pairs))
    votes = f"{low}" if not rest else f"{low} to {low + 1}"
    return (
        f"{len(study.pairs)} pairs of {len(study.prompts)} prompts; {study.participants} people rate "
        f"{study.per_participant} each, so every pair gets {votes} votes per criterion."
    )


def _methods(folders: list[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in folders:
        name, separator, path = text.partition("=")
        folder = Path(path if separator else text)
        method = name.strip() if separator else folder.absolute().name
        if not method or method in found:
            raise PhysPlanError(f"{text!r}: give every folder a name of its own, such as PhysPlan={folder}.")
        found[method] = folder
    return found


def _paragraphs(path: Path | None) -> tuple[str, ...]:
    from physplan.foreign import read_file

    if path is None:
        return ()
    try:
        text = read_file(path, limit=100_000).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise PhysPlanError(f"{path} cannot be read as the consent text ({error}).") from None
    found = tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())
    if not found:
        raise PhysPlanError(f"{path} is empty: write the consent text into it.")
    return found


def serve(args: argparse.Namespace) -> int:
    from physplan.foreign import plain
    from physplan_bench.study.server import link, open_server

    if not 0 <= args.port < 65536:
        raise PhysPlanError(f"--port must be from 0 to 65535, not {args.port}.")
    if not 0 <= args.idle_hours < 1e6:
        raise PhysPlanError(f"--idle-hours must be from 0 to 1000000, not {args.idle_hours}.")
    server = open_server(args.study, host=args.host, port=args.port, idle_hours=args.idle_hours)
    print(plain(f"The study is at {link(server, args.host)}"), flush=True)
    print("Every vote is on disk when its page goes on; stop with Ctrl-C, and start again at any time.")
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0


def export(args: argparse.Namespace) -> int:
    from physplan.foreign import plain
    from physplan_bench.study.static import export as write_site

    study = write_site(args.study, args.output)
    print(
        plain(
            f"{args.output} can be hosted anywhere. Give every person a place of their own, "
            f"index.html#place=1 to #place={study.participants}: then every pair gets its share."
        )
    )
    return 0


def analyse(args: argparse.Namespace) -> int:
    from physplan.files import write_atomic
    from physplan_bench.study.analysis import analyse as count
    from physplan_bench.study.design import load_study
    from physplan_bench.study.rating import is_rating
    from physplan_bench.study.tables import draw, make_tables, votes_csv
    from physplan_bench.study.votes import read_votes

    if is_rating(args.study):
        return _analyse_rating(args)
    study = load_study(args.study)
    raters = read_votes(study, args.study, args.votes)
    result = count(study, raters, finished_only=args.finished_only, passed_only=args.passed_only)
    if args.votes_csv:
        write_atomic(args.votes_csv, votes_csv(study, raters))
    first, *others = make_tables(result)
    reported, args.reported = args.reported, False
    shown = first.with_reported() if reported else first
    return emit(args, result, shown, *others, draw=lambda result, path: draw(result, path, reported=reported))


def _analyse_rating(args: argparse.Namespace) -> int:
    """A folder of `physplan evaluate failures --study`: two raters instead of many participants."""
    from physplan_bench.cli.evaluate.failures import show_agreement
    from physplan_bench.study.design import VOTES
    from physplan_bench.study.rating import RATERS, TOGETHER, RatingStore, load_rating

    rating = load_rating(args.study)
    if not (args.study / VOTES).exists():
        raise PhysPlanError(f"Nobody has rated yet: physplan study serve {args.study}.")
    store = RatingStore(args.study / VOTES, rating.id)
    first, second, together = (
        {name: entry["stage"] for name, entry in store.of(rater).items()} for rater in (*RATERS, TOGETHER)
    )
    store.close()
    total = len(rating.videos)
    if len(first) < total or len(second) < total:
        raise PhysPlanError(
            f"Of {total} videos rater 1 has rated {len(first)} and rater 2 {len(second)}: let both finish."
        )
    categories = {video.name: video.category for video in rating.videos}
    return show_agreement(args, args.study.name, first, second, together, categories)
