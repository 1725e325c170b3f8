# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Control laws: torques from a state and references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamics_ros.algorithms.configuration import rate_map
from dynamics_ros.algorithms.control import (
    command,
    impedance,
    joint_space,
    motion_check,
    setpoint,
    task_space,
    whole_body,
)
from dynamics_ros.algorithms.control.constrained import (
    DIRECTED,
    HELD_ROWS,
    HELD_TOGETHER,
    Held,
    Places,
    constrained_dynamics_derivatives,
    constrained_forward_dynamics,
    finite_if_independent,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.autodiff.sweeps import jacobian
from dynamics_ros.model import Model

from .definition import (
    ALL_ROWS,
    TORQUES,
    Definition,
    Formula,
    Options,
    Shape,
    Values,
    checked_rows,
    shaped,
    square,
)

BY = ('q', 'v', 'tau')
"""Inputs that the derivatives of constrained dynamics are taken by."""

PIVOTS = 'lengths of the orthogonalized rows of J: zero of one that depends on those before it'

AT_TOOL = 'at the origin of the frame, in root axes'


def _joint_impedance(model: Model) -> Formula:
    def function(*arguments: Values) -> dict[str, Any]:
        tau, springs = joint_space.joint_impedance(model, *arguments)
        return {'tau': tau, 'springs': springs}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv}
    inputs |= {'target_q': model.nq, 'target_v': model.nv}
    return Formula(inputs | {'stiffness': model.nv, 'damping': model.nv}, function)


def _inverse_dynamics_control(model: Model) -> Formula:
    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv}
    inputs |= {'target_q': model.nq, 'target_v': model.nv, 'target_a': model.nv}
    inputs |= {'stiffness': model.nv, 'damping': model.nv}
    return Formula(inputs, lambda *values: joint_space.inverse_dynamics_control(model, *values))


def _operational_space(model: Model, frame: str, rows: str = ALL_ROWS) -> Formula:
    """The options are a frame and the digits of the rows."""
    target, chosen = model.frame(frame), checked_rows(rows, 'rows', repr(rows))

    def function(q: Values, v: Values) -> dict[str, Any]:
        inertia, mu, p, pivots = task_space.operational_space(model, target, chosen, q, v)
        return {'inertia': inertia, 'mu': mu, 'p': p, 'pivots': pivots}

    return Formula({'q': model.nq, 'v': model.nv}, function)


def _motion_torques(model: Model, frame: str, rows: str = ALL_ROWS) -> Formula:
    """The options are a frame and the digits of the rows."""
    target, chosen = model.frame(frame), checked_rows(rows, 'rows', repr(rows))

    def function(q: Values, v: Values, acceleration: Values) -> dict[str, Any]:
        tau, pivots = task_space.motion_torques(model, target, chosen, q, v, acceleration)
        return {'tau': tau, 'pivots': pivots}

    return Formula({'q': model.nq, 'v': model.nv, 'acceleration': len(chosen)}, function)


def _operational_space_torques(model: Model, frame: str) -> Formula:
    target = model.frame(frame)

    def function(*arguments: Any) -> dict[str, Any]:
        tau, pivots = task_space.operational_space_torques(model, target, *arguments)
        return {'tau': tau, 'pivots': pivots}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv}
    inputs |= {'acceleration': 6, 'wrench': 6, 'free': 6, 'rotation': (3, 3)}
    return Formula(inputs, function)


def _constrained_forward_dynamics(model: Model, *names: str) -> Formula:
    """The options are a kind of ``HELD_ROWS`` and its frame, or two frames, for each constraint."""
    constraints = list(_held(model, names))

    def function(q: Values, v: Values, tau: Values, *places: Any) -> dict[str, Any]:
        where = _places(*places)
        a, forces, pivots = constrained_forward_dynamics(model, constraints, q, v, tau, where)
        return {'a': a, 'forces': forces, 'pivots': pivots}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'tau': model.nv}
    return Formula(inputs | _inputs_of_places(constraints), function)


def _dynamics_in_contact(model: Model, *names: str) -> Formula:
    """The options are those of ``constrained_forward_dynamics``.

    The third result makes a kernel, which refuses results that are not finite, refuse states with
    dependent rows.
    """
    constrained = _constrained_forward_dynamics(model, *names)

    def function(q: Values, v: Values, tau: Values, *places: Any) -> dict[str, Any]:
        results = constrained.function(q, v, tau, *places)
        pivots = results.pop('pivots')
        any_value = places[0][0][0][0] if pivots else 0.0
        return {**results, 'independent': finite_if_independent(pivots, any_value)}

    return Formula(constrained.inputs, function)


def _constrained_dynamics_derivatives(model: Model, *names: str) -> Formula:
    """The options are those of ``constrained_forward_dynamics``."""
    constraints = list(_held(model, names))
    count = sum(HELD_ROWS[held.kind] for held in constraints)

    def function(q: Values, v: Values, a: Values, forces: Values, *places: Any) -> dict[str, Any]:
        def differentiate(values: Values, by: Any) -> list[list[Any]]:
            return jacobian(values, by, along=rate_map(model, q) if by is q else None)

        of_a, of_forces, pivots = constrained_dynamics_derivatives(
            model, constraints, q, v, a, forces, _places(*places), differentiate
        )
        return {
            **{f'a_d{x}': square(model, rows) for x, rows in zip(BY, of_a, strict=True)},
            **{
                f'forces_d{x}': shaped(rows, count, model.nv)
                for x, rows in zip(BY, of_forces, strict=True)
            },
            'pivots': pivots,
        }

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'a': model.nv, 'forces': count}
    return Formula(inputs | _inputs_of_places(constraints), function)


def _inputs_of_places(constraints: Sequence[Held]) -> dict[str, Shape]:
    inputs: dict[str, Shape] = {'points': (len(constraints), 2, 3)}
    if any(held.kind in DIRECTED for held in constraints):
        inputs['directions'] = (len(constraints), 2, 3)
    return inputs


def _places(points: Any, directions: Any = None) -> list[Places]:
    if directions is None:
        return [Places(x) for x in points]
    return [Places(*x) for x in zip(points, directions, strict=True)]


def _held(model: Model, names: Sequence[str]) -> Any:
    rest = list(names)
    while rest:
        kind = rest.pop(0)
        count = 2 if kind in HELD_TOGETHER else 1
        if kind not in HELD_ROWS or len(rest) < count:
            expected = f'a kind of {tuple(HELD_ROWS)}, then its frame or its two frames'
            raise InvalidArgumentError('contacts', ':'.join(names), expected)
        frame, *others = [model.frame(rest.pop(0)) for _ in range(count)]
        yield Held(kind, frame, others[0] if others else None)


def _impedance_step(model: Model, frame: str) -> Formula:
    if model.root_joint != 'fixed':
        expected = 'a base that rests: legs have to carry one that moves'
        raise InvalidArgumentError('robot', f'its base is {model.root_joint}', expected)
    target = model.frame(frame)

    def function(*arguments: Any) -> dict[str, Any]:
        tau, memory, flags = impedance.impedance_step(model, target, *arguments)
        return {'tau': tau, 'next_memory': memory, 'flags': flags}

    n = model.nv
    inputs: dict[str, Shape] = {'q': model.nq, 'v': n, 'wrench': 6, 'target_pose': (4, 4)}
    inputs |= dict.fromkeys(('target_twist', 'target_acceleration', 'target_wrench'), 6)
    inputs |= {'posture': model.nq, 'stiffness': (6, 6), 'damping': (6, 6), 'axes': (3, 3)}
    inputs |= {'force_gains': (len(impedance.FORCE_GAINS), 6)}
    inputs |= {'joint_gains': (len(impedance.JOINT_GAINS), n)}
    inputs |= {'settings': len(impedance.SETTINGS)}
    return Formula(inputs | {'memory': command.memory_size(model), 'interval': ()}, function)


def _setpoint_step(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        return dict(zip(setpoint.RESULTS, setpoint.setpoint_step(*arguments), strict=True))

    return Formula(setpoint.SHAPES, function)


def _motion_check(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        excess, memory = motion_check.motion_check(model, *arguments)
        return {'excess': excess, 'next_memory': memory}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv}
    inputs |= {'previous_q': model.nq, 'previous_v': model.nv, 'memory': (2, model.nv)}
    return Formula(inputs | {'velocity_limits': model.nv, 'interval': ()}, function)


def _whole_body_program(model: Model, *names: str) -> Formula:
    """The options are the frames of the feet."""
    feet = [model.frame(name) for name in names]

    def function(*arguments: Any) -> dict[str, Any]:
        found = whole_body.whole_body_program(model, feet, *arguments)
        columns = 3 * len(feet) + model.nv
        return {
            'hessian': shaped(found.hessian, columns, columns),
            'gradient': found.gradient,
            'matrix': shaped(found.matrix, len(found.matrix), columns),
            'lower': found.lower,
            'upper': found.upper,
            'effects': found.effects,
        }

    joints = model.nv - model.root_joint_nv
    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'base': 6, 'swing': (len(feet), 3)}
    inputs |= {'posture': joints, 'standing': len(feet), 'limits': joints}
    return Formula(inputs | {'settings': len(whole_body.SETTINGS)}, function)


TARGETS = {
    'target_q': 'configuration that is wanted, as q',
    'target_v': 'velocity that is wanted',
}

PLACES = {
    'points': 'of each constraint, in its frame and in its other frame [m]',
    'directions': 'of each constraint: a normal in root axes, or two directions of the other frame '
    'perpendicular to the axis; only where a kind needs them',
}

CONTROL = {
    'joint_impedance': Definition(
        _joint_impedance,
        'torques of springs and dampers at the joints',
        {'tau': 'with gravity', 'springs': 'without'},
        internal=True,
        inputs={
            **TARGETS,
            'stiffness': '[N m/rad or N/m]',
            'damping': '[N m s/rad or N s/m]',
        },
    ),
    'inverse_dynamics_control': Definition(
        _inverse_dynamics_control,
        'torques that make every joint a unit mass on a spring',
        {'result': TORQUES},
        internal=True,
        inputs={
            **TARGETS,
            'target_a': 'acceleration that is wanted',
            'stiffness': '[1/s^2]',
            'damping': '[1/s]',
        },
    ),
    'operational_space': Definition(
        _operational_space,
        'Lambda, mu and p of Lambda w-dot + mu + p = F at a frame',
        {
            'inertia': 'Lambda, at the origin of the frame in root axes',
            'mu': 'Coriolis and centrifugal force [N], [N m]',
            'p': 'force of gravity [N], [N m]',
            'pivots': PIVOTS,
        },
        Options.FRAME_AND_ROWS,
        internal=True,
        inputs={},
    ),
    'motion_torques': Definition(
        _motion_torques,
        'torques that give a frame an acceleration',
        {'tau': TORQUES, 'pivots': PIVOTS},
        Options.FRAME_AND_ROWS,
        internal=True,
        inputs={'acceleration': f'wanted, of the chosen rows, {AT_TOOL} [m/s^2], [rad/s^2]'},
    ),
    'operational_space_torques': Definition(
        _operational_space_torques,
        'torques that move a frame in some directions and press in the others',
        {'tau': TORQUES, 'pivots': PIVOTS},
        Options.FRAME,
        internal=True,
        inputs={
            'acceleration': f'wanted in the free directions, {AT_TOOL} [m/s^2], [rad/s^2]',
            'wrench': f'of the environment, wanted in the others, {AT_TOOL} [N], [N m]',
            'free': '1 of a direction of the axes that moves, 0 of one that presses',
            'rotation': 'the axes in root axes',
        },
    ),
    'constrained_forward_dynamics': Definition(
        _constrained_forward_dynamics,
        'accelerations and forces in contact, all rows independent',
        {
            'a': 'an acceleration, as a',
            'forces': 'of the environment on the robot, stacked, in root axes [N], [N m]',
            'pivots': PIVOTS,
        },
        Options.HELD,
        internal=True,
        inputs=PLACES,
    ),
    'dynamics_in_contact': Definition(
        _dynamics_in_contact,
        'constrained_forward_dynamics where all rows are certainly independent',
        {
            'a': 'an acceleration, as a',
            'forces': 'of the environment on the robot, stacked, in root axes [N], [N m]',
            'independent': 'finite where the rows are independent',
        },
        Options.HELD,
        may_be_singular=True,
        internal=True,
    ),
    'constrained_dynamics_derivatives': Definition(
        _constrained_dynamics_derivatives,
        'derivatives of constrained_forward_dynamics along velocities, by v and by tau',
        {
            **{f'a_d{x}': f'da/d{x}' for x in BY},
            **{f'forces_d{x}': f'd forces/d{x}' for x in BY},
            'pivots': PIVOTS,
        },
        Options.HELD,
        internal=True,
        inputs={'forces': 'as constrained_forward_dynamics returns them, with a', **PLACES},
    ),
    'whole_body_program': Definition(
        _whole_body_program,
        'the quadratic program of a robot on point feet, in forces of the ground and accelerations',
        {
            'hessian': 'H of 1/2 x^T H x + g^T x',
            'gradient': 'g',
            'matrix': 'A: base, standing feet, friction, torques of joints',
            'lower': 'of the forces, then of A x',
            'upper': 'likewise',
            'effects': 'C v + g',
        },
        Options.OTHER,
        internal=True,
    ),
    'setpoint_step': Definition(
        _setpoint_step,
        'one step of a pose that moves smoothly to where it is wanted, near the tool',
        {
            'next_pose': 'in the root frame',
            'next_twist': 'in root axes',
            'waits': '1 where it would have been too far from the tool, else 0',
        },
        internal=True,
    ),
    'motion_check': Definition(
        _motion_check,
        'how far a sample of joint motion exceeds what is physically possible',
        {
            'excess': f'positive if impossible; rows: {", ".join(motion_check.CHECKS)}',
            'next_memory': 'for the next sample',
        },
        internal=True,
    ),
    'impedance_step': Definition(
        _impedance_step,
        'one step of a Cartesian impedance controller',
        {
            'tau': 'torques, within their limits and rates whatever the inputs are',
            'next_memory': 'for the next step',
            'flags': f'1 or 0 each: {", ".join(impedance.FLAGS)}',
        },
        Options.FRAME,
        internal=True,
        inputs={
            'wrench': f'measured, of the environment, {AT_TOOL} [N], [N m]',
            'target_pose': 'in the root frame',
            'target_twist': AT_TOOL,
            'target_acceleration': AT_TOOL,
            'target_wrench': f'that the environment shall exert, {AT_TOOL}',
            'posture': 'for the freedom that the frame leaves, as q',
            'stiffness': 'in the axes [N/m], [N m/rad]',
            'damping': 'in the axes [N s/m], [N m s/rad]',
            'axes': 'their rotation, in root axes or in those of the frame',
            'force_gains': f'rows: {", ".join(impedance.FORCE_GAINS)}',
            'joint_gains': f'rows: {", ".join(impedance.JOINT_GAINS)}',
            'settings': ', '.join(impedance.SETTINGS),
            'memory': 'next_memory of the step before; NaN before the first',
            'interval': 'since the step before [s]',
        },
    ),
}
