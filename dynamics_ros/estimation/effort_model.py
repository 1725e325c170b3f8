"""What the effort that a robot reports means as a torque on its rigid bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_positive, finite_vector, per_entry

if TYPE_CHECKING:
    from ..robot import Robot

Vector = NDArray[np.float64]

FRICTION_VELOCITY = 0.01
"""Default velocity scale of the smoothed Coulomb friction [rad/s or m/s]."""


@dataclass(frozen=True, eq=False)
class EffortModel:
    """From reported efforts to the torques that act on the rigid bodies.

    tau = scale effort + offset - friction(v) (+ gravity, where the report leaves it out).

    Made by ``ideal`` or ``from_robot`` and changed by ``with_values``. The entries of a moving
    base have no friction, scale 1 and offset 0.

    Attributes:
        scale: (nv) torque over reported effort, e.g. a motor's torque constant times its gear.
        offset: (nv) added to the scaled effort [Nm or N].
        viscous: (nv) friction per velocity [Nms/rad or Ns/m].
        coulomb: (nv) friction at any speed [Nm or N].
        friction_velocity: speed [rad/s or m/s] at which Coulomb friction has reached 76 %; below,
            its sign is not known to a sensor, and a step there would be felt as contact.
        includes_gravity: whether reported efforts contain what carries the robot's weight.
    """

    scale: Vector
    offset: Vector
    viscous: Vector
    coulomb: Vector
    friction_velocity: float
    includes_gravity: bool

    @classmethod
    def ideal(cls, robot: Robot) -> EffortModel:
        """Efforts that are the joint torques, of joints without friction."""
        zero = np.zeros(robot.nv)
        return cls(np.ones(robot.nv), zero, zero, zero, FRICTION_VELOCITY, True)

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
        friction_velocity: float | None = None,
        includes_gravity: bool | None = None,
    ) -> EffortModel:
        """The same model with some values replaced.

        Args:
            scale: number or (nv).
            offset: number or (nv) [Nm or N].
            viscous: number or (nv), not negative [Nms/rad or Ns/m].
            coulomb: number or (nv), not negative [Nm or N].
            friction_velocity: rad/s or m/s.
            includes_gravity: see the class.

        Raises:
            InvalidArgumentError: a value has a wrong shape, is not finite, or out of range.
        """
        nv = len(self.scale)
        speed = self.friction_velocity if friction_velocity is None else friction_velocity
        check_positive('friction_velocity', speed)
        gravity = self.includes_gravity if includes_gravity is None else includes_gravity
        return EffortModel(
            scale=per_entry('scale', self.scale if scale is None else scale, nv),
            offset=per_entry('offset', self.offset if offset is None else offset, nv),
            viscous=per_entry('viscous', self.viscous if viscous is None else viscous, nv, least=0),
            coulomb=per_entry('coulomb', self.coulomb if coulomb is None else coulomb, nv, least=0),
            friction_velocity=float(speed),
            includes_gravity=bool(gravity),
        )

    def friction_torque(self, v: ArrayLike) -> Vector:
        """The torque (nv) that friction takes away from the motors at the velocity v (nv)."""
        velocity = finite_vector('v', v, len(self.scale))
        return self.viscous * velocity + self.coulomb * np.tanh(velocity / self.friction_velocity)

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
        tau -= self.friction_torque(v)
        if not self.includes_gravity:
            tau += finite_vector('gravity', np.nan if gravity is None else gravity, nv)
        return tau
