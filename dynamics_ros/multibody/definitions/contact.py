# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Quantities of the estimators of external torques and contact wrenches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamics_ros.algorithms.contact import torque_observer
from dynamics_ros.algorithms.contact.excess import contact_excess
from dynamics_ros.algorithms.contact.feet import (
    contact_probabilities,
    contacts_with_hysteresis,
    foot_forces,
    friction_violations,
    resting_forces,
)
from dynamics_ros.algorithms.contact.location_evidence import UNKNOWNS, location_evidence
from dynamics_ros.algorithms.contact.sample_departure import MEMORY as SAMPLE_MEMORY
from dynamics_ros.algorithms.contact.sample_departure import SETTINGS as SAMPLE_SETTINGS
from dynamics_ros.algorithms.contact.sample_departure import sample_departure
from dynamics_ros.algorithms.contact.unexplained import MEMORY as UNEXPLAINED_MEMORY
from dynamics_ros.algorithms.contact.unexplained import ROWS as UNEXPLAINED_ROWS
from dynamics_ros.algorithms.contact.unexplained import unexplained_torque
from dynamics_ros.algorithms.contact.wrench import (
    NOISE_ROWS,
    SETTINGS,
    ContactFrame,
    contact_equations,
    contact_solution,
    contact_wrenches,
)
from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

from .definition import Definition, Formula, Options, Shape, Values


def _observer_step(model: Model, kind: str, sampling: str) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        external, memory = torque_observer.observer_step(model, kind, sampling, *arguments)
        return {'external_torque': external, 'memory': memory}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'effort': model.nv}
    inputs |= {'memory': (torque_observer.memory_rows(kind), model.nv), 'interval': ()}
    inputs |= {'settings': (len(torque_observer.SETTINGS), model.nv)}
    return Formula(inputs, function)


def _torque_on_bodies(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        return {'tau': torque_observer.torque_on_bodies(model, *arguments)}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'effort': model.nv}
    return Formula(inputs | {'settings': (len(torque_observer.SETTINGS), model.nv)}, function)


def _contact_excess(model: Model) -> Formula:
    def function(*arguments: Values) -> dict[str, Any]:
        added, above, excess = contact_excess(*arguments)
        return {'added': added, 'above': above, 'excess': excess}

    inputs: dict[str, Shape] = dict.fromkeys(('external_torque', 'v'), model.nv)
    return Formula(inputs | {'constants': (2, model.nv), 'velocity_term': model.nv}, function)


def _unexplained_torque(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        deviation, more, memory = unexplained_torque(*arguments)
        return {'deviation': deviation, 'more': more, 'next_memory': memory}

    nv = model.nv
    inputs: dict[str, Shape] = {'v': nv, 'load': nv, 'memory': (UNEXPLAINED_MEMORY, nv)}
    inputs |= {'interval': (), 'rows': (len(UNEXPLAINED_ROWS), nv), 'sigmas': nv}
    return Formula(inputs, function)


def _sample_departure(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        departs, beyond, excess, memory = sample_departure(model, *arguments)
        return {'departs': departs, 'beyond': beyond, 'excess': excess, 'next_memory': memory}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'effort': model.nv}
    inputs |= {'memory': (SAMPLE_MEMORY, model.nv), 'interval': ()}
    return Formula(inputs | {'settings': (len(SAMPLE_SETTINGS), model.nv)}, function)


def _location_evidence(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        evidence, mean, residuals = location_evidence(*arguments)
        return {'evidence': evidence, 'mean': mean, 'residuals': residuals}

    inputs: dict[str, Shape] = {'J': (6, model.nv), 'torque': model.nv, 'weights': model.nv}
    return Formula(inputs | {'units': UNKNOWNS, 'wrenches': (6, UNKNOWNS)}, function)


def _contacts(model: Model, names: Sequence[str]) -> list[ContactFrame]:
    """Return contacts from pairs of names: the frame, and the frame of the axes ('' for root)."""
    return [
        ContactFrame(model.frame(frame), model.frame(axes) if axes else None)
        for frame, axes in zip(names[::2], names[1::2], strict=True)
    ]


def _contact_wrenches(model: Model, rows: str, *names: str) -> Formula:
    """Return contact wrenches at one time from q and external torques, with all derived values."""
    contacts, size = _contacts(model, names), int(rows)

    def function(
        q: Values, torque: Values, points: Any, noise: Any, settings: Values
    ) -> dict[str, Any]:
        equations = contact_equations(model, contacts, size, q, points, settings[0])
        solution = contact_solution(model, equations, q, noise, *settings[1:])
        found = contact_wrenches(equations, solution, torque, settings[0])
        return {
            'wrenches': found.values,
            'reference_points': [[*point] for point in equations.points],
            'covariances': found.covariances,
            'flags': found.flags,
            'singular_values': solution.singular_values,
        }

    inputs: dict[str, Shape] = {'q': model.nq, 'external_torque': model.nv}
    inputs |= {'points': (len(contacts), 3), 'noise': (NOISE_ROWS, model.nv)}
    return Formula(inputs | {'settings': SETTINGS}, function)


def _foot_contacts(model: Model, *names: str) -> Formula:
    """Return contacts of feet and forces on them, from external torques and from constraints."""
    feet = [model.frame(name) for name in names]
    contacts = [ContactFrame(foot, None) for foot in feet]

    def function(
        q: Values,
        v: Values,
        torque: Values,
        tau: Values,
        before: Values,
        noise: Any,
        settings: Values,
        normal: Values,
        force_threshold: Scalar,
        friction: Scalar,
    ) -> dict[str, Any]:
        points = [[0.0] * 3] * len(feet)
        equations = contact_equations(model, contacts, 3, q, points, settings[0])
        solution = contact_solution(model, equations, q, noise, *settings[1:], spectrum=False)
        found = foot_forces(model, feet, equations, solution, q, v, torque, normal)
        probabilities = contact_probabilities(
            [dot(force, normal) for force in found.forces],
            *(found.deviations, found.normal_speeds, force_threshold),
        )
        in_contact = contacts_with_hysteresis(probabilities, before)
        return {
            'forces': found.forces,
            'deviations': found.deviations,
            'constraint_forces': resting_forces(model, feet, q, v, tau, in_contact),
            'probabilities': probabilities,
            'in_contact': in_contact,
            'friction_violations': friction_violations(found.forces, in_contact, normal, friction),
            'degraded': found.degraded,
        }

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'external_torque': model.nv}
    inputs |= {'tau': model.nv, 'before': len(feet), 'noise': (NOISE_ROWS, model.nv)}
    inputs |= {'settings': SETTINGS, 'normal': 3, 'force_threshold': (), 'friction': ()}
    return Formula(inputs, function)


def _resting_feet(model: Model, *names: str) -> Formula:
    """Return ground forces on resting feet from constraints."""
    feet = [model.frame(name) for name in names]

    def function(q: Values, v: Values, tau: Values, resting: Values) -> dict[str, Any]:
        return {'constraint_forces': resting_forces(model, feet, q, v, tau, resting)}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'tau': model.nv}
    return Formula(inputs | {'resting': len(feet)}, function)


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
    'torque_on_bodies': Definition(
        _torque_on_bodies,
        'the torques of the joints on the rigid bodies that reported efforts mean',
        {'tau': 'zero for a moving base'},
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
    'unexplained_torque': Definition(
        _unexplained_torque,
        'how far external torques without contact may be off at this speed, load and reversal',
        {
            'deviation': 'of each external torque',
            'more': 'what thresholds rise by, torques',
            'next_memory': 'for the next state',
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
    'location_evidence': Definition(
        _location_evidence,
        'how well a contact on a piece of a surface explains external torques',
        {
            'evidence': 'logarithm of the probability density of the torques',
            'mean': 'unknown force and position in standard deviations, given the torques',
            'residuals': 'of the torques, in their standard deviations',
        },
        internal=True,
    ),
    'contact_wrenches': Definition(
        _contact_wrenches,
        'the wrenches of contacts at one time, and what is known of them',
        {
            'wrenches': 'of each contact force [N], then torque [Nm] about its reference point',
            'reference_points': 'in the frame whose axes the wrench has [m]',
            'covariances': 'of each wrench',
            'flags': 'of each, 1 for what is observable, then 1 when it is degraded',
            'singular_values': 'of all together, descending',
        },
        Options.OTHER,
        internal=True,
    ),
    'foot_contacts': Definition(
        _foot_contacts,
        'contacts of feet and forces of the ground on them',
        {
            'forces': 'of the ground on each foot by external torques, in the root frame [N]',
            'deviations': 'standard deviation of each normal force [N]',
            'constraint_forces': 'the forces on feet in contact by constraints [N]',
            'probabilities': 'of contact',
            'in_contact': '1 for each foot in contact',
            'friction_violations': 'tangential force beyond the friction cone [N]',
            'degraded': '1 when some direction of a force is damped or not felt',
        },
        Options.OTHER,
        internal=True,
    ),
    'resting_feet': Definition(
        _resting_feet,
        'forces of the ground on feet that rest',
        {'constraint_forces': 'of the ground on each foot that rests, in the root frame [N]'},
        Options.OTHER,
        internal=True,
    ),
}
