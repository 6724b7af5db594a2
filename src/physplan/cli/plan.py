"""Work out what happens in a picture, as verified edits to a graph of the scene."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from physplan.cli import recipe
from physplan.cli.parsers import add_command
from physplan.errors import PhysPlanError
from physplan.foreign import plain

if TYPE_CHECKING:
    from physplan.calls.gateway import CallRecord
    from physplan.graph import EventChain
    from physplan.keyframes import Keyframe
    from physplan.pipeline import Config
    from physplan.pipeline.run import Run
    from physplan.reasoning.record import PlanRecord, Step

EXAMPLES = """
examples:
  physplan sample ice-tray -o ice.png      # a picture to try this with
  physplan plan --image ice.png --prompt "an ice cube melting in the sun" -o plan.json
  physplan plan --image ice.png --prompt "..." --sketch sketch.mp4 --sketch sketch.png   # and see it move
  physplan plan --image ice.png --prompt "..." --preset paper --budget 0.10 -o plan.json
  physplan plan --image ice.png --prompt "..." --preset open --set reasoner.base_url=http://localhost:8000/v1
  physplan plan --image ice.png --prompt "..." --preset paper --set runtime.offline=true --calls plan.calls
  physplan plan --check plan.json -o plan.json     # after editing it by hand

Keys come from GEMINI_API_KEY or OPENAI_API_KEY, or from a file that GEMINI_API_KEY_FILE or
OPENAI_API_KEY_FILE names. Every answer is stored beside the plan (plan.calls/) and never paid for twice:
after a stop or a crash, run the same command again.
"""

# Options of before, and what does their work.
GONE = {
    "--stats": "physplan evaluate checks FOLDER",
    "--ablation": "--method physplan.prompt_derived or --method physplan.full_graph",
    "--model": "--set reasoner.model=NAME",
    "--base-url": "--set reasoner.base_url=URL, and --allow-host HOST if it is another machine",
    "--temperature": "--set reasoner.temperature=T",
    "--max-tokens": "--set reasoner.max_output_tokens=N",
    "--prices": "--set runtime.prices=FILE",
    "--timeout": "--set runtime.timeout=S",
    "--at-once": "--set runtime.at_once=N",
    "--offline": "--set runtime.offline=true",
}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "work out what happens in a picture, as a verified plan"
    parser = add_command(subparsers, "plan", run, about, __doc__, EXAMPLES)
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
    other.add_argument("--check", metavar="PLAN", help="verify an edited plan, recompute what follows")
    recipe.add_arguments(parser)
    model = parser.add_argument_group("the reasoner")
    model.add_argument("--method", metavar="NAME", help="the method whose plan it is (default: the preset's)")
    model.add_argument("--no-instructions", action="store_true", help="leave out the keyframe instructions")
    model.add_argument("--calls", metavar="DIR", help="stored answers and ledger (default: beside the plan)")
    recipe.refuse_options(parser, GONE)


def run(args: argparse.Namespace) -> int:
    if args.check:
        return _check(args)
    if not args.image or args.prompt is None:
        raise PhysPlanError(
            "A plan needs --image FILE and --prompt TEXT (physplan plan --help shows examples)."
        )
    return _plan(args)


def _plan(args: argparse.Namespace) -> int:
    from physplan.graph import GraphError
    from physplan.pipeline.requirements import check_prompt, require_to_plan
    from physplan.reasoning import PlanRecord

    output, sketches = _outputs(args)
    calls = Path(args.calls or output.with_suffix(".calls"))
    run = _prepared(args, output)
    check_prompt(run, ["plan"])
    if not calls.exists():  # stored answers may be enough
        require_to_plan(run.config, drawn=bool(sketches))
    record = PlanRecord()
    try:
        chain = _chain(args, run, calls, record)
    except (PhysPlanError, GraphError) as error:
        _keep_unfinished(record, error, output, calls)
        raise
    _keep_edited(output, chain)
    chain.save(output)
    _unfinished(output).unlink(missing_ok=True)
    _show_chain(chain)
    if sketches:
        _sketch(run, chain, sketches, calls, output.with_suffix(".drawings"))
    _show_cost(calls)
    print(f"The plan is in {output}. Edit it as you like, then: physplan plan --check {output}")
    return 0


def _keep_edited(output: Path, chain: EventChain) -> None:
    """Another plan of the same sentence may have been edited: it is not replaced."""
    try:
        old = json.loads(output.read_bytes())
    except (OSError, ValueError):
        return
    new = json.loads(json.dumps(chain.to_json()))
    if isinstance(old, dict) and old.get("prompt") == new["prompt"] and old.get("events") != new["events"]:
        raise PhysPlanError(
            f"{output} holds another plan of this sentence, maybe an edited one: give another -o, or remove "
            f"it. For its video: physplan generate --image FILE --plan {output}"
        )


def _outputs(args: argparse.Namespace) -> tuple[Path, list[Path]]:
    """Where the plan and its sketches go; they can be written there."""
    from physplan.pipeline.sketches import check_sketch_name

    output = Path(args.output or "plan.json")
    sketches = [check_sketch_name(Path(name)) for name in args.sketch]
    for path in (output, *sketches):
        _check_output(path)
    if sketches and args.no_instructions:
        raise PhysPlanError(
            "A sketch needs keyframes, and these their instructions: give --sketch or "
            "--no-instructions, not both."
        )
    return output, sketches


def _prepared(args: argparse.Namespace, output: Path) -> Run:
    """The run of `generate` with these options, of which no more than the plan is made; it has no folder."""
    from physplan.pipeline.backends import Backends
    from physplan.pipeline.run import RunRequest, prepare_run
    from physplan.runs import RunFolder

    config = _config(args)
    request = RunRequest(image=args.image, prompt=args.prompt, method=args.method)
    return prepare_run(RunFolder(output.with_suffix("")), config, Backends(config), request)


def _chain(args: argparse.Namespace, run: Run, calls: Path, record: PlanRecord) -> EventChain:
    from physplan.pipeline.planning import make_plan

    return make_plan(
        run.config,
        run.backends,
        run.frame,
        run.inputs.prompt,
        calls=calls,
        instructions=not args.no_instructions,
        record=record,
        on_step=_show_step,
        on_call=_show_call if args.verbose else None,
    )


def _keep_unfinished(record: PlanRecord, error: Exception, output: Path, calls: Path) -> None:
    from physplan.files import write_json

    if record.reasoner:  # planning had begun
        write_json(_unfinished(output), record.to_json(str(error)))
        _show_cost(calls)
        print(f"What there is so far is in {_unfinished(output)}.", file=sys.stderr)


def _unfinished(output: Path) -> Path:
    return output.with_suffix(".unfinished.json")


def _sketch(run: Run, chain: EventChain, paths: list[Path], calls: Path, store: Path) -> None:
    """Drawings are stored, as answers are: a second call draws and pays for nothing."""
    from physplan.pipeline.sketches import draw_sketch, save_sketch

    def tell(keyframe: Keyframe) -> None:
        print(plain(keyframe.report()), file=sys.stderr, flush=True)

    sketch, keyframes = draw_sketch(
        run.config, run.backends, run.frame, chain, calls=calls, store=store, on_keyframe=tell
    )
    for note in sketch.notes:
        print(f"note: {plain(note)}")
    for path in paths:
        save_sketch(path, sketch, chain, run.frame, keyframes, fps=run.config.video.clip.fps)
        print(f"The plan in motion is {plain(path)}.")


def _config(args: argparse.Namespace) -> Config:
    """The preset with what the options change, and the video model's own values."""
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.defaults import with_defaults

    changes = recipe.overrides(args, frames="video.num_frames")
    return with_defaults(load_config(recipe.source(args), changes))


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


def _check(args: argparse.Namespace) -> int:
    """With --image the preset's reasoner rewrites outdated instructions, else rules do."""
    from physplan.reasoning.recheck import read_edited, renew

    chain, notes = read_edited(args.check)
    if args.image:
        chain, rewritten = _renew(args, chain)
        notes = [*notes, *rewritten]
    else:
        chain, notes = renew(chain, notes)
    _show_chain(chain)
    for note in notes:
        print(plain(note))
    if args.output:
        _check_output(Path(args.output))
        chain.save(args.output)
        print(f"The plan is valid; it is in {args.output}, with everything that follows from its edits.")
    else:
        print("The plan is valid. To save it with everything that follows from its edits, add -o FILE.")
    return 0


def _renew(args: argparse.Namespace, chain: EventChain) -> tuple[EventChain, list[str]]:
    from physplan.pipeline.backends import Backends
    from physplan.pipeline.planning import renew_plan
    from physplan.reasoning.picture import Picture
    from physplan.video.fit import fit_picture

    config = _config(args)
    size = {"width": config.video.clip.width, "height": config.video.clip.height}
    frame, _ = fit_picture(Picture.open(args.image).image, mode=config.video.fit, **size)
    calls = Path(args.calls or Path(args.output or args.check).with_suffix(".calls"))
    on_call = _show_call if args.verbose else None
    made = renew_plan(
        config, Backends(config), frame, chain, calls=calls, on_step=_show_step, on_call=on_call
    )
    _show_cost(calls)
    return made


def _show_chain(chain: EventChain) -> None:
    from rich.console import Console

    from physplan.drawing.table import plan_table

    # A pipe has no width of its own; a narrow one would break words of the table.
    Console(width=None if sys.stdout.isatty() else 120).print(plan_table(chain))
    for index, event in enumerate(chain.events, start=1):
        if event.instruction:
            whose = ", in your words" if event.by_user else ""
            print(f"keyframe {index}{whose}: {plain(event.instruction)}")


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
