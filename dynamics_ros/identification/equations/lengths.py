# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lengths of the recorded robot relative to its description, whatever its masses.

Base parameters explain the efforts of a robot with other masses, but with lengths of another size
the torques that bodies cause at several joints do not match. The change of the torques by a common
factor on all distances between joints is one more column of the equations; its coefficient, fitted
together with base parameters and friction, is the factor minus 1. It is a first-order estimate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification.joint_states.samples import JointSamples
from dynamics_ros.robot import Robot

from .friction_shape import FrictionShape
from .rows import EquationMaker

Array = NDArray[np.float64]

STEP = 0.02
"""Change of lengths for a difference quotient."""

LONGEST = 60.0
"""Duration of each recording that is used [s]."""


class Lengths(NamedTuple):
    """Ratio of the lengths of a recorded robot to the described ones, and its deviation."""

    ratio: float
    deviation: float


def lengths_of(
    maker: EquationMaker,
    recordings: Iterable[JointSamples],
    bodies: Array,
    shape: FrictionShape,
    sigma: Array,
) -> Lengths:
    """Ratio of the lengths; its deviation is infinite if the recordings do not determine it.

    Args:
        maker: source of the equations.
        recordings: recordings of the robot.
        bodies: (bodies, 10) inertial parameters that explain them best.
        shape: friction shape.
        sigma: (nv) standard deviations of the rows [Nm or N].
    """
    kernel = maker.robot.kernel('regressor', parameters='placements')
    longer = STEP * _distances(maker.robot)

    def column(q: Array, v: Array, a: Array) -> Array:
        difference = kernel(q, v, a, longer) - kernel(q, v, a, -longer)
        return np.asarray((difference @ bodies.ravel() / (2.0 * STEP))[..., np.newaxis])

    maker, T = replace(maker, further=column), shape.unknowns()
    nv, parts = maker.robot.nv, []
    for samples in recordings:
        share = min(1.0, LONGEST / max(samples.duration, 1e-9))
        for chunk in maker.chunks(samples if share == 1.0 else samples.between(0.0, share)):
            friction = chunk.friction @ T
            own = np.zeros((*friction.shape[:2], nv, T.shape[1]))
            own[:, range(nv), range(nv)] = friction
            whole = [chunk.inertial, own.reshape(*friction.shape[:2], -1), chunk.further]
            rows = np.concatenate([*whole, chunk.effort[..., np.newaxis]], axis=-1)
            used = ~chunk.standing & ~chunk.cut_off
            parts.append((rows / sigma[:, np.newaxis])[used])
    rows = np.concatenate(parts)
    sizes = np.linalg.norm(rows, axis=0)
    R = np.asarray(np.linalg.qr(rows / np.where(sizes > 0.0, sizes, 1.0), mode='r'))
    # In R, the column of the lengths is what no other column explains.
    if len(R) < rows.shape[1] or not abs(R[-2, -2]) > 1e-9:
        return Lengths(1.0, np.inf)
    unit = sizes[-1] / sizes[-2] / abs(R[-2, -2])
    deviation = unit * abs(R[-1, -1]) / np.sqrt(max(len(rows) - rows.shape[1], 1))
    return Lengths(1.0 + float(unit * R[-2, -1] * np.sign(R[-2, -2])), float(deviation))


def _distances(robot: Robot) -> Array:
    """(bodies, 6) translation of each joint from that before it, in the axes of its own frame."""
    found = np.zeros((len(robot.body_names), 6))
    for own, joint in zip(found, robot.model.joints, strict=True):
        placement = joint.placement
        own[:3] = [float(x) for x in placement.rotation.T @ placement.translation]
    return found
