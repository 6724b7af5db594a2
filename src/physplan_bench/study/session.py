"""What a participant's page may ask for, without a word about methods. Knows nothing of HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from physplan_bench.study.criteria import AGREE, CONSENT, CRITERIA, KEYS, WELCOME
from physplan_bench.study.design import Known, Study
from physplan_bench.study.store import Full, Participant, VoteStore
from physplan_studio.web.server import Refused


def texts(study: Study) -> dict[str, Any]:
    """What is the same for everybody: words, criteria, the example."""
    return {
        "id": study.id,
        "title": study.title,
        "welcome": list(WELCOME),
        "consent": list(study.consent or CONSENT),
        "agree": AGREE,
        "contact": study.contact,
        "criteria": [asdict(criterion) for criterion in CRITERIA],
        "total": study.per_participant + len(study.checks),
        "example": example(study.example),
    }


def example(known: Known) -> dict[str, str]:
    return {"prompt": known.prompt, "frame": known.frame, "a": known.bad, "b": known.good}


class Session:
    def __init__(self, study: Study, store: VoteStore, *, idle: float) -> None:
        self.study, self._store, self._idle = study, store, idle

    def answer(self, what: str, given: Mapping[str, Any]) -> dict[str, Any]:
        actions = {"about": self.about, "join": self.join, "state": self.state, "vote": self.vote}
        if what not in actions:
            raise Refused("There is no such request.")
        return actions[what](given)

    def about(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return texts(self.study)

    def join(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if given.get("consent") is not True:
            raise Refused("Nobody takes part without consent.")
        try:
            return self._shown(self._store.join(_token(given), self.study.participants, idle=self._idle))
        except Full:
            return {"full": True}

    def state(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return self._shown(self._store.participant(_token(given)))

    def vote(self, given: Mapping[str, Any]) -> dict[str, Any]:
        trial, choices = given.get("trial"), given.get("choices")
        if type(trial) is not int or trial < 0:
            raise Refused("A vote names its trial.")
        if not isinstance(choices, dict) or set(choices) != set(KEYS):
            raise Refused("A vote has a choice for every criterion.")
        if not all(choice in ("a", "b") for choice in choices.values()):
            raise Refused("A choice is a or b.")
        kept = self._store.vote(
            _token(given),
            trial,
            choices,
            seconds=_seconds(given.get("seconds")),
            of=texts(self.study)["total"],
            code=self.study.codes,
        )
        return self._shown(kept)

    def _shown(self, participant: Participant | None) -> dict[str, Any]:
        if participant is None:
            return {"unknown": True}
        hand = self.study.hands[participant.place]
        state: dict[str, Any] = {
            "participant": participant.token,
            "answered": participant.answered,
            "total": len(hand),
            "finished": participant.finished,
        }
        if participant.finished:
            return state | {"code": participant.code}
        names = ("prompt", "frame", "a", "b")
        trial = self.study.sides(hand[participant.answered])
        return state | {"trial": dict(zip(names, trial, strict=True))}


def _token(given: Mapping[str, Any]) -> str:
    token = given.get("participant")
    if not isinstance(token, str) or not re.fullmatch("[0-9a-f]{32}", token):
        raise Refused("A request names its participant.")
    return token


def _seconds(value: Any) -> float:
    """As the page measured them; a person who slept over a pair counts as an hour."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Refused("A vote says how long it took.")
    return float(min(max(value, 0), 3600))  # in this order: a whole number of any length is no float
