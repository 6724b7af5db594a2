"""What a disk's error means for a person at a page."""

from __future__ import annotations

import errno
import os

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def disk_words(error: OSError) -> str:
    """A sentence with the file's last name: where it lies is the machine's own business."""
    name = os.path.basename(str(error.filename)) if error.filename else "A file"
    if error.errno in FULL:
        return f"There is no room on the disk ({name} could not be written): make room, then go on."
    return f"{name} cannot be used ({error.strerror or error}): check the disk and its permissions."
