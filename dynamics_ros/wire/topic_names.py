# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a frame is called within the name of a topic."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dynamics_ros.errors import InvalidArgumentError


def topic_names(frames: Iterable[str]) -> dict[str, str]:
    """Frame name to the name it has within a topic.

    Raises:
        InvalidArgumentError: two frames would get the same topic, or one is named twice.
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
