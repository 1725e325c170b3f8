# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All quantities of a robot: imports of those declared beside their algorithms, and some more.

Annotations cannot say the options or shapes of the latter: quantities of several frames, link
transforms, gravity of some joints, wrenches of contacts, and inverse kinematics. Derivatives of
constraints need ``kernels``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamics_ros.algorithms import (
    coriolis,
    derivatives,
    energy,
    jacobian,
    joint_friction,
    momentum,
    regressor,
)
from dynamics_ros.algorithms.configuration import rate_map
from dynamics_ros.algorithms.constrained import (
    Directions,
    Forces,
    Held,
    Points,
    constrained_dynamics_derivatives,
    constraint_rows,
)
from dynamics_ros.algorithms.contact import (
    location_evidence,
    sample_departure,
    torque_observer,
    unexplained,
)
from dynamics_ros.algorithms.contact.feet import foot_contacts
from dynamics_ros.algorithms.contact.wrench import (
    NOISE_ROWS,
    SETTINGS,
    ContactFrame,
    contact_equations,
    contact_solution,
    contact_wrenches,
)
from dynamics_ros.algorithms.control import (
    impedance,
    motion_check,
    setpoint,
)
from dynamics_ros.algorithms.control.compliance import (
    holding_back,
    stop,
)
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_kinematics import search
from dynamics_ros.algorithms.inverse_kinematics.solutions import analytic_solutions, solvable_arm
from dynamics_ros.algorithms.inverse_kinematics.step import Support, moving_coordinates
from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.algorithms.quantity import (
    A,
    Formula,
    Q,
    Shape,
    V,
    Values,
    define,
    quantity,
    quantity_formula,
    shaped,
)
from dynamics_ros.algorithms.task_space import PIVOTS
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import autodiff
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar

BY = ('q', 'v', 'tau')
"""Inputs that the derivatives of constrained dynamics are taken by."""


@quantity_formula(
    'a quantity of several frames', 'that of each frame', name='of_frames', may_overflow=True
)
def _of_frames(model: Model, name: str, reference: str, *frames: str) -> Formula:
    """The options are a quantity of a frame, its reference or '', and the frames."""
    options = [reference] if reference else []
    formulas = [define(model, (name, frame, *options)) for frame in frames]
    if not formulas:
        raise InvalidArgumentError('frame', 'an empty list', 'the name of a frame, or a list')
    return Formula(formulas[0].inputs, lambda *values: [x.function(*values) for x in formulas])


@quantity_formula(
    'pose of each link that a joint moves, in its parent link: position [m], quaternion xyzw',
    {},
    name='link_transforms',
)
def _link_transforms(model: Model, base: str) -> Formula:
    """Position and quaternion of each moving link in its parent link, as in tf.

    Args:
        model: the robot.
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


@quantity_formula(
    'torques that hold some joints of one coordinate at rest',
    'torques, in the order of the joints that the options name',
    name='gravity_of',
)
def _gravity_of(model: Model, *names: str) -> Formula:
    """Gravity torques of some joints of one coordinate, in the order given."""
    indices = {joint.name: joint.v_indices[0] for joint in model.actuated if joint.kind.nv == 1}

    def function(q: Values) -> list[Scalar]:
        torques = gravity_torques(model, q)
        return [torques[indices[name]] for name in names]

    return Formula({'q': model.nq}, function)


def _contacts(model: Model, names: Sequence[str]) -> list[ContactFrame]:
    """Return contacts from pairs of names: the frame, and the frame of the axes ('' for root)."""
    return [
        ContactFrame(model.frame(frame), model.frame(axes) if axes else None)
        for frame, axes in zip(names[::2], names[1::2], strict=True)
    ]


@quantity_formula(
    'the wrenches of contacts at one time, and what is known of them',
    {
        'wrenches': 'of each contact force [N], then torque [Nm] about its reference point',
        'reference_points': 'in the frame whose axes the wrench has [m]',
        'covariances': 'of each wrench',
        'flags': 'of each, 1 for what is observable, then 1 when it is degraded',
        'singular_values': 'of all together, descending',
    },
    name='contact_wrenches',
)
def _contact_wrenches(model: Model, rows: str, *names: str) -> Formula:
    """Return contact wrenches at one time from q and external torques, with all derived values."""
    contacts, size = _contacts(model, names), int(rows)

    def function(
        q: Values, torque: Values, points: Any, noise: Any, settings: Values
    ) -> dict[str, Any]:
        equations = contact_equations(model, contacts, size, q, points, settings[0])
        solution = contact_solution(model, equations, q, noise, *settings[1:])
        return contact_wrenches(equations, solution, torque, settings[0])

    inputs: dict[str, Shape] = {'q': model.nq, 'external_torque': model.nv}
    inputs |= {'points': (len(contacts), 3), 'noise': (NOISE_ROWS, model.nv)}
    return Formula(inputs | {'settings': SETTINGS}, function)


@quantity(
    'derivatives of constrained_forward_dynamics along velocities, by v and by tau',
    {
        **{f'a_d{x}': f'da/d{x}' for x in BY},
        **{f'forces_d{x}': f'd forces/d{x}' for x in BY},
        'pivots': PIVOTS,
    },
    name='constrained_dynamics_derivatives',
    internal=True,
    exported=True,
)
def _derivatives_in_contact(
    model: Model,
    held: Held,
    q: Q,
    v: V,
    a: A,
    forces: Forces,
    points: Points,
    directions: Directions,
) -> dict[str, Any]:
    J, bias = constraint_rows(model, held, q, v, points, directions)
    slopes = slopes_of_rows(model, J, [0.0] * len(J), bias, q, v, a, forces)
    of_a, of_forces, pivots = constrained_dynamics_derivatives(
        model, J, q, v, a, *(slopes[x].tolist() for x in ('torques_dq', 'rows_dq', 'rows_dv'))
    )
    n = model.nv
    results = {f'a_d{x}': shaped(rows, n, n) for x, rows in zip(BY, of_a, strict=True)}
    for x, rows in zip(BY, of_forces, strict=True):
        results[f'forces_d{x}'] = shaped(rows, len(forces), n)
    return {**results, 'pivots': pivots}


@quantity(
    'derivatives of J^T f, of J a + J-dot v, and of J v of contacts and loops',
    {
        'torques_dq': 'of J^T f along velocities',
        'rows_dq': 'of J a + J-dot v along velocities',
        'rows_dv': 'of J-dot v',
        'rates_dq': 'of J v along velocities',
    },
    internal=True,
    exported=True,
    may_overflow=True,
)
def constraint_slopes(
    model: Model,
    held: Held,
    q: Q,
    v: V,
    a: A,
    forces: Forces,
    points: Points,
    directions: Directions,
) -> dict[str, Any]:
    """``slopes_of_rows`` of contacts and loops."""
    J, bias = constraint_rows(model, held, q, v, points, directions)
    return slopes_of_rows(model, J, [0.0] * len(J), bias, q, v, a, forces)


def slopes_of_rows(
    model: Model,
    J: Sequence[Values],
    drift: Values,
    bias: Values,
    q: Values,
    v: Values,
    a: Values,
    forces: Values,
) -> dict[str, Any]:
    """Derivatives of the rows of constraints, as of the kernel ``constraint_slopes``.

    Args:
        model: the robot.
        J, drift, bias: (rows, nv), (rows), (rows): J v + drift, whose time derivative at constant v
            is the bias; traced, of q and v.
        q, v, a, forces: symbols (nq), (nv), (nv), (rows).
    """
    along, n, count = rate_map(model, q), model.nv, len(J)
    torques = [dot(column, forces) for column in zip(*J)] or [0.0] * n
    rows = [dot(row, a) + b for row, b in zip(J, bias)]
    rates = [dot(row, v) + d for row, d in zip(J, drift)]
    return {
        'torques_dq': shaped(autodiff.jacobian(torques, q, along=along), n, n),
        'rows_dq': shaped(autodiff.jacobian(rows, q, along=along), count, n),
        'rows_dv': shaped(autodiff.jacobian(bias, v), count, n),
        'rates_dq': shaped(autodiff.jacobian(rates, q, along=along), count, n),
    }


def _searched(
    model: Model, names: Sequence[str]
) -> tuple[list[Frame], list[Support], list[int], int]:
    """Parse names of frames and, after an empty name, pairs of a support's name and rows.

    Returns:
        Frames with target poses; frames kept in place, with which the root joint moves; indices in
        q of the variables; number of their velocities.
    """
    split = names.index('') if '' in names else len(names)
    frames = [model.frame(name) for name in names[:split]]
    pairs = zip(names[split + 1 :: 2], names[split + 2 :: 2], strict=True)
    supports = [Support(model.frame(name), int(rows)) for name, rows in pairs]
    moving = moving_coordinates(model, [*frames, *(support.frame for support in supports)])
    coordinates, velocities = [place for place, _ in moving], len(moving)
    if supports:
        root = model.joints[0]
        coordinates[:0] = root.q_indices
        velocities += len(root.v_indices)
    return frames, supports, coordinates, velocities


@quantity_formula(
    'damped steps until the frames arrive, progress ends, or there were enough',
    {'positions': 'where the search stands [rad or m]', 'progress': 'what it has come to'},
    name='inverse_kinematics_search',
)
def _inverse_kinematics_search(model: Model, *names: str) -> Formula:
    frames, supports, coordinates, n = _searched(model, names)
    m = len(frames) + len(supports)

    def function(
        positions: Values, progress: Values, targets: Any, joints: Any, tasks: Any, settings: Values
    ) -> dict[str, list[Scalar]]:
        problem = (targets, joints, tasks, settings, supports)
        return search.inverse_kinematics_search(model, frames, positions, progress, *problem)

    inputs: dict[str, Shape] = {'positions': len(coordinates), 'progress': search.PROGRESS}
    inputs |= {'targets': (m, 4, 4), 'joints': (5, n), 'tasks': (m, 2, 6)}
    return Formula(inputs | {'settings': search.SETTINGS}, function)


@quantity_formula(
    'how far a configuration is from the targets and the limits',
    'squared errors of the worst frame in position [m^2] and rotation [rad^2]; how far a '
    'joint is beyond its limits, and one that may turn fully from where it shall be near '
    '[rad or m]; squared errors of the worst support',
    name='inverse_kinematics_check',
)
def _inverse_kinematics_check(model: Model, *names: str) -> Formula:
    frames, supports, coordinates, _ = _searched(model, names)
    n, m = len(coordinates), len(frames) + len(supports)

    def function(q: Values, targets: Any, slack: Values, bounds: Any, near: Values) -> list[Scalar]:
        arguments = (targets, slack, coordinates, bounds, near, supports)
        return search.inverse_kinematics_check(model, frames, q, *arguments)

    inputs: dict[str, Shape] = {'q': model.nq, 'targets': (m, 4, 4), 'slack': 6}
    return Formula(inputs | {'bounds': (3, n), 'near': n}, function)


@quantity_formula(
    'the solutions of an arm with a closed form, the nearest first',
    {
        'positions': 'of the joints, a row a solution [rad]',
        'errors': 'squared, in position [m^2] and rotation [rad^2]',
        'counts': 'how many rows are solutions, and how many branches reach the target',
    },
    name='analytic_inverse_kinematics',
)
def _analytic_inverse_kinematics(model: Model, frame: str, *locked: str) -> Formula:
    places = [joint.q_indices[0] for joint in model.actuated if joint.name in locked]
    arm = solvable_arm(model, model.frame(frame), places)
    if arm is None:
        expected = 'one moved by six turning joints, with a spherical wrist or three axes parallel'
        raise InvalidArgumentError('frame', f'no closed form for {frame!r}', expected)
    inputs: dict[str, Shape] = {'near': len(arm.coordinates), 'target': (4, 4), 'settings': 3}
    return Formula(inputs, lambda *arguments: analytic_solutions(arm, *arguments))
