"""Stage 1, the weights: where they are, which commit, whether they are whole, and what their configs say."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan_bench.accept.context import Acceptance
from physplan_bench.accept.findings import Finding, Level, checked
from physplan_models.families import family_of
from physplan_models.published import PUBLISHED, PublishedModel
from physplan_models.sources import find_folder, is_present, read_index

# Schedulers that the library may ship with a family, whose noise levels are those of the one we sample with.
SAME_LEVELS = {"UniPCMultistepScheduler", "DPMSolverMultistepScheduler", "CogVideoXDPMScheduler"}
DECIDING = (
    *("scaling_factor", "invert_scale_latents", "latents_mean", "latents_std"),
    "timestep_conditioning",
)
TEXT_WIDTHS = ("text_embed_dim", "caption_channels", "text_dim")  # as the families call it
BREAKS = {
    "scaling_factor": "latents are scaled otherwise: colours burn, guidance steps have another size",
    "invert_scale_latents": "the first frame's latent is scaled the wrong way: the picture is lost",
    "latents_mean": "latents are shifted: every decode has a cast",
    "latents_std": "channels are scaled otherwise: every decode is wrong",
    "timestep_conditioning": "the decoder expects a time, or expects none: decodes are noisy",
}


def look_at_weights(here: Acceptance) -> Iterator[Finding]:
    video = here.config.video
    known = PUBLISHED.get(video.model)
    source = video.source or (known.repo if known else "")
    try:
        folder = find_folder(source, revision=video.revision, local_files_only=True)
        index = read_index(folder)
    except PhysPlanError as error:
        yield Finding(name="weights are here", level="failure", meaning=_fetch(error, here))
        return
    yield Finding(name="weights are here", level="pass")
    yield revision_of(folder, video.revision, known)
    yield from whole(folder)
    yield from configs(folder, index, known, own=video.source not in (None, known.repo if known else None))


def _fetch(error: PhysPlanError, here: Acceptance) -> str:
    return f"{error} Fetch them first: physplan models get {here.config.preset}."


def revision_of(folder: Path, wanted: str | None, known: PublishedModel | None) -> Finding:
    """A hub snapshot is named by its commit; of a folder of one's own nothing is known."""
    pinned = known.revision if known else None
    name = "revision"
    if wanted is not None and pinned is not None and wanted != pinned:
        meaning = (
            f"the settings ask for another commit than {pinned[:12]}, which this version knows: "
            "names and shapes inside may differ"
        )
        return Finding(name=name, level="failure", value=wanted[:12], meaning=meaning)
    found = folder.name if re.fullmatch(r"[0-9a-f]{40}", folder.name) else None
    if found is None:
        return Finding(name=name, level="warning", meaning="a folder of one's own: its commit is not known")
    fault = f"this is not the pinned commit {(pinned or '')[:12]}: fetch that one"
    return checked(name, pinned in (None, found), fault, value=found[:12])


def whole(folder: Path, name: str = "weight files are whole") -> Iterator[Finding]:
    """Every file's length against its own header, and its content against its name in the hub's store."""
    faults, count = [], 0
    for path in sorted(folder.rglob("*.safetensors")):
        count += 1
        if (problem := _broken(path)) is not None:
            faults.append(f"{path.relative_to(folder).as_posix()} {problem}")
    fault = "; ".join(faults[:3]) + ": fetch them again" if faults else "there are none"
    yield checked(name, bool(count and not faults), fault, value=float(count))


def _broken(path: Path) -> str | None:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = path.stat().st_size
        if not 0 < length <= size - 8:
            return "is cut off"
        try:
            header = json.loads(file.read(length))
        except ValueError:
            return "has no readable header"
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        if 8 + length + max(ends, default=0) != size:
            return "is cut off"
        blob = path.resolve().name
        if re.fullmatch(r"[0-9a-f]{64}", blob):  # the hub keeps large files under their SHA-256
            file.seek(0)
            if hashlib.file_digest(file, "sha256").hexdigest() != blob:
                return "is not what the hub has (checksum)"
    return None


def configs(
    folder: Path, index: Mapping[str, Any], known: PublishedModel | None, *, own: bool
) -> Iterator[Finding]:
    """Classes, scheduler, latent scaling and channels against what this version's code assumes."""
    pipeline, family = str(index["_class_name"]), family_of(str(index["_class_name"]))
    expected = known.pipeline if known else pipeline
    yield _pipeline(pipeline, expected, family)
    yield _scheduler(folder, family, known)
    vae = _read(folder / "vae" / "config.json")
    shape = known.networks if known else {}
    for name in ("transformer", "transformer_2", "unet", "vae"):
        if is_present(index, name) and name in shape:
            yield _same(f"class of {name}", index[name][1], shape[name][0], "its inputs are called otherwise")
    yield from _autoencoder(vae, index, shape, own=own)
    yield from _stored_statistics(folder)
    yield from _channels(folder, vae)
    yield from _text(folder, shape, own=own)


def _pipeline(found: str, expected: str, family: Any) -> Finding:
    """Two names of one family may be loaded by one class: then nothing breaks."""
    if found != expected and family.pipelines.get(found) == family.pipelines.get(expected, ""):
        meaning = f"the published one is called {expected}; both are loaded by {family.pipelines[found]}"
        return Finding(name="pipeline class", level="warning", value=found, meaning=meaning)
    return _same("pipeline class", found, expected, "other stages run, with other inputs")


def _same(name: str, found: object, expected: object, breaks: str) -> Finding:
    return checked(name, found == expected, f"the code assumes {expected}: {breaks}", value=str(found))


def _scheduler(folder: Path, family: Any, known: PublishedModel | None) -> Finding:
    found = _read(folder / "scheduler" / "scheduler_config.json")
    own = str(found.get("_class_name"))
    wanted = {**family.scheduler_settings, **(known.scheduler if known else {})}
    kind = found.get("prediction_type")
    if "prediction_type" in wanted and kind not in (None, wanted["prediction_type"]):
        meaning = f"it predicts {kind}, the code assumes {wanted['prediction_type']}: every step is wrong"
        return Finding(name="scheduler", level="failure", value=own, meaning=meaning)
    level: Level = "warning" if own in SAME_LEVELS else "failure"
    levels = "at the same levels" if own in SAME_LEVELS else "and its levels are not known to agree"
    fault = f"its steps are not ours: {family.scheduler} takes its place, {levels}"
    return checked("scheduler", own == family.scheduler, fault, value=own, level=level)


def _autoencoder(
    vae: Mapping[str, Any], index: Mapping[str, Any], shape: Any, *, own: bool
) -> Iterator[Finding]:
    """Its scaling against the published model's; a folder of one's own may have the library's default."""
    import diffusers

    kind = getattr(diffusers, str(index["vae"][1]), None)
    if kind is None:
        yield Finding(name="autoencoder", level="failure", meaning="this diffusers has no such class")
        return
    defaults = {name: one.default for name, one in inspect.signature(kind.__init__).parameters.items()}
    published = dict(shape["vae"][1]) if "vae" in shape else {}
    for name in DECIDING:
        if name not in defaults or vae.get(name) is None:
            continue
        if name in ("latents_mean", "latents_std"):
            yield _statistics(name, vae)
            continue
        expected = published.get(name, defaults[name])
        if name == "timestep_conditioning" and name not in published:
            continue
        if own and vae[name] == defaults[name]:
            expected = defaults[name]
        yield _same(f"vae.{name}", vae[name], expected, BREAKS[name])


def _statistics(name: str, vae: Mapping[str, Any]) -> Finding:
    values = [float(one) for one in vae[name] or ()]
    channels = vae.get("latent_channels") or vae.get("z_dim")
    wrong = bool(channels) and bool(values) and len(values) != channels
    swapped = name == "latents_std" and any(one <= 0 for one in values)
    why = (
        "some are not positive: are mean and deviation swapped? "
        if swapped
        else f"there should be {channels}; "
    )
    return checked(f"vae.{name}", not (swapped or wrong), why + BREAKS[name], value=float(len(values)))


def _stored_statistics(folder: Path) -> Iterator[Finding]:
    """LTX keeps mean and deviation of its latents among the weights."""
    from safetensors import safe_open

    for path in sorted((folder / "vae").glob("*.safetensors")):
        if _broken(path) is not None:
            continue  # which is said above
        with safe_open(path, framework="pt") as file:
            if "latents_std" in set(file.keys()):
                values = file.get_tensor("latents_std").float().flatten().tolist()
                yield _statistics("latents_std", {"latents_std": values})


def _channels(folder: Path, vae: Mapping[str, Any]) -> Iterator[Finding]:
    channels = vae.get("latent_channels") or vae.get("z_dim")
    network = _read(folder / "transformer" / "config.json") or _read(folder / "unet" / "config.json")
    out = network.get("out_channels")
    if channels and out:
        yield _same("latent channels", out, channels, "the denoiser's output cannot be decoded")


def _text(folder: Path, shape: Any, *, own: bool) -> Iterator[Finding]:
    """T5's width, and how many tokens the denoiser is made for; of a folder of one's own only the width."""
    import diffusers

    network, words = _read(folder / "transformer" / "config.json"), _read(folder / "text_encoder/config.json")
    taken = next((network[name] for name in TEXT_WIDTHS if name in network), None)
    if taken is not None and "d_model" in words:
        yield _same("text width", words["d_model"], taken, "the denoiser cannot read the text")
    length = network.get("max_text_seq_length")
    if length is None or own or "transformer" not in shape:
        return
    kind, given = shape["transformer"]
    default = inspect.signature(getattr(diffusers, kind).__init__).parameters["max_text_seq_length"].default
    expected = given.get("max_text_seq_length", default)
    yield _same("text length", length, expected, "padding is counted otherwise: text weighs more or less")


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
