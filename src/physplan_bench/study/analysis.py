"""From votes to a result: Pref_c(B) with intervals, agreement, Bradley-Terry scores, position bias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

import numpy as np

from physplan.errors import PhysPlanError
from physplan_bench.bootstrap import MIN_CLUSTERS, Interval
from physplan_bench.provenance import provenance
from physplan_bench.study.criteria import KEYS
from physplan_bench.study.design import Study
from physplan_bench.study.statistics import (
    binomial_p,
    bradley_terry,
    crossed_bootstrap,
    crossed_weights,
    krippendorff_alpha,
    wilson,
)
from physplan_bench.study.votes import Rater, Vote, counted, passed

POOLED = "Pooled"
PRIOR_VOTES = 0.5  # votes each way, for Bradley-Terry scores


def analyse(
    study: Study, raters: Sequence[Rater], *, finished_only: bool = False, passed_only: bool = False
) -> dict[str, Any]:
    done = [rater for rater in raters if len(rater.answers) == len(study.hands[rater.place])]
    attentive = [rater for rater in raters if passed(study, rater)]
    kept = [
        rater
        for rater in raters
        if (rater in done or not finished_only) and (rater in attentive or not passed_only)
    ]
    votes = list(counted(study, kept))
    if not votes:
        raise PhysPlanError("There is no vote to analyse: let people take part first.")
    per_pair = _per_pair(study, votes)
    by_criterion = {key: [vote for vote in votes if vote.criterion == key] for key in KEYS}
    settings = {
        "study": study.id,
        "design": "two-alternative forced choice",
        "pairs": len(study.pairs),
        "per_participant": study.per_participant,
        "finished_only": finished_only,
        "passed_only": passed_only,
    }
    return {
        "benchmark": "study",
        "provenance": provenance(protocol="user study, 2AFC", settings=settings, seeds=[study.seed]),
        "title": study.title,
        "methods": list(study.methods),
        "participants": {
            "voted": len(raters),
            "finished": len(done),
            "passed_checks": len(attentive) if study.checks else None,
            "counted": len(kept),
            "seconds_per_pair": median(second for rater in kept for second in rater.seconds),
        },
        "votes": {key: len(found) for key, found in by_criterion.items()},
        "votes_per_pair": {"min": min(per_pair), "max": max(per_pair), "counts": per_pair},
        "preference": {key: preferences(study, found) for key, found in by_criterion.items()},
        "domains": {
            domain: {
                key: _rate(
                    study, [v for v in found if study.prompts[study.pairs[v.pair].prompt].domain == domain]
                )
                for key, found in by_criterion.items()
            }
            for domain in sorted({study.prompts[pair.prompt].domain for pair in study.pairs} - {""})
        },
        "alpha": {key: agreement(study, found) for key, found in by_criterion.items()},
        "bradley_terry": {key: scores(study, found) for key, found in by_criterion.items()},
        "position": {
            key: asdict(_share(study, found, lambda v: v.left)) for key, found in by_criterion.items()
        },
        "codes": sorted(rater.code for rater in done if rater.code),
        "notes": list(study.notes),
    }


def preferences(study: Study, votes: Sequence[Vote]) -> dict[str, Any]:
    """Pref_c(B): of the votes on pairs with B, the share that chose the first method; and pooled."""
    couples = list(dict.fromkeys((pair.first, pair.second) for pair in study.pairs))
    found = {
        couple_name(study, *couple): _rate(
            study,
            [v for v in votes if (study.pairs[v.pair].first, study.pairs[v.pair].second) == couple],
            of_reference=False,
        )
        for couple in couples
    }
    return found | {POOLED: _rate(study, votes)}


def couple_name(study: Study, first: str, second: str) -> str:
    return second if first == study.methods[0] else f"{first} over {second}"


def _rate(study: Study, votes: Sequence[Vote], *, of_reference: bool = True) -> dict[str, Any] | None:
    """Of the reference method, where `of_reference`: votes on pairs without it say nothing about it."""
    if of_reference:
        votes = [v for v in votes if study.pairs[v.pair].first == study.methods[0]]
    if not votes:
        return None
    wins = sum(vote.first for vote in votes)
    return {
        **asdict(_share(study, votes, lambda vote: vote.first)),
        "wins": wins,
        "votes": len(votes),
        "wilson": asdict(wilson(wins, len(votes))),
        "p": binomial_p(wins, len(votes)),
    }


def _share(study: Study, votes: Sequence[Vote], chosen: Callable[[Vote], bool]) -> Interval:
    people = {name: i for i, name in enumerate(dict.fromkeys(vote.rater for vote in votes))}
    prompts = {name: i for i, name in enumerate(dict.fromkeys(study.pairs[v.pair].prompt for v in votes))}
    wins, count = np.zeros((2, len(people), len(prompts)))
    for vote in votes:
        place = people[vote.rater], prompts[study.pairs[vote.pair].prompt]
        wins[place] += chosen(vote)
        count[place] += 1
    return crossed_bootstrap(wins, count)


def agreement(study: Study, votes: Sequence[Vote]) -> float | None:
    """Krippendorff's alpha of which method's video was chosen, over pairs."""
    counts = np.zeros((len(study.pairs), 2))
    for vote in votes:
        counts[vote.pair, int(vote.first)] += 1
    return krippendorff_alpha(counts)


def scores(study: Study, votes: Sequence[Vote]) -> dict[str, Any]:
    """Bradley-Terry log-strengths of the methods; intervals over participants and prompts, none for a
    method with votes of fewer than `MIN_CLUSTERS` of either."""
    methods = {name: i for i, name in enumerate(study.methods)}
    people = {name: i for i, name in enumerate(dict.fromkeys(vote.rater for vote in votes))}
    wins = np.zeros((len(methods), len(methods), len(people), len(study.prompts)))
    for vote in votes:
        pair = study.pairs[vote.pair]
        winner, loser = (pair.first, pair.second) if vote.first else (pair.second, pair.first)
        wins[methods[winner], methods[loser], people[vote.rater], pair.prompt] += 1
    rows, columns = crossed_weights(len(people), len(study.prompts))
    drawn = np.einsum("rp,ijpq,rq->rij", rows, wins, columns, optimize=True)
    value = bradley_terry(wins.sum((2, 3)), prior=PRIOR_VOTES)
    low, high = np.quantile(bradley_terry(drawn, prior=PRIOR_VOTES), [0.025, 0.975], axis=0)
    met = wins.sum(1) + wins.sum(0) > 0  # (method, participant, prompt)
    carried = [min(one.any(axis).sum() for axis in (0, 1)) >= MIN_CLUSTERS for one in met]
    return {
        name: asdict(
            Interval.of(float(value[i]), float(low[i]), float(high[i]))
            if carried[i]
            else Interval(value=float(value[i]), low=None, high=None)
        )
        for name, i in methods.items()
    }


def _per_pair(study: Study, votes: Sequence[Vote]) -> list[int]:
    counts = [0] * len(study.pairs)
    for vote in votes:
        counts[vote.pair] += vote.criterion == KEYS[0]
    return counts
