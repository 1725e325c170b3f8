# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Names of frames within names of topics."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dynamics_ros.errors import InvalidArgumentError


def topic_names(frames: Iterable[str]) -> dict[str, str]:
    """Return the name within a topic of each frame, with '_' for characters that are not allowed.

    Raises:
        InvalidArgumentError: two frames would have the same name, or one is repeated.
    """
    names: dict[str, str] = {}
    for frame in frames:
        name = re.sub(r'[^A-Za-z0-9_]', '_', frame)
        if not name or name[0].isdigit():
            name = f'_{name}'
        other = next((known for known, taken in names.items() if taken == name), None)
        if other is not None:
            raise InvalidArgumentError(
                'frames',
                f'{other!r} and {frame!r} would both publish on {name!r}',
                'distinct names',
            )
        names[frame] = name
    return names
