"""What vLLM-Omni, SGLang and OpenRouter share: OpenAI's `/videos` and the states of its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from physplan.calls.providers import Provider
from physplan_models.servers.protocol import Status, openai_status

OWN_SERVER = Provider(
    name="video-server",
    client="",
    url="http://localhost:8091/v1",
    url_variable="VIDEO_SERVER_URL",
    keys=("VIDEO_SERVER_API_KEY",),
    service="This video server",
    keyless=True,
)


class OpenAIJobs:
    provider = OWN_SERVER
    can_cancel = True

    def headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def models(self) -> str | None:
        return None

    def job_id(self, answer: Mapping[str, Any]) -> str:
        return str(answer.get("id") or "")

    def job(self, id: str) -> str:
        return f"/videos/{id}"

    def status(self, answer: Mapping[str, Any]) -> Status:
        return openai_status(answer)

    def content(self, id: str, status: Status) -> str:
        return f"/videos/{id}/content"
