# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the effort that a robot reports means as a torque on its rigid bodies.

The observers apply the model inside their kernels; here it is for one vector after another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.joint_friction import friction_torque, torque_behind_friction
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_positive, finite_vector, per_entry

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]

FRICTION_VELOCITY = 0.01
"""Default velocity scale of the smoothed dry friction [rad/s or m/s]."""

STRIBECK_VELOCITY = 0.1
"""Default speed at which Stribeck friction has faded [rad/s or m/s]."""


MOST_LOAD_FRICTION = 0.9
"""Of what a joint carries, that friction may grow by; gears of robots have up to about 0.2."""


@dataclass(frozen=True, eq=False)
class EffortModel:
    """From reported efforts to the torques that act on the rigid bodies.

    tau = scale effort + offset (+ gravity, where the report leaves it out) - friction(v, tau),

    and a rotor, which an effort on the motor's side has to turn as well, adds its inertia to its
    joint's (observers read it; a torque sensor behind the gear has none). Made by ``ideal`` or
    ``from_robot`` and changed by ``with_values``. The entries of a moving base have no friction,
    scale 1 and offset 0. Friction is in ``algorithms/joint_friction.py``.

    Attributes:
        scale: (nv) torque over reported effort, e.g. a motor's torque constant times its gear.
        offset: (nv) added to the scaled effort [Nm or N].
        viscous: (nv) friction per velocity [Nms/rad or Ns/m].
        coulomb: (nv) friction at any speed [Nm or N].
        stribeck: (nv) what dry friction is larger by when motion begins [Nm or N]; negative, down
            to minus ``coulomb``, where it grows with the speed instead.
        load_friction: (nv) what dry friction grows by per torque that the joint carries, tau.
        rotor_inertia: (nv) of the motor, times the gear ratio squared [kg m^2 or kg].
        friction_velocity: speed [rad/s or m/s] at which dry friction has reached 76 %; below,
            its sign is not known to a sensor, and a step there would be felt as contact.
        stribeck_velocity: speed at which Stribeck friction has faded to 37 % [rad/s or m/s].
        includes_gravity: whether reported efforts contain what carries the robot's weight.
    """

    scale: Vector
    offset: Vector
    viscous: Vector
    coulomb: Vector
    stribeck: Vector
    load_friction: Vector
    rotor_inertia: Vector
    friction_velocity: float
    stribeck_velocity: float
    includes_gravity: bool

    @classmethod
    def ideal(cls, robot: Robot) -> EffortModel:
        """Efforts that are the joint torques, of joints without friction."""
        zero = np.zeros(robot.nv)
        speeds = FRICTION_VELOCITY, STRIBECK_VELOCITY
        return cls(np.ones(robot.nv), zero, zero, zero, zero, zero, zero, *speeds, True)

    @classmethod
    def from_robot(
        cls,
        robot: Robot,
        *,
        friction_velocity: float = FRICTION_VELOCITY,
        includes_gravity: bool = True,
    ) -> EffortModel:
        """Friction as in the description (``dynamics`` tags: damping and friction).

        Args:
            robot: the robot; a joint that follows another adds to its leader's friction.
            friction_velocity: rad/s or m/s.
            includes_gravity: whether reported efforts contain what carries the weight.

        Raises:
            InvalidArgumentError: ``friction_velocity`` is not positive.
        """
        viscous, coulomb = np.zeros(robot.nv), np.zeros(robot.nv)
        for joint in robot.model.joints:
            # The power lost at the follower's speed m v is what the leader has to bring.
            for index in joint.v_indices:
                viscous[index] += joint.multiplier**2 * joint.damping
                coulomb[index] += abs(joint.multiplier) * joint.friction
        return cls.ideal(robot).with_values(
            viscous=viscous,
            coulomb=coulomb,
            friction_velocity=friction_velocity,
            includes_gravity=includes_gravity,
        )

    def with_values(
        self,
        *,
        scale: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        viscous: ArrayLike | None = None,
        coulomb: ArrayLike | None = None,
        stribeck: ArrayLike | None = None,
        load_friction: ArrayLike | None = None,
        rotor_inertia: ArrayLike | None = None,
        friction_velocity: float | None = None,
        stribeck_velocity: float | None = None,
        includes_gravity: bool | None = None,
    ) -> EffortModel:
        """The same model with some values replaced.

        Args:
            scale: number or (nv).
            offset: number or (nv) [Nm or N].
            viscous: number or (nv), not negative [Nms/rad or Ns/m].
            coulomb: number or (nv), not negative [Nm or N].
            stribeck: number or (nv), at least minus ``coulomb`` [Nm or N].
            load_friction: number or (nv), from 0 to ``MOST_LOAD_FRICTION``.
            rotor_inertia: number or (nv), not negative [kg m^2 or kg].
            friction_velocity, stribeck_velocity: rad/s or m/s.
            includes_gravity: see the class.

        Raises:
            InvalidArgumentError: a value has a wrong shape, is not finite, or out of range.
        """
        given = {
            'scale': scale,
            'offset': offset,
            'viscous': viscous,
            'coulomb': coulomb,
            'stribeck': stribeck,
            'load_friction': load_friction,
            'rotor_inertia': rotor_inertia,
        }
        speeds = {'friction_velocity': friction_velocity, 'stribeck_velocity': stribeck_velocity}
        changes: dict[str, Any] = {}
        for name, value in given.items():
            if value is not None:
                least = -np.inf if name in ('scale', 'offset', 'stribeck') else 0.0
                changes[name] = per_entry(name, value, len(self.scale), least=least)
        for name, speed in speeds.items():
            if speed is not None:
                check_positive(name, speed)
                changes[name] = float(speed)
        if includes_gravity is not None:
            changes['includes_gravity'] = bool(includes_gravity)
        changed = replace(self, **changes)
        at_rest = changed.coulomb + changed.stribeck
        if (at_rest < -1e-9 * (1.0 + changed.coulomb)).any():
            problem = f'{changed.stribeck.tolist()} with a coulomb of {changed.coulomb.tolist()}'
            raise InvalidArgumentError('stribeck', problem, 'at least minus coulomb')
        if (changed.load_friction > MOST_LOAD_FRICTION).any():
            raise InvalidArgumentError(
                'load_friction',
                str(changed.load_friction.tolist()),
                f'at most {MOST_LOAD_FRICTION}: friction takes less than the motor gives',
            )
        return changed

    def friction_torque(self, v: ArrayLike, carried: ArrayLike | None = None) -> Vector:
        """The torque that friction takes away from the motors.

        Args:
            v: (nv) velocity.
            carried: (nv) torques that the joints carry; None: none, so that what grows with them
                is left out.

        Returns:
            (nv).
        """
        nv = len(self.scale)
        load = np.zeros(nv) if carried is None else finite_vector('carried', carried, nv)
        curve = self._curve()
        torque: Vector = friction_torque(
            finite_vector('v', v, nv), *curve, self.load_friction, load
        )
        return torque

    def _curve(self) -> tuple[Vector, Vector, Vector, float, float]:
        speeds = self.friction_velocity, self.stribeck_velocity
        return (self.viscous, self.coulomb, self.stribeck, *speeds)

    def joint_torque(
        self, effort: ArrayLike, v: ArrayLike, gravity: ArrayLike | None = None
    ) -> Vector:
        """The torque (nv) on the rigid bodies: what a dynamics algorithm calls tau.

        Args:
            effort: (nv) as reported; zero for a floating base.
            v: (nv) velocity.
            gravity: (nv) g(q), needed where efforts do not include gravity.

        Raises:
            InvalidArgumentError: a wrong shape, NaN, or gravity missing.
        """
        nv = len(self.scale)
        tau = self.scale * finite_vector('effort', effort, nv) + self.offset
        if not self.includes_gravity:
            tau += finite_vector('gravity', np.nan if gravity is None else gravity, nv)
        velocity = finite_vector('v', v, nv)
        behind: Vector = torque_behind_friction(tau, velocity, *self._curve(), self.load_friction)
        return behind
