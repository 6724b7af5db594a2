"""The plan's events as words for a video model."""

from __future__ import annotations

from physplan.graph.happening import happening, words_for_video
from scenes import melting_chain


def test_every_event_is_told_in_order_without_identifiers() -> None:
    chain = melting_chain()
    told = happening(chain)
    assert told.startswith("First, ")
    assert told.count(";") == len(chain.events) - 1
    assert "#" not in told
    places = [told.index(event.delta.states[0].state.split()[0]) for event in chain.events]
    assert places == sorted(places)


def test_the_users_words_stay_where_they_are_wanted() -> None:
    chain, prompt = melting_chain(), "an ice cube melting in the sun."
    assert words_for_video(prompt, chain, "user") == prompt
    assert words_for_video(prompt, None, "plan") == prompt
    assert words_for_video(prompt, chain, "plan") == happening(chain)
    assert words_for_video(prompt, chain, "both") == f"an ice cube melting in the sun. {happening(chain)}"
