"""From a folder or a hub id to a video model on a device: safetensors only, no remote code, no surprises."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch._functorch import config as functorch_config

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.gradient_checkpointing import Checkpointing
from physplan.weights import DTYPES
from physplan_models import attention, quantisation
from physplan_models.encoders import Encoders
from physplan_models.families import family_of
from physplan_models.families.family import Family
from physplan_models.loras import add_loras
from physplan_models.published import Networks
from physplan_models.quantisation_backends import check_compiled
from physplan_models.single_files import load_network, shape_of
from physplan_models.sources import DENOISERS, find_folder, is_present, read_index
from physplan_models.streaming import Streaming, blocks_of

Offload = Literal["none", "model", "group", "disk"]


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """How a model is held in memory; but for rounding by `dtype` and `quantisation`, none of these changes
    what it computes; `attention` and `compile` round otherwise."""

    dtype: str = "fp32"
    quantisation: str | None = None  # a back end's name or a .gguf file: quantisation.py
    attention: str | None = None  # the library's back end by name: attention.py
    compile: bool = False  # the denoiser's blocks
    device: str = "cpu"
    offload: Offload = "none"
    tiling: bool = False
    slicing: bool = False
    checkpointing: bool = True
    keep_encoders: bool = False
    encoders_on_cpu: bool = False
    revision: str | None = None  # of a hub id; presets pin one
    local_files_only: bool = False
    files: Mapping[str, Path] = field(default_factory=dict, hash=False)  # component -> a single file
    loras: Mapping[str, float] = field(default_factory=dict, hash=False)  # files with weights: loras.py
    networks: Networks = field(default_factory=dict, hash=False)  # the shapes of what comes from `files`


def load_video_model(source: str | Path, options: LoadOptions | None = None) -> FamilyModel:
    """The video model in a local folder or behind a hub id."""
    import diffusers

    options = options or LoadOptions()
    dtype, device = _dtype(options), _device(options)
    folder = find_folder(
        source, revision=options.revision, local_files_only=options.local_files_only, without=options.files
    )
    index = read_index(folder)
    _check_files(options, index)
    family = family_of(index["_class_name"])
    codec_dtype = family.codec_dtype or dtype
    quantised = _quantised(folder, index, options, dtype)
    encoders = {name: tuple(index[name]) for name in Encoders.NAMES if is_present(index, name)}
    try:
        pipe = getattr(diffusers, family.pipelines[index["_class_name"]]).from_pretrained(
            folder,
            dtype=dtype if codec_dtype == dtype else {"default": dtype, "vae": codec_dtype},
            use_safetensors=True,
            local_files_only=True,
            scheduler=_scheduler(folder, family),
            **dict.fromkeys((*encoders, *family.unused)),
            **_from_files(options, folder, set(encoders), dtype, codec_dtype),
            **quantised,
            **family.given,
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise PhysPlanError(
            f"The {family.name} model in {folder} does not load ({reason}): fetch it again."
        ) from error
    _complete(pipe, folder)
    add_loras(pipe, options.loras)
    place = torch.device("cpu") if options.encoders_on_cpu else device
    slots = Encoders(
        pipe, folder, encoders, dtype=dtype, device=place, keep=options.keep_encoders, files=options.files
    )
    model = family.model(pipe, family.words(pipe, slots))
    model.notes = (*family.notes, *_exchanged(folder, family))
    if options.quantisation is not None:
        model.compute_dtype = dtype
    try:
        _place(pipe, model, family, options, device)
    except torch.OutOfMemoryError as error:
        raise PhysPlanError(
            f"The {family.name} model does not fit into the memory of {device}: use offload model or group, a"
            " smaller model, or a larger device."
        ) from error
    return model


def _check_files(options: LoadOptions, index: Mapping[str, Any]) -> None:
    for name in options.files:
        if name not in (*DENOISERS, "vae", "text_encoder") or not is_present(index, name):
            raise PhysPlanError(f"This model has no part {name!r} that a single file can hold.")
        if name in DENOISERS and options.quantisation is not None:
            raise PhysPlanError(
                f"The {name} comes from a single file, which is used as it is: leave out either the file or"
                f" the quantisation {options.quantisation}."
            )


def _from_files(
    options: LoadOptions, folder: Path, encoders: set[str], dtype: torch.dtype, codec_dtype: torch.dtype
) -> dict[str, Any]:
    """The networks whose weights are single files; encoders wait until there is something to encode."""
    return {
        name: load_network(
            file, shape_of(name, folder, options.networks), dtype=codec_dtype if name == "vae" else dtype
        )
        for name, file in options.files.items()
        if name not in encoders
    }


def _quantised(
    folder: Path, index: dict[str, Any], options: LoadOptions, dtype: torch.dtype
) -> dict[str, Any]:
    """The denoisers, where a back end is to load them."""
    import diffusers

    choice = options.quantisation
    if choice is None:
        return {}
    classes = {name: getattr(diffusers, index[name][1]) for name in DENOISERS if is_present(index, name)}
    for network in classes.values():
        quantisation.check(
            choice, device=options.device, offload=options.offload, denoisers=len(classes), network=network
        )
    if choice == "fp8-storage":
        return {}
    try:
        return {name: quantisation.load(one, folder / name, choice, dtype) for name, one in classes.items()}
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, ImportError) as error:
        reason = str(error).strip().splitlines()[0]
        raise PhysPlanError(f"The model in {folder} does not load as {choice} ({reason}).") from error


def _scheduler(folder: Path, family: Family) -> Any:
    """The scheduler whose steps have our closed form; multistep ones are exchanged for a one-step one."""
    import diffusers

    scheduler = getattr(diffusers, family.scheduler)
    return scheduler.from_config(family.read_scheduler(scheduler.load_config(folder / "scheduler")))


def _exchanged(folder: Path, family: Family) -> tuple[str, ...]:
    """A checkpoint's own scheduler is not exchanged without a word."""
    path = folder / "scheduler" / "scheduler_config.json"
    own = json.loads(path.read_text()).get("_class_name") if path.exists() else None
    if own in (None, family.scheduler):
        return ()
    return (f"the model came with {own}, whose steps cannot be repeated: sampled with {family.scheduler}",)


def _complete(pipe: Any, folder: Path) -> None:
    """Weights that a folder lacks are left on the meta device by the library, with a warning only."""
    for name in (*DENOISERS, "vae"):
        network = getattr(pipe, name, None)
        lacking = [] if network is None else [k for k, p in network.named_parameters() if p.is_meta]
        if lacking:
            raise PhysPlanError(
                f"{folder / name} lacks {len(lacking)} of its weights, such as {lacking[0]}: fetch it again."
            )


def _place(pipe: Any, model: FamilyModel, family: Family, options: LoadOptions, device: torch.device) -> None:
    """Freeze the weights, hold and compute with them as `options` says, and put them there."""
    networks = model.denoisers
    for network in [*networks, pipe.vae]:
        network.eval().requires_grad_(False)
    if options.quantisation == "fp8-storage":
        for network in networks:
            quantisation.store_in_8_bits(network, model.dtype)
    if (name := options.attention) is not None:
        if missing := [f"{what} ({fix})" for what, fix in attention.lacking(name, device=options.device)]:
            raise PhysPlanError(f"The attention {name} lacks {'; '.join(missing)}.")
        attention.attend(model, name)
    if options.compile:
        check_compiled(options.quantisation, options.offload)
        # Where terms pass back one by one, a graph is used more than once.
        functorch_config.donated_buffer = False
        for network in networks:
            for block in blocks_of(network).values():
                block.compile()
    _spare_memory(pipe, model, family, options)
    _move(pipe, model, options, device)


def _spare_memory(pipe: Any, model: FamilyModel, family: Family, options: LoadOptions) -> None:
    """Checkpointing, and an autoencoder in tiles or slices."""
    streamed = options.offload in ("group", "disk")
    if options.checkpointing and not streamed:  # streamed blocks keep nothing but their inputs anyway
        model.denoiser_checkpointing = Checkpointing(*model.denoisers)
    if options.checkpointing:
        model.codec_checkpointing = family.codec_checkpointing(pipe.vae)
    for wish, switch in ((options.tiling, "use_tiling"), (options.slicing, "use_slicing")):
        if wish and not hasattr(pipe.vae, switch):
            raise PhysPlanError(
                f"The autoencoder of {model.name} has no {switch.removeprefix('use_')}: load it without."
            )
        if wish:
            getattr(pipe.vae, switch.replace("use", "enable"))()


def _move(pipe: Any, model: FamilyModel, options: LoadOptions, device: torch.device) -> None:
    """Put the weights where `options` says."""
    model.execution_device = device
    model.offload = options.offload
    if options.offload == "model":
        pipe.enable_model_cpu_offload(device=device)
    elif options.offload in ("group", "disk"):
        kept = tempfile.TemporaryDirectory(prefix="physplan-") if options.offload == "disk" else None
        for number, network in enumerate(model.denoisers):
            folder = Path(kept.name) / str(number) if kept else None
            model.streaming.append(Streaming(network, device, folder))
            network.to(device)
        model.kept = kept  # the folder goes with the model
        pipe.vae.to(device)
    else:
        pipe.to(device)


def _dtype(options: LoadOptions) -> torch.dtype:
    if options.dtype not in DTYPES:
        raise PhysPlanError(f"The precision {options.dtype!r} is unknown: use bf16, fp16 or fp32.")
    return DTYPES[options.dtype]


def _device(options: LoadOptions) -> torch.device:
    unknown = PhysPlanError(f"The device {options.device!r} is unknown: use cpu, cuda or cuda:1.")
    try:
        device = torch.device(options.device)
    except RuntimeError as error:
        raise unknown from error
    if device.type not in ("cpu", "cuda"):
        raise unknown
    if device.type == "cuda" and not torch.cuda.is_available():
        raise PhysPlanError("There is no CUDA device here: use --device cpu, or a machine with a GPU.")
    if options.offload == "model" and device.type == "cpu":
        raise PhysPlanError(
            "Model offload moves weights between a GPU and the CPU: on the CPU, use offload none."
        )
    return device
