"""The keyframe editors by name. Adding one is a file and a line here (docs/backends.md)."""

from __future__ import annotations

from physplan.registry import Registry

EDITORS = Registry(
    "keyframe editor",
    {
        "gemini": "physplan.keyframes.gemini:GeminiEditor",
        "image-server": "physplan.keyframes.image_server:ImageServerEditor",
        "flux-kontext": "physplan.keyframes.diffusers:FluxKontextEditor",
        "qwen-image-edit": "physplan.keyframes.diffusers:QwenImageEditor",
        "sandbox": "physplan.sandbox.editor:SandboxEditor",
    },
    callers=("gemini", "image-server"),
)
