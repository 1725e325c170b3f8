# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Warnings about a description that is usable but probably not as intended.

The reader collects them, one sentence per kind, logs each as a warning of the logger
``dynamics_ros.model`` and stores them in the description. Nodes forward these warnings to their
log.
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
ONE_BOUND = 'only one of lower and upper is given for {}; the other is 0, as in urdfdom'
REPEATED = 'more than one <{tag}> is in {{}}; the first counts, as in urdfdom'
MINUS_ONE = 'a limit of -1 is given for {}; it is taken as unlimited, as SDF means it'
NO_FOLLOWER_VELOCITY = (
    'no velocity limit is given for {}, which follow other joints; only the limits of these count'
)
NO_COMMON_RANGE = 'the ranges of the joints that follow {} leave it no motion; its own range counts'
NO_MASS = 'no mass is given for {}, which joints move: torques lack their weight and inertia'


class Doubts:
    """Elements affected by each kind of doubt, in order of occurrence."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def add(self, doubt: str, name: str) -> None:
        """Record a doubt about an element.

        Args:
            doubt: a sentence with {} for the names.
            name: name of the link or joint.
        """
        names = self._names.setdefault(doubt, [])
        if name not in names[-1:]:
            names.append(name)

    def sentences(self, robot: str) -> tuple[str, ...]:
        """Return one sentence for each kind of doubt, with the names of the elements."""
        return tuple(
            f'robot {quoted(robot)}: {doubt.format(listed(names))}'
            for doubt, names in self._names.items()
        )

    def logged(self, robot: str) -> tuple[str, ...]:
        """Return the sentences, and log them as warnings."""
        for sentence in (sentences := self.sentences(robot)):
            LOG.warning('%s', sentence)
        return sentences
