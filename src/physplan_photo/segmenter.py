"""Masks for the pipeline: prompts given for the photograph, and masks known of composed keyframes."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.perception.protocol import Instance
from physplan.pictures import to_picture
from physplan_photo.cutting import CuttingConfig, apart, cut_out, enclosed
from physplan_photo.objects import Asked, Cut, Mask, mask_names, parse_objects, read_masks
from physplan_photo.stands import dish_under, owner_of

KEPT_PICTURES = 64  # pictures whose masks are remembered


class PhotoSegmenter:
    """`objects` are typed prompts ("car:120,80,420,300"), `masks` a folder of PNG masks.

    A category without a prompt is found by name, once per picture; one that is not found has no instance.
    "cup's saucer" is what the cup stands on, found around its foot.
    Pictures whose masks are known (composed keyframes) are answered from memory: `remember`.
    """

    def __init__(self, objects: Sequence[Asked | str] = (), masks: str | None = None) -> None:
        texts = [one for one in objects if isinstance(one, str)]
        self.asked = [*(one for one in objects if isinstance(one, Asked)), *parse_objects(texts)]
        self.masks = masks
        self._known: OrderedDict[bytes, dict[str, Sequence[Mask]]] = OrderedDict()

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the objects that have a prompt or a mask, whether or not a sentence names them."""
        masks = mask_names(self.masks) if self.masks else []
        return tuple(dict.fromkeys([*(one.name for one in self.asked), *masks]))

    def remember(self, image: Tensor, masks: Mapping[str, Sequence[Mask]]) -> None:
        """The masks of an image [3, H, W], by category; a category may have several."""
        self._known[_mark(image)] = dict(masks)
        while len(self._known) > KEPT_PICTURES:
            self._known.popitem(last=False)

    def segment(self, image: Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
        if (known := self._known.get(_mark(image))) is not None:
            return tuple(
                Instance(category=name, mask=torch.from_numpy(mask), score=1.0)
                for name in dict.fromkeys(categories)
                for mask in known.get(name, ())
                if mask.any()
            )
        return tuple(
            Instance(category=cut.name, mask=torch.from_numpy(cut.mask), score=cut.score)
            for cut in self._cuts(image, categories)
        )

    def _cuts(self, image: Tensor, categories: Sequence[str]) -> list[Cut]:
        picture = to_picture(image)
        given = [*self.asked, *(read_masks(self.masks, picture.size) if self.masks else [])]
        prompts = {one.name.lower(): one for one in given}
        found = []
        for name in dict.fromkeys(categories):
            asked, owner = prompts.get(name.lower(), Asked(name)), owner_of(name)
            try:
                if owner is not None and name.lower() not in prompts:
                    (thing,) = cut_out(picture, [prompts.get(owner.lower(), Asked(owner))])
                    if (dish := dish_under(picture, thing.mask)) is not None:
                        found.append(Cut(name, *dish, "name"))
                    continue
                found += [Cut(name, cut.mask, cut.score, cut.how) for cut in cut_out(picture, [asked])]
            except PhysPlanError:
                if name.lower() in prompts:
                    raise  # what was asked for and cannot be had is said; what was only named may be absent
        apart([cut for cut in found if cut.name.lower() in prompts])  # two names for one thing are refused
        return enclosed(apart(found, CuttingConfig(same=1.0)))


def _mark(image: Tensor) -> bytes:
    pixels = (image.detach().float().clamp(0, 1) * 255).round().byte()
    return hashlib.sha256(repr(tuple(pixels.shape)).encode() + pixels.cpu().numpy().tobytes()).digest()
