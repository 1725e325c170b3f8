# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bound on the reach of a frame; a target beyond it needs no search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.configuration import neutral
from dynamics_ros.model import ROOT, Joint, Model

ROUNDOFF = 1e-9
"""Relative tolerance of the bound, because a stretched arm may reach it exactly."""


@dataclass(frozen=True)
class Reach:
    """A ball that contains the origin of a frame at all configurations of the joints.

    The root joint is at rest.

    Attributes:
        centre: (3) position of the first joint in the frame of the root link [m].
        radius: [m], infinite if there is no bound.
    """

    centre: tuple[float, float, float]
    radius: float

    def excludes(self, position: Sequence[float], margin: float) -> bool:
        """Whether a point (3) in the frame of the root link is more than the margin [m] outside."""
        limit = (self.radius + margin) * (1.0 + ROUNDOFF)
        return math.dist(self.centre, position) > limit


def reach_of(model: Model, frame: str) -> Reach:
    """Compute the bound of a frame.

    The distance from the first joint to the frame is at most the sum of the offsets between joints,
    the strokes of prismatic joints, and the offset of the frame.
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
    """Largest displacement of the body's origin by a joint [m]; infinite if there is no bound."""
    limits = joint.limits
    if joint.leader is not None:
        limits = next(other.limits for other in model.joints if other.name == joint.leader)
    return joint.kind.reach(
        *(joint.multiplier * end + joint.offset for end in (limits.lower, limits.upper))
    )
