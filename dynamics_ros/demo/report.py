# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Figures of a demonstration, with failures and figures that the machine was too slow for."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .subject import Subject
from .tracks import pose_error

Array = NDArray[np.float64]

POSE_TOLERANCE = 1e-6
"""Tolerance of poses [m and rad]: rounding gives 1e-15, a wrong frame far more."""

TORQUE_TOLERANCE = 1e-6
"""Tolerance of torques, relative to the largest torque if that exceeds 1 Nm, else in Nm."""

PUSH_TOLERANCE = 5.0
"""Tolerance of the estimated force in steady state [%]."""

SOLUTION_TOLERANCE = 1e-3
"""Tolerance of inverse kinematics [m and rad]; its own tolerance is 1e-5."""

MIN_RATE = 50.0
"""Rate below which the machine is too slow for a comparison [messages per second]."""

MAX_DETECTION_TIME = 500.0
"""Largest time from the beginning of a push to its detection [ms]."""

_MAX_FAILURES = 20
"""Largest number of stored failures, because an endless demonstration may fail in each round."""


@dataclass
class Report:
    """Figures of one round of a demonstration; None if they were not determined.

    Attributes:
        robot, joints, tool, domain_id: robot name, number of joints, tool frame, ROS domain.
        rounds: number of rounds up to this one.
        startup_s: time from the start to the first message of every output.
        duration_s: duration of the round.
        joint_state_rate_hz: received joint states per second.
        pose_error_m, pose_error_rad: largest error of the published pose of the tool, relative to
            the pose of the simulator at the same stamp.
        gravity_torque_error_nm: largest error of the published gravity torques, relative to the
            gradient of the potential energy.
        push_true_n, push_estimated_n: magnitudes of the mean forces in steady state.
        push_true, push_estimated: mean forces in steady state, in root axes.
        push_error_percent: median of |estimated - true| / |true| in steady state.
        push_error_max_percent: largest value of it.
        push_compared: compared quantity: 'force', or the 'joint torques' of both wrenches if fewer
            than six joints do not determine the force.
        push_detected_after_ms: time from the first joint state of the push to the contact state.
        contact_link: link that contact_node reports at the end of the push.
        inverse_kinematics_success: solved, and confirmed by `LagrangianReference`.
        inverse_kinematics_error_m, _rad, _ms: distance to the target, and time of the call.
        inverse_dynamics_error_nm: largest error of a joint, relative to Lagrange's equations.
        inverse_dynamics_ms: time of the call.
        late: figures that this machine was too slow for, with the reason; these are no failures.
        failures: failures of this round and of earlier ones, one line each.
    """

    robot: str
    joints: int
    tool: str
    domain_id: int
    rounds: int = 1
    startup_s: float | None = None
    duration_s: float | None = None
    joint_state_rate_hz: float | None = None
    pose_error_m: float | None = None
    pose_error_rad: float | None = None
    pose_samples: int = 0
    gravity_torque_error_nm: float | None = None
    gravity_samples: int = 0
    push_true_n: float | None = None
    push_estimated_n: float | None = None
    push_true: list[float] = field(default_factory=list)
    push_estimated: list[float] = field(default_factory=list)
    push_error_percent: float | None = None
    push_error_max_percent: float | None = None
    push_compared: str = 'force'
    push_samples: int = 0
    push_detected_after_ms: float | None = None
    contact_link: str = ''
    inverse_kinematics_success: bool = False
    inverse_kinematics_error_m: float | None = None
    inverse_kinematics_error_rad: float | None = None
    inverse_kinematics_ms: float | None = None
    inverse_dynamics_error_nm: float | None = None
    inverse_dynamics_ms: float | None = None
    late: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, subject: Subject, domain_id: int) -> Report:
        """An empty report of a robot."""
        return cls(subject.robot.name, subject.robot.nv, subject.tool, domain_id)

    def next(self) -> Report:
        """An empty report of the next round, with the failures so far."""
        again = Report(self.robot, self.joints, self.tool, self.domain_id, self.rounds + 1)
        again.startup_s, again.failures = self.startup_s, list(self.failures)
        return again

    def as_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)

    def require(self, condition: bool, failure: str) -> None:
        """Add a failure, unless the condition holds or the failure is listed already."""
        full = failure in self.failures or len(self.failures) >= _MAX_FAILURES
        if not condition and not full:
            self.failures.append(failure)

    def came_late(self, figure: str, how: str) -> None:
        """Note that this machine was too slow for a figure."""
        self.late[figure] = how

    def measure_inverse_kinematics(
        self, subject: Subject, target: Array, q: Array, took: float
    ) -> None:
        """Check a solution q (n) for a target (4, 4) by an independent forward kinematics."""
        distance, angle = pose_error(subject.reference.pose(q, subject.tool), target)
        self.inverse_kinematics_error_m = distance
        self.inverse_kinematics_error_rad = angle
        self.inverse_kinematics_ms = took * 1e3
        inside = bool(
            np.all(q >= subject.robot.lower_limits - 1e-9)
            and np.all(q <= subject.robot.upper_limits + 1e-9)
        )
        self.require(inside, 'inverse kinematics leaves the joint limits')
        close = max(distance, angle) <= SOLUTION_TOLERANCE
        self.require(close, f'inverse kinematics misses by {distance:.1e} m, {angle:.1e} rad')
        self.inverse_kinematics_success = inside and close

    def measure_inverse_dynamics(self, truth: Array, torques: Array, took: float) -> None:
        """Compare torques (n) of the service with those of Lagrange's equations."""
        self.inverse_dynamics_error_nm = float(np.max(np.abs(torques - truth)))
        self.inverse_dynamics_ms = took * 1e3
        self.require_torque('inverse dynamics', self.inverse_dynamics_error_nm, truth)

    def require_torque(self, what: str, error: float, truth: Array) -> None:
        """Add a failure if torques differ from the true ones by more than ``TORQUE_TOLERANCE``."""
        largest = float(np.max(np.abs(truth)))
        self.require(
            math.isfinite(error) and error <= TORQUE_TOLERANCE * max(1.0, largest),
            f'{what}: off by {error:.1e} Nm',
        )
