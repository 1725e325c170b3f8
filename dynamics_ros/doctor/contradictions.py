# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contradictions in reported motion: of publishers of one joint, and of poses and twists."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.spatial.transform import Rotation

from dynamics_ros.wire.conversions import Array, raw_numbers

from .graph import Topic

DIFFERENT, LONGEST = 0.05, 0.2
"""Difference of positions beyond noise and delays [rad or m], and longest time between the two
samples that a position is compared with [s]."""

SPAN, LEAST_MOTIONS = 0.1, (('linear', 0.02), ('angular', 0.05))
"""Time between compared poses [s], and least motion in that time [m, rad]."""

ENOUGH, MOST, CLOSE = 5, 0.8, 0.15
"""Least number of comparisons, share of them that has to agree, and relative tolerance."""


def differing_joints(topic: Topic) -> Iterator[tuple[str, str, list[str]]]:
    """Yield two nodes and the joints of which they report different positions at one time."""
    samples: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for one in topic.publishers:
        for time, message in topic.reports.get(one.gid, ()):
            of_node = samples.setdefault(one.node, {})
            for name, position in zip(message.name, message.position):
                if math.isfinite(position):
                    of_node.setdefault(name, []).append((time, position))
    for a, b in combinations(sorted(samples), 2):
        common = sorted(samples[a].keys() & samples[b].keys())
        if names := [name for name in common if _differ(samples[a][name], samples[b][name])]:
            yield a, b, names


def _differ(*pair: list[tuple[float, float]]) -> bool:
    """Whether most positions lie outside of the two of the other node around their stamps."""
    (t, q), (times, positions) = (np.array(sorted(x)).T for x in sorted(pair, key=len))
    k = np.searchsorted(times, t).clip(1, len(times) - 1)
    compared = (times[k - 1] <= t) & (t <= times[k]) & (times[k] - times[k - 1] < LONGEST)
    off = q - 0.5 * (positions[k - 1] + positions[k])
    off = np.abs((off + math.pi) % (2.0 * math.pi) - math.pi)  # whole turns may differ
    wrong = (off > 0.5 * np.abs(positions[k] - positions[k - 1]) + DIFFERENT)[compared]
    return wrong.size >= ENOUGH and float(wrong.mean()) > MOST


def twist_fault(topic: Topic) -> str:
    """Return how the twists of odometry contradict its poses; '' if they do not, or are unclear."""
    by_stamp = {t: message for one in topic.reports.values() for t, message in one}
    rows = (
        (t, *raw_numbers(x.pose.pose), *raw_numbers(x.twist.twist)) for t, x in by_stamp.items()
    )
    table = np.array(sorted(row for row in rows if math.isfinite(sum(row)) and any(row[4:8])))
    if len(topic.publishers) != 1 or len(table) < ENOUGH:
        return ''
    stride = max(1, round(SPAN / float(np.median(np.diff(table[:, 0])))))
    if len(table) <= stride:
        return ''
    twists = cumulative_trapezoid(table[:, 8:], table[:, 0], axis=0, initial=0.0)[::stride]
    R = Rotation.from_quat(table[::stride, 4:8])
    R, turns = R[:-1].inv(), (R[:-1].inv() * R[1:]).as_rotvec()
    motions = R.apply(np.diff(table[::stride, 1:4], axis=0)), turns
    halves = np.hsplit(np.diff(twists, axis=0), 2)
    for (part, least), motion, twist in zip(LEAST_MOTIONS, motions, halves):
        use = (np.linalg.norm(motion, axis=1) > least) & (np.linalg.norm(twist, axis=1) > least)
        if use.sum() < ENOUGH:
            continue
        D, B, W = motion[use], twist[use], R.apply(twist)[use]
        factor = float(np.median((B * D).sum(axis=1) / (D * D).sum(axis=1)))
        if _agreeing(B, D, 2.0 * CLOSE) > 1.0 - MOST:
            continue
        if _agreeing(W, D, CLOSE) > MOST:
            return f'{part} twists are in the axes of frame_id instead of child_frame_id'
        if _agreeing(B, factor * D, CLOSE) > MOST:
            return f'{part} twists are {factor:.3g} times the motion of the poses'
    return ''


def _agreeing(one: Array, other: Array, tolerance: float) -> float:
    """Share of the vectors (m, 3) that agree within a relative tolerance."""
    size = np.linalg.norm(other, axis=1)
    return float(np.mean(np.linalg.norm(one - other, axis=1) < tolerance * size))
