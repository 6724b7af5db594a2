"""Attribute the lowest third of the videos to the stage that went wrong first."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan_bench.cli.evaluate.common import add_output, emit, make_parser

if TYPE_CHECKING:
    from physplan_bench.failures.page import FailedVideo
    from physplan_bench.tables import Table

EXAMPLES = """\
  physplan evaluate failures --result iq.json --generated videos/ --runs runs/ --study rating
  physplan study serve rating                                     two people attribute each failed video
  physplan study analyse rating --reported                        how far they agree, and the table of shares
  physplan evaluate failures --result iq.json --generated videos/ --runs runs/ --page rate.html
      without a server: two people open rate.html and save ratings-<name>.json
  physplan evaluate failures --result iq.json --ratings ratings-a.json ratings-b.json
      how far they agree, what to discuss, and the table of shares
  physplan evaluate failures --result iq.json --ratings a.json b.json --resolved discussed.json --reported
  physplan evaluate failures --result iq.json --runs runs/        the automatic first guess

A run folder is found by the video's name in front of its own.
"""


def add_parser(subparsers: Any) -> None:
    parser = make_parser(subparsers, "failures", __doc__, EXAMPLES, run)
    parser.add_argument(
        "--result", type=Path, required=True, metavar="FILE", help="a result with scores per video"
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page for the raters")
    parser.add_argument(
        "--study", type=Path, metavar="DIR", help="write a folder for `physplan study serve`, for two raters"
    )
    parser.add_argument("--generated", type=Path, metavar="DIR", help="the videos, for the page")
    parser.add_argument("--real", type=Path, metavar="DIR", help="real takes, for the page")
    parser.add_argument(
        "--runs", type=Path, metavar="DIR", help="run folders, for chains, keyframes and the guess"
    )
    parser.add_argument("--show-guesses", action="store_true", help="show the automatic guess on the page")
    parser.add_argument("--ratings", type=Path, nargs=2, metavar="FILE", help="the two raters' files")
    parser.add_argument("--resolved", type=Path, metavar="FILE", help="what they settled on after discussion")
    add_output(parser, page=False)


def run(args: argparse.Namespace) -> int:
    failed = failed_videos(args)
    title = f"Failure attribution, {args.result.stem}"
    if args.study:
        from physplan.foreign import plain
        from physplan_bench.study.rating import make_rating

        make_rating(failed, args.study, title=title, show_guesses=args.show_guesses)
        print(
            plain(
                f"{len(failed)} failed videos. Two people rate them with: physplan study serve {args.study}"
            )
        )
        return 0
    if args.page:
        from physplan_bench.failures.page import write_page

        write_page(failed, args.page, title=title, show_guesses=args.show_guesses)
        print(f"{args.page} shows {len(failed)} failed videos; open it in a browser, once per rater.")
        return 0
    return compare_raters(args, failed) if args.ratings else show_guesses(args, failed)


def compare_raters(args: argparse.Namespace, failed: list[FailedVideo]) -> int:
    from physplan_bench.failures.agreement import read_ratings

    names = [video.name for video in failed]
    first, second = (read_ratings(path, names) for path in args.ratings)
    discussed = read_ratings(args.resolved, names) if args.resolved else {}
    return show_agreement(args, args.result.name, first, second, discussed, _categories(failed))


def show_agreement(
    args: argparse.Namespace,
    source: str,
    first: Mapping[str, str],
    second: Mapping[str, str],
    discussed: Mapping[str, str],
    categories: Mapping[str, str],
) -> int:
    """How far two raters agree, and the table of what they settled on."""
    from physplan_bench.failures.agreement import agreement, resolve, shares_table

    agreed = agreement(first, second)
    settled, left = resolve(first, second, discussed)
    note = f"{agreed.count} videos rated; agreement {agreed.share:.0%}, kappa {agreed.kappa:.2f}."
    if left:
        note += f" Still to be discussed: {', '.join(left)}."
    result = {
        "agreement": {"count": agreed.count, "share": agreed.share, "kappa": agreed.kappa},
        "disagreements": list(agreed.disagreements),
        "unresolved": left,
        "attributions": settled,
    }
    table = shares_table(settled, categories, note=note, title="Failure attribution")
    return _show(args, source, result, table)


def show_guesses(args: argparse.Namespace, failed: list[FailedVideo]) -> int:
    from physplan_bench.failures.agreement import shares_table

    guesses = {video.name: video.guess for video in failed if video.guess}
    if not guesses:
        raise PhysPlanError(
            "Give --study or --page to let two people rate, --ratings for their files, or --runs for guesses."
        )
    stages = {name: guess.stage for name, guess in guesses.items()}
    note = f"Guessed from what {len(guesses)} of {len(failed)} failed runs measured; no person's judgement."
    result = {"attributions": stages, "reasons": {name: guess.reason for name, guess in guesses.items()}}
    table = shares_table(stages, _categories(failed), note=note, title="Automatic first guess")
    return _show(args, args.result.name, result, table)


def failed_videos(args: argparse.Namespace) -> list[FailedVideo]:
    from physplan_bench.failures.agreement import lowest_third
    from physplan_bench.failures.page import FailedVideo
    from physplan_bench.failures.runs import describe_run

    try:
        entries: Mapping[str, Any] = json.loads(args.result.read_text())["videos"]
        scores = {name: float(entry["score"]) for name, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PhysPlanError(f"{args.result} is not a result with a score per video ({error!r}).") from error
    failed = []
    for name in lowest_third(scores):
        run_folder = _find(args.runs, name, folder=True)
        extras: dict[str, Any] = describe_run(_inside(run_folder)) if run_folder else {}
        failed.append(
            FailedVideo(
                name=name,
                category=str(entries[name].get("category", "all")),
                score=scores[name],
                description=str(entries[name].get("scenario", "")),
                video=_find(args.generated, name),
                truth=_find(args.real, name),
                **extras,
            )
        )
    return failed


def _find(where: Path | None, name: str, *, folder: bool = False) -> Path | None:
    """The first file (or folder) whose name begins with the video's."""
    if where is None:
        return None
    if not where.is_dir():
        raise PhysPlanError(f"There is no folder {where}.")
    matches = (p for p in sorted(where.iterdir()) if p.is_dir() == folder and p.stem.startswith(name))
    return next(matches, None)


def _inside(folder: Path) -> Path:
    """A run folder itself, or the one inside a case's folder."""
    return folder / "run" if (folder / "run").is_dir() else folder


def _categories(failed: list[FailedVideo]) -> dict[str, str]:
    return {video.name: video.category for video in failed}


def _show(args: argparse.Namespace, source: str, result: dict[str, Any], table: Table) -> int:
    from physplan_bench.provenance import provenance

    settings = {"result": source, "failed": "lowest third"}
    about = provenance(protocol="failure attribution", settings=settings)
    return emit(args, {"benchmark": "failures", "provenance": about, **result}, table)
