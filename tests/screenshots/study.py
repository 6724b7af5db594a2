"""The pages of a user study and of the two raters, with videos of the small world."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from study_people import serving
from tests.screenshots.shots import Camera, ready, wait_for_videos

from physplan.graph import EventChain
from physplan_bench.failures.guess import Guess
from physplan_bench.failures.page import FailedVideo
from physplan_bench.study.make import Plan, make_study
from physplan_bench.study.rating import make_rating
from physplan_bench.study.server import link


def take(camera: Camera, runs: Mapping[str, Sequence[Path]], work: Path) -> None:
    """`runs`: the folders of each method's runs, of the same pictures in the same order."""
    folders = {method: work / f"method{i}" for i, method in enumerate(runs)}
    for method, folder in folders.items():
        for i, run in enumerate(runs[method]):
            shutil.copytree(run, folder / f"run{i}")
    prompts = len(next(iter(runs.values())))
    plan = Plan(pairs=prompts, per_participant=prompts, participants=8, codes=True)
    make_study(folders, work / "study", plan=plan)
    with serving(work / "study") as server:
        address = link(server, "127.0.0.1")
        first = camera.take("study-first", address, lambda page: page.get_by_role("checkbox").wait_for())
        example = camera.take("study-example", address, agree)
        pair = camera.take("study-pair", address, begin)
        done = camera.take("study-done", address, lambda page: finish(page, prompts))
    camera.wide("study-first", first, example)
    camera.wide("study-wide", pair)
    camera.phones("study-phone", [first, example, pair, done])

    make_rating([_failed(run) for run in next(iter(runs.values()))], work / "rating", title="Failed videos")
    with serving(work / "rating") as server:
        raters = camera.take("study-raters", link(server, "127.0.0.1"), rate)
    camera.wide("study-raters", raters)
    camera.phones("study-raters-phone", [raters])


def agree(page: Any) -> None:
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Start").click()
    page.locator("#place", has_text="Example").wait_for()


def answer(page: Any, *sides: str) -> None:
    for side in sides:
        page.keyboard.press(side)


def begin(page: Any) -> None:
    """The first pair, with two of three questions answered."""
    agree(page)
    answer(page, "b", "b", "b", "Enter")
    page.locator("#place", has_text="Pair 1 of").wait_for()
    ready(page)
    page.evaluate("document.querySelectorAll('video').forEach(v => { v.currentTime = v.duration * 0.7; })")
    wait_for_videos(page, "!v.seeking", "find its place")
    answer(page, "a", "b")


def finish(page: Any, pairs: int) -> None:
    begin(page)
    answer(page, "a", "Enter")
    for number in range(2, pairs + 1):
        page.locator("#place", has_text=f"Pair {number} of").wait_for()
        answer(page, "a", "b", "a", "Enter")
    page.locator("#place", has_text="Done").wait_for()


def rate(page: Any) -> None:
    page.get_by_role("button", name="Rater 1").click()
    page.get_by_text("Keyframe").first.click()
    ready(page)
    page.evaluate("scrollTo(0, 0)")


def _failed(run: Path) -> FailedVideo:
    plan = EventChain.load(run / "plan.json")
    events = [f"Frame {event.anchor}: {event.delta.states[0].state}" for event in plan.events]
    return FailedVideo(
        name=run.name,
        category="Thermodynamics",
        score=12.5,
        description=plan.prompt,
        video=run / "video.mp4",
        events=tuple(events),
        keyframes=tuple(sorted((run / "keyframes").glob("*.png"))),
        guess=Guess(stage="Guidance", reason="the keyframes are right"),
    )
