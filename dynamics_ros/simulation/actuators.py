# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motors, gears, stops and joint controllers of a robot whose description says little about them.

Everything follows from the inertia that each joint has to move, so that any robot behaves like one
that was built for its size: the controllers have the same bandwidth on a small arm and a large one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

_REFERENCE_LOAD = 0.05  # of the robot's mass, carried at the tool, that the actuators are made for
_LEAST_LOAD = 0.1  # kg, for a description without masses
_LOAD_RADIUS = 0.1  # m, radius of gyration of that load
_INERTIA_FLOOR = 1e-3  # of the largest inertia of a joint of the same kind
_ROTOR_SHARE = 0.1  # rotor inertia at the joint, of the inertia it moves
_BANDWIDTH = 60.0  # rad/s, of the critically damped position controllers
_STOP_BANDWIDTH = 300.0  # rad/s, of the joint stops
_COASTING = 1.0  # s, in which viscous gear friction stops a free joint
_BREAKAWAY = 0.2  # rad/s^2 or m/s^2 that dry gear friction decelerates a joint by
_SLIPPING = 0.01  # rad/s or m/s, below which dry friction fades
_HEADROOM = 1.5  # an effort limit below this much of the weight to carry cannot be meant


@dataclass(frozen=True)
class Actuators:
    """One actuator per joint, arrays of (n); units are those of a turning joint.

    Attributes:
        armature: inertia of the rotor as felt at the joint [kg m^2].
        viscous: gear friction [Nms/rad].
        coulomb: dry gear friction [Nm], as ``coulomb * tanh(v / 0.01)``.
        stiffness, damping: of the position controller [Nm/rad, Nms/rad].
        stop_stiffness, stop_damping: of the stops at the position limits [Nm/rad, Nms/rad].
        effort_limits: of the actuator [Nm]; infinite where there is none.
        unusable_limits: joints whose effort limit could not even carry the robot; not enforced.
    """

    armature: Array
    viscous: Array
    coulomb: Array
    stiffness: Array
    damping: Array
    stop_stiffness: Array
    stop_damping: Array
    effort_limits: Array
    unusable_limits: tuple[str, ...] = ()

    def gear_friction_slope(self, v: Array) -> Array:
        """(n) gear friction / v, finite at rest."""
        speed = np.maximum(np.abs(v), 1e-6 * _SLIPPING)
        slope: Array = self.viscous + self.coulomb * np.tanh(speed / _SLIPPING) / speed
        return slope

    @classmethod
    def ideal(cls, robot: Robot, q: Array, tool: str) -> Actuators:
        """No rotor, no friction, no controller, no effort limit: the rigid bodies alone."""
        n = robot.nv
        inertia = joint_inertia(robot, q, tool)
        return cls(
            armature=np.zeros(n),
            viscous=np.zeros(n),
            coulomb=np.zeros(n),
            stiffness=np.zeros(n),
            damping=np.zeros(n),
            stop_stiffness=inertia * _STOP_BANDWIDTH**2,
            stop_damping=2.0 * inertia * _STOP_BANDWIDTH,
            effort_limits=np.full(n, np.inf),
        )

    @classmethod
    def for_robot(cls, robot: Robot, q: Array, tool: str, feet: Sequence[str] = ()) -> Actuators:
        """Actuators made for a robot that carries a light load at its tool, or stands on feet.

        Args:
            robot: fixed base.
            q: (n) posture.
            tool: frame of the load.
            feet: frames, on each of which an even share of the robot's mass stands.
        """
        inertia = joint_inertia(robot, q, tool, feet)
        armature = _ROTOR_SHARE * inertia
        moved = inertia + armature
        weight = np.abs(robot.gravity(q))
        for foot in feet:
            share = np.linalg.norm(robot.model.gravity.array()) * robot.total_mass / len(feet)
            weight += share * np.abs(robot.jacobian(q, foot)[2])
        unusable = robot.effort_limits < _HEADROOM * weight
        return cls(
            armature=armature,
            viscous=moved / _COASTING,
            coulomb=moved * _BREAKAWAY,
            stiffness=moved * _BANDWIDTH**2,
            damping=2.0 * moved * _BANDWIDTH,
            stop_stiffness=moved * _STOP_BANDWIDTH**2,
            stop_damping=2.0 * moved * _STOP_BANDWIDTH,
            effort_limits=np.where(unusable, np.inf, robot.effort_limits),
            unusable_limits=tuple(
                name for name, bad in zip(robot.joint_names, unusable, strict=True) if bad
            ),
        )


def joint_inertia(robot: Robot, q: Array, tool: str, feet: Sequence[str] = ()) -> Array:
    """(n) inertia that each joint moves at q: its links, a light load at the tool, what stands.

    The load gives a joint something to move where links are tiny or massless. A joint that moves
    neither gets a thousandth of the largest inertia, which keeps the mass matrix regular.
    """
    load = max(_REFERENCE_LOAD * robot.total_mass, _LEAST_LOAD)
    J = robot.jacobian(q, tool)
    lever = np.sum(J[:3] ** 2, axis=0) + _LOAD_RADIUS**2 * np.sum(J[3:] ** 2, axis=0)
    inertia = np.diagonal(robot.mass_matrix(q)) + load * lever
    for foot in feet:
        of_foot = robot.jacobian(q, foot)[:3]
        inertia = inertia + robot.total_mass / len(feet) * np.sum(of_foot**2, axis=0)
    prismatic = np.array([any(joint.kind.slides) for joint in robot.model.actuated])
    for kind in (prismatic, ~prismatic):
        if kind.any():
            least = _INERTIA_FLOOR * max(float(inertia[kind].max()), _LEAST_LOAD * _LOAD_RADIUS**2)
            inertia[kind] = np.maximum(inertia[kind], least)
    return inertia
