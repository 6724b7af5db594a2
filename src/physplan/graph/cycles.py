"""Walks along directed relations: support and containment must never run in a circle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set


def find_path(
    start: str,
    goal: str,
    below: Mapping[str, Sequence[str]],
    added: Mapping[str, Sequence[str]],
    removed: Set[tuple[str, str]],
) -> list[str] | None:
    """A way from `start` to `goal` along `below`, some edges added and some removed; None if none."""
    came_from: dict[str, str | None] = {start: None}
    frontier = [start]
    while frontier:
        here = frontier.pop()
        if here == goal:
            return _trace(here, came_from)
        kept = (child for child in below.get(here, ()) if (here, child) not in removed)
        for child in (*kept, *added.get(here, ())):
            if child not in came_from:
                came_from[child] = here
                frontier.append(child)
    return None


def _trace(end: str, came_from: Mapping[str, str | None]) -> list[str]:
    path = []
    step: str | None = end
    while step is not None:
        path.append(step)
        step = came_from[step]
    return path[::-1]


def find_cycle(below: Mapping[str, Sequence[str]]) -> list[str] | None:
    """A directed cycle, its first object repeated at the end; None when there is none."""
    finished: set[str] = set()
    for start in sorted(below):
        path: list[str] = []
        on_path: set[str] = set()
        stack = [(start, False)]
        while stack:
            here, leaving = stack.pop()
            if leaving:
                path.pop()
                on_path.discard(here)
                finished.add(here)
            elif here in on_path:
                return [*path[path.index(here) :], here]
            elif here not in finished:
                path.append(here)
                on_path.add(here)
                stack.append((here, True))
                stack.extend((child, False) for child in below.get(here, ()))
    return None
