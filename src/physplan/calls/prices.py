"""What a call costs, and at most can cost, from a dated table of list prices (prices.json, or your own)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from physplan.calls.protocol import Request, Usage
from physplan.errors import PhysPlanError
from physplan.foreign import read_file

PRICED_TOKENS = 1_000_000
# Characters around the prompt that a server may count as tokens: roles, separators, the schema's wrapping.
ENVELOPE_TOKENS = 512
VERSION_SUFFIX = re.compile(r"(-preview)?(-latest|-\d{3}|-\d{2}-\d{2,4}|-\d{4}-\d{2}-\d{2})?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD per million tokens, USD per generated image by size, the most tokens one input image can count."""

    input: float
    output: float
    image: Mapping[str, float] = field(default_factory=dict)
    image_tokens: int = 4096
    second: float | None = None  # USD per second of generated video

    def cost(self, usage: Usage, *, size: str = "1K") -> float:
        tokens = usage.input_tokens * self.input + usage.output_tokens * self.output
        # An unlisted size is priced as the dearest one: the bound must hold.
        each = self.image.get(size, max(self.image.values(), default=0.0))
        return tokens / PRICED_TOKENS + usage.images * each

    def worst_case(self, request: Request) -> float:
        """An upper bound before the call: a token is at least one byte, and every output token is used."""
        if request.output == "video":
            return float(request.options["seconds"]) * (self.second or 0.0)
        schema = json.dumps(request.schema) if request.schema else ""
        text = len((request.system + request.text + schema).encode())
        usage = Usage(
            input_tokens=text + ENVELOPE_TOKENS + self.image_tokens * len(request.images),
            output_tokens=request.max_output_tokens,
            images=int(request.output == "image"),
        )
        return self.cost(usage, size=request.options.get("image_size", "1K"))


FREE = Price(input=0.0, output=0.0)


@dataclass(frozen=True, slots=True)
class PriceTable:
    dated: str
    models: Mapping[str, Price]

    def find(self, model: str) -> Price | None:
        """By name, else without its version: `gemini-3-flash-preview` is priced as `gemini-3-flash`."""
        name = model.removeprefix("models/")
        return self.models.get(name) or self.models.get(VERSION_SUFFIX.sub("", name))

    @classmethod
    def load(cls, extra: str | os.PathLike[str] | None = None) -> PriceTable:
        """The bundled table, with the models of the file `extra` added or replaced."""
        bundled = json.loads(resources.files(__package__).joinpath("prices.json").read_text(encoding="utf-8"))
        models: dict[str, Any] = dict(bundled["models"])
        dated = str(bundled["dated"])
        if extra is not None:
            models |= _read(Path(extra))
            dated += f" + {Path(extra).name}"
        try:
            return cls(dated, {name: Price(**fields) for name, fields in models.items()})
        except TypeError:
            raise PhysPlanError(
                f"{extra}: a price has the fields input and output (USD per million tokens) and, for image "
                "models, image (USD by size) and image_tokens; for video models, second (USD)."
            ) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        models = json.loads(read_file(path, limit=10_000_000))["models"]
        valid = all(_is_price(fields) for fields in models.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        valid = False
    if not valid:
        raise PhysPlanError(
            f'{path} is not a price table: write {{"models": {{"NAME": {{"input": USD, "output": USD}}}}}} '
            "in USD per million tokens."
        )
    return dict(models)


def _is_price(fields: Any) -> bool:
    numbers = [
        fields["input"],
        fields["output"],
        fields.get("image_tokens", 0),
        fields.get("second", 0),
        *fields.get("image", {}).values(),
    ]
    return all(isinstance(n, int | float) and not isinstance(n, bool) and 0 <= n < 1e6 for n in numbers)
