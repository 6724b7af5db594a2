"""`physplan plan`: from a picture and a sentence to a verified plan, and what one does with plans."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from physplan.cli import recipe
from physplan.errors import PhysPlanError
from physplan.foreign import plain

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.console import Console

    from physplan.calls.gateway import CallRecord
    from physplan.graph import EventChain
    from physplan.keyframes import Keyframe
    from physplan.pipeline import Config
    from physplan.pipeline.backends import Backends
    from physplan.reasoning.record import Step

EXAMPLES = """
examples:
  physplan sample ice-tray -o ice.png      # a picture to try this with
  physplan plan --image ice.png --prompt "an ice cube melting in the sun" -o plan.json
  physplan plan --image ice.png --prompt "..." --sketch sketch.mp4 --sketch sketch.png   # and see it move
  physplan plan --image ice.png --prompt "..." --preset paper --budget 0.10 -o plan.json
  physplan plan --image ice.png --prompt "..." --preset open --base-url http://localhost:8000/v1 -o plan.json
  physplan plan --image ice.png --prompt "..." --preset paper --offline -o again.json --calls plan.calls
  physplan plan --check plan.json -o plan.json     # after editing it by hand
  physplan plan --stats plans/                     # how often the checks rejected what

Keys come from GEMINI_API_KEY or OPENAI_API_KEY, or from a file that GEMINI_API_KEY_FILE or
OPENAI_API_KEY_FILE names. Every answer is stored beside the plan (plan.calls/) and never paid for twice:
after a stop or a crash, run the same command again.
"""

# Options that stand for a field of the config.
FIELDS = {
    "frames": "video.num_frames",
    "model": "reasoner.model",
    "base_url": "reasoner.base_url",
    "max_tokens": "reasoner.max_output_tokens",
    "prices": "runtime.prices",
    "timeout": "runtime.timeout",
    "at_once": "runtime.at_once",
    "offline": "runtime.offline",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "plan",
        help="work out what happens in a picture, as a verified plan",
        description="Work out what happens in a picture, as verified edits to a graph of the scene.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--image", metavar="FILE", help="the first frame: a PNG, JPEG or WebP file")
    parser.add_argument("--prompt", metavar="TEXT", help="what happens, in a sentence")
    parser.add_argument("--frames", type=int, metavar="N", help="frames of the video (default: the preset's)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the plan goes (default: plan.json)")
    parser.add_argument(
        "--sketch",
        action="append",
        default=[],
        metavar="FILE",
        help="draw the keyframes too, and the plan in motion: .mp4, or .png for a strip",
    )
    parser.add_argument("--verbose", action="store_true", help="show what the model was asked and said")
    other = parser.add_argument_group("instead of planning")
    other.add_argument(
        "--check", metavar="PLAN", help="verify an edited plan and recompute what follows from it"
    )
    other.add_argument("--stats", metavar="DIR", help="statistics of the checks over all plans in a folder")
    recipe.add_arguments(parser)
    model = parser.add_argument_group("the reasoner")
    model.add_argument(
        "--ablation", choices=("prompt-derived", "full-graph"), help="plan as in ablation i or ii"
    )
    model.add_argument("--model", metavar="NAME", help="another model than the preset's")
    model.add_argument("--base-url", metavar="URL", help="another server than the preset's")
    model.add_argument("--temperature", metavar="T", help="default: 0; none leaves it out")
    model.add_argument("--max-tokens", type=int, metavar="N", help="per answer (default: 16384)")
    model.add_argument("--no-instructions", action="store_true", help="leave out the keyframe instructions")
    calls = parser.add_argument_group("calls and their cost")
    calls.add_argument("--calls", metavar="DIR", help="stored answers and ledger (default: beside the plan)")
    calls.add_argument("--prices", metavar="FILE", help="prices of models that the bundled table lacks")
    calls.add_argument("--timeout", type=float, metavar="S", help="limit per call (default: 120)")
    calls.add_argument("--at-once", type=int, metavar="N", help="most calls at a time (default: 4)")
    calls.add_argument(
        "--offline", action="store_true", default=None, help="replay from stored answers, without any call"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.stats:
        return _stats(args.stats)
    if args.check:
        return _check(Path(args.check), args.output)
    if not args.image or args.prompt is None:
        raise PhysPlanError(
            "A plan needs --image FILE and --prompt TEXT (physplan plan --help shows examples)."
        )
    return _plan(args)


def _plan(args: argparse.Namespace) -> int:
    from physplan.files import write_json
    from physplan.graph import GraphError
    from physplan.pipeline.backends import Backends
    from physplan.pipeline.planning import make_plan
    from physplan.pipeline.requirements import require_to_plan
    from physplan.pipeline.sketches import check_sketch_name
    from physplan.reasoning import PlanRecord
    from physplan.reasoning.picture import Picture
    from physplan.reasoning.planner import check_frames, check_prompt
    from physplan.video.fit import fit_picture

    output = Path(args.output or "plan.json")
    sketches = [check_sketch_name(Path(name)) for name in args.sketch]
    for path in (output, *sketches):
        _check_output(path)
    if sketches and args.no_instructions:
        raise PhysPlanError(
            "A sketch needs keyframes, and these their instructions: give --sketch or "
            "--no-instructions, not both."
        )
    picture, prompt = Picture.open(args.image), check_prompt(args.prompt)
    config = _config(args)
    video = config.video
    check_frames(video.num_frames or 0)
    frame, _ = fit_picture(picture.image, width=video.width or 0, height=video.height or 0, mode=video.fit)
    calls = Path(args.calls or output.with_suffix(".calls"))
    unfinished = output.with_suffix(".unfinished.json")
    if not calls.exists():  # stored answers may be enough
        require_to_plan(config, drawn=bool(sketches))
    record, backends = PlanRecord(), Backends(config)
    try:
        chain = make_plan(
            config,
            backends,
            frame,
            prompt,
            calls=calls,
            instructions=not args.no_instructions,
            record=record,
            on_step=_show_step,
            on_call=_show_call if args.verbose else None,
        )
    except (PhysPlanError, GraphError) as error:
        if record.reasoner:  # planning had begun
            write_json(unfinished, record.to_json(str(error)))
            _show_cost(calls)
            print(f"What there is so far is in {unfinished}.", file=sys.stderr)
        raise
    chain.save(output)
    unfinished.unlink(missing_ok=True)
    _show_chain(chain)
    if sketches:
        _sketch(config, backends, frame, chain, sketches, calls, output.with_suffix(".drawings"))
    _show_cost(calls)
    print(f"The plan is in {output}. Edit it as you like, then: physplan plan --check {output}")
    return 0


def _sketch(
    config: Config,
    backends: Backends,
    frame: Image,
    chain: EventChain,
    paths: list[Path],
    calls: Path,
    store: Path,
) -> None:
    """Drawings are stored, as answers are: a second call draws and pays for nothing."""
    from physplan.pipeline.sketches import draw_sketch, save_sketch

    def tell(keyframe: Keyframe) -> None:
        print(plain(keyframe.report()), file=sys.stderr, flush=True)

    sketch, keyframes = draw_sketch(
        config, backends, frame, chain, calls=calls, store=store, on_keyframe=tell
    )
    for note in sketch.notes:
        print(f"note: {plain(note)}")
    for path in paths:
        save_sketch(path, sketch, chain, frame, keyframes, fps=config.video.fps or 8)
        print(f"The plan in motion is {plain(path)}.")


def _config(args: argparse.Namespace) -> Config:
    """The preset with what the options change, and the video model's own values."""
    from physplan.calls.addresses import check_url
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults

    changes = recipe.overrides(args, **FIELDS)
    if args.temperature is not None:
        changes["reasoner.temperature"] = _temperature(args.temperature)
    if args.base_url is not None:  # typed here, unlike an address in a config file: a yes to its host
        changes["runtime.allow_hosts"] = [*(args.allow_host or []), check_url(args.base_url)]
    config = load_config(recipe.source(args), changes)
    if args.ablation:
        name = f"{config.reasoner.name}-{args.ablation}"
        config = replace(config, reasoner=replace(config.reasoner, name=name))
    return with_defaults(config)


def _temperature(text: str) -> float | None:
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        raise PhysPlanError("--temperature takes a number from 0 to 2, or none.")
    return value


def _check_output(path: Path) -> None:
    """Before anything is paid for: can the plan be written?"""
    if path.is_dir():
        raise PhysPlanError(f"{path} is a folder: give the plan a file name with -o.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PhysPlanError(f"{path} cannot be written: {error.strerror}.") from None
    if not os.access(path.parent, os.W_OK):
        raise PhysPlanError(f"{path.parent} cannot be written to: choose another place with -o.")


def _check(path: Path, output: str | None) -> int:
    from physplan.reasoning.recheck import recheck

    chain, notes = recheck(path)
    _show_chain(chain)
    for note in notes:
        print(plain(note))
    if output:
        _check_output(Path(output))
        chain.save(output)
        print(f"The plan is valid; it is in {output}, with graphs, net edits and anchors computed anew.")
    else:
        print("The plan is valid. To save it with everything computed anew, add -o FILE.")
    return 0


def _stats(folder: str) -> int:
    from rich.table import Table

    from physplan.reasoning.stats import statistics

    result = statistics(folder)
    table = Table("Statistic", "Value (%)", title=f"{result.edit_sets} edit sets of {result.plans} plans")
    for row in result.table():
        table.add_row(*row)
    _console().print(table)
    if result.malformed:
        print(f"{result.malformed} answers could not be read as edits; no check applies to them.")
    for path in result.skipped:
        print(f"{plain(path)} cannot be read and is not counted.", file=sys.stderr)
    return 0


def _show_chain(chain: EventChain) -> None:
    from physplan.drawing.table import plan_table

    _console().print(plan_table(chain))
    for index, event in enumerate(chain.events, start=1):
        if event.instruction:
            print(f"keyframe {index}: {plain(event.instruction)}")


def _console() -> Console:
    from rich.console import Console

    # A pipe has no width of its own; a narrow one would break words of the table.
    return Console(width=None if sys.stdout.isatty() else 140)


def _show_step(step: Step) -> None:
    where = f" event {step.event}" if step.event else ""
    again = f", attempt {step.attempt}" if step.attempt > 1 else ""
    print(f"{step.stage}{where}{again}: {plain(step.message)}", file=sys.stderr, flush=True)


def _show_call(call: CallRecord) -> None:
    origin = "stored answer" if call.stored else f"answer after {call.seconds:.1f} s"
    pictures = f" and {len(call.request.images)} picture(s)" if call.request.images else ""
    print(
        f"--- {call.request.purpose}: asked {call.request.model} with{pictures or ' no picture'}:\n"
        f"{plain(call.request.text, lines=True)}\n--- {origin} ({call.key[:12]}):\n"
        f"{plain(call.reply.text, lines=True)}\n---",
        file=sys.stderr,
        flush=True,
    )


def _show_cost(calls: Path) -> None:
    from physplan.calls.ledger import Ledger
    from physplan.calls.settings import LEDGER

    if not (calls / LEDGER).exists():
        return
    totals = Ledger(calls / LEDGER).totals()
    unpriced = f", {totals.unpriced} of them without a known price" if totals.unpriced else ""
    cut_off = f", {totals.cut_off} cut off and counted at their worst case" if totals.cut_off else ""
    print(
        f"Calls: {totals.calls} answered{unpriced}{cut_off}, {totals.retries} retries, "
        f"{totals.input_tokens} tokens in, {totals.output_tokens} out, {totals.seconds:.1f} s, "
        f"{totals.usd:.4f} USD (all runs in {calls})."
    )
