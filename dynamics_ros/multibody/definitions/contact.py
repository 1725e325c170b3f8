"""Definitions behind the estimators of external torques and contact wrenches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

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
    moving_coordinates,
)
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

from .definition import Definition, Formula, Options, Shape, Values


def _observer_step(model: Model, kind: str, sampling: str) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        external, memory = torque_observer.observer_step(model, kind, sampling, *arguments)
        return {'external_torque': external, 'memory': memory}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'effort': model.nv}
    inputs |= {'memory': (torque_observer.MEMORY, model.nv), 'interval': ()}
    inputs |= {'settings': (len(torque_observer.SETTINGS), model.nv)}
    return Formula(inputs, function)


def _contact_excess(model: Model) -> Formula:
    def function(*arguments: Values) -> dict[str, Any]:
        added, above, excess = contact_excess(*arguments)
        return {'added': added, 'above': above, 'excess': excess}

    inputs: dict[str, Shape] = dict.fromkeys(('external_torque', 'v'), model.nv)
    return Formula(inputs | {'constants': (2, model.nv), 'velocity_term': model.nv}, function)


def _sample_departure(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        departs, beyond, excess, memory = sample_departure(model, *arguments)
        return {'departs': departs, 'beyond': beyond, 'excess': excess, 'next_memory': memory}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'effort': model.nv}
    inputs |= {'memory': (SAMPLE_MEMORY, model.nv), 'interval': ()}
    return Formula(inputs | {'settings': (len(SAMPLE_SETTINGS), model.nv)}, function)


def _contacts(model: Model, names: Sequence[str]) -> list[ContactFrame]:
    """Contacts by pairs of names: the frame, and the frame of the axes ('' for the root)."""
    return [
        ContactFrame(model.frame(frame), model.frame(axes) if axes else None)
        for frame, axes in zip(names[::2], names[1::2], strict=True)
    ]


def _contact_wrench(model: Model, rows: str, *names: str) -> Formula:
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
    return Formula(inputs | {'noise': (NOISE_ROWS, model.nv), 'settings': SETTINGS}, function)


def _contact_system(model: Model, rows: str, *names: str) -> Formula:
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
    return Formula(inputs, function)


def _contact_wrenches(model: Model, rows: str, *names: str) -> Formula:
    """Several contacts together: their wrenches from the equations and the eigenvectors."""
    contacts, size = _contacts(model, names), int(rows)
    count = size * len(contacts)

    def function(*arguments: Any) -> dict[str, Any]:
        *system, values, vectors, arms, settings = arguments
        wrenches, covariances, flags, singular = contact_wrenches(
            ContactSystem(*system), (values, vectors), arms, settings
        )
        return {
            'wrenches': wrenches,
            'covariances': covariances,
            'flags': flags,
            'singular_values': singular,
        }

    joints = len(moving_coordinates(model, contacts))
    inputs: dict[str, Shape] = {'G': (count, joints), 'torque': joints, 'weights': joints}
    inputs |= {'own_noise': joints, 'momentum_noise': (joints, model.nv)}
    inputs |= {'eigenvalues': count, 'eigenvectors': (count, count)}
    return Formula(inputs | {'arms': (len(contacts), 3), 'settings': SETTINGS}, function)


CONTACT = {
    'observer_step': Definition(
        _observer_step,
        'one step of an observer of external torques',
        {
            'external_torque': 'of the environment on the robot, torques as tau',
            'memory': 'for the next step',
        },
        Options.OTHER,
        internal=True,
    ),
    'contact_excess': Definition(
        _contact_excess,
        'how far external torques are above thresholds that grow with speed',
        {
            'added': 'what motion adds to each threshold, torques',
            'above': '1 for each threshold that is exceeded',
            'excess': 'the largest of |torque| - threshold',
        },
        internal=True,
    ),
    'sample_departure': Definition(
        _sample_departure,
        'how far a sample of joint states departs from the one before it',
        {
            'departs': '1 for each position, velocity and effort that departs from the last',
            'beyond': '1 for each of them beyond its bound',
            'excess': 'how far the worst of them is above its limit',
            'next_memory': 'for the next sample',
        },
        internal=True,
    ),
    'contact_wrench': Definition(
        _contact_wrench,
        'the wrench of one contact, and what is known of it',
        {
            'wrench': 'force [N], then torque [Nm] about the reference point',
            'reference_point': 'in the root frame [m]',
            'covariance': 'of the wrench',
            'flags': '1 for each component that is observable, then 1 when it is degraded',
            'singular_values': 'descending',
        },
        Options.OTHER,
        internal=True,
    ),
    'contact_system': Definition(
        _contact_system,
        'the equations of several contacts at one time, for their wrenches',
        {
            **{field.name: f'ContactSystem.{field.name}' for field in fields(ContactSystem)},
            'arms': 'of each contact, from the origin of its frame to the reference point [m]',
            'reference_points': 'in the root frame [m]',
        },
        Options.OTHER,
        internal=True,
    ),
    'contact_wrenches': Definition(
        _contact_wrenches,
        'the wrenches of several contacts at one time, and what is known of them',
        {
            'wrenches': 'of each contact force [N], then torque [Nm] about its reference point',
            'covariances': 'of each wrench',
            'flags': 'of each, 1 for what is observable, then 1 when it is degraded',
            'singular_values': 'of all together, descending',
        },
        Options.OTHER,
        internal=True,
    ),
}
