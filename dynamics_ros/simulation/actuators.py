# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motors, gears, joint stops and joint controllers of a simulated robot, and a push they bear.

Robot descriptions say little about actuators, so all parameters are derived from the inertia that
each joint moves. The controllers therefore have the same bandwidth on small and large robots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

_REFERENCE_LOAD = 0.05  # design load at the tool, as a fraction of the robot's mass
_MIN_LOAD = 0.1  # smallest design load [kg], for a description without masses
_LOAD_RADIUS = 0.1  # radius of gyration of the load [m]
_INERTIA_FLOOR = 1e-3  # fraction of the largest inertia of a joint of the same kind
_ROTOR_SHARE = 0.1  # rotor inertia at the joint, as a fraction of the moved inertia
_BANDWIDTH = 60.0  # bandwidth of the critically damped position controllers [rad/s]
_STOP_BANDWIDTH = 300.0  # bandwidth of the joint stops [rad/s]
_COASTING_TIME = 1.0  # time constant with which viscous gear friction stops a free joint [s]
_DRY_FRICTION_DECELERATION = 0.2  # deceleration of a joint by dry gear friction [rad/s^2 or m/s^2]
_DRY_FRICTION_SPEED = 0.01  # speed below which dry friction decreases [rad/s or m/s]
_MIN_EFFORT_RATIO = 1.5  # smallest plausible ratio of an effort limit to the gravity torque

_FORCE = 20.0  # largest force [N]
_WEIGHT_FRACTION = 0.5  # largest force as a fraction of the weight
_EFFORT_FRACTION = 0.25  # largest joint torque as a fraction of the effort limit
_REACH_FRACTION = 0.02  # largest displacement of the tool as a fraction of its distance
_LENGTH = 0.3  # lever arm that scales torques to forces [m]
_DAMPING = 1e-3  # relative damping of the inverse


@dataclass(frozen=True)
class Actuators:
    """One actuator per joint: arrays (n), with units of a revolute joint.

    Attributes:
        armature: rotor inertia reflected to the joint [kg m^2].
        viscous: viscous gear friction [Nms/rad].
        coulomb: dry gear friction [Nm], ``coulomb * tanh(v / 0.01)``.
        stiffness, damping: gains of the position controller [Nm/rad, Nms/rad].
        stop_stiffness, stop_damping: of the joint stops at the position limits [Nm/rad, Nms/rad].
        effort_limits: of the actuators [Nm]; infinite if there is no limit.
        unusable_limits: names of joints whose effort limit is too small to hold the robot; these
            limits are not enforced.
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
        """Gear friction divided by v (n) [Nms/rad]; finite at rest."""
        speed = np.maximum(np.abs(v), 1e-6 * _DRY_FRICTION_SPEED)
        slope: Array = self.viscous + self.coulomb * np.tanh(speed / _DRY_FRICTION_SPEED) / speed
        return slope

    @classmethod
    def ideal(cls, robot: Robot, q: Array, tool: str) -> Actuators:
        """Ideal actuators without rotors, friction, controllers and effort limits.

        Args:
            robot: fixed base.
            q: (n) posture at which the stops are designed.
            tool: frame of the design load.
        """
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
        """Actuators designed for a robot that carries a light load at its tool, or stands on feet.

        Args:
            robot: fixed base.
            q: (n) posture at which the actuators are designed.
            tool: frame of the load.
            feet: frames of the feet, each of which supports the same part of the robot's mass.
        """
        inertia = joint_inertia(robot, q, tool, feet)
        armature = _ROTOR_SHARE * inertia
        moved = inertia + armature
        weight = np.abs(robot.gravity(q))
        for foot in feet:
            force = np.linalg.norm(robot.model.gravity.array()) * robot.total_mass / len(feet)
            weight += force * np.abs(robot.jacobian(q, foot)[2])
        unusable = robot.effort_limits < _MIN_EFFORT_RATIO * weight
        return cls(
            armature=armature,
            viscous=moved / _COASTING_TIME,
            coulomb=moved * _DRY_FRICTION_DECELERATION,
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
    """Inertia (n) that each joint moves at q: its links, a light load at the tool, mass on feet.

    The load is relevant for tiny or massless links. The inertia of a joint is at least a thousandth
    of the largest one, which keeps the mass matrix regular.
    """
    load = max(_REFERENCE_LOAD * robot.total_mass, _MIN_LOAD)
    J = robot.jacobian(q, tool)
    lever = np.sum(J[:3] ** 2, axis=0) + _LOAD_RADIUS**2 * np.sum(J[3:] ** 2, axis=0)
    inertia = np.diagonal(robot.mass_matrix(q)) + load * lever
    for foot in feet:
        of_foot = robot.jacobian(q, foot)[:3]
        inertia = inertia + robot.total_mass / len(feet) * np.sum(of_foot**2, axis=0)
    prismatic = np.array([any(joint.kind.slides) for joint in robot.model.actuated])
    for kind in (prismatic, ~prismatic):
        if kind.any():
            smallest = _INERTIA_FLOOR * max(float(inertia[kind].max()), _MIN_LOAD * _LOAD_RADIUS**2)
            inertia[kind] = np.maximum(inertia[kind], smallest)
    return inertia


def gentle_push(robot: Robot, actuators: Actuators, q: Array, tool: str) -> Array:
    """A small force at the tool in the direction that joint torques can observe best.

    With fewer than six joints, some wrenches have no effect on the joint torques. The pure force
    that is best observable is selected.

    Args:
        robot: fixed base.
        actuators: of the robot; their effort limits and stiffness bound the force.
        q: (nq) posture.
        tool: frame on which the force acts.

    Returns:
        Force (3) in axes of the root frame [N].
    """
    J = robot.jacobian(q, tool) * np.array([1.0, 1.0, 1.0, _LENGTH, _LENGTH, _LENGTH])[:, None]
    # Well observable forces have a small w^T (J J^T + small)^-1 w: they are along the long axes of
    # the manipulability ellipsoid, [Yoshikawa].
    scale = float(np.trace(J @ J.T)) / 6.0
    resolution = np.linalg.inv(J @ J.T + _DAMPING**2 * scale * np.eye(6))
    direction = np.linalg.eigh(resolution[:3, :3])[1][:, 0]
    direction = direction * (1.0 if direction[np.argmax(np.abs(direction))] > 0.0 else -1.0)

    unit_torque = robot.jacobian(q, tool)[:3].T @ direction
    has_effect = np.abs(unit_torque) > 1e-9
    bounds = [_FORCE, _WEIGHT_FRACTION * 9.81 * max(robot.total_mass, 0.1)]
    bounds.extend(
        _EFFORT_FRACTION * actuators.effort_limits[has_effect] / np.abs(unit_torque[has_effect])
    )
    stiff = has_effect & (actuators.stiffness > 0.0)
    compliance = float(np.sum(unit_torque[stiff] ** 2 / actuators.stiffness[stiff]))
    reach = float(np.linalg.norm(robot.forward_kinematics(q, tool)[:3, 3]))
    if compliance > 0.0:
        bounds.append(_REACH_FRACTION * max(reach, 0.05) / compliance)
    force: Array = direction * min(bounds)
    return force
