"""Every page of a studio with real runs of the small world in its folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.screenshots.shots import PHONE, WIDE, Arrive, Camera, Forms, NotShown, ready

from physplan.drawing.html import to_html
from physplan.graph import EventChain

SHOWN = "ice-tray"  # the sample of the pages of one run
OTHERS = ("drop-crate", "pour-glass")
LONG = {  # of the run that is under way while its page is taken
    "video.num_inference_steps": 80,
    "guidance.schedule": {"layout_steps": 20, "guided_steps": 20, "repeats": 2},
}


def take(camera: Camera, opened: Any, client: Any) -> dict[str, list[Path]]:
    """Also gives the runs of each method, of the same pictures, for a study of them."""
    samples = {sample["name"]: sample for sample in client.ask("about")["samples"]}

    def start(name: str, upto: str, method: str = "guided_sketch", **more: Any) -> str:
        given = {key: samples[name][key] for key in ("picture", "prompt")}
        return str(client.ask("start", upto=upto, method=method, **given, **more)["run"])

    def made(*given: Any, **more: Any) -> str:
        run, began = start(*given, **more), time.monotonic()
        try:
            job = client.until(run, "done", "failed", seconds=600)["job"]
        except AssertionError as late:
            raise NotShown(f"{run} is not done after ten minutes: {late}") from None
        if job["state"] == "failed":
            raise NotShown(f"{run} failed: {job['error']}")
        print(f"{run}: {time.monotonic() - began:.0f} s", flush=True)
        return run

    guided = made(SHOWN, "video")
    runs = [guided, made(SHOWN, "video", "base"), made(SHOWN, "video", seed=1)]
    others = {
        method: [made(name, "video", method) for name in OTHERS] for method in ("guided_sketch", "base")
    }
    planned = made("dominoes-gap", "sketch")

    def at(place: str) -> str:
        return f"{opened.link}#/{place}"

    pages: dict[str, Forms] = {}

    def take(name: str, address: str, arrive: Arrive, whole: bool = False) -> None:
        pages[name] = camera.take(f"studio-{name}", address, arrive, whole=whole)
        camera.wide(f"studio-{name}", pages[name])

    take("new", at(""), choose)
    take("run", at(f"run/{quote(guided)}"), beside_the_base, whole=True)
    take("broken", at(f"run/{quote(planned)}"), break_the_plan, whole=True)
    take("runs", at("runs"), lambda page: page.locator(".tile").nth(4).wait_for())
    take("compare", at("compare?" + "&".join(f"run={quote(run)}" for run in runs)), halfway)
    take("report", f"{opened.link}runs/{quote(guided)}/report.html", loaded)
    take("plan-page", plan_html(opened.runs, guided), lambda page: None)

    under_way = start(SHOWN, "video", settings=LONG)
    waiting = [start(name, "video", seed=2) for name in OTHERS]
    take("queue", at("queue"), lambda page: page.locator(".jobs li").nth(2).wait_for())
    take("live", at(f"run/{quote(under_way)}"), sampling, whole=True)
    for run in (*waiting, under_way):
        client.ask("stop", run=run)

    camera.phones("studio-phone", [pages[name] for name in ("new", "run", "broken", "live")])
    others_of_them = ("runs", "compare", "queue", "report", "plan-page")
    camera.phones("studio-phone-2", [pages[name] for name in others_of_them])
    readme = camera.take("studio", at(f"run/{quote(guided)}"), only_the_plan, whole=True, sizes=[WIDE])
    camera.save("studio", [[readme[WIDE, "light"].crop((0, 0, WIDE[0], 1480))]], 900)
    found = {"PhysPlan": [guided, *others["guided_sketch"]], "Base model": [runs[1], *others["base"]]}
    return {method: [opened.runs / run for run in names] for method, names in found.items()}


def loaded(page: Any) -> None:
    """A report runs no script, so nothing can be asked of it."""
    page.wait_for_timeout(2_000)


def choose(page: Any) -> None:
    page.locator(".examples").evaluate("details => { details.open = true; }")
    page.locator(".examples .sample", has_text=SHOWN.replace("-", " ")).click()
    page.locator(".figures").wait_for()
    page.evaluate("scrollTo(0, 0)")


def beside_the_base(page: Any) -> None:
    page.locator(".reel-2 video").nth(1).wait_for()
    halfway(page)


def halfway(page: Any) -> None:
    """Where the videos differ."""
    page.locator(".controls input[type=range]").wait_for()
    ready(page)
    page.locator(".controls input[type=range]").evaluate(
        "bar => { bar.value = 0.7 * bar.max; bar.dispatchEvent(new Event('input', { bubbles: true })); }"
    )


def break_the_plan(page: Any) -> None:
    page.locator(".edit input.object").first.fill("moon#9")
    page.locator(".edit .fault").first.wait_for()
    ready(page)
    if page.viewport_size["width"] == PHONE[0]:
        page.locator(".edit .fault").first.evaluate("fault => fault.scrollIntoView({ block: 'center' })")
    else:
        page.evaluate("scrollTo(0, 0)")  # the bar at the top stays where the page begins


def sampling(page: Any) -> None:
    page.locator(".preview img").wait_for()
    # Attached, not visible: a flat line has no height, and Playwright takes it for hidden.
    page.locator(".term polyline[points*=' ']").first.wait_for(state="attached")
    ready(page)


def only_the_plan(page: Any) -> None:
    page.locator(".scene video").wait_for()
    ready(page)
    page.locator(".scene video").evaluate("sketch => { sketch.currentTime = 0.6 * sketch.duration; }")
    others = page.locator(".run > section:not(:has(.scene))")
    others.evaluate_all("all => all.forEach(one => { one.hidden = true; })")


def plan_html(runs: Path, run: str) -> str:
    path = runs / "plan.html"
    path.write_text(to_html(EventChain.load(runs / run / "plan.json")), encoding="utf-8")
    return path.as_uri()
