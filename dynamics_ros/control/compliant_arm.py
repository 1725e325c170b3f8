# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An arm under impedance control, sample after sample: setpoint, gradual gains, guiding, stop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.impedance import BRAKING, MAX_INTERVAL
from dynamics_ros.multibody.linear_systems import Array

from .impedance import (
    REST,
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceStep,
    ImpedanceTarget,
    bounded_task_inertia,
    damping_of_ratio,
)
from .setpoint import Guiding, HeldPose, Setpoint, SetpointLimits

REFRESH = 0.1
"""Seconds between two looks at the inertia that the damping follows."""

MOVED = 0.02
"""rad or m that a joint has to move for that inertia to be another one."""

JUMP = 0.01
"""rad or m that positions may be off beside what the velocity limits allow."""

FASTEST = 10.0
"""rad/s or m/s in place of a velocity limit that the description does not have."""

STANDS_FOR_TORQUE = 1e4
"""Nm/rad or N/m of springs that stand for a torque: stiff, so that no joint turns far for it."""

AT_REST = 0.02
"""rad/s or m/s below which a joint is at rest."""


@dataclass(frozen=True, eq=False)
class Compliance:
    """Springs and dampers of the tool.

    Attributes:
        stiffness: (6, 6) in the axes [N/m, Nm/rad].
        damping_ratio: 1 is critical.
        least_damping: (6) beside what follows from that ratio [Ns/m, Nms/rad].
        axes: (3, 3) in which they are given.
        axes_of_tool: whether the axes turn with the tool; else they rest in the root frame.
    """

    stiffness: Array
    damping_ratio: float = 0.9
    least_damping: Array = field(default_factory=lambda: np.zeros(6))
    axes: Array = field(default_factory=lambda: np.eye(3))
    axes_of_tool: bool = False


@dataclass(frozen=True, eq=False)
class ArmSettings:
    """How an arm behaves.

    Attributes:
        compliance: of the tool.
        guiding: when a hand leads it.
        setpoint: how targets are smoothed.
        joints: as for ``ImpedanceGains``.
        largest_inertia: likewise [kg].
        energy_capacity: likewise [J].
        blending_time: in which other gains are taken over [s].
    """

    compliance: Compliance
    guiding: Guiding = field(default_factory=Guiding)
    setpoint: SetpointLimits = field(default_factory=SetpointLimits)
    joints: Mapping[str, ArrayLike] = field(default_factory=dict)
    largest_inertia: float = 100.0
    energy_capacity: float = math.inf
    blending_time: float = 0.3


class CompliantArm:
    """Runs an ``ImpedanceController`` through the life of an arm.

    Attributes:
        controller: the law.
        settings: assign others at any time; gains follow gradually, limits of torques at once.
        setpoint: where the springs pull to.
        posture: (nq) for the freedom that the tool leaves.
        q, v: the last sample, or what is reckoned since.
        tau: (nv) last torques; gravity: (nv) the part that carries the weight.
        acting: names of the flags of the last step.
    """

    def __init__(self, controller: ImpedanceController, settings: ArmSettings) -> None:
        self.controller = controller
        self.acting: tuple[str, ...] = ()
        self._gains: ImpedanceGains
        self._wanted: ImpedanceGains
        self._refreshed_at: Array
        self._memory: Array | None = None
        self.settings = settings
        self._free: tuple[ArmSettings, ImpedanceGains, ImpedanceGains] | None = None

    @property
    def settings(self) -> ArmSettings:
        """How the arm behaves."""
        return self._settings

    @settings.setter
    def settings(self, settings: ArmSettings) -> None:
        self._settings = settings
        if self.started:
            limits = self._gains_with(np.zeros(6), np.zeros(6), {})
            self._gains = self._gains.limited_as(limits)

    @property
    def started(self) -> bool:
        """Whether torques have been given out since `forget`."""
        return self._memory is not None

    @property
    def energy(self) -> float:
        """In the tank [J]."""
        return math.inf if self._memory is None else self.controller.energy(self._memory)

    @property
    def at_rest(self) -> bool:
        """Whether no joint moves, as far as is known."""
        return bool(np.abs(self.v).max(initial=0.0) < AT_REST)

    @property
    def pose(self) -> Array:
        """(4, 4) of the tool."""
        return np.asarray(self.controller.robot.forward_kinematics(self.q, self.controller.frame))

    def start(self, q: Array, v: Array, tau: Array | None = None) -> None:
        """Begin where the arm is.

        Args:
            q, v: (nq), (nv).
            tau: (nv) torques that act now; None is gravity's.
        """
        self._memory = self.controller.start(q, tau, self.settings.energy_capacity)
        self.q, self.v = q, v
        self.tau = self.gravity = self.controller.robot.gravity(q)
        if tau is not None:
            self.tau = tau
        self.setpoint = Setpoint(self.pose)
        self.posture = q
        self._wrench = np.zeros(6)
        self._compliance: Compliance | None = None
        self._held: HeldPose | None = None
        self._since_refresh = 0.0
        self._refresh(self.settings.compliance, 0.0)
        self._gains, self._blending = self._wanted, 0.0

    def forget(self) -> None:
        """Begin anew at the next `start`."""
        self._memory = None

    def refill(self) -> None:
        """Fill the energy tank."""
        if self._memory is not None:
            self._memory = self.controller.start(self.q, self.tau, self.settings.energy_capacity)

    def stay(self) -> None:
        """Have the setpoint where the tool is, at rest."""
        self.setpoint.place(self.pose)
        self.posture = self.q
        self._held = None

    def jump(self, before: tuple[Array, Array], now: tuple[Array, Array], dt: float) -> int | None:
        """The joint (velocity index) that cannot have moved so within dt [s], if any.

        Args:
            before, now: (nq), (nv) as they were measured.
            dt: between the two [s].

        A push may drive a joint far beyond its velocity limit. So it may have gone on at the mean
        of the velocity that it had and has. Where velocities are differences of positions, that
        explains half of a jump.
        """
        robot = self.controller.robot
        limits = np.full(robot.nv, np.inf)
        limits[robot.nv - len(robot.velocity_limits) :] = robot.velocity_limits
        most = 2.0 * np.where(np.isfinite(limits), limits, FASTEST) * dt + JUMP
        moved = np.asarray(robot.difference(before[0], now[0]))
        gone_on = 0.5 * (before[1] + now[1]) * dt
        explained = np.clip(moved, np.minimum(gone_on, 0.0), np.maximum(gone_on, 0.0))
        excess = np.abs(moved - explained) - most
        worst = int(excess.argmax())
        return worst if excess[worst] > 0.0 else None

    # --- steps, each one sample -----------------------------------------------------------------

    def approach(
        self, q: Array, v: Array, dt: float, goal: Array | None, wrench: Array = REST
    ) -> Array:
        """Go on towards a pose.

        Args:
            q, v: the sample (nq), (nv).
            dt: since the one before [s].
            goal: (4, 4) in the root frame; None is to come to rest and stay.
            wrench: (6) that the environment shall exert on the tool, in root axes; another one is
                taken over gradually.

        Returns:
            Torques (nv).
        """
        if goal is None:
            return self.drive(q, v, dt, REST, wrench)
        self.q, self.v = q, v
        tool = self.pose
        self.setpoint.approach(goal, tool, self.settings.setpoint, dt)
        return self._pull(dt, wrench)

    def drive(self, q: Array, v: Array, dt: float, twist: Array, wrench: Array = REST) -> Array:
        """Go on with a twist (6) in root axes; the rest as of `approach`."""
        self.q, self.v = q, v
        tool = self.pose
        self.setpoint.drive(twist, tool, self.settings.setpoint, dt)
        return self._pull(dt, wrench)

    def guide(self, q: Array, v: Array, dt: float) -> Array:
        """Give way to a hand, but for locked directions and walls; the rest as of `approach`."""
        guiding = self.settings.guiding
        self.q, self.v = q, v
        tool = self.pose
        if self._held is None:
            self._held = HeldPose(tool)
        bound = self._held.follow(tool, guiding, self.settings.setpoint.linear, dt)
        stiffness = np.where(bound, guiding.stiffness, 0.0)
        compliance = self._compliance
        if compliance is None or not np.array_equal(np.diag(compliance.stiffness), stiffness):
            damping = np.where(bound, 0.0, guiding.damping)
            compliance = Compliance(np.diag(stiffness), 0.9, damping)
        # Where it goes on from once no hand leads it.
        self.setpoint.place(tool)
        self.posture = q
        self._refresh(compliance, dt, posture=False)
        self._gains, self._blending = self._wanted, 0.0
        return self._step(q, v, dt, ImpedanceTarget.unchecked(self._held.pose, q, REST, REST))

    def give_way(self, q: Array, v: Array, dt: float, torque: Array) -> Array:
        """Give way to everything, with joint torques beside those that carry the arm.

        Args:
            q, v, dt: as of `approach`.
            torque: (nv) [Nm, N if prismatic].

        Returns:
            Torques (nv).
        """
        self.q, self.v = q, v
        robot, frame = self.controller.robot, self.controller.frame
        # Springs of the posture pull with these torques. The law takes from them what accelerates
        # the tool, and the acceleration that is wanted of the tool puts it back.
        a = np.linalg.solve(robot.mass_matrix(q), torque)
        posture = np.asarray(robot.integrate(q, torque / STANDS_FOR_TORQUE))
        acceleration = robot.frame_acceleration(q, v, a, frame)
        if self._free is None or self._free[0] is not self.settings:
            pulled, loose = (
                self._gains_with(np.zeros(6), np.zeros(6), joints)
                for joints in (
                    {'posture_stiffness': STANDS_FOR_TORQUE, 'posture_damping': 0.0},
                    {'posture_stiffness': 0.0, 'posture_damping': 0.0},
                )
            )
            self._free = self.settings, pulled, loose
        self._wrench, self._held = np.zeros(6), None
        target = ImpedanceTarget.unchecked(self.pose, posture, REST, REST, acceleration)
        self._gains = self._free[1]
        tau = self._step(q, v, dt, target)
        # From which other gains follow gradually.
        self._compliance, self._gains, self._blending = None, self._free[2], 0.0
        return tau

    def brake(self, q: Array, v: Array, dt: float) -> Array:
        """Carry the weight and let all motion decay; the rest as of `approach`.

        The setpoint is left where it is: `stay` brings it to the tool.
        """
        assert self._memory is not None, 'start() comes first'
        self.q, self.v = q, v
        state = ImpedanceState(q, v, min(dt, 0.5 * MAX_INTERVAL))
        self._wrench = np.zeros(6)
        return self._take(self.controller.brake(state, self._gains, self._memory))

    def reckon(self, dt: float) -> Array:
        """Brake without a sample: motion is reckoned to decay as braking has it.

        Args:
            dt: since the last step [s].
        """
        dt = min(dt, 0.5 * MAX_INTERVAL)
        q, v = self.reckoned(self.q, self.v, dt)
        return self.brake(q, v, dt)

    def reckoned(self, q: Array, v: Array, ages: ArrayLike) -> tuple[Array, Array]:
        """Where joints are by now that brake.

        Args:
            q, v: (nq), (nv) as they were last known.
            ages: (nv) or one number: since then [s].

        Returns:
            (nq), (nv).
        """
        decay = np.exp(-BRAKING * np.asarray(ages, dtype=np.float64))
        moved = (1.0 - decay) / BRAKING * v
        return np.asarray(self.controller.robot.integrate(q, moved)), decay * v

    def _pull(self, dt: float, wrench: Array) -> Array:
        self._held = None
        self._refresh(self.settings.compliance, dt)
        share = min(1.0, dt / self.settings.blending_time)
        if self._blending > 0.0:
            left, self._blending = self._blending, self._blending - dt
            blended = self._gains.towards(self._wanted, min(1.0, dt / left))
            self._gains = blended if self._blending > 0.0 else self._wanted
        self._wrench = self._wrench + share * (wrench - self._wrench)
        setpoint = self.setpoint
        target = ImpedanceTarget.unchecked(
            setpoint.pose, self.posture, setpoint.twist, self._wrench
        )
        return self._step(self.q, self.v, dt, target)

    def _step(self, q: Array, v: Array, dt: float, target: ImpedanceTarget) -> Array:
        assert self._memory is not None, 'start() comes first'
        state = ImpedanceState(q, v, dt)
        return self._take(self.controller.step(state, target, self._gains, self._memory))

    def _take(self, step: ImpedanceStep) -> Array:
        robot = self.controller.robot
        self._memory, self.tau, self.acting = step.memory, step.tau, step.acting
        start = robot.nq + 2 * robot.nv
        self.gravity = step.memory[start : start + robot.nv]
        return step.tau

    # --- gains ----------------------------------------------------------------------------------

    def _refresh(self, compliance: Compliance, dt: float, posture: bool = True) -> None:
        """Have the gains that are wanted, with damping for the inertia here."""
        self._since_refresh += dt
        if compliance is self._compliance and (
            self._since_refresh < REFRESH or np.abs(self.q - self._refreshed_at).max() < MOVED
        ):
            return
        self._compliance, self._since_refresh, self._refreshed_at = compliance, 0.0, self.q
        self._wanted = self._gains_of(compliance, posture)
        self._blending = self.settings.blending_time

    def _gains_of(self, compliance: Compliance, posture: bool) -> ImpedanceGains:
        settings, controller = self.settings, self.controller
        robot, frame = controller.robot, controller.frame
        inertia = bounded_task_inertia(robot, self.q, frame, settings.largest_inertia)
        R = compliance.axes
        if compliance.axes_of_tool:
            R = self.pose[:3, :3] @ R
        turn = np.kron(np.eye(2), R)
        damping = damping_of_ratio(
            turn.T @ inertia @ turn, compliance.stiffness, compliance.damping_ratio
        )
        return self._gains_with(
            compliance.stiffness,
            damping + np.diag(compliance.least_damping),
            {} if posture else {'posture_stiffness': 0.0},
            axes=compliance.axes,
            axes_of_tool=compliance.axes_of_tool,
        )

    def _gains_with(
        self, stiffness: Array, damping: Array, joints: Mapping[str, ArrayLike], **axes: Any
    ) -> ImpedanceGains:
        settings = self.settings
        return ImpedanceGains(
            self.controller.robot,
            stiffness,
            damping,
            joints={**settings.joints, **joints},
            largest_inertia=settings.largest_inertia,
            energy_capacity=settings.energy_capacity,
            **axes,
        )
