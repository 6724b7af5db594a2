"""OpenRouter: first and last frame; sizes, durations and prices per model come from its models list."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from physplan.calls.protocol import Request
from physplan.calls.providers import Provider
from physplan.errors import PhysPlanError
from physplan.registry import did_you_mean
from physplan_models.servers.openai_jobs import OpenAIJobs
from physplan_models.servers.protocol import Abilities, HttpRequest, parts_of
from physplan_models.servers.sglang import data_url

FRAMES = {"first": "first_frame", "last": "last_frame"}


class OpenRouter(OpenAIJobs):
    provider = Provider(
        name="openrouter",
        client="",
        url="https://openrouter.ai/api/v1",
        url_variable="OPENROUTER_BASE_URL",
        keys=("OPENROUTER_API_KEY",),
        service="OpenRouter",
    )
    can_cancel = False  # none is documented: the job stays stored, and is fetched by the next run

    def models(self) -> str | None:
        return "/videos/models"

    def abilities(self, model: str, listed: Any) -> Abilities:
        entries = listed.get("data") if isinstance(listed, Mapping) else None
        entries = entries if isinstance(entries, list) else []
        known = {str(e.get("id")): e for e in entries if isinstance(e, Mapping)}
        if model not in known:
            raise PhysPlanError(f"OpenRouter lists no video model {model!r}. {did_you_mean(model, known)}")
        try:
            return self._abilities(model, known[model])
        except (TypeError, ValueError, OverflowError):
            raise PhysPlanError(
                f"OpenRouter's list of video models cannot be read for {model}: use another video.source."
            ) from None

    def _abilities(self, model: str, entry: Mapping[str, Any]) -> Abilities:
        frames = entry.get("supported_frame_images") or ()
        if FRAMES["first"] not in frames:
            raise PhysPlanError(f"{model} takes no first frame at OpenRouter: choose another video.source.")
        return Abilities(
            sizes=_sizes(entry),
            durations=tuple(sorted(float(s) for s in entry.get("supported_durations") or ())) or None,
            last_frame=FRAMES["last"] in frames,
            seed=entry.get("seed") is True,
            usd_per_second=_dearest(entry.get("pricing_skus")),
        )

    def submit(self, request: Request) -> HttpRequest:
        options = request.options
        width, height = int(options["width"]), int(options["height"])
        body: dict[str, Any] = {
            "model": request.model,
            "prompt": request.text,
            "duration": round(float(options["seconds"])),
            "resolution": f"{min(width, height)}p",
            "aspect_ratio": _ratio(width, height),
            "generate_audio": False,
            "frame_images": [
                {"type": "image_url", "image_url": {"url": data_url(part)}, "frame_type": FRAMES[role]}
                for role, part in parts_of(request).items()
            ],
        }
        if request.seed is not None:
            body["seed"] = request.seed
        return HttpRequest(path="/videos", json=body)


RATIOS = {"16:9": 16 / 9, "9:16": 9 / 16, "1:1": 1.0, "4:3": 4 / 3, "3:4": 3 / 4, "21:9": 21 / 9, "3:2": 1.5}


def _sizes(entry: Mapping[str, Any]) -> tuple[tuple[int, int], ...] | None:
    """Every listed resolution in every listed shape."""
    found = []
    for resolution, ratio in product(
        entry.get("supported_resolutions") or (), entry.get("supported_aspect_ratios") or ()
    ):
        short = str(resolution).removesuffix("p")
        if short.isascii() and short.isdigit() and len(short) < 6 and ratio in RATIOS:
            shape = RATIOS[ratio]
            found.append((round(int(short) * max(shape, 1.0)), round(int(short) / min(shape, 1.0))))
    return tuple(found) or None


def _ratio(width: int, height: int) -> str:
    return min(RATIOS, key=lambda name: abs(RATIOS[name] - width / height))


def _dearest(skus: Any) -> float | None:
    """USD per second of the dearest listed price per second; None where a price has another unit."""
    prices = []
    for name, price in skus.items() if isinstance(skus, Mapping) else ():
        try:
            usd = float(price)
        except (TypeError, ValueError, OverflowError):
            return None
        if "second" not in str(name) or not 0 <= usd < 1e4:
            return None
        prices.append(usd)
    return max(prices, default=None)


DIALECT = OpenRouter()
