"""A bound on how far a frame can get: a target beyond it needs no search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..model import ROOT, Joint, Model

if TYPE_CHECKING:
    from ..robot import Robot

ROUNDOFF = 1e-9
"""Relative: a straight arm may reach the bound exactly."""


def is_out_of_reach(
    robot: Robot, frame: str, position: NDArray[np.float64], q: NDArray[np.float64], margin: float
) -> bool:
    """Whether no joint positions bring the frame's origin to a point.

    The path from the first joint to the frame is never longer than its pieces laid end to end:
    the offsets between joints, the strokes of those that slide, and the offset of the frame.

    Args:
        robot: the robot.
        frame: name of the frame.
        position: (3) the point in the root frame [m].
        q: (nq) gives the place of a root joint that moves.
        margin: m, how far beside the point still counts.
    """
    model = robot.model
    target = model.frame(frame)
    joints = [model.joints[body] for body in model.ancestors(target.body)]
    if model.root_joint != 'fixed':
        joints = joints[1:]
    if not joints:
        return False
    reach = target.placement.translation.norm() + margin
    reach += sum(joint.placement.translation.norm() for joint in joints[1:])
    reach += sum(_stroke(model, joint) for joint in joints)
    shoulder = joints[0].placement.translation
    if joints[0].parent != ROOT:
        shoulder = model.joints[joints[0].parent].transform(q.tolist()).act(shoulder)
    distance = math.dist(tuple(shoulder), position.tolist())
    return bool(distance > reach * (1.0 + ROUNDOFF))


def _stroke(model: Model, joint: Joint) -> float:
    """How far a joint moves its own origin at most [m]; infinite where nothing bounds it."""
    if joint.kind.name in ('revolute', 'continuous'):
        return 0.0
    if joint.kind.name != 'prismatic':
        return math.inf
    limits = joint.limits
    if joint.leader is not None:
        limits = next(other.limits for other in model.joints if other.name == joint.leader)
    ends = (joint.multiplier * end + joint.offset for end in (limits.lower, limits.upper))
    return max(abs(end) for end in ends)
