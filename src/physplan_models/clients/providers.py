"""The providers, as they are known before their library is imported."""

from __future__ import annotations

from physplan.calls.providers import Provider

GEMINI = Provider(
    name="gemini",
    client="physplan_models.clients.gemini:GeminiClient",
    url="https://generativelanguage.googleapis.com/",
    url_variable="GOOGLE_GEMINI_BASE_URL",
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    service="Gemini",
    module="google.genai",
)
OPENAI = Provider(
    name="openai",
    client="physplan_models.clients.openai:OpenAIClient",
    url="https://api.openai.com/v1",
    url_variable="OPENAI_BASE_URL",
    keys=("OPENAI_API_KEY",),
    service="This server",
    module="openai",
    keyless=True,
)
