"""A plan as a table in the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from physplan.drawing.cards import first_cards
from physplan.drawing.words import edit_words
from physplan.foreign import plain
from physplan.graph import Consume, EventChain, GraphEdit, Motion, Spawn

_COLOURS = {"Spawn": "green", "Consume": "red", "Link": "cyan", "Unlink": "magenta", "Update": "yellow"}


def plan_table(chain: EventChain) -> RenderableType:
    """The objects of the first frame, then the events: states, rules, edits, when."""
    title = Text(f"“{plain(chain.prompt)}”", style="bold")
    title.append(f"   {chain.num_frames} frames", style="not bold dim")
    return Group(title, _objects(chain), _events(chain), _net(chain), *_own_words(chain))


def _objects(chain: EventChain) -> Table:
    table = Table(title="First frame", title_justify="left", title_style="dim", show_lines=False)
    table.add_column("object", style="bold", no_wrap=True)
    table.add_column("category")
    table.add_column("state and relations", overflow="fold")
    for card in first_cards(chain.graph).values():
        table.add_row(Text(card.id), Text(card.category), Text(", ".join(card.facts)))
    return table


def _events(chain: EventChain) -> Table:
    table = Table(title="Events", title_justify="left", title_style="dim", show_lines=True)
    table.add_column("#", justify="right")
    table.add_column("state, and the rule behind it", overflow="fold", ratio=1)
    table.add_column("edits", overflow="fold", ratio=1)
    table.add_column("share", justify="right")
    table.add_column("frame", justify="right", style="bold")
    for i, event in enumerate(chain.events):
        states = Text()
        for j, state in enumerate(event.delta.states):
            states.append("\n" if j else "").append(f"{state.object}: {state.state}\n", style="bold")
            states.append(state.rule, style="dim")
        table.add_row(
            str(i + 1),
            states,
            _edits(event.edits, event.motion),
            f"{event.delta.fraction:.2f}",
            str(event.anchor),
        )
    return table


def _net(chain: EventChain) -> Text:
    text = Text("From the first frame to the last state: ", style="dim")
    changed = {
        edit.id if isinstance(edit, Spawn) else edit.targets()[0] for edit in chain.events[-1].net_edits
    }
    gone = sum(isinstance(edit, Consume) for edit in chain.events[-1].net_edits)
    new = sum(isinstance(edit, Spawn) for edit in chain.events[-1].net_edits)
    text.append(
        f"{len(chain.events[-1].net_edits)} net edits on {len(changed)} objects, {new} new, {gone} gone."
    )
    return text


def _own_words(chain: EventChain) -> list[Text]:
    """The instructions that a person wrote."""
    return [
        Text(f"Keyframe {index}, in your words: {plain(event.instruction or '')}")
        for index, event in enumerate(chain.events, start=1)
        if event.by_user
    ]


def _edits(edits: tuple[GraphEdit, ...], motions: tuple[Motion, ...]) -> Text:
    lines = [Text(edit_words(edit), style=_COLOURS[edit.op]) for edit in edits]
    lines += [Text(str(motion), style="dim") for motion in motions]
    return Text("\n").join(lines)
