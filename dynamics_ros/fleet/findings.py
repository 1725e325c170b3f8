# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What stands out in a fleet: joints with another friction than like robots, or than before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .analysis import OK

LEAST_ROBOTS = 4
"""Robots of a model from which on they are compared."""

LEAST_BAGS = 4
"""Bags of a robot from which on its first and last are compared."""

ABOVE = 0.15
"""Relative difference of friction from the median of like robots that is told."""

RISEN = 0.2
"""Relative change over time that is told."""

SIGMAS = 5.0
"""Times the usual scatter that a difference or a change has to be."""

LEAST_FRICTION = 0.02
"""Nm or N; of less friction nothing is told."""

GAUSSIAN = 1.4826
"""Standard deviation over the median of absolute values."""


@dataclass(frozen=True)
class Finding:
    """A joint that stands out.

    Attributes:
        robot, joint: which.
        kind: 'like robots' or 'before': what it is compared with.
        change: relative difference of friction.
        friction, usual: at the speed of comparison [Nm or N].
    """

    robot: str
    joint: str
    kind: str
    change: float
    friction: float
    usual: float

    def __str__(self) -> str:
        word = 'more' if self.change > 0.0 else 'less'
        than = 'like robots have' if self.kind == 'like robots' else 'at first'
        return (
            f'{self.robot}: {self.joint} has {abs(self.change):.0%} {word} friction than {than} '
            f'({self.friction:.3g} against {self.usual:.3g})'
        )


@dataclass(frozen=True)
class FrictionOverTime:
    """What bags say of a joint.

    Attributes:
        begin: (n) recorded times [ns], ascending.
        friction: (n) at the speed of comparison [Nm or N].
    """

    begin: tuple[int, ...]
    friction: tuple[float, ...]


def frictions(
    summaries: Sequence[Mapping[str, Any]],
) -> dict[tuple[str, str, str], FrictionOverTime]:
    """(model, robot, joint) to what its bags say; bags that tell nothing of it are left out."""
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = defaultdict(list)
    for row in summaries:
        if row['status'] != OK:
            continue
        for joint, friction in zip(row['joints'], row['friction'], strict=True):
            if np.isfinite(friction):
                key = (row['model'], row['robot'], joint)
                found[key].append((row['begin'], float(friction)))
    return {
        key: FrictionOverTime(*map(tuple, zip(*sorted(values), strict=True)))
        for key, values in sorted(found.items(), key=lambda item: item[0][:2])
    }


def findings(summaries: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """All that stands out, by robot."""
    of_joints = frictions(summaries)
    found = []
    alike: dict[tuple[str, str], dict[str, FrictionOverTime]] = defaultdict(dict)
    for (model, robot, joint), values in of_joints.items():
        alike[model, joint][robot] = values
        found += _changed(robot, joint, values)
    for (_, joint), robots in alike.items():
        found += _apart(joint, robots)
    return sorted(found, key=lambda one: (one.robot, one.joint, one.kind))


def _apart(joint: str, robots: Mapping[str, FrictionOverTime]) -> list[Finding]:
    """Robots whose joint has another friction than the median of all."""
    if len(robots) < LEAST_ROBOTS:
        return []
    medians = {robot: float(np.median(values.friction)) for robot, values in robots.items()}
    usual = float(np.median(list(medians.values())))
    scatter = GAUSSIAN * float(np.median(np.abs(np.array(list(medians.values())) - usual)))
    limit = max(ABOVE * abs(usual), SIGMAS * scatter, LEAST_FRICTION)
    return [
        Finding(robot, joint, 'like robots', value / usual - 1.0, value, usual)
        for robot, value in medians.items()
        if usual > 0.0 and abs(value - usual) > limit
    ]


def _changed(robot: str, joint: str, values: FrictionOverTime) -> list[Finding]:
    """Whether the last third of the bags says otherwise than the first."""
    friction = np.array(values.friction)
    if len(friction) < LEAST_BAGS:
        return []
    third = max(2, len(friction) // 3)
    first, last = float(np.median(friction[:third])), float(np.median(friction[-third:]))
    # Neighbours scatter without the change.
    scatter = GAUSSIAN * float(np.median(np.abs(np.diff(friction)))) / np.sqrt(2.0)
    limit = max(RISEN * abs(first), SIGMAS * scatter / np.sqrt(third), LEAST_FRICTION)
    if first <= 0.0 or abs(last - first) <= limit:
        return []
    return [Finding(robot, joint, 'before', last / first - 1.0, last, first)]
