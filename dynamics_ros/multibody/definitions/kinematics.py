# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics: configurations, and poses, velocities and Jacobians of frames."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms import configuration, forward_kinematics
from dynamics_ros.algorithms.inverse_dynamics import body_accelerations
from dynamics_ros.algorithms.jacobian import (
    jacobian_columns,
    jacobian_derivative,
    jacobian_hessian,
)
from dynamics_ros.algorithms.linear_algebra.solve import damped_inverse
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

from .definition import (
    CONFIGURATION,
    VELOCITY,
    Definition,
    Elements,
    Formula,
    Options,
    Values,
    checked_reference,
    matrix,
    of_bodies,
    over,
    result,
    shaped,
)

TWIST = 'linear part [m/s], then angular part [rad/s], in the reference'


def _damped_inverse(model: Model) -> Formula:
    def function(jacobian: Sequence[Values], damping: Scalar) -> Elements:
        return shaped(damped_inverse(jacobian, damping), model.nv, 6)

    return Formula({'jacobian': (6, model.nv), 'damping': ()}, function)


def _velocity_of_rate(model: Model) -> Formula:
    return Formula(
        {'q': model.nq, 'rate': model.nq},
        lambda q, rate: configuration.velocity_of_rate(model, q, rate),
    )


def _rate_map(model: Model, q: Values) -> Elements:
    return shaped(configuration.rate_map(model, q), model.nq, model.nv)


def _rate_map_inverse(model: Model, q: Values) -> Elements:
    return shaped(configuration.rate_map_inverse(model, q), model.nv, model.nq)


def _body_accelerations(model: Model, q: Values, v: Values, a: Values) -> Elements:
    return of_bodies(model, body_accelerations(model, q, v, a))


def _forward_kinematics(model: Model, frame: str) -> Formula:
    target = model.frame(frame)
    return Formula(
        {'q': model.nq}, lambda q: forward_kinematics.frame_pose(model, q, target).rows()
    )


def _all_frames(model: Model) -> Formula:
    return Formula(
        {'q': model.nq}, lambda q: [X.rows() for X in forward_kinematics.frame_poses(model, q)]
    )


def _pose(model: Model, frame: str) -> Formula:
    """Position and quaternion of a frame, as in messages."""
    target = model.frame(frame)
    return Formula(
        {'q': model.nq},
        lambda q: forward_kinematics.frame_pose(model, q, target).position_and_quaternion(),
    )


def _link_transforms(model: Model, base: str) -> Formula:
    """Position and quaternion of each moving link in its parent link, as in tf.

    Args:
        base: 'base' to start with the pose of a moving base in the world.
    """

    def function(q: Values) -> dict[str, list[Scalar]]:
        return {
            name: joint.position_and_quaternion()
            for name, joint in (
                (link, model.frame(link).origin @ joint.displacement(q))
                for link, joint in zip(model.body_names, model.joints, strict=True)
                if base or model.frame(link).parent
            )
        }

    return Formula({'q': model.nq}, function)


def _frame_velocity(model: Model, frame: str, reference: str) -> Formula:
    target, checked = model.frame(frame), checked_reference(reference)

    def function(q: Values, v: Values) -> list[Scalar]:
        return forward_kinematics.frame_velocity(model, q, v, target, checked).components()

    return Formula({'q': model.nq, 'v': model.nv}, function)


def _frame_acceleration(model: Model, frame: str, reference: str) -> Formula:
    target, checked = model.frame(frame), checked_reference(reference)

    def function(q: Values, v: Values, a: Values) -> list[Scalar]:
        return forward_kinematics.frame_acceleration(model, q, v, a, target, checked).components()

    return Formula({'q': model.nq, 'v': model.nv, 'a': model.nv}, function)


def _jacobian(model: Model, frame: str, reference: str) -> Formula:
    target, checked = model.frame(frame), checked_reference(reference)
    return Formula({'q': model.nq}, lambda q: matrix(jacobian_columns(model, q, target, checked)))


def _jacobian_derivative(model: Model, frame: str, reference: str) -> Formula:
    target, checked = model.frame(frame), checked_reference(reference)

    def function(q: Values, v: Values) -> list[list[Scalar]]:
        return matrix(jacobian_derivative(model, q, v, target, checked))

    return Formula({'q': model.nq, 'v': model.nv}, function)


def _jacobian_hessian(model: Model, frame: str, reference: str) -> Formula:
    target, checked = model.frame(frame), checked_reference(reference)

    def function(q: Values) -> Elements:
        hessian = [
            [rate.components() for rate in rates]
            for rates in jacobian_hessian(model, q, target, checked)
        ]
        rows = [[[rate[row] for rate in rates] for rates in hessian] for row in range(6)]
        return shaped(rows, 6, model.nv, model.nv)

    return Formula({'q': model.nq}, function)


def _of_frames(model: Model, name: str, reference: str, *frames: str) -> Formula:
    """The options are a quantity of a frame, its reference or '', and the frames."""
    options = [reference] if reference else []
    formulas = [KINEMATICS[name].formula(model, frame, *options) for frame in frames]
    if not formulas:
        raise InvalidArgumentError('frame', 'an empty list', 'the name of a frame, or a list')
    return Formula(formulas[0].inputs, lambda *values: [x.function(*values) for x in formulas])


KINEMATICS = {
    'integrate': Definition(
        over(configuration.integrate, 'q', 'v'),
        'q after one second at the constant velocity v',
        result(CONFIGURATION),
        may_overflow=True,
    ),
    'difference': Definition(
        over(configuration.difference, 'q0', 'q1'),
        'the velocity that takes q0 to q1 in one second',
        result(VELOCITY),
    ),
    'interpolate': Definition(
        over(configuration.interpolate, 'q0', 'q1', 't'),
        'a configuration between q0 and q1',
        result(CONFIGURATION),
        may_overflow=True,
    ),
    'configuration_rate': Definition(
        over(configuration.configuration_rate, 'q', 'v'),
        'time derivative of q: F(q) v',
        result('as q, 1/s'),
    ),
    'velocity_of_rate': Definition(
        _velocity_of_rate, 'velocity of a time derivative of q', result(VELOCITY)
    ),
    'rate_map': Definition(
        over(_rate_map, 'q'), 'F with dq/dt = F v', result('rows as q, columns as v')
    ),
    'rate_map_inverse': Definition(
        over(_rate_map_inverse, 'q'), 'E with v = E dq/dt', result('rows as v, columns as q')
    ),
    'forward_kinematics': Definition(
        _forward_kinematics,
        'pose of the frame in the root frame',
        result('homogeneous matrix, translation [m]'),
        Options.FRAME,
    ),
    'all_frames': Definition(
        _all_frames,
        'poses of all frames in the root frame',
        result('homogeneous matrices, translations [m]'),
    ),
    'pose': Definition(
        _pose,
        'pose of the frame in the root frame, as messages have it',
        result('position [m], then quaternion x y z w'),
        Options.FRAME,
        internal=True,
    ),
    'link_transforms': Definition(
        _link_transforms,
        'pose of each link that a joint moves, in its parent link: position [m], quaternion xyzw',
        {},
        Options.OTHER,
        internal=True,
    ),
    'frame_velocity': Definition(
        _frame_velocity,
        'twist of the frame',
        result(TWIST),
        Options.FRAME_AND_REFERENCE,
        may_overflow=True,
    ),
    'frame_acceleration': Definition(
        _frame_acceleration,
        'time derivative of the twist of the frame',
        result('linear part [m/s^2], then angular part [rad/s^2], in the reference'),
        Options.FRAME_AND_REFERENCE,
        may_overflow=True,
    ),
    'body_accelerations': Definition(
        over(_body_accelerations, 'q', 'v', 'a'),
        'spatial accelerations of the moving bodies, without gravity',
        result(
            'rows of bodies: linear part [m/s^2], angular part [rad/s^2], in the frame of the body'
        ),
        may_overflow=True,
    ),
    'jacobian': Definition(
        _jacobian,
        'Jacobian of the frame: its twist is J v',
        result('rows of the twist, columns as v'),
        Options.FRAME_AND_REFERENCE,
    ),
    'of_frames': Definition(
        _of_frames,
        'a quantity of several frames',
        result('that of each frame'),
        Options.OTHER,
        may_overflow=True,
        internal=True,
    ),
    'damped_inverse': Definition(
        _damped_inverse,
        'damped inverse of a Jacobian: J^T (J J^T + damping 1)^-1',
        result('rows as v, columns of the twist'),
        internal=True,
    ),
    'jacobian_derivative': Definition(
        _jacobian_derivative,
        'time derivative of the Jacobian of the frame',
        result('rows of the twist, columns as v, 1/s'),
        Options.FRAME_AND_REFERENCE,
        may_overflow=True,
    ),
    'jacobian_hessian': Definition(
        _jacobian_hessian,
        'derivative of the Jacobian J along velocities: of J[i][j] along k at [i][j][k]',
        result('rows of the twist, then twice as v'),
        Options.FRAME_AND_REFERENCE,
    ),
}
