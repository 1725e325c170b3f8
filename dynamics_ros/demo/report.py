# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The figures of a demonstration, what is wrong with them, and what came late."""

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
"""m and rad: two double-precision roads to a pose differ by 1e-15, a wrong frame by far more."""

TORQUE_TOLERANCE = 1e-6
"""Of the largest torque, or Nm: as above, for sums over all links."""

PUSH_TOLERANCE = 5.0
"""Percent of the force, in steady state."""

SOLUTION_TOLERANCE = 1e-3
"""m and rad that inverse kinematics may miss its target by; it aims at 1e-5."""

LEAST_RATE = 50.0
"""Messages a second below which the machine is too slow to show anything."""

SLOWEST_DETECTION = 500.0
"""ms from the beginning of a push until it must be told."""

_MOST_FAILURES = 20
"""Failures that are kept: a demonstration without end may fail in each round."""


@dataclass
class Report:
    """Figures of one round of a demonstration; None where it did not come to it.

    Attributes:
        robot, joints, tool, domain_id: what was shown, and where.
        rounds: how many there were, this one included.
        startup_s: from the start to the first output of everything.
        duration_s: of the round.
        joint_state_rate_hz: joint states received per second.
        pose_error_m, pose_error_rad: published pose of the tool against the simulator's truth, the
            largest over samples of the same stamp.
        gravity_torque_error_nm: published gravity torques against the slope of the potential
            energy, the largest.
        push_true_n, push_estimated_n: size of the force in steady state, the mean.
        push_true, push_estimated: the mean forces in root axes.
        push_error_percent: |estimated - true| / |true|, the median in steady state.
        push_error_max_percent: the largest.
        push_compared: of which vector: 'force', or the 'joint torques' of the estimated and of the
            true wrench where fewer than six joints cannot tell the force.
        push_detected_after_ms: from the push's first joint state to the first contact state.
        contact_link: what the contact node took for the touched link at the end of the push.
        inverse_kinematics_success: solved, and confirmed by the independent road.
        inverse_kinematics_error_m, _rad, _ms: miss of the target, and time of the call.
        inverse_dynamics_error_nm: service against Lagrange's equations, the largest joint.
        inverse_dynamics_ms: time of the call.
        late: what this machine was too slow for, by figure: no fault, but not shown either.
        failures: what went wrong, in this round or one before, one line each.
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
        """An empty report."""
        return cls(subject.robot.name, subject.robot.nv, subject.tool, domain_id)

    def next(self) -> Report:
        """An empty report of another round, which forgets no failure."""
        again = Report(self.robot, self.joints, self.tool, self.domain_id, self.rounds + 1)
        again.startup_s, again.failures = self.startup_s, list(self.failures)
        return again

    def as_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return asdict(self)

    def require(self, condition: bool, failure: str) -> None:
        """Note a failure, once, unless the condition holds."""
        full = failure in self.failures or len(self.failures) >= _MOST_FAILURES
        if not condition and not full:
            self.failures.append(failure)

    def came_late(self, figure: str, how: str) -> None:
        """Note what this machine was too slow for."""
        self.late[figure] = how

    def measure_inverse_kinematics(
        self, subject: Subject, target: Array, q: Array, took: float
    ) -> None:
        """A solution q (n) for a target (4, 4), confirmed by the independent road."""
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
        """Torques (n) of the service against those of Lagrange's equations."""
        self.inverse_dynamics_error_nm = float(np.max(np.abs(torques - truth)))
        self.inverse_dynamics_ms = took * 1e3
        self.require_torque('inverse dynamics', self.inverse_dynamics_error_nm, truth)

    def require_torque(self, what: str, error: float, truth: Array) -> None:
        """Note a failure if torques are off by more than rounding."""
        largest = float(np.max(np.abs(truth)))
        self.require(
            math.isfinite(error) and error <= TORQUE_TOLERANCE * max(1.0, largest),
            f'{what}: off by {error:.1e} Nm',
        )
