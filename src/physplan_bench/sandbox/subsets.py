"""Scenes in which a part of the method has work to do, by rules that look at the truth and at no video that
a model made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import count, islice

from physplan.errors import PhysPlanError
from physplan.graph import Term
from physplan.guidance.paper.selection import select_terms
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.sketch import make_sketch
from physplan_bench.sandbox.arms import EDITOR_LEVEL
from physplan_bench.sandbox.movement import hides, movers
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox.outcome import judge
from physplan_sandbox.truth import object_ids, true_chain
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.scene import Scene

CROWD_SIZE = 6
SEEN_SHARE = 0.8  # of the most that is ever seen of an object
MAX_SCENES_PER_FIND = (
    100  # so many scenes are looked at for each that is wanted, then the world is said to lack them
)


def crowded(shown: Scene) -> bool:
    """At least six objects besides the table: regions (iv) have something to protect."""
    return len(shown.things) >= CROWD_SIZE


def moving(shown: Scene) -> bool:
    """A law of some event moves an object: position (vii) has something to say."""
    return bool(movers(true_chain(shown)))


def hiding(shown: Scene) -> bool:
    """An object that moves comes before another or goes behind one: depth (viii) decides what is seen."""
    chosen = movers(true_chain(shown))
    keys = [key for key, id in object_ids(shown).items() if id in chosen]
    return bool(keys) and hides(shown.render(), keys)


def selecting(term: Term) -> Callable[[Scene], bool]:
    """Some event of the true plan selects the term: its ablation has something to leave out."""

    def selects(shown: Scene) -> bool:
        chain = true_chain(shown)
        return any(spec.name == term for i in range(len(chain.events)) for spec in select_terms(chain, i))

    return selects


def half_hidden(shown: Scene) -> bool:
    """An object that moves shows less than 80 % of itself in the first frame: the rest has to be made up.
    What holds something is left out: its content covers it, and leaves with it."""
    chain, clip = true_chain(shown), shown.render()
    holding = {edge.a for edge in chain.graph.edges if edge.r == "containment"}
    chosen = set(movers(chain)) - holding
    for key, id in object_ids(shown).items():
        if id in chosen and key in clip.names:
            areas = (clip.objects == clip.names.index(key)).sum((1, 2))
            if 0 < areas[0] < SEEN_SHARE * areas.max():
                return True
    return False


def hard_to_draw(shown: Scene) -> bool:
    """The sketch by itself, as the editor's usual keyframes give it, ends in another outcome, or says that it
    could not draw something: what a video made from it has to mend."""
    here = PreparedScene(scene=shown, config=_preset())
    sketch = make_sketch(*here.drawn(EDITOR_LEVEL))
    frames = sketch.frames.permute(0, 2, 3, 1).numpy()
    return bool(sketch.notes) or not judge(shown, frames).plausible


@cache
def _preset() -> Config:
    return with_defaults(load_config("sandbox"))


SUBSETS: Mapping[str, Callable[[Scene], bool]] = {
    "all": lambda shown: True,
    "crowded": crowded,
    "moving": moving,
    "hiding": hiding,
    "half-hidden": half_hidden,
    "hard-to-draw": hard_to_draw,
    **{f"{term.value}-term": selecting(term) for term in Term if term is not Term.COUNT},
}


def chosen_scenes(subset: str, split: str, *, first: int, number: int) -> tuple[int, ...]:
    """The first scenes from `first` on that the rule holds for."""
    rule = SUBSETS[subset]
    looked_at = islice(count(first), MAX_SCENES_PER_FIND * number)
    found = tuple(islice((index for index in looked_at if rule(scene(split, index))), number))
    if len(found) < number:
        seen = MAX_SCENES_PER_FIND * number
        raise PhysPlanError(
            f"Only {len(found)} of {seen} {split} scenes are {subset}: ask for fewer (--scenes)."
        )
    return found
