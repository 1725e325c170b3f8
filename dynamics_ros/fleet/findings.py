# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Search for joints whose friction differs from that of similar robots or has changed over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .analysis import OK

MIN_ROBOTS = 4
"""Minimum number of robots of a model for a comparison."""

MIN_BAGS = 4
"""Minimum number of bags of a robot for a comparison over time."""

MIN_DIFFERENCE = 0.15
"""Minimum relative difference of friction from the median of similar robots."""

MIN_CHANGE = 0.2
"""Minimum relative change over time."""

SIGMAS = 5.0
"""Minimum difference or change in standard deviations of the usual scatter."""

MIN_FRICTION = 0.02
"""Minimum difference of friction [Nm or N]."""

GAUSSIAN_RATIO = 1.4826
"""Ratio of the standard deviation to the median of the absolute values of Gaussian noise."""


@dataclass(frozen=True)
class Finding:
    """Joint with unusual friction.

    Attributes:
        robot, joint: names.
        kind: reference of the comparison: 'like robots' or 'before'.
        change: relative difference of friction.
        friction, usual: friction and its reference at ``residuals.SPEED`` [Nm or N].
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
    """Friction of a joint in its bags.

    Attributes:
        begin: (n) recorded times [ns], ascending.
        friction: (n) friction at ``residuals.SPEED`` [Nm or N].
    """

    begin: tuple[int, ...]
    friction: tuple[float, ...]


def frictions(
    summaries: Sequence[Mapping[str, Any]],
) -> dict[tuple[str, str, str], FrictionOverTime]:
    """Returns friction over time by (model, robot, joint); bags without a value are skipped."""
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
    """Returns all findings, sorted by robot."""
    of_joints = frictions(summaries)
    found = []
    alike: dict[tuple[str, str], dict[str, FrictionOverTime]] = defaultdict(dict)
    for (model, robot, joint), values in of_joints.items():
        alike[model, joint][robot] = values
        found += _changed(robot, joint, values)
    for (_, joint), robots in alike.items():
        found += _unlike_others(joint, robots)
    return sorted(found, key=lambda one: (one.robot, one.joint, one.kind))


def _unlike_others(joint: str, robots: Mapping[str, FrictionOverTime]) -> list[Finding]:
    """Returns findings for robots whose friction differs from the median of all robots."""
    if len(robots) < MIN_ROBOTS:
        return []
    medians = {robot: float(np.median(values.friction)) for robot, values in robots.items()}
    usual = float(np.median(list(medians.values())))
    scatter = GAUSSIAN_RATIO * float(np.median(np.abs(np.array(list(medians.values())) - usual)))
    limit = max(MIN_DIFFERENCE * abs(usual), SIGMAS * scatter, MIN_FRICTION)
    return [
        Finding(robot, joint, 'like robots', value / usual - 1.0, value, usual)
        for robot, value in medians.items()
        if usual > 0.0 and abs(value - usual) > limit
    ]


def _changed(robot: str, joint: str, values: FrictionOverTime) -> list[Finding]:
    """Returns a finding if the last third of the bags differs from the first third."""
    friction = np.array(values.friction)
    if len(friction) < MIN_BAGS:
        return []
    third = max(2, len(friction) // 3)
    first, last = float(np.median(friction[:third])), float(np.median(friction[-third:]))
    # Differences of neighbours contain the scatter but hardly the change.
    scatter = GAUSSIAN_RATIO * float(np.median(np.abs(np.diff(friction)))) / np.sqrt(2.0)
    limit = max(MIN_CHANGE * abs(first), SIGMAS * scatter / np.sqrt(third), MIN_FRICTION)
    if first <= 0.0 or abs(last - first) <= limit:
        return []
    return [Finding(robot, joint, 'before', last / first - 1.0, last, first)]
