"""What a demonstration has measured: every figure, what is wrong with it, and one JSON object."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .client import Client, Wrench
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
"""Joint states a second below which the machine cannot show anything."""

SLOWEST_DETECTION = 500.0
"""ms from the beginning of a push until it must be told."""

_BEFORE = 400_000_000  # ns before the push in which there must be no contact
_SETTLED = 0.4  # share of the push after which it counts as steady
_EDGE = 50_000_000  # ns left out at the end of the push
_LEAST_SAMPLES = 10
_MOST_SAMPLES = 50  # of those whose truth takes a millisecond or more to compute


@dataclass
class Report:
    """Figures of a demonstration; None where it did not come to it.

    Attributes:
        robot, joints, tool, domain_id: what was shown, and where.
        startup_s: from the start to the first output of everything.
        duration_s: from then to the end.
        joint_state_rate_hz: joint states received per second.
        pose_error_m, pose_error_rad: published pose of the tool against the simulator's truth, the
            largest over the samples of the same stamp.
        gravity_torque_error_nm: published gravity torques against the slope of the potential
            energy, the largest.
        push_true_n, push_estimated_n: size of the force in steady state, the mean.
        push_true, push_estimated: the mean forces in root axes.
        push_error_percent: |estimated - true| / |true|, the median in steady state.
        push_error_max_percent: the largest; on a busy machine that includes lost messages.
        push_compared: of which vector: 'force', or the 'joint torques' of the estimated and of the
            true wrench where fewer than six joints cannot tell the force.
        push_detected_after_ms: from the push's first joint state to the first contact state.
        contact_link: what the contact node took for the touched link at the end of the push.
        inverse_kinematics_success: solved, and confirmed by the independent road.
        inverse_kinematics_error_m, _rad, _ms: miss of the target, and time of the call.
        inverse_dynamics_error_nm: service against Lagrange's equations, the largest joint.
        inverse_dynamics_ms: time of the call.
        failures: what went wrong, one line each; empty when all of it worked.
    """

    robot: str
    joints: int
    tool: str
    domain_id: int
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
    failures: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, subject: Subject, domain_id: int) -> Report:
        """An empty report."""
        return cls(subject.robot.name, subject.robot.nv, subject.tool, domain_id)

    def as_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return asdict(self)

    def require(self, condition: bool, failure: str) -> None:
        """Note a failure, once, unless the condition holds."""
        if not condition and failure not in self.failures:
            self.failures.append(failure)

    def measure_rate(self, client: Client) -> None:
        """Joint states per second over all that was received."""
        span = client.last_arrival - client.first_arrival
        rate = (client.joint_states.count - 1) / span if span > 0.0 else 0.0
        self.joint_state_rate_hz = rate
        self.require(rate >= LEAST_RATE, f'only {rate:.0f} joint states a second')

    def measure_poses(self, client: Client) -> None:
        """Published poses against the simulator's."""
        errors = [pose_error(A, B) for _, A, B in client.pose.matched(client.true_pose)]
        self.pose_samples = len(errors)
        if not self._enough('pose of the tool', len(errors)):
            return
        self.pose_error_m, self.pose_error_rad = (float(e) for e in np.max(errors, axis=0))
        self.require(
            max(self.pose_error_m, self.pose_error_rad) <= POSE_TOLERANCE,
            f'the pose is off by {self.pose_error_m:.1e} m, {self.pose_error_rad:.1e} rad',
        )

    def measure_gravity(self, client: Client, subject: Subject) -> None:
        """Published gravity torques against the slope of the potential energy."""
        samples = [
            (tau, state)
            for _, tau, state in client.gravity.matched(client.joint_states, most=_MOST_SAMPLES)
        ]
        self.gravity_samples = len(samples)
        if not self._enough('gravity torques', len(samples)):
            return
        truth = [subject.reference.gravity_torques(state.q) for _, state in samples]
        errors = [tau - true for (tau, _), true in zip(samples, truth, strict=True)]
        self.gravity_torque_error_nm = float(np.max(np.abs(errors)))
        self._require_torque('gravity torques', self.gravity_torque_error_nm, np.array(truth))

    def measure_push(self, client: Client, subject: Subject, quiet: int, duration: float) -> None:
        """The push that began after the stamp ``quiet`` [ns] and lasted so many seconds."""
        began = next(
            (t for t, wrench in client.true_wrench.items(quiet) if np.any(wrench.values)), None
        )
        if began is None:
            self.require(False, 'the simulator did not push')
            return
        end = began + round(duration * 1e9)
        steady = began + round(_SETTLED * duration * 1e9)
        self._measure_force(client, subject, steady, end - _EDGE)
        early = [
            t for t, contact in client.contact.items(quiet - _BEFORE, began - 1) if contact.touched
        ]
        told = next(
            ((t, contact) for t, contact in client.contact.items(began) if contact.touched), None
        )
        self.require(not early, f'{len(early)} messages tell of a contact before the push')
        if told is None:
            self.require(False, 'the push was not detected')
            return
        self.push_detected_after_ms = (told[0] - began) * 1e-6
        held = [contact for _, contact in client.contact.items(steady, end - _EDGE)]
        self.contact_link = held[-1].link if held else ''
        self.require(
            self.push_detected_after_ms <= SLOWEST_DETECTION,
            f'the push was detected only after {self.push_detected_after_ms:.0f} ms',
        )

    def _measure_force(self, client: Client, subject: Subject, first: int, last: int) -> None:
        poses = dict(client.true_pose.items(first, last))
        samples = [
            (t, wrench_in_root(true, poses[t], subject), wrench_in_root(found, poses[t], subject))
            for t, found, true in client.wrench.matched(client.true_wrench, first, last)
            if t in poses
        ]
        self.push_samples = len(samples)
        if not self._enough('wrench at the tool', len(samples)):
            return
        true, found = (np.array([sample[side] for sample in samples]) for side in (1, 2))
        self.push_true = true[:, :3].mean(axis=0).tolist()
        self.push_estimated = found[:, :3].mean(axis=0).tolist()
        self.push_true_n = float(np.linalg.norm(self.push_true))
        self.push_estimated_n = float(np.linalg.norm(self.push_estimated))
        if subject.observable:
            true, found = true[:, :3], found[:, :3]
        else:
            # Several wrenches leave the same torques: these are what can be right or wrong.
            self.push_compared = 'joint torques'
            states = dict(client.joint_states.items(first, last))
            samples = [sample for sample in samples if sample[0] in states]
            J = [subject.reference.jacobian(states[t].q, subject.tool) for t, *_ in samples]
            true, found = (
                np.array([A.T @ sample[side] for A, sample in zip(J, samples, strict=True)])
                for side in (1, 2)
            )
        sizes = np.linalg.norm(true, axis=1)
        if not sizes.size or not sizes.all():
            self.require(False, f'no force at {self.tool} can be felt in the joints')
            return
        errors = np.linalg.norm(found - true, axis=1) / sizes
        self.push_error_percent = float(np.median(errors) * 100.0)
        self.push_error_max_percent = float(errors.max() * 100.0)
        self.require(
            self.push_error_percent < PUSH_TOLERANCE,
            f'the estimated push is off by {self.push_error_percent:.1f} % ({self.push_compared})',
        )

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
        self._require_torque('inverse dynamics', self.inverse_dynamics_error_nm, truth)

    def _enough(self, what: str, samples: int) -> bool:
        self.require(
            samples >= _LEAST_SAMPLES,
            f'{what}: {samples} samples with the stamp of a true one, too few to compare',
        )
        return samples >= _LEAST_SAMPLES

    def _require_torque(self, what: str, error: float, truth: Array) -> None:
        largest = float(np.max(np.abs(truth)))
        self.require(
            math.isfinite(error) and error <= TORQUE_TOLERANCE * max(1.0, largest),
            f'{what}: off by {error:.1e} Nm',
        )


def wrench_in_root(wrench: Wrench, tool: Array, subject: Subject) -> Array:
    """(6) a wrench about the tool's origin in root axes, whichever of both it is expressed in.

    Args:
        wrench: expressed in the tool or in the root frame.
        tool: (4, 4) pose of the tool in the root frame.
        subject: the robot.
    """
    if wrench.frame_id != subject.tool:
        return wrench.values
    R = tool[:3, :3]
    return np.concatenate([R @ wrench.values[:3], R @ wrench.values[3:]])
