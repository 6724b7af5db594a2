"""`physplan plan`: from a picture and a sentence to a verified plan, and what one does with plans."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from physplan.errors import PhysPlanError

if TYPE_CHECKING:
    from rich.console import Console

    from physplan.calls.gateway import CallRecord
    from physplan.calls.settings import CallSettings
    from physplan.graph import EventChain
    from physplan.reasoning.record import Step

EXAMPLES = """
examples:
  physplan plan --image ice.png --prompt "an ice cube melting in the sun" -o plan.json
  physplan plan --image ice.png --prompt "..." --preset paper --budget 0.10 -o plan.json
  physplan plan --image ice.png --prompt "..." --preset open --base-url http://localhost:8000/v1 -o plan.json
  physplan plan --image ice.png --prompt "..." --preset paper --offline -o again.json --calls plan.calls
  physplan plan --check plan.json -o plan.json     # after editing it by hand
  physplan plan --stats plans/                     # how often the checks rejected what

Keys come from GEMINI_API_KEY or OPENAI_API_KEY, or from a file that GEMINI_API_KEY_FILE or
OPENAI_API_KEY_FILE names. Every answer is stored beside the plan (plan.calls/) and never paid for twice:
after a stop or a crash, run the same command again.
"""


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
    parser.add_argument(
        "--frames", type=int, default=49, metavar="N", help="frames of the video (default: 49)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where the plan goes (default: plan.json)")
    parser.add_argument("--verbose", action="store_true", help="show what the model was asked and said")
    other = parser.add_argument_group("instead of planning")
    other.add_argument(
        "--check", metavar="PLAN", help="verify an edited plan and recompute what follows from it"
    )
    other.add_argument("--stats", metavar="DIR", help="statistics of the checks over all plans in a folder")
    model = parser.add_argument_group("the reasoner")
    model.add_argument("--preset", default="sandbox", help="sandbox (default), paper or open")
    model.add_argument(
        "--ablation", choices=("prompt-derived", "full-graph"), help="plan as in ablation i or ii"
    )
    model.add_argument("--model", metavar="NAME", help="another model than the preset's")
    model.add_argument("--base-url", metavar="URL", help="another server than the preset's")
    model.add_argument("--temperature", default="0", metavar="T", help="default: 0; none leaves it out")
    model.add_argument(
        "--max-tokens", type=int, default=16_384, metavar="N", help="per answer (default: 16384)"
    )
    model.add_argument("--no-instructions", action="store_true", help="leave out the keyframe instructions")
    calls = parser.add_argument_group("calls and their cost")
    calls.add_argument("--calls", metavar="DIR", help="stored answers and ledger (default: beside the plan)")
    calls.add_argument("--budget", type=float, metavar="USD", help="make no call that could exceed this")
    calls.add_argument("--prices", metavar="FILE", help="prices of models that the bundled table lacks")
    calls.add_argument(
        "--timeout", type=float, default=120.0, metavar="S", help="limit per call (default: 120)"
    )
    calls.add_argument(
        "--at-once", type=int, default=4, metavar="N", help="most calls at a time (default: 4)"
    )
    calls.add_argument("--offline", action="store_true", help="replay from stored answers, without any call")
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
    from physplan.reasoning import PlanRecord, PlanSettings, make_reasoner, plan
    from physplan.reasoning.picture import Picture
    from physplan.reasoning.planner import check_frames, check_prompt

    output = Path(args.output or "plan.json")
    _check_output(output)
    picture = Picture.open(args.image)
    prompt, frames = check_prompt(args.prompt), check_frames(args.frames)
    calls = Path(args.calls or output.with_suffix(".calls"))
    name = f"{args.preset}-{args.ablation}" if args.ablation else args.preset
    reasoner = make_reasoner(name, _call_settings(args, calls))
    settings = PlanSettings(instructions=not args.no_instructions, at_once=args.at_once)
    unfinished = output.with_suffix(".unfinished.json")
    record = PlanRecord()
    try:
        chain = plan(reasoner, picture, prompt, frames, settings=settings, progress=_show_step, record=record)
    except (PhysPlanError, GraphError) as error:
        write_json(unfinished, record.to_json(str(error)))
        _show_cost(calls)
        print(f"What there is so far is in {unfinished}.", file=sys.stderr)
        raise
    chain.save(output)
    unfinished.unlink(missing_ok=True)
    _show_chain(chain)
    _show_cost(calls)
    print(f"The plan is in {output}. Edit it as you like, then: physplan plan --check {output}")
    return 0


def _call_settings(args: argparse.Namespace, calls: Path) -> CallSettings:
    from physplan.calls.gateway import CallPolicy
    from physplan.calls.settings import CallSettings

    if not 0 < args.timeout <= 3600 or not 1 <= args.at_once <= 64:
        raise PhysPlanError("--timeout takes seconds, at most 3600; --at-once a number from 1 to 64.")
    if not 256 <= args.max_tokens <= 1_000_000:
        raise PhysPlanError("--max-tokens takes a number from 256 to 1000000.")
    return CallSettings(
        folder=calls,
        model=args.model,
        base_url=args.base_url,
        budget=args.budget,
        prices=args.prices,
        temperature=_temperature(args.temperature),
        max_output_tokens=args.max_tokens,
        offline=args.offline,
        policy=CallPolicy(timeout=args.timeout, at_once=args.at_once),
        on_call=_show_call if args.verbose else None,
    )


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
        print(note)
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
        print(f"{path} cannot be read and is not counted.", file=sys.stderr)
    return 0


def _show_chain(chain: EventChain) -> None:
    from physplan.drawing.table import plan_table

    _console().print(plan_table(chain))
    for index, event in enumerate(chain.events, start=1):
        if event.instruction:
            print(f"keyframe {index}: {event.instruction}")


def _console() -> Console:
    from rich.console import Console

    # A pipe has no width of its own; a narrow one would break words of the table.
    return Console(width=None if sys.stdout.isatty() else 140)


def _show_step(step: Step) -> None:
    where = f" event {step.event}" if step.event else ""
    again = f", attempt {step.attempt}" if step.attempt > 1 else ""
    print(f"{step.stage}{where}{again}: {step.message}", file=sys.stderr, flush=True)


def _show_call(call: CallRecord) -> None:
    origin = "stored answer" if call.stored else f"answer after {call.seconds:.1f} s"
    pictures = f" and {len(call.request.images)} picture(s)" if call.request.images else ""
    print(
        f"--- {call.request.purpose}: asked {call.request.model} with{pictures or ' no picture'}:\n"
        f"{call.request.text}\n--- {origin} ({call.key[:12]}):\n{_plain(call.reply.text)}\n---",
        file=sys.stderr,
        flush=True,
    )


def _plain(text: str) -> str:
    """Without control characters: a reply must not move the cursor or recolour the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _show_cost(calls: Path) -> None:
    from physplan.calls.ledger import Ledger
    from physplan.calls.settings import LEDGER

    if not (calls / LEDGER).exists():
        return
    totals = Ledger(calls / LEDGER).totals()
    unpriced = f", {totals.unpriced} of them without a known price" if totals.unpriced else ""
    print(
        f"Calls: {totals.calls} answered{unpriced}, {totals.retries} retries, {totals.input_tokens} tokens "
        f"in, {totals.output_tokens} out, {totals.seconds:.1f} s, {totals.usd:.4f} USD (all runs in {calls})."
    )
