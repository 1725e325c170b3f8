# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Default gains and settings of a generated package, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.control import (
    ImpedanceGains,
    SetpointLimits,
    joint_ranges,
)
from dynamics_ros.control.compliance.gains import TORQUE_LIMITS
from dynamics_ros.control.compliance.impedance import tool_damping
from dynamics_ros.control.compliance.motion_check import holding_friction, velocity_limits
from dynamics_ros.estimation.effort_model import EffortModel
from dynamics_ros.estimation.observers import MomentumObserver
from dynamics_ros.estimation.wrench import JointNoise, wrench_settings
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

STIFFNESS = (400.0, 400.0, 400.0, 20.0, 20.0, 20.0)
"""Stiffness of the tool along and about x y z [N/m, Nm/rad]."""

POSTURE_STIFFNESS, POSTURE_DAMPING, MARGIN, LIMIT_STIFFNESS = 5.0, 2.0, 0.1, 50.0
"""Stiffness [Nm/rad] and damping [Nms/rad] of the posture; margin inside the position limits [rad],
and stiffness in the margin [Nm/rad]."""

SPEED_SHARE = 1.5
"""Share of its velocity limit beyond which a joint is braked."""

BLENDING_TIME = 0.3
"""Time in which the springs of joint ranges appear after activation [s]."""

STATE_TIMEOUT = 0.02
"""Longest time without a new state of a moving arm until it is braked [s]."""

GUIDING_DAMPING, GUIDING_SPEEDS = (5.0, 0.2), (0.25, 1.0)
"""Of guiding: damping [Ns/m, Nms/rad], speeds [m/s, rad/s]."""

MAX_PAUSE = 0.1
"""Time between samples after which the estimate of a wrench restarts [s]."""

EFFORT_NOISE, VELOCITY_NOISE = 0.1, 1e-3
"""Standard deviations by which the estimate of a wrench is weighted [Nm, rad/s]."""


INNER = 0.7
"""Fraction of each range, around its middle, for the start, where limit springs do not act."""


def start(robot: Robot, tool: str) -> Array:
    """Start configuration (nq), far from position limits and singularities.

    Of 100 random configurations, the one with the largest smallest singular value of the Jacobian.
    """
    rng = np.random.default_rng(0)
    lower, upper = joint_ranges(robot)
    bounded = np.isfinite(lower) & np.isfinite(upper)
    low, high = np.where(bounded, lower, 0.0), np.where(bounded, upper, 0.0)
    middle, share = 0.5 * (low + high), np.where(bounded, INNER, 1.0)
    configurations = (robot.random_configuration(rng) for _ in range(100))
    candidates = [np.clip(middle + share * (q - middle), lower, upper) for q in configurations]

    def smallest_singular_value(q: Array) -> float:
        return float(np.linalg.svd(robot.jacobian(q, tool), compute_uv=False)[-1])

    return max((q.round(2) for q in candidates), key=smallest_singular_value)


def gains(robot: Robot, tool: str) -> ImpedanceGains:
    """Default gains, with the diagonal of critical damping at the start configuration."""
    at_start = start(robot, tool), np.diag(STIFFNESS)
    damping = np.diag(tool_damping(robot, tool, *at_start, 1.0, 100.0)).round(1)
    joints = {
        'posture_stiffness': POSTURE_STIFFNESS,
        'posture_damping': POSTURE_DAMPING,
        'margin': MARGIN,
        'limit_stiffness': LIMIT_STIFFNESS,
    }
    return ImpedanceGains(robot, STIFFNESS, damping, joints=joints)


def gains_text(robot: Robot, tool: str) -> str:
    """C initializer of the structure of gains."""
    default_gains = gains(robot, tool)
    return initializer(
        {
            'stiffness': default_gains.stiffness,
            'damping': default_gains.damping,
            'joints': default_gains.joints,
            'settings': default_gains.settings,
            'setpoint_limits': SetpointLimits().rows,
            'velocity_limits': velocity_limits(robot),
            'speed_share': np.array(SPEED_SHARE),
            'state_timeout': np.array(STATE_TIMEOUT),
            'friction': holding_friction(
                default_gains.joints[TORQUE_LIMITS[0]], EffortModel.from_robot(robot).coulomb
            ),
            'blending_time': np.array(BLENDING_TIME),
        }
    )


def guiding_text() -> str:
    """C initializer of the structure of guiding."""
    return initializer(
        {
            'damping': np.repeat(GUIDING_DAMPING, 3),
            'speeds': np.array(GUIDING_SPEEDS),
        }
    )


def observer_text(robot: Robot, tool: str) -> str:
    """C initializer of the structure of the observer's settings."""
    observer = MomentumObserver(robot)
    momentum = observer.noise_gains(1e-3).momentum
    noise, _ = JointNoise(robot, [tool], EFFORT_NOISE, momentum, VELOCITY_NOISE).all_joints
    return initializer(
        {
            'joints': observer.settings,
            'noise': noise,
            'estimate': wrench_settings(robot, [tool]),
            'max_gap': np.array(MAX_PAUSE),
        }
    )


def initializer(members: Mapping[str, Array]) -> str:
    """C designated initializers of the members of a structure."""
    return '\n'.join(f'  .{name} = {_number_or_array(x)},' for name, x in members.items())


def enumerators(prefix: str, names: Iterable[str]) -> str:
    """C enumerators, counted from 0."""
    return ',\n'.join(f'  {prefix}_{name.upper()} = {i}' for i, name in enumerate(names))


def listed(numbers: Sequence[float] | Array) -> str:
    """Numbers as a YAML list."""
    return '[' + ', '.join(repr(float(x)) for x in np.ravel(np.asarray(numbers))) + ']'


def _number_or_array(numbers: Array) -> str:
    if not numbers.shape:
        return repr(float(numbers))
    rows = np.atleast_2d(numbers)
    lines = (', '.join(repr(float(x)) for x in row) for row in rows)
    return '{\n    ' + ',\n    '.join(lines) + '}'
