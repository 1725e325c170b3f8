# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of results to responses of services and to results of actions."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from dynamics_ros.estimation import PayloadEstimate
from dynamics_ros.robot import Robot
from dynamics_ros_msgs.msg import Payload

from .conversions import (
    Array,
    accel_message,
    finite_sequence,
    inertia_message,
    joint_state,
    point_message,
    wrench_message,
)

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Indices of ixx ixy ixz iyy iyz izz."""

TERMS = (
    'mass_matrix',
    'coriolis',
    'gravity',
    'nonlinear_effects',
    'kinetic_energy',
    'potential_energy',
    'center_of_mass',
)
"""Kernels of ~/compute_dynamics_terms."""


def velocity_names(robot: Robot) -> list[str]:
    """Return the name of each entry of a velocity (nv)."""
    components = {0: '', 3: 'vx vy wz', 6: 'vx vy vz wx wy wz'}[robot.model.root_joint_nv]
    names = [f'base_{component}' for component in components.split()]
    for joint in robot.model.actuated:
        single = len(joint.v_indices) == 1
        names += [
            joint.name if single else f'{joint.name}[{i}]' for i in range(len(joint.v_indices))
        ]
    return names


def base_vector(robot: Robot, values: Array) -> Array:
    """Return the entries of the base in an array (nv) as a 6-vector; zeros for a fixed base."""
    vector = np.zeros(6)
    size = robot.model.root_joint_nv
    if size == 3:
        vector[[0, 1, 5]] = values[:3]
    else:
        vector[:size] = values[:size]
    return vector


def joint_positions(robot: Robot, stamp: Time, q: Array) -> JointState:
    """Return the positions of all joints with one coordinate, as a joint state."""
    indices = list(robot.joint_q_indices.values())
    return joint_state(stamp, list(robot.joint_q_indices), position=q[indices])


def fill_torques(response: Any, robot: Robot, stamp: Time, tau: Array) -> None:
    """Write torques (nv) into a response of inverse dynamics."""
    # Fill the existing message: creating messages takes longer than the dynamics.
    torques, joints = response.torques, robot.joint_v_indices
    torques.header.stamp = stamp
    torques.name = list(joints)
    torques.effort = finite_sequence(tau[list(joints.values())])
    if robot.model.root_joint_nv:
        response.base_wrench = wrench_message(base_vector(robot, tau))


def fill_accelerations(response: Any, robot: Robot, a: Array) -> None:
    """Write accelerations (nv) into a response of forward dynamics."""
    response.joint_names = list(robot.joint_v_indices)
    response.accelerations = finite_sequence(a[list(robot.joint_v_indices.values())])
    response.base_acceleration = accel_message(base_vector(robot, a))


def fill_terms(response: Any, robot: Robot, q: Array, v: Array) -> None:
    """Compute ``TERMS`` and write them into a response."""
    response.mass_matrix = finite_sequence(robot.mass_matrix(q))
    response.coriolis = finite_sequence(robot.coriolis(q, v))
    response.gravity = finite_sequence(robot.gravity(q))
    response.nonlinear_effects = finite_sequence(robot.nonlinear_effects(q, v))
    response.kinetic_energy = float(robot.kinetic_energy(q, v))
    response.potential_energy = float(robot.potential_energy(q))
    response.center_of_mass = point_message(robot.center_of_mass(q).tolist())
    response.velocity_names = velocity_names(robot)
    response.size = robot.nv
    response.total_mass = float(robot.total_mass)


def fill_payload(result: Any, estimate: PayloadEstimate, head: Header) -> None:
    """Write an identified payload into the result of an action, with the header of its frame."""
    center = estimate.center_of_mass.tolist()
    inertia = inertia_message(estimate.mass, center, estimate.inertia)
    result.payload = Payload(header=head, inertia=inertia)
    result.mass_deviation = estimate.mass_deviation
    result.com_deviation = estimate.center_of_mass_deviation
    result.inertia_deviation = np.array([estimate.inertia_deviation[ij] for ij in UPPER])
    result.mass_observable = estimate.mass_observable
    result.com_observable = estimate.center_of_mass_observable.tolist()
    result.inertia_observable = [bool(estimate.inertia_observable[ij]) for ij in UPPER]
    result.residual = estimate.residual
    result.samples = estimate.samples
