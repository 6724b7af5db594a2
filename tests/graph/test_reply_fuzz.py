"""100,000 damaged replies: nothing but typed errors, in little memory and time."""

from __future__ import annotations

import copy
import json
import random
import resource
import time
from collections.abc import Callable
from typing import Any

import pytest
from test_melting_ice import melting_ice

from physplan.graph import (
    EventChain,
    GraphError,
    check,
    edits_to_json,
    parse_deltas,
    parse_edits,
    parse_graph,
    parse_json,
)

REPLIES = 100_000
PLAN = melting_ice()
Parse = Callable[[str | bytes], object]


def parse_plan(text: str | bytes) -> object:
    return EventChain.from_json(parse_json(text))


def parse_and_check(text: str | bytes) -> object:
    return check(PLAN.graph, PLAN.events[0].delta, parse_edits(text), {"gone#1"})


SEEDS: list[tuple[Parse, Any]] = [
    (parse_graph, PLAN.graph.to_json()),
    (parse_deltas, {"deltas": [event.delta.to_json() for event in PLAN.events]}),
    (parse_and_check, {"edits": edits_to_json(PLAN.events[1].edits)}),
    (parse_and_check, {"edits": edits_to_json(PLAN.events[2].net_edits)}),
    (parse_plan, PLAN.to_json()),
]
TEXTS = [json.dumps(value) for _, value in SEEDS]
STRANGE = [None, True, 0, -1, 1.5, 10**30, "", " ", "ice#1", [], {}, [[]], {"a": {}}, "x" * 200, "ghost#1"]
ODD_TEXT = ["\x00", "\n", "\u202e", "\ud800", "\u200b", "e\u0301", "🧊", "\uffff", "\x7f", "ice#1\u0000"]
ODD_TOKENS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "9" * 500,
    '"\\ud800"',
    "{",
    "]",
    ",",
    '"',
    "\\",
    "\x00",
]


def random_place(rng: random.Random, value: Any) -> tuple[Any, Any]:
    """A container in `value` and a key of it."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = rng.choice(keys)
        child = value[key]
        if not (isinstance(child, dict | list) and child) or rng.random() < 0.2:
            return value, key
        value = child


def damage_value(rng: random.Random, text: str) -> str:
    """Wrong types, missing, unknown and repeated parts, odd Unicode, too much and too deep."""
    value = json.loads(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        holder, key = random_place(rng, value)
        kind = rng.randrange(7)
        if kind == 0:
            holder[key] = copy.deepcopy(rng.choice(STRANGE))
        elif kind == 1:
            holder[key] = rng.choice(ODD_TEXT) if rng.random() < 0.5 else f"ice{rng.choice(ODD_TEXT)}#1"
        elif kind == 2 and isinstance(holder, dict):
            holder[rng.choice(("extra", "o", "id", "", "\ud800"))] = holder.pop(key)
        elif kind == 3:
            del holder[key]
            if not value:
                break
        elif kind == 4 and isinstance(holder, list):
            holder[key:key] = [holder[key]] * rng.choice((1, 50, 300))
        elif kind == 5:
            other, place = random_place(rng, value)
            holder[key] = copy.deepcopy(other[place])
        else:
            deep: Any = holder[key]
            for _ in range(rng.choice((3, 15, 200))):
                deep = [deep] if rng.random() < 0.5 else {"x": deep}
            holder[key] = deep
            break
    return json.dumps(value, ensure_ascii=rng.random() < 0.5)


def damage_text(rng: random.Random, text: str) -> str:
    """Cut off, spliced, stray tokens, keys twice."""
    kind = rng.randrange(6)
    at = rng.randrange(len(text))
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + rng.choice(ODD_TOKENS) + text[at + rng.randrange(4) :]
    if kind == 2:
        return text.replace(": ", f": {rng.choice(ODD_TOKENS)}, ", rng.randint(1, 2))
    if kind == 3:
        return text.replace('"a"', '"r"').replace('"state"', '"object"').replace('"key"', '"o"')
    if kind == 4:
        return text[:at] + text[rng.randrange(len(text)) :]
    return "".join(c if rng.random() > 0.02 else rng.choice('{}[]",:0#\u0000é') for c in text)


def huge_reply(rng: random.Random) -> str | bytes:
    return rng.choice(
        (
            "[" * 900_000,
            '{"a":' * 150_000,
            "[" + "1," * 450_000 + "1]",
            '"' + "x" * 2_000_000 + '"',
            '{"nodes": [' + "{}," * 300_000 + "{}]}",
            '{"edits": ["' + "\\u0000" * 150_000 + '"]}',
            b"\xff" * 1_000_000,
            "9" * 999_999,
        )
    )


@pytest.mark.timeout(1200)  # of the wall; the test itself bounds processor time
def test_damaged_replies_raise_only_typed_errors_in_little_memory_and_time() -> None:
    rng = random.Random(20260)
    start = time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    accepted = 0
    for i in range(REPLIES):
        # The whole plan is ten times longer than a reply: damage it less often.
        which = rng.randrange(4) if i % 20 else 4
        parse = SEEDS[which][0]
        reply: str | bytes
        if i % 1000 == 0:
            reply = huge_reply(rng)
        elif rng.random() < 0.5:
            reply = damage_value(rng, TEXTS[which])
        else:
            reply = damage_text(rng, TEXTS[which])
        if isinstance(reply, str) and rng.random() < 0.2:
            reply = reply.encode("utf-8", "surrogatepass")
        message = ""
        try:
            parse(reply)
            accepted += 1
        except GraphError as error:
            message = str(error)
        message.encode()  # no lone surrogate gets into a message, so that it can be printed
        assert len(message) < 10_000
    took = time.process_time() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert 0.005 * REPLIES < accepted < 0.5 * REPLIES  # damaged, yet not all beyond reading
    assert took < 120
    assert grown < 200_000, f"{grown} kB"
