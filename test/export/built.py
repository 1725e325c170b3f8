# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Packages that are exported and compiled once in a run, whichever processes and files use them."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def once(name: str, into: Path, make: Callable[[Path], object]) -> Path:
    """Copy what a function writes into an empty folder, which it does once in a run.

    Args:
        name: of what is made.
        into: folder of the copy; a library that is loaded from it has variables of its own.
        make: writes into the folder that it gets.

    Returns:
        The folder of the copy, in ``into``.
    """
    kept = Path(os.environ['DYNAMICS_ROS_CACHE'], 'built', name)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix('.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            begun = kept.with_suffix('.begun')
            shutil.rmtree(begun, ignore_errors=True)
            begun.mkdir()
            make(begun)
            begun.rename(kept)
    return Path(shutil.copytree(kept, into / name))
