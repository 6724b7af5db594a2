"""Look for every net edit of every event in a video, and for what should not change."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_command
from physplan.errors import PhysPlanError
from physplan.settings import DEFAULT_PRESET

if TYPE_CHECKING:
    from torch import Tensor

    from physplan.graph import EventChain
    from physplan.verify import Verdict
    from physplan.verify.by_judge import Judgement

_EXAMPLES = """\
examples:
  physplan verify video.mp4 --plan plan.json --image photo.png
  physplan verify runs/ice/video.mkv --plan runs/ice/plan.json --image runs/ice/frame.png \\
      --evidence runs/ice/evidence.safetensors --json

  physplan verify runs/ice/video.mkv --plan runs/ice/plan.json --image runs/ice/frame.png --judge gemini:MODEL
  physplan verify ... --judge server:MODEL@http://localhost:8000/v1

With the evidence of a run, edits are held against its keyframes; without it they are looked for by presence,
size, look and relations alone, which is less certain. A judge is a vision-language model that is asked the
plan's edits and bystanders one by one; its answers stand beside the verdict and do not change it. Beside a
run's video they are kept in judge.json, and `physplan report` shows both.
Exit code: 0 it holds, 1 it is doubtful or fails, 2 a file is not what it should be.
"""


def add_parser(subparsers: Any) -> None:
    parser = add_command(subparsers, "verify", run, "judge a video by a plan", __doc__, _EXAMPLES)
    parser.add_argument("video", metavar="VIDEO", help=".mp4, .mkv, .gif, or a folder of PNG frames")
    parser.add_argument("--plan", required=True, metavar="PLAN.json", help="the plan")
    parser.add_argument("--image", required=True, metavar="FILE", help="the picture the video starts from")
    parser.add_argument(
        "--preset", default=DEFAULT_PRESET, metavar="NAME", help="whose perception (%(default)s)"
    )
    parser.add_argument(
        "--evidence", metavar="FILE", help="a run's evidence.safetensors: its keyframes' masks"
    )
    parser.add_argument(
        "--judge", metavar="JUDGE", help="ask gemini:MODEL, openai:MODEL or server:MODEL@URL as well"
    )
    parser.add_argument("--budget", type=float, metavar="USD", help="of the judge")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")


def run(args: argparse.Namespace) -> int:
    from physplan.graph import EventChain
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults
    from physplan.pipeline.plan_picture import require_picture
    from physplan.reasoning.picture import Picture

    # What is wrong is said before torch is loaded.
    chain, picture = EventChain.load(args.plan), Picture.of(args.image)
    require_picture(chain, picture)
    config = with_defaults(load_config(args.preset))
    _check_files(Path(args.video), args.evidence)
    from physplan.perception import Evidence
    from physplan.pipeline.backends import Backends
    from physplan.verify import verify_video
    from physplan.verify.framing import judged_together
    from physplan.video.files import read_video

    frames = read_video(Path(args.video)).frames
    evidence = Evidence.load(args.evidence) if args.evidence else None
    area = config.video.clip.width * config.video.clip.height
    judged = _ask(args, chain, frames) if args.judge else None
    first, frames = judged_together(picture.image, frames, area=area)
    verdict = verify_video(chain, frames, perception=Backends(config), first_frame=first, evidence=evidence)
    _print(verdict, judged, as_json=args.json)
    return 0 if verdict.verdict == "holds" else 1


def _ask(args: argparse.Namespace, chain: EventChain, frames: Tensor) -> Judgement:
    """The judge's answers; where the video is a run's own, its folder keeps them."""
    from physplan.calls.named import connect_named
    from physplan.files import write_json
    from physplan.runs import file_digest, layout
    from physplan.verify.by_judge import ask_judge
    from physplan.video.files import read_video

    folder = Path(args.video).parent
    own = Path(args.video).name in (layout.VIDEO, layout.EXACT_VIDEO) and (folder / layout.RUN).is_file()
    gateway, model = connect_named(args.judge, folder / layout.CALLS if own else None, budget=args.budget)
    fps = read_video(Path(args.video)).fps * chain.num_frames / len(frames)
    judged = ask_judge(chain, frames, gateway=gateway, model=model, fps=fps)
    if own:
        seen = {"video": file_digest(folder / layout.EXACT_VIDEO)}
        write_json(folder / layout.JUDGE, judged.to_json() | seen)
    return judged


def _check_files(video: Path, evidence: str | None) -> None:
    from physplan.video.untrusted_video import open_video

    if not video.is_dir():
        open_video(video).close()
    if evidence is not None and not Path(evidence).is_file():
        raise PhysPlanError(f"There is no evidence {evidence}: give a run's evidence.safetensors.")


def _print(verdict: Verdict, judged: Judgement | None, *, as_json: bool) -> None:
    import json

    from physplan.verify.by_judge import agreement_with

    agreement = agreement_with(verdict, judged) if judged else {}
    if as_json:
        more = {"judgement": judged.to_json() | {"agreement": agreement}} if judged else {}
        print(json.dumps(verdict.to_json() | more, indent=2, ensure_ascii=False))
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
    if judged:
        print(f"{judged.judge}: {judged.score:.2f}")
        for one in judged.answers:
            print(f"  {one.answer:8} {one.question.text()} {one.reason}")
        print(f"  both say yes or no of {agreement['compared']}, and agree on {agreement['agree']}")
