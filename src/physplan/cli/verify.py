"""`physplan verify`: does a video show what a plan says, whoever made it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError

_EXAMPLES = """\
examples:
  physplan verify video.mp4 --plan plan.json --image photo.png
  physplan verify runs/ice/video.mkv --plan runs/ice/plan.json --image runs/ice/frame.png \\
      --evidence runs/ice/evidence.safetensors --json

With the evidence of a run, edits are held against its keyframes; without it they are looked for by presence,
size, look and relations alone, which is less certain. Exit code: 0 it holds, 1 it is doubtful or fails, 2 a
file is not what it should be.
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "verify",
        help="judge a video by a plan",
        description="Look for every net edit of every event in a video, and for what should not change.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("video", metavar="VIDEO", help=".mp4, .mkv, .gif, or a folder of PNG frames")
    parser.add_argument("--plan", required=True, metavar="PLAN.json", help="the plan")
    parser.add_argument("--image", required=True, metavar="FILE", help="the picture the video starts from")
    parser.add_argument("--preset", default="sandbox", metavar="NAME", help="whose eyes (default: sandbox)")
    parser.add_argument(
        "--evidence", metavar="FILE", help="a run's evidence.safetensors: its keyframes' masks"
    )
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from physplan.graph import EventChain
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults
    from physplan.reasoning.picture import Picture

    # What is wrong is said before torch is loaded.
    chain, picture = EventChain.load(args.plan), Picture.of(args.image).image
    config = with_defaults(load_config(args.preset))
    _check_files(Path(args.video), args.evidence)
    from physplan.keyframes.framing import fit
    from physplan.perception import Evidence
    from physplan.pictures import to_tensor
    from physplan.pipeline.backends import Backends
    from physplan.verify import verify_video
    from physplan.video.files import read_video

    frames = read_video(Path(args.video)).frames
    evidence = Evidence.load(args.evidence) if args.evidence else None
    verdict = verify_video(
        chain,
        frames,
        perception=Backends(config),
        first_frame=to_tensor(fit(picture, judged_size(picture.size, (frames.shape[-1], frames.shape[-2])))),
        evidence=evidence,
    )
    _print(verdict, as_json=args.json)
    return 0 if verdict.verdict == "holds" else 1


def _check_files(video: Path, evidence: str | None) -> None:
    from physplan.video.opened import open_video

    if not video.is_dir():
        open_video(video).close()
    if evidence is not None and not Path(evidence).is_file():
        raise PhysPlanError(f"There is no evidence {evidence}: give a run's evidence.safetensors.")


def judged_size(picture: tuple[int, int], video: tuple[int, int]) -> tuple[int, int]:
    """The video's shape, no larger than the picture: a video is written enlarged, to be watched."""
    scale = min(1.0, *(ours / theirs for ours, theirs in zip(picture, video, strict=True)))
    return round(video[0] * scale), round(video[1] * scale)


def _print(verdict: Any, *, as_json: bool) -> None:
    import json

    if as_json:
        print(json.dumps(verdict.to_json(), indent=2, ensure_ascii=False))
        return
    print(verdict.sentence())
    for event in verdict.events:
        print(f"event {event.event}, frame {event.anchor}: {event.verdict} ({event.value:.2f})")
        for edit in event.edits:
            value = "not seen" if edit.value is None else f"{edit.value:.2f} in frame {edit.frame}"
            print(f"  {edit.verdict:8} {edit.edit}: {value}")
    for bystander in verdict.bystanders:
        words = "kept" if bystander.kept else "changed"
        print(f"{bystander.object}: {words} ({bystander.change:.3f} in frame {bystander.frame})")
