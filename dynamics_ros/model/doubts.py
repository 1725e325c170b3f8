# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a description says that is usable but probably not meant: one sentence for each kind.

The reader collects them, logs each as a warning of the logger ``dynamics_ros.model`` and keeps them
with the description. Nodes hand the library's warnings on to their own log.
"""

from __future__ import annotations

import logging

from .hardened_xml import listed, quoted

LOG = logging.getLogger('dynamics_ros.model')

IMPOSSIBLE_INERTIA = (
    'no distribution of mass has the inertia of {} (the largest principal moment exceeds the sum '
    'of the others); it is used as it is'
)
NO_RANGE = 'no range of positions is given for {}; it is taken as unlimited'
REPEATED = 'more than one <{tag}> is in {{}}; the first counts, as in urdfdom'
FIXED_UPSIDE_DOWN = 'the limit of {} is upside down (lower above upper); a fixed joint needs none'
MINUS_ONE = 'a limit of -1 is given for {}; it is taken as unlimited, as SDF means it'
NO_MASS = 'no mass is given for {}, which joints move: torques lack their weight and inertia'


class Doubts:
    """The elements that each kind of doubt is about, in the order in which they were met."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def add(self, doubt: str, name: str) -> None:
        """Note a doubt about an element.

        Args:
            doubt: a sentence with {} for the names.
            name: of the link or joint.
        """
        names = self._names.setdefault(doubt, [])
        if name not in names[-1:]:
            names.append(name)

    def sentences(self, robot: str) -> tuple[str, ...]:
        """One sentence for each kind of doubt, with the names of the elements."""
        return tuple(
            f'robot {quoted(robot)}: {doubt.format(listed(names))}'
            for doubt, names in self._names.items()
        )
