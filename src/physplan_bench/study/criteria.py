"""What people are asked about every pair, and what they read before they begin."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Criterion:
    key: str
    title: str
    question: str


CRITERIA = (
    Criterion(
        key="plausibility",
        title="Physical plausibility",
        question="In which video does the described thing happen more as it would in the real world, "
        "with its effects on what is around it?",
    ),
    Criterion(
        key="quality",
        title="Frame quality",
        question="Which video has the better single pictures: sharper, cleaner, more like a real recording?",
    ),
    Criterion(
        key="smoothness",
        title="Temporal smoothness",
        question="Which video moves more evenly: no flicker, no jumps, a background that stays in place?",
    ),
)
KEYS = tuple(criterion.key for criterion in CRITERIA)

WELCOME = (
    "You will see pairs of short videos, Video A and Video B. Both were made by a computer from the same "
    "first picture and the same sentence, and they play in step.",
    "For each pair, answer three questions by choosing A or B. There is no tie: if both seem equal, take the "
    "one you lean to. There are no right or wrong answers; we want to know what you see.",
    "You may pause, play slowly and watch as often as you like. You can close the page and go on later "
    "with the same browser or the same link.",
)
CONSENT = (
    "Taking part is voluntary. You can stop at any time by closing the page, without giving a reason.",
    "We keep your choices, when they were made, how long each pair took, and a random number that stands for "
    "you. We ask for no name, no address and no age, set no cookies, and keep no network address.",
    "The choices are analysed together and may be published without the random numbers. The study is for "
    "adults.",
)
AGREE = "I am an adult, I have read this, and I agree to take part."
