# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bound on how far a frame can get: a target beyond it needs no search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.configuration import neutral
from dynamics_ros.model import ROOT, Joint, Model

ROUNDOFF = 1e-9
"""Relative: a straight arm may reach the bound exactly."""


@dataclass(frozen=True)
class Reach:
    """A ball that the frame's origin never leaves, the root joint at rest.

    Attributes:
        centre: (3) where the first joint is, in the frame of the root link [m].
        radius: m, infinite where nothing bounds it.
    """

    centre: tuple[float, float, float]
    radius: float

    def excludes(self, position: Sequence[float], margin: float) -> bool:
        """Whether a point, in the frame of the root link, lies farther outside than the margin."""
        limit = (self.radius + margin) * (1.0 + ROUNDOFF)
        return math.dist(self.centre, position) > limit


def reach_of(model: Model, frame: str) -> Reach:
    """The bound of a frame.

    The path from the first joint to the frame is never longer than its pieces laid end to end:
    the offsets between joints, the strokes of those that slide, and the offset of the frame.
    """
    target = model.frame(frame)
    joints = [model.joints[body] for body in model.ancestors(target.body)]
    if model.root_joint != 'fixed':
        joints = joints[1:]
    if not joints:
        return Reach((0.0, 0.0, 0.0), math.inf)
    radius = target.placement.translation.norm()
    radius += sum(joint.placement.translation.norm() for joint in joints[1:])
    radius += sum(_stroke(model, joint) for joint in joints)
    shoulder = joints[0].placement.translation
    if joints[0].parent != ROOT:
        shoulder = model.joints[joints[0].parent].transform(neutral(model)).act(shoulder)
    x, y, z = shoulder
    return Reach((float(x), float(y), float(z)), float(radius))


def _stroke(model: Model, joint: Joint) -> float:
    """How far a joint moves its own origin at most [m]; infinite where nothing bounds it."""
    limits = joint.limits
    if joint.leader is not None:
        limits = next(other.limits for other in model.joints if other.name == joint.leader)
    return joint.kind.reach(
        *(joint.multiplier * end + joint.offset for end in (limits.lower, limits.upper))
    )
