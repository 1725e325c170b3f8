# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the files that a calibration is to write, before the work that they depend on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from dynamics_ros.errors import InvalidArgumentError


def check_outputs(outputs: Mapping[str, Path | None], inputs: Sequence[Path] = ()) -> None:
    """Check that files can be written and that none of them replaces an input or another output.

    Args:
        outputs: path by the name of its option; None for a file that is not wanted.
        inputs: files that are read.

    Raises:
        InvalidArgumentError: a file cannot or must not be written.
    """
    read = {path.resolve() for path in inputs}
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        whole = path.resolve()
        # A file is replaced by a new one in its folder; a device, such as /dev/stdout, is not.
        replaced = [whole, whole.parent] if whole.is_file() else [whole]
        written = replaced if whole.exists() else [whole.parent]
        if whole.is_dir():
            problem, allowed = 'is a folder', 'a file'
        elif not whole.parent.is_dir():
            problem, allowed = 'is in a folder that does not exist', 'a file in an existing folder'
        elif not all(os.access(one, os.W_OK) for one in written):
            problem, allowed = 'cannot be written', 'a file that can be written'
        elif whole in read:
            problem, allowed = 'is an input of the same command', 'the name of another file'
        elif whole in taken:
            problem, allowed = f'is that of {taken[whole]} too', 'a file of its own'
        else:
            taken[whole] = option
            continue
        raise InvalidArgumentError(option, f'{path} {problem}', allowed)
