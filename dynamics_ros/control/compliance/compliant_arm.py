# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compliant arm: impedance control per sample with setpoint, gain blending, guiding and stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.command import MAX_INTERVAL, NOMINAL_INTERVAL
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .gains import NO_LIMIT, RANGE_MARGINS, RANGE_SPRINGS, RANGES, TORQUE_LIMITS, ImpedanceGains
from .impedance import (
    REST,
    ImpedanceController,
    ImpedanceState,
    ImpedanceStep,
    ImpedanceTarget,
    tool_damping,
)
from .motion_check import JointRanges, believable, velocity_limits
from .setpoint import Setpoint
from .settings import ArmSettings, Compliance
from .stop import Stop, decayed

REFRESH = 0.1
"""Time between two checks whether the damping must be updated for the current inertia [s]."""

MOVED = 0.02
"""Joint displacement from which the inertia is computed again [rad or m]."""

DISPLACEMENT = 1e-6
"""Displacement and velocity by which torques are linearized [rad, rad/s; m, m/s]."""

UNBOUNDED = 1e-6
"""Interval for which the law does not bound its springs and dampers [s]."""

FELT = 0.03
"""Share of the effort limits from which additional torques move an arm in spite of friction."""

ROTOR_SHARE = 5e-4
"""Assumed inertia of a rotor behind its gears per effort limit [kg m^2 / Nm].

Models often lack rotors. Without any, the light wrists of many models would be unstable at 125 Hz.
"""

SETTLING = 1.005
"""Factor per step below which motion counts as decaying; without springs it would be 1."""

RESERVE = 1.5
"""Factor on the interval for which settings must be stable: robots apply torques late."""

PULLED = 1.0
"""Largest speed at which joint ranges may pull a joint when settings change [rad/s or m/s]."""

AT_REST = 0.02
"""Joint speed below which a joint counts as being at rest [rad/s or m/s]."""


FREE = ('posture_stiffness', 'posture_damping', 'viscous', 'coulomb', 'stribeck', 'load_friction')
"""Gains of the joints that are zero while an arm brakes or gives way."""

NO_SPRINGS = Compliance(np.zeros((6, 6)))
"""Compliance of an arm that brakes or gives way."""


class CompliantArm:
    """Runs an ``ImpedanceController`` through start, motion, guiding and braking of an arm.

    Attributes:
        controller: the impedance control law.
        settings: may be assigned at any time; gains follow gradually, torque limits at once.
        setpoint: the pose to which the Cartesian springs pull.
        posture: (nq) configuration for the null space of the tool task.
        q, v: (nq), (nv) of the last sample, or as predicted since then.
        tau: (nv) last torques.
        gravity: (nv) the part of ``tau`` that compensates gravity.
        hold: time for which torques may be held, where it is longer than the interval of a step
            [s]: what is stable at this interval would fling an arm whose commands come rarely.
        repulsion: function of q (nq), v (nv) and the time for which torques are held [s]: torques
            (nv) beside the springs while the arm follows or is guided, as of
            ``dynamics_ros.collision.Repulsion``; None for none.
        acting: names of the flags of the last step. Besides the flags of the control law: 'speed'
            while a runaway motion is braked, 'range' while a joint is far outside its range; such a
            joint is braked and not pulled back.
    """

    def __init__(self, controller: ImpedanceController, settings: ArmSettings) -> None:
        self.controller = controller
        self.acting: tuple[str, ...] = ()
        self.hold = 0.0
        self.repulsion: Callable[[Array, Array, float], Array] | None = None
        self._velocity_limits = velocity_limits(controller.robot)
        self._ranges = JointRanges(controller.robot)
        self._efforts = np.minimum(controller.robot.effort_limits, NO_LIMIT)
        # A check of all gains takes a large part of a cycle at 1 kHz. The cache does not refer to
        # the arm, which holds large kernels and is freed when another robot replaces it.
        self._checked = lru_cache(maxsize=8)(partial(_gains_of, controller.robot))
        self._stop = Stop(controller.robot, controller.frame)
        self._runaway = controller.robot.kernel('runaway_step')
        self._floating = controller.robot.kernel('floating_torques')
        # Those of ``tool_damping``.
        self._inertia = (
            controller.robot.kernel('mass_matrix_inverse'),
            controller.robot.kernel('jacobian', controller.frame, 'local_world_aligned'),
        )
        self._holding_back = controller.robot.kernel('holding_back', controller.frame)
        self._gains: ImpedanceGains
        self._wanted: ImpedanceGains
        self._refreshed_at: Array
        self._memory: Array | None = None
        self.settings = settings

    @property
    def settings(self) -> ArmSettings:
        """Settings of the arm."""
        return self._settings

    @settings.setter
    def settings(self, settings: ArmSettings) -> None:
        # Checks the settings before storing them: this raises if they are wrong.
        gains = self._checked(settings, settings.compliance, True)
        self._settings = settings
        least = np.diag(settings.guiding.damping)
        self._guided = Compliance(np.zeros((6, 6)), least_damping=least)
        if self.started:
            limits = gains.joints[TORQUE_LIMITS]
            self._gains = self._gains.with_rows(TORQUE_LIMITS, limits)
            self._wanted = self._wanted.with_rows(TORQUE_LIMITS, limits)

    @property
    def started(self) -> bool:
        """Whether `start` was called since `forget`."""
        return self._memory is not None

    @property
    def at_rest(self) -> bool:
        """Whether the last known speed of every joint is below ``AT_REST``."""
        return bool(np.abs(self.v).max(initial=0.0) < AT_REST)

    @property
    def held_beside_weight(self) -> float:
        """Largest share of a joint's torque limit that is used for other things than gravity."""
        beside = np.abs(self.tau - self.gravity) / self._gains.joints[TORQUE_LIMITS[0]]
        return float(beside.max(initial=0.0))

    @property
    def pose(self) -> Array:
        """Pose (4, 4) of the tool in the root frame."""
        return np.asarray(self.controller.robot.forward_kinematics(self.q, self.controller.frame))

    def is_stable_at(self, interval: float) -> bool:
        """Whether the arm comes to rest if its torques change once in an interval [s].

        The torques of the law are linearized at the current configuration and held during the
        interval. Rotors are assumed as ``ROTOR_SHARE`` says.
        """
        if not 0.0 < interval < MAX_INTERVAL:
            return False
        return bool(self._response(self._gains, interval, 0.0 * self._efforts)[0] < SETTLING)

    def check(
        self, settings: ArmSettings, guided: bool, interval: float = NOMINAL_INTERVAL
    ) -> None:
        """Refuse settings that would move the arm, more than other present ones do.

        Args:
            settings: of the arm from now on.
            guided: whether a hand guides the tool.
            interval: time between joint states [s].

        Raises:
            InvalidArgumentError: the gains are too large for the interval, or springs of joint
                ranges would pull a joint faster than ``PULLED``.
        """
        new, allowed = self._responses(settings, interval, guided), np.array([SETTLING, PULLED])
        if settings is not self.settings and (new > allowed).any():
            present = self._responses(self.settings, interval, guided)
            allowed = np.maximum(allowed, SETTLING * present)
        name, what = 'gains', f'too large for joint states every {1e3 * interval:.1f} ms'
        if new[1] > allowed[1]:
            name, what = 'joint_range', f'would pull a joint at {new[1]:.1f} rad/s'
        if (new > allowed).any():
            raise InvalidArgumentError(name, what, 'smaller values, or deactivation before')

    def _responses(self, settings: ArmSettings, interval: float, guided: bool) -> Array:
        """Results of ``_response`` for settings, with a speed in place of the distance."""
        # The law bounds the damping of free directions, however large it is.
        compliance = Compliance(np.zeros((6, 6))) if guided else settings.compliance
        if compliance.least_damping.any():
            compliance = replace(compliance, least_damping=np.zeros((6, 6)))
        gains = self._damped(settings, compliance, not guided)
        # Stiffer springs must be stable in the margins of the ranges, where no joint may be yet.
        held = self._checked(self.settings, self.settings.compliance, True)
        stiffer = (gains.joints - held.joints)[RANGE_SPRINGS]
        interval = min(RESERVE * interval, 0.5 * MAX_INTERVAL)
        found = self._response(gains, interval, np.maximum(stiffer, 0.0))
        return np.asarray(found / (1.0, settings.blending_time))

    def _response(self, gains: ImpedanceGains, interval: float, stiffer: Array) -> Array:
        """Factor by which motion changes in an interval [s], and distance that ranges pull a joint.

        The law is linearized at the present configuration, with the setpoint there and the gains as
        they are set, and its torques are held during the interval; ``stiffer`` (nv) adds to the
        stiffness of the joint ranges.
        """
        controller, q = self.controller, self.q
        robot, rest, n = controller.robot, np.zeros(controller.robot.nv), controller.robot.nv
        pull, springs = self._ranges.springs(q, *gains.joints[[RANGE_MARGINS, RANGE_SPRINGS]])
        # The guard would act on the torques of the ranges, which are added here instead.
        gains = gains.with_rows(TORQUE_LIMITS, NO_LIMIT).with_rows(RANGE_SPRINGS, 0.0)
        memory = controller.start(q)
        target = ImpedanceTarget.unchecked(self.pose, q, REST, REST)

        def torques(q: Array, v: Array) -> Array:
            step = controller.step(ImpedanceState(q, v, UNBOUNDED), target, gains, memory)
            return step.tau - robot.gravity(q)

        here, moves = torques(q, rest), DISPLACEMENT * np.eye(n)
        K = np.array([here - torques(robot.integrate(q, x), rest) for x in moves]).T / DISPLACEMENT
        D = np.array([here - torques(q, x) for x in moves]).T / DISPLACEMENT
        K += np.diag(springs)
        rotors = ROTOR_SHARE * np.where(self._efforts < NO_LIMIT, self._efforts, 0.0)
        M = robot.mass_matrix(q) + np.diag(rotors)
        a = np.linalg.solve(M, np.hstack([K + np.diag(stiffer), D]))
        step = np.vstack([np.eye(n, 2 * n), np.eye(n, 2 * n, n)])
        step[:n] += interval * step[n:] - 0.5 * interval**2 * a
        step[n:] -= interval * a
        pulled = np.linalg.lstsq(K, pull, rcond=1e-6)[0] if pull.any() else rest
        return np.array([np.abs(x).max() for x in (np.linalg.eigvals(step), pulled)])

    def taken_back(self, torque: Array) -> float:
        """Share of additional torques (nv) that the control law takes back now.

        It is near 1 if the arm carries less than these torques say: they accelerate it, and the law
        brakes. It is 0 or less if the arm does carry it. It counts no torques below ``FELT``.
        """
        limits = np.where(self._efforts < NO_LIMIT, self._efforts, np.inf)
        if not (np.abs(torque) > FELT * limits).any():
            return 0.0
        return float((self.gravity - self.tau) @ torque / (torque @ torque))

    def wait(self) -> None:
        """Wait until the kernels are compiled."""
        kernels = self._holding_back, self._runaway, self._floating, *self._inertia
        for one in (self.controller, self._stop, *kernels):
            one.wait()

    def start(self, q: Array, v: Array, tau: Array | None = None) -> None:
        """Start at the current state of the arm.

        Args:
            q, v: (nq), (nv).
            tau: (nv) torques that act now; None means those that compensate gravity.
        """
        self._memory = self.controller.start(q, tau)
        self.q, self.v = q, v
        self.tau = self.gravity = self.controller.robot.gravity(q)
        if tau is not None:
            self.tau = tau
        self.setpoint = Setpoint(self.pose)
        self.posture = q
        self._wrench = np.zeros(6)
        self._compliance: Compliance | None = None
        self._stop.forget()
        self._running_away = False
        self._since_refresh = 0.0
        self._refresh(self.settings.compliance, 0.0)
        # A joint may stand in the margin of its range.
        self._gains = self._wanted.with_rows(RANGE_SPRINGS, 0.0)
        self._blending = self.settings.blending_time

    def forget(self) -> None:
        """Discard the state of the controller; `start` begins anew."""
        self._memory = None

    def stay(self) -> None:
        """Place the setpoint at the current tool pose, at rest."""
        self.setpoint.place(self.pose)
        self.posture = self.q

    # --- steps, each one sample -----------------------------------------------------------------

    def approach(
        self, q: Array, v: Array, dt: float, goal: Array | None, wrench: Array = REST
    ) -> Array:
        """Move towards a goal pose for one sample.

        Args:
            q, v: (nq), (nv) of the sample.
            dt: time since the previous sample [s].
            goal: (4, 4) in the root frame; None means to come to rest and stay.
            wrench: (6) that the environment shall exert on the tool, in root axes; a changed value
                is taken over gradually.

        Returns:
            Torques (nv). If the sample or the target is implausible or the motion runs away, these
            are the torques of `brake`; ``acting`` names the reason.
        """
        if goal is None:
            return self.drive(q, v, dt, REST, wrench)
        refused = self._take_in(q, v, dt, goal, wrench)
        if refused:
            return self._brake(q, v, dt, refused)
        self.setpoint.approach(goal, self.pose, self.settings.setpoint, dt)
        return self._pull(dt, wrench)

    def drive(self, q: Array, v: Array, dt: float, twist: Array, wrench: Array = REST) -> Array:
        """Move with a twist (6) in root axes for one sample; see `approach` for the rest."""
        refused = self._take_in(q, v, dt, twist, wrench)
        if refused:
            return self._brake(q, v, dt, refused)
        self.setpoint.drive(twist, self.pose, self.settings.setpoint, dt)
        return self._pull(dt, wrench)

    def guide(self, q: Array, v: Array, dt: float) -> Array:
        """Follow a guiding hand.

        See `approach` for the arguments and the result.
        """
        refused = self._take_in(q, v, dt)
        if refused:
            return self._brake(q, v, dt, refused)
        # Sets the state from which the arm continues once guiding ends.
        self.setpoint.place(self.pose)
        self.posture, self._wrench = q, np.zeros(6)
        if self._compliance is not self._guided:
            self._refresh(self._guided, dt, posture=False)
        self._blend(dt)
        guiding = self.settings.guiding
        # Near a singularity, a tool of constant velocity would need ever faster joints, so the
        # controller does not hold it to that.
        wrench, coasting = self._held_back(guiding.speed, guiding.angular_speed, dt)
        target = ImpedanceTarget.unchecked(self.setpoint.pose, q, REST, wrench, coasting)
        return self._step(q, v, dt, target, self._gains, self._repelled(dt))

    def give_way(self, q: Array, v: Array, dt: float, torque: Array) -> Array:
        """Follow any external force, with given joint torques in addition to gravity compensation.

        Args:
            q, v, dt: as for `approach`.
            torque: (nv) [Nm, N if prismatic].

        Returns:
            Torques (nv).
        """
        if not (believable(q, v) and believable(dt, torque)):
            return self._brake(q, v, dt, 'input')
        self._stop.forget()
        tau = self._push(q, v, dt, torque)
        # Later gains are blended starting from these.
        self._gains = self._checked(self.settings, NO_SPRINGS, False)
        self._compliance, self._blending = None, 0.0
        return tau

    def float_freely(self, q: Array, v: Array, dt: float, rate: float) -> Array:
        """Compensate only gravity, and let motion decay at a rate [1/s].

        See `approach` for other arguments and result.
        """
        if not believable(q, v):
            return self._brake(q, v, dt, 'input')
        return self.give_way(q, v, dt, self._floating.call(q, v, rate, self._held_for(dt)))

    def brake(self, q: Array, v: Array, dt: float) -> Array:
        """Compensate gravity, let all motion decay and hold the arm where it ends.

        The setpoint does not move; `stay` places it at the tool. See `approach` for arguments and
        result.
        """
        return self._brake(q, v, dt, '')

    def reckon(self, dt: float) -> Array:
        """Brake without a sample: predict the state by the decay that braking causes.

        Args:
            dt: time since the last step [s].
        """
        dt = _interval(dt)
        q, v, torque = self._stop.blind_torques(self.q, self.v, dt, self._gains)
        return self._push(q, v, dt, torque)

    def reckoned(self, q: Array, v: Array, ages: ArrayLike) -> tuple[Array, Array]:
        """Predict the state of braking joints; arguments and results as for ``stop.decayed``."""
        return decayed(self.controller.robot, q, v, ages)

    def _take_in(self, q: Array, v: Array, dt: float, *targets: Array) -> str:
        """Store a sample; return the flag of the reason to brake, '' if there is none."""
        assert self._memory is not None, 'start() comes first'
        if not believable(q, v):
            return 'state'
        self.q, self.v = q, v
        before, share = self._running_away, min(self.settings.largest_speed, NO_LIMIT)
        running = self._runaway.call(v, self._velocity_limits, share, float(before))
        self._running_away = bool(running > 0.5)
        if before and not self._running_away:
            self.stay()
        if self._running_away:
            return 'speed'
        if (self._ranges.beyond(q) > self._ranges.far).any():
            return 'range'
        if not (0.0 < dt < MAX_INTERVAL and believable(*targets)):
            return 'input'
        self._stop.forget()
        return ''

    def _brake(self, q: Array, v: Array, dt: float, why: str) -> Array:
        """Brake as `brake` does and add a flag with the reason."""
        dt = _interval(dt)
        if believable(q, v):
            self.q, self.v = q, v
            limits = self.settings.setpoint
            # The stop alone gives way to a push: a light arm would become fast.
            speeds = limits.linear_speed, limits.angular_speed
            held = self._held_for(dt)
            tau = self._push(q, v, dt, self._stop.torques(q, v, held, speeds, self._gains))
        else:
            tau = self.reckon(dt)
        if why:
            self.acting = (*self.acting, why)
        return tau

    def _pull(self, dt: float, wrench: Array) -> Array:
        self._refresh(self.settings.compliance, dt)
        self._blend(dt)
        share = min(1.0, dt / self.settings.blending_time)
        self._wrench = self._wrench + share * (wrench - self._wrench)
        pressed, repelled = self._wrench, self._repelled(dt)
        free = self.settings.compliance.least_damping.any()
        if pressed.any() or free or (repelled is not None and repelled.any()):
            # Nothing may hold the tool against these, which would accelerate it without limit.
            limits = self.settings.setpoint
            pressed = pressed + self._held_back(limits.linear_speed, limits.angular_speed, dt)[0]
        setpoint = self.setpoint
        target = ImpedanceTarget.unchecked(setpoint.pose, self.posture, setpoint.twist, pressed)
        return self._step(self.q, self.v, dt, target, self._gains, repelled)

    def _repelled(self, dt: float) -> Array | None:
        if self.repulsion is None:
            return None
        return self.repulsion(self.q, self.v, self._held_for(dt))

    def _held_back(self, linear: float, angular: float, dt: float) -> tuple[Array, Array]:
        """Wrench (6) in root axes that yields on a tool beyond its speed limits [m/s, rad/s].

        The second result is the acceleration (6) of the tool at constant joint velocities.
        """
        limits = min(linear, NO_LIMIT), min(angular, NO_LIMIT)
        rates = self._gains.joints[TORQUE_LIMITS[1]]
        wrench, bias = self._holding_back.call(
            self.q, self.v, limits, rates, self.settings.largest_inertia, self._held_for(dt)
        )
        return wrench, bias

    def _push(self, q: Array, v: Array, dt: float, torque: Array) -> Array:
        """Torques (nv) that compensate gravity plus these, within all bounds of the control law."""
        self.q, self.v = q, v
        self._wrench = np.zeros(6)
        gains = self._checked(self.settings, NO_SPRINGS, False)
        beyond = self._ranges.beyond(q) > self._ranges.far
        if beyond.any():
            ends = np.where(beyond, [[-NO_LIMIT], [NO_LIMIT]], gains.joints[RANGES])
            gains = gains.with_rows(RANGES, ends)
        assert self._memory is not None, 'start() comes first'
        return self._sent(self.controller.exert(self._state(q, v, dt), torque, gains, self._memory))

    def _step(
        self,
        q: Array,
        v: Array,
        dt: float,
        target: ImpedanceTarget,
        gains: ImpedanceGains,
        repelled: Array | None,
    ) -> Array:
        assert self._memory is not None, 'start() comes first'
        state = self._state(q, v, dt)
        return self._sent(self.controller.step(state, target, gains, self._memory, repelled))

    def _state(self, q: Array, v: Array, dt: float) -> ImpedanceState:
        return ImpedanceState(q, v, dt, hold=self.hold)

    def _held_for(self, dt: float) -> float:
        """Interval of a step [s], or the longer time for which its torques may be held."""
        assert self._memory is not None, 'start() comes first'
        return max(_interval(dt), self.hold, float(self._memory[-1]))

    def _sent(self, step: ImpedanceStep) -> Array:
        self._memory, self.tau, self.acting = step.memory, step.tau, step.acting
        robot = self.controller.robot
        start = robot.nq + 2 * robot.nv
        self.gravity = step.memory[start : start + robot.nv]
        return step.tau

    # --- gains ----------------------------------------------------------------------------------

    def _refresh(self, compliance: Compliance, dt: float, posture: bool = True) -> None:
        """Update the desired gains, with damping for the inertia at the current configuration."""
        self._since_refresh += dt
        if compliance is self._compliance and (
            self._since_refresh < REFRESH or np.abs(self.q - self._refreshed_at).max() < MOVED
        ):
            return
        self._compliance, self._since_refresh, self._refreshed_at = compliance, 0.0, self.q
        self._wanted = self._damped(self.settings, compliance, posture)
        self._blending = self.settings.blending_time

    def _damped(
        self, settings: ArmSettings, compliance: Compliance, posture: bool
    ) -> ImpedanceGains:
        """Gains with the damping ratio of a compliance, for the inertia at the last sample."""
        gains = self._checked(settings, compliance, posture)
        damping = compliance.least_damping
        if gains.stiffness.any():
            controller = self.controller
            damping = damping + tool_damping(
                *(controller.robot, controller.frame, self.q, gains.stiffness),
                *(compliance.damping_ratio, settings.largest_inertia),
            )
        return gains.replaced(damping=damping)

    def _blend(self, dt: float) -> None:
        """Blend the gains towards the desired ones for dt [s]."""
        if self._blending > 0.0:
            left, self._blending = self._blending, self._blending - dt
            blended = self._gains.towards(self._wanted, min(1.0, dt / left))
            self._gains = blended if self._blending > 0.0 else self._wanted


def _interval(dt: float) -> float:
    """Step time [s] for braking: dt, or a plausible value in its place."""
    return min(dt, 0.5 * MAX_INTERVAL) if 0.0 < dt < MAX_INTERVAL else NOMINAL_INTERVAL


def _gains_of(
    robot: RigidBodySystem, settings: ArmSettings, compliance: Compliance, posture: bool
) -> ImpedanceGains:
    """Gains of settings with another compliance, without its damping.

    Raises:
        InvalidArgumentError: naming the setting that is wrong.
    """
    # Friction is left out while an arm gives way, because it moves an arm if it is wrong.
    zero = FREE if compliance is NO_SPRINGS else () if posture else FREE[:1]
    return ImpedanceGains(
        robot,
        compliance.stiffness,
        np.zeros(6),
        joints={**settings.joints, **dict.fromkeys(zero, 0.0)},
        largest_inertia=settings.largest_inertia,
    )
