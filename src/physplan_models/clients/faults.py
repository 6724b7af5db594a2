"""SDK exceptions as `CallFault`: which are worth a retry, how long to wait, never a key in the message."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any

from physplan.calls.protocol import CallFault
from physplan.calls.secrets import Secret
from physplan.foreign import plain

LONGEST_MESSAGE = 300
ADVICE = {
    400: "Check the model's name, and that it takes images and JSON schemas.",
    401: "Check the key.",
    403: "Check the key and what it may use.",
    404: "Check the model's name and the server's address.",
}


def retryable(status: int) -> bool:
    return status in (408, 429) or 500 <= status < 600


def as_fault(error: Exception, *, service: str, secret: Secret | None) -> CallFault:
    """One sentence for any error of an SDK. Raise it `from None`: the original may hold the key."""
    for own in (error, error.__cause__):
        if isinstance(own, CallFault):
            return own
    status = _status(error)
    names = {base.__name__ for base in type(error).__mro__}
    if status is not None:
        message = f"{service} answered {status}: {sentence(_words(error), secret)}"
        if advice := ADVICE.get(status):
            message += f" {advice}"
        if 300 <= status < 400:
            to = sentence(_headers(error).get("location", "nowhere"), secret)
            message = f"{service} redirects to {to} Redirects are not followed: the key would go along."
        return CallFault(
            message,
            status=status,
            retry_after=_retry_after(error),
            retryable=retryable(status),
            billable=status < 300,
        )
    if any("Timeout" in name for name in names):
        return CallFault(f"{service} did not answer in time.", retryable=True, billable=True)
    if any(name in ("TransportError", "APIConnectionError", "OSError") for name in names):
        return CallFault(
            f"{service} cannot be reached ({type(error).__name__}); check the network and the address.",
            retryable=True,
            billable=True,
        )
    said = label(_words(error), secret)
    return CallFault(
        f"{service} sent what its SDK cannot read ({type(error).__name__}: {said}).",
        retryable=True,
        billable=True,
    )


def _status(error: Exception) -> int | None:
    for name in ("status_code", "code"):  # openai's name, google-genai's name
        value = getattr(error, name, None)
        if isinstance(value, int) and 100 <= value < 600:
            return value
    return None


def _words(error: Exception) -> str:
    return str(getattr(error, "message", None) or error)


def sentence(text: str, secret: Secret | None) -> str:
    """A server's words as one short sentence."""
    return label(text, secret).rstrip(".") + "."


def label(text: str, secret: Secret | None) -> str:
    """A server's words on one short line: no key, no control characters."""
    text = secret.redact(text) if secret else text
    text = re.sub(r"\s+", " ", plain(text[: 10 * LONGEST_MESSAGE])).strip()
    return text[:LONGEST_MESSAGE] + "…" if len(text) > LONGEST_MESSAGE else text


def _retry_after(error: Exception) -> float | None:
    """Seconds from the Retry-After header (a number or a date), or from Google's RetryInfo in the body."""
    if (seconds := wait_of(_headers(error).get("retry-after", ""))) is not None:
        return seconds
    for detail in _details(getattr(error, "details", None)):
        delay = str(detail.get("retryDelay", ""))
        if re.fullmatch(r"\d+(\.\d+)?s", delay):
            return float(delay[:-1])
    return None


def _headers(error: Exception) -> Mapping[str, str]:
    return getattr(getattr(error, "response", None), "headers", None) or {}


def wait_of(header: str) -> float | None:
    """Seconds of a Retry-After header. None where it says nothing: the usual waits are as good, and the fault
    itself is reported."""
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", header):
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):  # neither a number nor a date, or one beyond all calendars
        return None


def _details(body: Any) -> list[Mapping[str, Any]]:
    inner = body.get("error", body) if isinstance(body, Mapping) else {}
    details = inner.get("details", []) if isinstance(inner, Mapping) else []
    return [d for d in details if isinstance(d, Mapping)] if isinstance(details, list) else []
