"""PhyGround's dimensions: three general ones and thirteen laws in three domains, with questions in our words.

A judge is asked for one dimension at a time. The wording here is ours; a judge trained on the benchmark's own
wording (PhyJudge) takes the benchmark's template file instead (`--template`, `templates.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

GENERAL: Mapping[str, str] = {
    "SA": "Does the video show what the prompt says, with the named objects, their actions and the outcome?",
    "PTV": "Do causes come before effects, and do the steps of the event follow in a possible order?",
    "persistence": "Do objects keep existing, with their shape, number and look, unless something acts?",
}
DOMAINS: Mapping[str, Mapping[str, str]] = {
    "Solid-Body": {
        "gravity": "Do unsupported things fall, at a believable rate, and do supported things stay?",
        "inertia": "Does motion start, stop and turn only when something acts?",
        "momentum": "Are speeds and directions after an interaction consistent with those before it?",
        "impenetrability": "Do solid things stay out of each other?",
        "collision": "Do things that meet respond to the contact, at the moment and place of contact?",
        "material": "Do things bend, break, bounce or yield as their material does?",
    },
    "Fluid": {
        "buoyancy": "Do light things float and heavy things sink?",
        "displacement": "Does a liquid's level answer to what is put into it or taken out?",
        "flow_dynamics": "Does liquid or gas move as a flow: down, spreading, swirling?",
        "boundary_interaction": "Do fluids stay within walls and react where they meet a surface?",
        "fluid_continuity": "Is the amount of liquid kept, without appearing or vanishing?",
    },
    "Optical": {
        "reflection": "Do mirrors and glossy surfaces show what stands before them, in step with it?",
        "shadow": "Do shadows follow their objects and agree with the light?",
    },
}
LAWS: Mapping[str, str] = {law: text for laws in DOMAINS.values() for law, text in laws.items()}
DOMAIN_OF: Mapping[str, str] = {law: domain for domain, laws in DOMAINS.items() for law in laws}
LOWEST, HIGHEST = 1, 5
