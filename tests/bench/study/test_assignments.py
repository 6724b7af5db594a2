"""Every pair gets its share, no matter how many people took part."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from physplan.errors import PhysPlanError
from physplan_bench.study.assign import Pair, deal


def grid(prompts: int, methods: int, *, every: bool = False) -> list[Pair]:
    names = [f"m{i}" for i in range(methods)]
    couples = combinations(names, 2) if every else [(names[0], other) for other in names[1:]]
    couples = list(couples)
    return [Pair(prompt=i, first=a, second=b) for i in range(prompts) for a, b in couples]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_pair_gets_its_share_to_within_one_after_any_number_of_people(data: st.DataObject) -> None:
    pairs = grid(data.draw(st.integers(1, 12)), data.draw(st.integers(2, 4)), every=data.draw(st.booleans()))
    each = data.draw(st.integers(1, len(pairs)))
    hands = deal(pairs, each=each, participants=7, checks=data.draw(st.integers(0, 2)), seed=3)
    counts = Counter(dict.fromkeys(range(len(pairs)), 0))
    sides: Counter[int] = Counter()
    for hand in hands:
        cards = [trial for trial in hand if trial.kind == "pair"]
        assert len(cards) == each == len({trial.index for trial in cards})
        counts.update(trial.index for trial in cards)
        sides.update({trial.index: 1 if trial.flipped else -1 for trial in cards})
        assert max(counts.values()) - min(counts.values()) <= 1
        assert all(abs(balance) <= 1 for balance in sides.values())


def test_the_papers_study_has_thirty_votes_per_pair_fifteen_on_each_side() -> None:
    pairs = grid(40, 3)
    hands = deal(pairs, each=40, participants=60, seed=1)
    counts = Counter(trial.index for hand in hands for trial in hand)
    assert set(counts.values()) == {30}
    assert set(Counter(t.index for hand in hands for t in hand if t.flipped).values()) == {15}
    for hand in hands:
        assert len({pairs[trial.index].prompt for trial in hand}) == 40
        assert set(Counter(pairs[trial.index].second for trial in hand).values()) == {20}


def test_the_seed_decides_and_people_get_different_orders() -> None:
    pairs = grid(10, 3)
    first = deal(pairs, each=10, participants=6, seed=1)
    assert first == deal(pairs, each=10, participants=6, seed=1)
    assert first != deal(pairs, each=10, participants=6, seed=2)
    assert len({tuple(trial.index for trial in hand) for hand in first}) == 6


def test_more_people_leave_the_first_hands_as_they_were() -> None:
    pairs = grid(10, 3)
    assert deal(pairs, each=8, participants=9)[:4] == deal(pairs, each=8, participants=4)


def test_attention_checks_come_at_different_places_and_never_first() -> None:
    hands = deal(grid(10, 3), each=10, participants=30, checks=1)
    places = {next(i for i, trial in enumerate(hand) if trial.kind == "check") for hand in hands}
    assert 0 not in places
    assert len(places) > 3


def test_more_pairs_per_person_than_there_are_is_refused() -> None:
    with pytest.raises(PhysPlanError, match="1 to 20 pairs"):
        deal(grid(10, 3), each=21, participants=1)
