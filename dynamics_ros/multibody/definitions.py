"""The kernels of a robot: for each name, the inputs and the algorithm that is traced.

A definition is looked up by a key (name, *options), e.g. ``('jacobian', 'tool0', 'world')``. The
options are what a trace fixes: frames and references; configurations and velocities are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms import centroidal, configuration, energy, forward_kinematics
from dynamics_ros.algorithms.contact import torque_observer
from dynamics_ros.algorithms.contact.excess import contact_excess
from dynamics_ros.algorithms.contact.sample_departure import MEMORY as SAMPLE_MEMORY
from dynamics_ros.algorithms.contact.sample_departure import SETTINGS as SAMPLE_SETTINGS
from dynamics_ros.algorithms.contact.sample_departure import sample_departure
from dynamics_ros.algorithms.contact.wrench import (
    NOISE_ROWS,
    SETTINGS,
    ContactFrame,
    ContactSystem,
    contact_equations,
    contact_system,
    contact_wrenches,
    gram_matrix,
)
from dynamics_ros.algorithms.coriolis import coriolis_matrix
from dynamics_ros.algorithms.derivatives import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from dynamics_ros.algorithms.forward_dynamics import forward_dynamics, hybrid_dynamics
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import inverse_dynamics, nonlinear_effects
from dynamics_ros.algorithms.inverse_kinematics.search import (
    PROGRESS,
    inverse_kinematics_check,
    inverse_kinematics_search,
)
from dynamics_ros.algorithms.inverse_kinematics.search import SETTINGS as SEARCH_SETTINGS
from dynamics_ros.algorithms.inverse_kinematics.solutions import analytic_solutions, solvable_arm
from dynamics_ros.algorithms.inverse_kinematics.step import Support, moving_coordinates
from dynamics_ros.algorithms.jacobian import (
    REFERENCES,
    jacobian_columns,
    jacobian_derivative,
    jacobian_hessian,
)
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.algorithms.linear_algebra.solve import factorize, inverse_of
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.momentum import momentum_observer_terms
from dynamics_ros.algorithms.regressor import regressor
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import ROOT, Frame, Model
from dynamics_ros.spatial import Force, Motion, Scalar

from . import external_wrenches

Key = tuple[str, ...]
Shape = int | tuple[int, ...]
Values = Sequence[Scalar]
Elements = NDArray[np.object_]


@dataclass(frozen=True)
class Definition:
    """Inputs by name and shape, and the function of them that is traced."""

    inputs: Mapping[str, Shape]
    function: Callable[..., Any]


def define(model: Model, key: Key) -> Definition:
    """The definition of a kernel.

    Raises:
        UnknownFrameError: an option names a frame that the model does not have.
        InvalidArgumentError: an option names an unknown reference.
    """
    name, *options = key
    return _DEFINITIONS[name](model, *options)


def _over(algorithm: Callable[..., Any], *inputs: str) -> Callable[[Model], Definition]:
    """An algorithm of (model, *inputs) without options."""

    def make(model: Model) -> Definition:
        sizes = {'t': ()}
        shapes = {x: sizes.get(x, model.nq if x.startswith('q') else model.nv) for x in inputs}
        return Definition(shapes, lambda *values: algorithm(model, *values))

    return make


def _forward_kinematics(model: Model, frame: str) -> Definition:
    target = model.frame(frame)
    return Definition(
        {'q': model.nq}, lambda q: forward_kinematics.frame_pose(model, q, target).rows()
    )


def _all_frames(model: Model) -> Definition:
    return Definition(
        {'q': model.nq}, lambda q: [X.rows() for X in forward_kinematics.frame_poses(model, q)]
    )


def _pose(model: Model, frame: str) -> Definition:
    """Position and quaternion of a frame, as messages have them."""
    target = model.frame(frame)
    return Definition(
        {'q': model.nq},
        lambda q: forward_kinematics.frame_pose(model, q, target).position_and_quaternion(),
    )


def _link_transforms(model: Model, base: str) -> Definition:
    """The same of each link that a joint moves, in its parent link, as tf has them.

    Args:
        base: 'base' for the pose of a moving base in the world as well, in front.
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

    return Definition({'q': model.nq}, function)


def _frame_velocity(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)

    def function(q: Values, v: Values) -> list[Scalar]:
        return forward_kinematics.frame_velocity(model, q, v, target, checked).components()

    return Definition({'q': model.nq, 'v': model.nv}, function)


def _frame_acceleration(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)

    def function(q: Values, v: Values, a: Values) -> list[Scalar]:
        return forward_kinematics.frame_acceleration(model, q, v, a, target, checked).components()

    return Definition({'q': model.nq, 'v': model.nv, 'a': model.nv}, function)


def _jacobian(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)
    return Definition(
        {'q': model.nq}, lambda q: _matrix(jacobian_columns(model, q, target, checked))
    )


def _jacobian_derivative(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)

    def function(q: Values, v: Values) -> list[list[Scalar]]:
        return _matrix(jacobian_derivative(model, q, v, target, checked))

    return Definition({'q': model.nq, 'v': model.nv}, function)


def _jacobian_hessian(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)

    def function(q: Values) -> Elements:
        hessian = [
            [rate.components() for rate in rates]
            for rates in jacobian_hessian(model, q, target, checked)
        ]
        rows = [[[rate[row] for rate in rates] for rates in hessian] for row in range(6)]
        return _shaped(rows, 6, model.nv, model.nv)

    return Definition({'q': model.nq}, function)


def _with_wrenches(algorithm: Callable[..., list[Scalar]], third: str) -> Callable[..., Definition]:
    """An algorithm of (model, q, v, third, external): the options are the frames of wrenches."""

    def make(model: Model, *frames: str) -> Definition:
        targets = [model.frame(frame) for frame in frames]

        def function(q: Values, v: Values, x: Values, *wrenches: Values) -> list[Scalar]:
            external: dict[int, Force] = {}
            for target, wrench in zip(targets, wrenches, strict=True):
                if target.body != ROOT:
                    force = target.placement.act(Force.of(wrench))
                    external[target.body] = external.get(target.body, Force.zero()) + force
            return algorithm(model, q, v, x, external)

        inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, third: model.nv}
        inputs |= {f'{external_wrenches.INPUT}{i}': 6 for i in range(len(frames))}
        return Definition(inputs, function)

    return make


def _hybrid_dynamics(model: Model, *prescribed: str) -> Definition:
    indices = frozenset(int(k) for k in prescribed)

    def function(q: Values, v: Values, a: Values, tau: Values) -> dict[str, list[Scalar]]:
        all_a, all_tau = hybrid_dynamics(model, q, v, a, tau, indices)
        return {'a': all_a, 'tau': all_tau}

    return Definition({'q': model.nq, 'v': model.nv, 'a': model.nv, 'tau': model.nv}, function)


def _derivatives(
    algorithm: Callable[..., tuple[Any, Any, Any]], third: str
) -> Callable[[Model], Definition]:
    """An algorithm of (model, q, v, third) with three results."""

    def make(model: Model) -> Definition:
        def function(q: Values, v: Values, x: Values) -> dict[str, Any]:
            matrices = [_square(model, rows) for rows in algorithm(model, q, v, x)]
            return dict(zip(('dq', 'dv', f'd{third}'), matrices, strict=True))

        return Definition({'q': model.nq, 'v': model.nv, third: model.nv}, function)

    return make


def _momentum_observer_terms(model: Model) -> Definition:
    def function(q: Values, v: Values) -> dict[str, list[Scalar]]:
        p, beta = momentum_observer_terms(model, q, v)
        return {'p': p, 'beta': beta}

    return Definition({'q': model.nq, 'v': model.nv}, function)


def _observer_step(model: Model, kind: str, sampling: str) -> Definition:
    def function(*arguments: Any) -> dict[str, Any]:
        external, memory = torque_observer.observer_step(model, kind, sampling, *arguments)
        return {'external_torque': external, 'memory': memory}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'effort': model.nv}
    inputs |= {'memory': (torque_observer.MEMORY, model.nv), 'interval': ()}
    inputs |= {'settings': (len(torque_observer.SETTINGS), model.nv)}
    return Definition(inputs, function)


def _gravity_of(model: Model, *names: str) -> Definition:
    """Gravity torques of some joints of one coordinate, in their order."""
    indices = {joint.name: joint.v_indices[0] for joint in model.actuated if joint.kind.nv == 1}

    def function(q: Values) -> list[Scalar]:
        torques = gravity_torques(model, q)
        return [torques[indices[name]] for name in names]

    return Definition({'q': model.nq}, function)


def _contact_excess(model: Model) -> Definition:
    def function(*arguments: Values) -> dict[str, Any]:
        added, above, excess = contact_excess(*arguments)
        return {'added': added, 'above': above, 'excess': excess}

    inputs: dict[str, Shape] = dict.fromkeys(('external_torque', 'v'), model.nv)
    return Definition(inputs | {'constants': (2, model.nv), 'velocity_term': model.nv}, function)


def _sample_departure(model: Model) -> Definition:
    def function(*arguments: Any) -> dict[str, Any]:
        departs, beyond, excess, memory = sample_departure(model, *arguments)
        return {'departs': departs, 'beyond': beyond, 'excess': excess, 'next_memory': memory}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'effort': model.nv}
    inputs |= {'memory': (SAMPLE_MEMORY, model.nv), 'interval': ()}
    return Definition(inputs | {'settings': (len(SAMPLE_SETTINGS), model.nv)}, function)


def _contacts(model: Model, names: Sequence[str]) -> list[ContactFrame]:
    """Contacts by pairs of names: the frame, and the frame of the axes ('' for the root)."""
    return [
        ContactFrame(model.frame(frame), model.frame(axes) if axes else None)
        for frame, axes in zip(names[::2], names[1::2], strict=True)
    ]


def _contact_wrench(model: Model, rows: str, *names: str) -> Definition:
    """One contact, from q and external torques to everything that is known of its wrench."""
    contacts, size = _contacts(model, names), int(rows)

    def function(
        q: Values, torque: Values, point: Values, noise: Any, settings: Values
    ) -> dict[str, Any]:
        equations = contact_equations(model, contacts, size, q, [point], settings[0])
        system = contact_system(model, equations, q, torque, noise)
        eigen = symmetric_eigen(gram_matrix(system))
        arms = [[*lever] for lever in equations.levers]
        wrenches, covariances, flags, singular = contact_wrenches(system, eigen, arms, settings)
        return {
            'wrench': wrenches[0],
            'reference_point': [*equations.points[0]],
            'covariance': covariances[0],
            'flags': flags[0],
            'singular_values': singular,
        }

    inputs: dict[str, Shape] = {'q': model.nq, 'external_torque': model.nv, 'point': 3}
    return Definition(inputs | {'noise': (NOISE_ROWS, model.nv), 'settings': SETTINGS}, function)


def _contact_system(model: Model, rows: str, *names: str) -> Definition:
    """Several contacts together: what their wrenches follow from."""
    contacts, size = _contacts(model, names), int(rows)

    def function(
        q: Values, torque: Values, points: Any, noise: Any, length: Scalar
    ) -> dict[str, Any]:
        equations = contact_equations(model, contacts, size, q, points, length)
        system = contact_system(model, equations, q, torque, noise)
        return {
            **{field.name: getattr(system, field.name) for field in fields(ContactSystem)},
            'arms': [[*lever] for lever in equations.levers],
            'reference_points': [[*point] for point in equations.points],
        }

    inputs: dict[str, Shape] = {'q': model.nq, 'external_torque': model.nv}
    inputs |= {'points': (len(contacts), 3), 'noise': (NOISE_ROWS, model.nv), 'length': ()}
    return Definition(inputs, function)


@dataclass(frozen=True)
class _Searched:
    """What a search of inverse kinematics moves.

    Attributes:
        frames: what is brought to targets.
        supports: what keeps its place; with any, the root joint moves.
        coordinates: places in q.
        velocities: how many.
    """

    frames: list[Frame]
    supports: list[Support]
    coordinates: list[int]
    velocities: int

    @property
    def targets(self) -> int:
        """How many poses there are."""
        return len(self.frames) + len(self.supports)


def _searched(model: Model, names: Sequence[str]) -> _Searched:
    """Of names of frames and, after an empty one, pairs of the name and the rows of a support."""
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
    return _Searched(frames, supports, coordinates, velocities)


def _inverse_kinematics_search(model: Model, *names: str) -> Definition:
    x = _searched(model, names)
    n, m = x.velocities, x.targets

    def function(
        positions: Values, progress: Values, targets: Any, joints: Any, tasks: Any, settings: Values
    ) -> dict[str, list[Scalar]]:
        problem = (targets, joints, tasks, settings, x.supports)
        return inverse_kinematics_search(model, x.frames, positions, progress, *problem)

    inputs: dict[str, Shape] = {'positions': len(x.coordinates), 'progress': PROGRESS}
    inputs |= {'targets': (m, 4, 4), 'joints': (5, n), 'tasks': (m, 2, 6)}
    return Definition(inputs | {'settings': SEARCH_SETTINGS}, function)


def _inverse_kinematics_check(model: Model, *names: str) -> Definition:
    x = _searched(model, names)
    n, m = len(x.coordinates), x.targets

    def function(q: Values, targets: Any, slack: Values, bounds: Any, near: Values) -> list[Scalar]:
        arguments = (targets, slack, x.coordinates, bounds, near, x.supports)
        return inverse_kinematics_check(model, x.frames, q, *arguments)

    inputs: dict[str, Shape] = {'q': model.nq, 'targets': (m, 4, 4), 'slack': 6}
    return Definition(inputs | {'bounds': (3, n), 'near': n}, function)


def _analytic_inverse_kinematics(model: Model, frame: str, *locked: str) -> Definition:
    places = [joint.q_indices[0] for joint in model.actuated if joint.name in locked]
    arm = solvable_arm(model, model.frame(frame), places)
    if arm is None:
        expected = 'one moved by six turning joints, with a spherical wrist or three axes parallel'
        raise InvalidArgumentError('frame', f'no closed form for {frame!r}', expected)
    inputs: dict[str, Shape] = {'near': len(arm.coordinates), 'target': (4, 4), 'settings': 3}
    return Definition(inputs, lambda *arguments: analytic_solutions(arm, *arguments))


_DEFINITIONS: dict[str, Callable[..., Definition]] = {
    'integrate': _over(configuration.integrate, 'q', 'v'),
    'difference': _over(configuration.difference, 'q0', 'q1'),
    'interpolate': _over(configuration.interpolate, 'q0', 'q1', 't'),
    'forward_kinematics': _forward_kinematics,
    'all_frames': _all_frames,
    'pose': _pose,
    'link_transforms': _link_transforms,
    'frame_velocity': _frame_velocity,
    'frame_acceleration': _frame_acceleration,
    'jacobian': _jacobian,
    'jacobian_derivative': _jacobian_derivative,
    'jacobian_hessian': _jacobian_hessian,
    'inverse_dynamics': _with_wrenches(inverse_dynamics, 'a'),
    'inverse_kinematics_check': _inverse_kinematics_check,
    'inverse_kinematics_search': _inverse_kinematics_search,
    'analytic_inverse_kinematics': _analytic_inverse_kinematics,
    'gravity': _over(gravity_torques, 'q'),
    'nonlinear_effects': _over(nonlinear_effects, 'q', 'v'),
    'coriolis': _over(lambda model, q, v: _square(model, coriolis_matrix(model, q, v)), 'q', 'v'),
    'mass_matrix': _over(lambda model, q: _square(model, mass_matrix(model, q)), 'q'),
    'mass_matrix_inverse': _over(
        lambda model, q: _square(model, inverse_of(factorize(mass_matrix(model, q)))), 'q'
    ),
    'forward_dynamics': _with_wrenches(forward_dynamics, 'tau'),
    'hybrid_dynamics': _hybrid_dynamics,
    'inverse_dynamics_derivatives': _derivatives(inverse_dynamics_derivatives, 'a'),
    'forward_dynamics_derivatives': _derivatives(forward_dynamics_derivatives, 'tau'),
    'regressor': _over(
        lambda model, *x: _shaped(regressor(model, *x), model.nv, 10 * len(model.joints)),
        *('q', 'v', 'a'),
    ),
    'momentum_observer_terms': _momentum_observer_terms,
    'observer_step': _observer_step,
    'gravity_of': _gravity_of,
    'contact_excess': _contact_excess,
    'sample_departure': _sample_departure,
    'contact_wrench': _contact_wrench,
    'contact_system': _contact_system,
    'kinetic_energy': _over(energy.kinetic_energy, 'q', 'v'),
    'potential_energy': _over(energy.potential_energy, 'q'),
    'center_of_mass': _over(lambda model, q: [*energy.center_of_mass(model, q)], 'q'),
    'com_jacobian': _over(
        lambda model, q: _rows([[*x] for x in centroidal.center_of_mass_jacobian(model, q)], 3),
        'q',
    ),
    'centroidal_momentum': _over(
        lambda model, q, v: centroidal.centroidal_momentum(model, q, v).components(), 'q', 'v'
    ),
    'centroidal_map': _over(lambda model, q: _matrix(centroidal.centroidal_map(model, q)), 'q'),
}

KERNEL_NAMES = frozenset(_DEFINITIONS)


def _square(model: Model, rows: Sequence[Values]) -> Elements:
    """A matrix over velocities."""
    return _shaped(rows, model.nv, model.nv)


def _shaped(rows: Any, *shape: int) -> Elements:
    """Nested rows as an array, which has its shape also where there are no rows."""
    return np.array(rows, dtype=object).reshape(shape)


def _matrix(columns: Iterable[Motion | Force]) -> list[list[Scalar]]:
    """Six rows of motions or forces that are columns."""
    return _rows([column.components() for column in columns], 6)


def _rows(columns: Sequence[Sequence[Scalar]], count: int) -> list[list[Scalar]]:
    """Columns as rows; a robot without joints has rows without entries."""
    return [[column[row] for column in columns] for row in range(count)]


def _reference(reference: str) -> str:
    if reference not in REFERENCES:
        raise InvalidArgumentError('reference', repr(reference), f'one of {REFERENCES}')
    return reference
