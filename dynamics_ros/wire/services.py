# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of requests to arrays of a robot, and of results to responses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Twist
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from dynamics_ros.errors import InvalidArgumentError, NoStateError, UnknownJointError
from dynamics_ros.estimation import PayloadEstimate
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import (
    Array,
    accel_array,
    accel_message,
    finite_sequence,
    float_array,
    inertia_message,
    joint_state,
    point_message,
    pose_values,
    quaternion_is_zero,
    time_message,
    twist_array,
    vector_array,
    wrench_message,
)
from dynamics_ros_msgs.msg import Payload

NOT_GIVEN = Pose()
"""Default base pose of a request, from a client that does not set it."""

NO_RESTARTS = -1
"""Value of ``max_restarts`` in a request that allows no restart."""


@dataclass(frozen=True)
class RequestedState:
    """State of a request.

    Attributes:
        robot: the current robot when the request was read.
        stamp: stamp of the latest state if that was used, otherwise of the request.
        q: configuration (nq).
        velocity, effort: (nv); None if neither the request nor the latest state has them.
        names: joints that the request names; empty for the latest state.
    """

    robot: Robot
    stamp: Time
    q: Array
    velocity: Array | None
    effort: Array | None
    names: tuple[str, ...]

    def required_velocity(self) -> Array:
        """Return the velocity (nv).

        Raises:
            NoStateError: it is not known.
        """
        return _required(self.velocity, 'velocity')

    def required_effort(self) -> Array:
        """Return the effort (nv).

        Raises:
            NoStateError: it is not known.
        """
        return _required(self.effort, 'effort')


def requested_state(
    buffer: StateBuffer,
    latest_state: Callable[[], RobotState],
    state: JointState,
    base_pose: Pose,
    base_twist: Twist | None,
    argument: str,
) -> RequestedState:
    """Return the state of a request, completed by the latest state.

    An empty ``state`` means the latest state. Joints that it does not name have their latest
    values; velocities and efforts that it does not give are zero. A base pose with a zero
    quaternion, or the default pose together with an empty state, means that of the latest odometry,
    or the identity without odometry.

    Args:
        buffer: latest data of the robot's joints.
        latest_state: returns the latest state, or raises a DynamicsRosError if there is none.
        state: joint state of the request.
        base_pose, base_twist: pose and twist of the base in the request.
        argument: name of the joint state in the request, for errors.

    Raises:
        DynamicsRosError: the request is invalid, or needs the latest state and there is none.
    """
    robot = buffer.robot
    named = named_joints(state, buffer, argument)
    base_given = base_is_given(buffer, state, base_pose, base_twist)
    velocity_known = effort_known = True
    if len(named) == len(buffer.joint_names):
        q, v, effort = buffer.neutral.copy(), np.zeros(robot.nv), np.zeros(robot.nv)
        buffer.copy_base(q, v)
        stamp = state.header.stamp
    else:
        latest = latest_state()
        q, v, effort = latest.q.copy(), latest.v.copy(), latest.effort.copy()
        stamp = time_message(latest.time)
        velocity_known = bool(named) or not latest.velocity_missing
        effort_known = bool(named) or not latest.effort_missing
    fill_in(robot, named, state, q, v, effort)
    if base_given:
        base = buffer.base_coordinates(pose_values(base_pose), 'base_pose')
        q[: len(base)] = base
        twist = twist_array(base_twist, 'base_twist') if base_twist else np.zeros(6)
        base_v = buffer.base_velocity(twist)
        v[: len(base_v)] = base_v
    return RequestedState(
        robot=robot,
        stamp=stamp,
        q=q,
        velocity=v if velocity_known else None,
        effort=effort if effort_known else None,
        names=tuple(state.name),
    )


def _required(values: Array | None, quantity: str) -> Array:
    if values is None:
        raise NoStateError(f'the latest joint state has no {quantity} of some joints')
    return values


def named_joints(state: JointState, buffer: StateBuffer, argument: str) -> tuple[str, ...]:
    """Check a state, and return those of its joints that have a coordinate.

    Args:
        state: joint state of a request.
        buffer: latest data of the robot's joints.
        argument: name of the state in the request, for errors.

    Raises:
        InvalidArgumentError: lengths do not match, a name is repeated or a number is not finite.
        UnknownJointError: the robot does not have a named joint.
    """
    names = state.name
    for field in ('position', 'velocity', 'effort'):
        values = getattr(state, field)
        if len(values) not in (0, len(names)) or (names and field == 'position' and not values):
            raise InvalidArgumentError(
                f'{argument}.{field}',
                f'{len(values)} values for {len(names)} names',
                'one for each',
            )
        if not np.isfinite(float_array(values)).all():
            raise InvalidArgumentError(f'{argument}.{field}', 'not finite', 'finite numbers')
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f'{argument}.name', 'a joint is named twice', 'each joint once')
    for name in names:
        if not buffer.knows(name):
            raise UnknownJointError(f'{argument}.name', name, buffer.joint_names)
    return tuple(name for name in names if name in buffer.robot.joint_q_indices)


def fill_in(
    robot: Robot, named: Sequence[str], state: JointState, q: Array, v: Array, effort: Array
) -> None:
    """Write the values of named joints into q (nq), v and effort (nv); 0 where none are given."""
    column = {name: i for i, name in enumerate(state.name)}
    for name in named:
        i, q_i, v_i = column[name], robot.joint_q_indices[name], robot.joint_v_indices[name]
        q[q_i] = state.position[i]
        v[v_i] = state.velocity[i] if state.velocity else 0.0
        effort[v_i] = state.effort[i] if state.effort else 0.0


def with_positions(buffer: StateBuffer, q: Array, state: JointState, argument: str) -> Array:
    """Return a copy of the configuration q (nq) with the positions of a joint state.

    Raises:
        InvalidArgumentError, UnknownJointError: the state is invalid, see ``named_joints``.
    """
    robot, result = buffer.robot, q.copy()
    column = {name: i for i, name in enumerate(state.name)}
    for name in named_joints(state, buffer, argument):
        result[robot.joint_q_indices[name]] = state.position[column[name]]
    return result


def by_name(argument: str, names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Return the values by name.

    Raises:
        InvalidArgumentError: a name is repeated, or the numbers of names and values differ.
    """
    if not len(set(names)) == len(names) == len(values):
        problem = f'{len(values)} values for {len(names)} names'
        raise InvalidArgumentError(argument, problem, 'one value per name, no name twice')
    return dict(zip(names, values, strict=True))


def values_by_joint(
    robot: Robot, names: Sequence[str], values: Sequence[float], argument: str
) -> Array:
    """Return an array (nv) of values given by joint name; zero for other joints.

    Raises:
        InvalidArgumentError: lengths do not match, a name is repeated or a number is not finite.
        UnknownJointError: the robot does not have a named joint.
    """
    if len(names) != len(values):
        raise InvalidArgumentError(
            argument, f'{len(values)} values for {len(names)} names', 'one for each'
        )
    if len(set(names)) != len(names):
        raise InvalidArgumentError(argument, 'a joint is named twice', 'each joint once')
    given = float_array(values)
    if not np.isfinite(given).all():
        raise InvalidArgumentError(argument, 'not finite', 'finite numbers')
    result = np.zeros(robot.nv)
    for name, value in zip(names, given, strict=True):
        if name not in robot.joint_v_indices:
            raise UnknownJointError(argument, name, robot.joint_v_indices)
        result[robot.joint_v_indices[name]] = value
    return result


def requested_acceleration(request: Any, state: RequestedState, buffer: StateBuffer) -> Array:
    """Return the acceleration (nv) of a request of inverse dynamics; zero where it gives none.

    Raises:
        DynamicsRosError: the request is invalid.
    """
    robot = state.robot
    names = list(request.acceleration_names)
    if not names and len(request.accelerations):
        names = list(state.names) or list(robot.joint_v_indices)
    given = request.accelerations if len(request.accelerations) else [0.0] * len(names)
    acceleration = values_by_joint(robot, names, given, 'accelerations')
    base = accel_array(request.base_acceleration, 'base_acceleration')
    if robot.model.root_joint_nv:
        acceleration[: robot.model.root_joint_nv] = buffer.base_velocity(base)
    elif base.any():
        raise InvalidArgumentError('base_acceleration', 'the base is fixed', 'zero')
    return acceleration


def base_is_given(buffer: StateBuffer, state: JointState, pose: Pose, twist: Twist | None) -> bool:
    """Return whether a request gives the pose of the base; otherwise it means the latest pose.

    Raises:
        InvalidArgumentError: the pose is given for a fixed base, or is not finite.
    """
    not_given = quaternion_is_zero(pose.orientation) or (not state.name and _is_default(pose))
    if not_given:
        vector_array(pose.position, 'base_pose.position')
        return False
    if not buffer.has_base:
        if not _is_default(pose) or (twist is not None and any(_components(twist))):
            raise InvalidArgumentError(
                'base_pose', 'given for a robot whose base is fixed', 'none, or a moving root_joint'
            )
        return False
    return True


def _is_default(pose: Pose) -> bool:
    """Return whether a pose is the default, ``NOT_GIVEN``."""
    p, r = pose.position, pose.orientation
    return (r.w, r.x, r.y, r.z, p.x, p.y, p.z) == (1.0, *6 * (0.0,))


def _components(twist: Twist) -> tuple[float, ...]:
    v, w = twist.linear, twist.angular
    return v.x, v.y, v.z, w.x, w.y, w.z


# --- inverse kinematics -------------------------------------------------------------------------


def search_options(
    request: Any,
    position_tolerance: float,
    rotation_tolerance: float,
    buffer: StateBuffer,
    seed: Array,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a search, and further ones of a search for several solutions.

    Args:
        request: request of inverse kinematics.
        position_tolerance, rotation_tolerance: defaults of the node [m, rad].
        buffer: latest data of the robot's joints.
        seed: configuration from which the search starts (nq).

    Raises:
        DynamicsRosError: an option is invalid.
    """
    options: dict[str, Any] = {
        'position_tolerance': _or_default(request, 'position_tolerance', position_tolerance),
        'rotation_tolerance': _or_default(request, 'rotation_tolerance', rotation_tolerance),
        'position_only': request.position_only,
    }
    if np.any(request.slack):
        options['slack'] = np.array(request.slack)
    if request.locked_joints:
        options['locked_joints'] = tuple(request.locked_joints)
    if len(request.weighted_joints) != len(request.joint_weights):
        problem = f'{len(request.joint_weights)} for {len(request.weighted_joints)} joints'
        raise InvalidArgumentError('joint_weights', problem, 'one for each of weighted_joints')
    if request.weighted_joints:
        weights = zip(request.weighted_joints, request.joint_weights, strict=True)
        options['joint_weights'] = dict(weights)
    posture = _posture(request, buffer, seed)
    if posture is not None:
        options['posture'] = posture
    if request.max_restarts < NO_RESTARTS:
        raise InvalidArgumentError(
            'max_restarts', f'{request.max_restarts}', 'a count, 0 for the default, -1 for none'
        )
    if request.max_restarts:
        options['max_restarts'] = max(request.max_restarts, 0)
    if request.random_seed:
        options['random_seed'] = request.random_seed
    separation = _or_default(request, 'min_separation', 0.0)
    return options, {'min_separation': separation} if separation else {}


def _posture(request: Any, buffer: StateBuffer, seed: Array) -> Array | str | None:
    """Return the preferred posture of a search: a configuration (nq), its name, or None for any."""
    if request.posture == request.POSTURE_GIVEN:
        return with_positions(buffer, seed, request.posture_state, 'posture_state')
    if request.posture_state.name:
        problem = f'given beside posture {request.posture}'
        raise InvalidArgumentError('posture_state', problem, 'POSTURE_GIVEN')
    postures = {
        request.POSTURE_ANY: None,
        request.POSTURE_SEED: 'seed',
        request.POSTURE_CENTRE: 'centre',
    }
    if request.posture not in postures:
        raise InvalidArgumentError('posture', f'{request.posture}', 'one of POSTURE_...')
    return postures[request.posture]


def _or_default(request: Any, name: str, default: float) -> float:
    value = getattr(request, name)
    if not (value >= 0.0 and math.isfinite(value)):
        raise InvalidArgumentError(name, f'{value}', 'a positive number, or 0 for the default')
    return float(value) or default


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
