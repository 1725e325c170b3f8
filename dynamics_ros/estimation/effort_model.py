# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Effort model: converts reported efforts to torques on the rigid bodies.

The observers apply this model inside their kernels; this file applies it to single vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.joint_friction import (
    FRICTION_VELOCITY,
    STRIBECK_VELOCITY,
    friction_torque,
    torque_behind_friction,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_positive, finite_vector, per_entry

from .uncertainty.thresholds import motion_scales

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]

MAX_LOAD_FRICTION = 0.9
"""Upper bound of load friction per carried torque; gears of robots have up to about 0.2."""


@dataclass(frozen=True, eq=False)
class EffortModel:
    """Converts reported efforts to the torques that act on the rigid bodies.

    tau = scale effort + offset (+ gravity, if the reported effort excludes it) - friction(v, tau),

    A rotor adds its inertia to that of its joint if the effort is measured on the motor side
    (observers use it; behind the gear, a torque sensor sees none). Created by ``ideal`` or
    ``from_robot`` and changed by ``with_values``. The entries of a moving base have no friction,
    scale 1 and offset 0. Friction is in ``algorithms/joint_friction.py``.

    Attributes:
        scale: (nv) torque per reported effort, e.g. torque constant times gear ratio.
        offset: (nv) added to the scaled effort [Nm or N].
        viscous: (nv) friction per velocity [Nms/rad or Ns/m].
        coulomb: (nv) Coulomb friction, at any speed [Nm or N].
        stribeck: (nv) additional dry friction at the onset of motion [Nm or N]; negative, down to
            minus ``coulomb``, if dry friction grows with speed instead.
        load_friction: (nv) increase of dry friction per torque tau carried by the joint.
        rotor_inertia: (nv) motor inertia times the gear ratio squared [kg m^2 or kg].
        friction_velocity: speed at which dry friction reaches 76 %; below it a sensor cannot
            determine the sign, and a step there would appear as contact [rad/s, see ``motion``].
        stribeck_velocity: speed at which Stribeck friction has decayed to 37 % [rad/s].
        includes_gravity: whether reported efforts include the gravity torques.
        motion: (nv) motion of each joint that corresponds to 1 rad, by which both speeds are
            multiplied; of a sliding joint its range over 2 pi [rad or m].
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
    motion: Vector

    @classmethod
    def ideal(cls, robot: Robot) -> EffortModel:
        """Returns a model whose efforts are the joint torques, without friction."""
        zero = np.zeros(robot.nv)
        return cls(
            *(np.ones(robot.nv), *(zero,) * 6),
            *(FRICTION_VELOCITY, STRIBECK_VELOCITY),
            includes_gravity=True,
            motion=motion_scales(robot),
        )

    @classmethod
    def from_robot(
        cls,
        robot: Robot,
        *,
        friction_velocity: float = FRICTION_VELOCITY,
        includes_gravity: bool = True,
    ) -> EffortModel:
        """Creates a model with the friction of the description (``dynamics`` tags).

        Args:
            robot: the robot; the friction of a mimic joint is added to that of its leader.
            friction_velocity: see the class [rad/s].
            includes_gravity: whether reported efforts include the gravity torques.

        Raises:
            InvalidArgumentError: ``friction_velocity`` is not positive.
        """
        viscous, coulomb = np.zeros(robot.nv), np.zeros(robot.nv)
        for joint in robot.model.joints:
            # The leader supplies the friction power of the follower, which moves at m v.
            for index in joint.v_indices:
                viscous[index] += joint.multiplier**2 * joint.damping
                coulomb[index] += abs(joint.multiplier) * joint.friction
        return cls.ideal(robot).with_values(
            viscous=viscous,
            coulomb=coulomb,
            friction_velocity=friction_velocity,
            includes_gravity=includes_gravity,
        )

    def with_values(self, **values: ArrayLike | None) -> EffortModel:
        """Returns a copy with some attributes replaced.

        Args:
            values: new values by name of the attribute, number or (nv), speeds a number; None keeps
                a value. ``scale``, ``offset`` and ``stribeck`` may be negative, ``stribeck`` down
                to minus ``coulomb``; ``load_friction`` is at most ``MAX_LOAD_FRICTION``.

        Raises:
            InvalidArgumentError: a value has a wrong shape, is not finite or is out of range.
        """
        changes: dict[str, Any] = {}
        for name, value in values.items():
            if value is None:
                continue
            if name in ('friction_velocity', 'stribeck_velocity'):
                changes[name] = float(np.asarray(value))
                check_positive(name, changes[name])
            elif name == 'includes_gravity':
                changes[name] = bool(value)
            else:
                least = -np.inf if name in ('scale', 'offset', 'stribeck') else 0.0
                changes[name] = per_entry(name, value, len(self.scale), least=least)
        changed = replace(self, **changes)
        at_rest = changed.coulomb + changed.stribeck
        if (at_rest < -1e-9 * (1.0 + changed.coulomb)).any():
            problem = f'{changed.stribeck.tolist()} with a coulomb of {changed.coulomb.tolist()}'
            raise InvalidArgumentError('stribeck', problem, 'at least minus coulomb')
        if (changed.load_friction > MAX_LOAD_FRICTION).any():
            raise InvalidArgumentError(
                'load_friction',
                str(changed.load_friction.tolist()),
                f'at most {MAX_LOAD_FRICTION}: friction takes less than the motor gives',
            )
        return changed

    def friction_torque(self, v: ArrayLike, carried: ArrayLike | None = None) -> Vector:
        """Computes the friction torque, which is subtracted from the motor torque.

        Args:
            v: (nv) velocity.
            carried: (nv) torques carried by the joints; None omits load-dependent friction.

        Returns:
            (nv) [Nm or N].
        """
        nv = len(self.scale)
        load = np.zeros(nv) if carried is None else finite_vector('carried', carried, nv)
        velocity = finite_vector('v', v, nv)
        return np.asarray(friction_torque(velocity, *self._curve, self.load_friction, load))

    @property
    def speeds(self) -> tuple[Vector, Vector]:
        """(nv) ``friction_velocity`` and ``stribeck_velocity`` of each joint [rad/s or m/s]."""
        return self.friction_velocity * self.motion, self.stribeck_velocity * self.motion

    @property
    def _curve(self) -> tuple[Vector, Vector, Vector, Vector, Vector]:
        return (self.viscous, self.coulomb, self.stribeck, *self.speeds)

    def joint_torque(
        self, effort: ArrayLike, v: ArrayLike, gravity: ArrayLike | None = None
    ) -> Vector:
        """Computes the torques (nv) on the rigid bodies, the tau of the dynamics algorithms.

        Args:
            effort: (nv) reported effort; zero for a floating base.
            v: (nv) velocity.
            gravity: (nv) g(q), required if efforts exclude gravity.

        Raises:
            InvalidArgumentError: a wrong shape, NaN, or missing gravity.
        """
        nv = len(self.scale)
        tau = self.scale * finite_vector('effort', effort, nv) + self.offset
        if not self.includes_gravity:
            tau += finite_vector('gravity', np.nan if gravity is None else gravity, nv)
        velocity = finite_vector('v', v, nv)
        return np.asarray(torque_behind_friction(tau, velocity, *self._curve, self.load_friction))
