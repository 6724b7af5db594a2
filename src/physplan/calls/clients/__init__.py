"""Paid models behind one small protocol: text and image answers, Gemini or any OpenAI-compatible server."""
