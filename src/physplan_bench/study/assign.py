"""Who sees which pairs: a deck that is dealt forty at a time, so that every pair gets its share.

The deck is one shuffle of all pairs after another. Whatever number of participants took their cards, no pair
has been dealt more than once more often than another.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from physplan.errors import PhysPlanError


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two methods' videos of one prompt."""

    prompt: int
    first: str  # the method
    second: str


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One card: which pair (or attention check), and whether the second video is Video A."""

    kind: Literal["pair", "check"]
    index: int
    flipped: bool


def deal(
    pairs: Sequence[Pair], *, each: int, participants: int, checks: int = 0, seed: int = 0
) -> list[list[Trial]]:
    """The trials of every participant, in the order they are shown; `checks` more of them are not counted."""
    if not 1 <= each <= len(pairs):
        raise PhysPlanError(f"A participant can rate 1 to {len(pairs)} pairs of this study, not {each}.")
    rng = random.Random(f"physplan study {seed}")
    deck = _deck(pairs, each, rng)
    return [_hand([next(deck) for _ in range(each)], checks, rng) for _ in range(participants)]


def _hand(cards: list[Trial], checks: int, rng: random.Random) -> list[Trial]:
    trials = rng.sample(cards, len(cards))
    for index in range(checks):  # never the first: people are still finding their way
        trials.insert(
            rng.randint(1, len(trials)), Trial(kind="check", index=index, flipped=rng.random() < 0.5)
        )
    return trials


def _deck(pairs: Sequence[Pair], each: int, rng: random.Random) -> Iterator[Trial]:
    """Within a hand no pair comes twice, no prompt where that can be avoided, and methods take turns."""
    hand: list[int] = []
    sides: list[bool] = []
    for shuffle in itertools.count():
        # Every second time a pair is dealt, its sides are swapped.
        sides = [rng.random() < 0.5 for _ in pairs] if shuffle % 2 == 0 else [not side for side in sides]
        left = set(range(len(pairs)))
        while left:
            card = _next(pairs, left, hand, rng)
            left.remove(card)
            hand = [*hand, card] if len(hand) < each - 1 else []
            yield Trial(kind="pair", index=card, flipped=sides[card])


def _next(pairs: Sequence[Pair], left: set[int], hand: list[int], rng: random.Random) -> int:
    prompts = {pairs[card].prompt for card in hand}
    compared = Counter((pairs[card].first, pairs[card].second) for card in hand)
    remaining = Counter(pairs[card].prompt for card in left)

    def cost(card: int) -> tuple[bool, int, int]:
        pair = pairs[card]
        # A prompt with several pairs left goes first: later it would have to come twice in one hand.
        return pair.prompt in prompts, -remaining[pair.prompt], compared[pair.first, pair.second]

    free = sorted(left - set(hand))
    best = min(map(cost, free))
    return rng.choice([card for card in free if cost(card) == best])
