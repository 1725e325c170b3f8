# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of requests to arrays of a robot, and of results to responses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Twist
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from dynamics_ros.errors import (
    InvalidArgumentError,
    NoStateError,
    UnknownJointError,
    shortened,
)
from dynamics_ros.estimation import PayloadEstimate
from dynamics_ros.estimation.samples.reports import finite_numbers
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import (
    Array,
    fill,
    finite_sequence,
    float_array,
    float_sequence,
    inertia_message,
    numbers,
    pose_values,
    time_message,
)
from dynamics_ros_msgs.msg import Payload

NOT_GIVEN = Pose()
"""Default base pose of a request, from a client that does not set it."""

DEFAULT_POSE = pose_values(NOT_GIVEN)


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

    def required(self, quantity: str) -> Array:
        """Return the 'velocity' or 'effort' (nv).

        Raises:
            NoStateError: it is not known.
        """
        values: Array | None = getattr(self, quantity)
        if values is None:
            raise NoStateError(f'the latest joint state has no {quantity} of some joints')
        return values


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
    values; velocities and efforts that it does not give are zero. If these are only passive joints
    of loops, their values follow from the others. A base pose with a zero quaternion, or the
    default pose together with an empty state, means that of the latest odometry, or the identity
    without odometry.

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
    given = given_joints(state, buffer, argument)
    base = given_base(buffer, bool(given.names), base_pose, base_twist)
    velocity_known = effort_known = True
    passive, absent = None, {*buffer.joint_names}.difference(given.names)
    if given.names and robot.model.loops:
        state_now = buffer.state(base_required=False)
        start = None if state_now is None else state_now.q
        passive = buffer.passive_joints(absent, start)
        if passive is None and buffer.passive is not None:
            passive = buffer.passive_joints(absent.intersection(buffer.passive.names), start)
    if absent.issubset(() if passive is None else passive.names):
        q, v, effort = buffer.neutral.copy(), np.zeros(robot.nv), np.zeros(robot.nv)
        buffer.copy_base(q, v)
        stamp = state.header.stamp
    else:
        latest = latest_state()
        q, v, effort = latest.q.copy(), latest.v.copy(), latest.effort.copy()
        stamp = time_message(latest.time)
        velocity_known = bool(given.q_index) or not latest.velocity_missing
        effort_known = bool(given.q_index) or not latest.effort_missing
    q[given.q_index], v[given.v_index], effort[given.v_index] = given.values
    if base is not None:
        base_q, base_v = base
        q[: len(base_q)], v[: len(base_v)] = base_q, base_v
    if passive is not None and not passive.solve(q, v):
        problem = f'leaves {shortened(", ".join(passive.names))} undetermined by the loops'
        raise InvalidArgumentError(argument, problem, 'their positions, or another state')
    return RequestedState(
        robot=robot,
        stamp=stamp,
        q=q,
        velocity=v if velocity_known else None,
        effort=effort if effort_known else None,
        names=given.names,
    )


class GivenJoints(NamedTuple):
    """Joint state of a request, checked.

    Attributes:
        names: all names of the request, also those of joints without a coordinate.
        q_index, v_index: indices into q and v of the n joints that have a coordinate.
        values: positions, velocities and efforts (3, n) of these; 0 where the request gives none.
    """

    names: tuple[str, ...]
    q_index: Sequence[int]
    v_index: Sequence[int]
    values: Array


NO_JOINTS = GivenJoints((), [], [], np.zeros((3, 0)))


def given_joints(state: JointState, buffer: StateBuffer, argument: str) -> GivenJoints:
    """Return the joints of a state in a request.

    Args:
        state: joint state of a request.
        buffer: latest data of the robot's joints.
        argument: name of the state in the request, for errors.

    Raises:
        InvalidArgumentError: lengths do not match, a name is repeated or a number is not finite.
        UnknownJointError: the robot does not have a named joint.
    """
    names = state.name
    given = {'position': state.position, 'velocity': state.velocity, 'effort': state.effort}
    if not (names or any(given.values())):
        return NO_JOINTS
    values = np.zeros((3, len(names)))
    for row, (field, numbers_of_field) in zip(values, given.items(), strict=True):
        if numbers_of_field or field == 'position':
            row[:] = one_each(f'{argument}.{field}', names, numbers_of_field)
    q_indices, v_indices = buffer.robot.joint_q_indices, buffer.robot.joint_v_indices
    columns = [i for i, name in enumerate(names) if name in q_indices]
    knows = q_indices.__contains__ if len(columns) == len(names) else buffer.knows
    check_names(f'{argument}.name', names, knows, buffer.joint_names)
    return GivenJoints(
        tuple(names),
        [q_indices[names[i]] for i in columns],
        [v_indices[names[i]] for i in columns],
        values[:, columns],
    )


def one_each(
    argument: str, names: Sequence[str], values: Sequence[float], finite: bool = True
) -> Array:
    """Return the values (n) of n names.

    Raises:
        InvalidArgumentError: the numbers of names and values differ, or a value is not finite and
            has to be.
    """
    if len(names) != len(values):
        problem = f'{len(values)} values for {len(names)} names'
        raise InvalidArgumentError(argument, problem, 'one for each')
    given = float_array(values)
    if finite and not np.isfinite(given).all():
        raise InvalidArgumentError(argument, 'not finite', 'finite numbers')
    return given


def check_names(
    argument: str, names: Sequence[str], knows: Callable[[str], bool], known: Iterable[str]
) -> None:
    """Check that names occur once, and are known.

    Raises:
        InvalidArgumentError: a name is repeated.
        UnknownJointError: a name is not known; the error lists the ``known`` ones.
    """
    if len(set(names)) != len(names):
        raise InvalidArgumentError(argument, 'a joint is named twice', 'each joint once')
    for name in names:
        if not knows(name):
            raise UnknownJointError(argument, name, known)


def by_name(argument: str, names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Return the values by name.

    Raises:
        InvalidArgumentError: a name is repeated, or the numbers of names and values differ.
    """
    given = one_each(argument, names, values, finite=False)
    check_names(argument, names, lambda _: True, ())
    return dict(zip(names, given.tolist(), strict=True))


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
    values, indices = one_each('accelerations', names, given), robot.joint_v_indices
    check_names('accelerations', names, indices.__contains__, indices)
    acceleration = np.zeros(robot.nv)
    acceleration[[indices[name] for name in names]] = values
    base = numbers(request.base_acceleration, 'base_acceleration')
    if robot.model.root_joint_nv:
        acceleration[: robot.model.root_joint_nv] = buffer.base_velocity(base)
    elif base.any():
        raise InvalidArgumentError('base_acceleration', 'the base is fixed', 'zero')
    return acceleration


def given_base(
    buffer: StateBuffer, joints_given: bool, pose: Pose, twist: Twist | None
) -> tuple[Array, Array] | None:
    """Return coordinates and velocity of the base in a request; None for those of the latest state.

    Raises:
        InvalidArgumentError: the pose is given for a fixed base, or is invalid.
    """
    values = pose_values(pose)
    if not any(values.orientation) or (not joints_given and values == DEFAULT_POSE):
        finite_numbers(values.position, 'base_pose.position')
        return None
    if buffer.has_base:
        velocity = numbers(twist, 'base_twist') if twist else np.zeros(6)
        return buffer.base_coordinates(values, 'base_pose'), buffer.base_velocity(velocity)
    if values != DEFAULT_POSE or (twist is not None and twist != Twist()):
        raise InvalidArgumentError(
            'base_pose', 'given for a robot whose base is fixed', 'none, or a moving root_joint'
        )
    return None


# --- inverse kinematics -------------------------------------------------------------------------


def search_options(request: Any, buffer: StateBuffer, seed: Array) -> dict[str, Any]:
    """Return the options of a search, as of ``Robot.all_inverse_kinematics``.

    Args:
        request: request of inverse kinematics.
        buffer: latest data of the robot's joints.
        seed: configuration from which the search starts (nq).

    Raises:
        DynamicsRosError: an option is invalid.
    """
    options: dict[str, Any] = {'position_only': request.position_only}
    for name in ('position_tolerance', 'rotation_tolerance', 'min_separation'):
        value = getattr(request, name)
        if not 0.0 <= value < math.inf:
            raise InvalidArgumentError(name, f'{value}', 'a positive number, or 0 for the default')
        if value:
            options[name] = value
    if request.slack.any():
        options['slack'] = request.slack.copy()
    if request.locked_joints:
        options['locked_joints'] = tuple(request.locked_joints)
    names, weights = request.weighted_joints, request.joint_weights
    if names or weights:
        options['joint_weights'] = by_name('joint_weights', names, weights)
    posture = _posture(request, buffer, seed)
    if posture is not None:
        options['posture'] = posture
    if request.max_restarts < -1:
        raise InvalidArgumentError(
            'max_restarts', f'{request.max_restarts}', 'a count, 0 for the default, -1 for none'
        )
    if request.max_restarts:
        options['max_restarts'] = max(request.max_restarts, 0)
    if request.random_seed:
        options['random_seed'] = request.random_seed
    return options


def _posture(request: Any, buffer: StateBuffer, seed: Array) -> Array | str | None:
    """Return the preferred posture of a search: a configuration (nq), its name, or None for any."""
    posture, state = request.posture, request.posture_state
    if posture == request.POSTURE_GIVEN:
        q, given = seed.copy(), given_joints(state, buffer, 'posture_state')
        q[given.q_index] = given.values[0]
        return q
    if state.name:
        raise InvalidArgumentError(
            'posture_state', f'given beside posture {posture}', 'POSTURE_GIVEN'
        )
    postures = {
        request.POSTURE_ANY: None,
        request.POSTURE_SEED: 'seed',
        request.POSTURE_CENTRE: 'centre',
    }
    if posture not in postures:
        raise InvalidArgumentError('posture', f'{posture}', 'one of POSTURE_...')
    return postures[posture]


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


def fill_positions(message: JointState, robot: Robot, stamp: Time, q: Array) -> None:
    """Write the positions of all joints with one coordinate into an empty joint state."""
    joints = robot.joint_q_indices
    message.header.stamp = stamp
    message.name = list(joints)
    message.position = float_sequence(q[list(joints.values())])


def fill_torques(response: Any, robot: Robot, stamp: Time, tau: Array) -> None:
    """Write torques (nv) into a response of inverse dynamics."""
    # Fill the existing message: creating messages takes longer than the dynamics.
    torques, joints = response.torques, robot.joint_v_indices
    torques.header.stamp = stamp
    torques.name = list(joints)
    torques.effort = finite_sequence(tau[list(joints.values())])
    if robot.model.root_joint_nv:
        fill(response.base_wrench, base_vector(robot, tau))


def fill_accelerations(response: Any, robot: Robot, a: Array) -> None:
    """Write accelerations (nv) into a response of forward dynamics."""
    response.joint_names = list(robot.joint_v_indices)
    response.accelerations = finite_sequence(a[list(robot.joint_v_indices.values())])
    fill(response.base_acceleration, base_vector(robot, a))


def fill_terms(response: Any, robot: Robot, q: Array, v: Array) -> None:
    """Compute ``TERMS`` and write them into a response."""
    response.mass_matrix = finite_sequence(robot.mass_matrix(q))
    response.coriolis = finite_sequence(robot.coriolis(q, v))
    response.gravity = finite_sequence(robot.gravity(q))
    response.nonlinear_effects = finite_sequence(robot.nonlinear_effects(q, v))
    response.kinetic_energy = float(robot.kinetic_energy(q, v))
    response.potential_energy = float(robot.potential_energy(q))
    fill(response.center_of_mass, robot.center_of_mass(q))
    response.velocity_names = velocity_names(robot)
    response.size = robot.nv
    response.total_mass = float(robot.total_mass)


def fill_payload(result: Any, estimate: PayloadEstimate, head: Header) -> None:
    """Write an identified payload into the result of an action, with the header of its frame."""
    center, upper = estimate.center_of_mass.tolist(), np.triu_indices(3)
    inertia = inertia_message(estimate.mass, center, estimate.inertia)
    result.payload = Payload(header=head, inertia=inertia)
    result.mass_deviation = estimate.mass_deviation
    result.com_deviation = estimate.center_of_mass_deviation
    result.inertia_deviation = estimate.inertia_deviation[upper]
    result.mass_observable = estimate.mass_observable
    result.com_observable = estimate.center_of_mass_observable.tolist()
    result.inertia_observable = estimate.inertia_observable[upper].tolist()
    result.residual = estimate.residual
    result.samples = estimate.samples
