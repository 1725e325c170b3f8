# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laws of a compliant arm beside its impedance: stop, guiding, reflexes, given torques."""

from __future__ import annotations

from typing import Any

from dynamics_ros.algorithms.control import command, impedance
from dynamics_ros.algorithms.control.compliance import guiding, reflex, runaway, stop, trail
from dynamics_ros.algorithms.control.compliance.holding_back import holding_back
from dynamics_ros.model import Model

from .definition import Definition, Formula, Options, Shape, result

TORQUES = 'torques in addition to those of gravity and Coriolis forces'


def _torque_step(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        tau, memory, flags = impedance.torque_step(model, *arguments)
        return {'tau': tau, 'next_memory': memory, 'flags': flags}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'torque': model.nv}
    inputs |= {'joint_gains': (len(impedance.JOINT_GAINS), model.nv)}
    inputs |= {'settings': len(impedance.SETTINGS)}
    return Formula(inputs | {'memory': command.memory_size(model), 'interval': ()}, function)


def _stop_step(model: Model, frame: str) -> Formula:
    target = model.frame(frame)

    def function(*arguments: Any) -> dict[str, Any]:
        torque, memory = stop.stop_step(model, target, *arguments)
        return {'torque': torque, 'next_memory': memory}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'speeds': 2, 'limits': (2, model.nv)}
    inputs |= {'largest_inertia': (), 'memory': stop.memory_size(model), 'interval': ()}
    return Formula(inputs, function)


def _blind_stop_step(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        q, v, torque = stop.blind_stop_step(model, *arguments)
        return {'next_q': q, 'next_v': v, 'torque': torque}

    inputs: dict[str, Shape] = {'limits': (2, model.nv), 'memory': stop.memory_size(model)}
    return Formula(inputs | {'interval': ()}, function)


def _holding_back(model: Model, frame: str) -> Formula:
    target = model.frame(frame)

    def function(*arguments: Any) -> dict[str, Any]:
        wrench, bias = holding_back(model, target, *arguments)
        return {'wrench': wrench, 'bias': bias}

    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'speeds': 2, 'rates': model.nv}
    return Formula(inputs | {'largest_inertia': (), 'interval': ()}, function)


def _task_damping(model: Model, frame: str) -> Formula:
    target = model.frame(frame)
    inputs: dict[str, Shape] = {'q': model.nq, 'stiffness': (6, 6), 'axes': (3, 3)}
    inputs |= dict.fromkeys(('axes_of_tool', 'ratio', 'largest_inertia'), ())
    return Formula(inputs, lambda *values: guiding.task_damping(model, target, *values))


def _held_pose_step(model: Model) -> Formula:
    def function(*arguments: Any) -> dict[str, Any]:
        results = guiding.held_pose_step(*arguments)
        return dict(zip(guiding.HELD_RESULTS, results, strict=True))

    return Formula(guiding.HELD_SHAPES, function)


def _reflex_torques(model: Model) -> Formula:
    inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, 'external': model.nv}
    inputs |= {'settings': len(reflex.SETTINGS)}
    return Formula(inputs, lambda *values: reflex.reflex_torques(model, *values))


def _runaway_step(model: Model) -> Formula:
    inputs: dict[str, Shape] = {'v': model.nv, 'limits': model.nv, 'share': (), 'before': ()}
    return Formula(inputs, runaway.runaway_step)


def _trail_step(model: Model) -> Formula:
    return Formula(trail.TRAIL_SHAPES, trail.trail_step)


def _retract_step(model: Model) -> Formula:
    return Formula(trail.WAY_SHAPES, trail.retract_step)


COMPLIANCE = {
    'runaway_step': Definition(
        _runaway_step,
        'whether the motion of an arm runs away',
        result('1 from too large a velocity on, until all are small, else 0'),
        internal=True,
    ),
    'torque_step': Definition(
        _torque_step,
        'one step of given torques within the limits of an impedance controller',
        {
            'tau': 'torques, within their limits and rates whatever the inputs are',
            'next_memory': 'for the next step, as of impedance_step',
            'flags': f'1 or 0 each: {", ".join(impedance.FLAGS)}',
        },
        internal=True,
    ),
    'stop_step': Definition(
        _stop_step,
        'one step of a stop that holds the arm where it comes to rest',
        {'torque': TORQUES, 'next_memory': 'for the next step; zeros start a stop'},
        Options.FRAME,
        internal=True,
    ),
    'blind_stop_step': Definition(
        _blind_stop_step,
        'one step of a stop without a sample',
        {'next_q': 'predicted', 'next_v': 'predicted', 'torque': TORQUES},
        internal=True,
    ),
    'holding_back': Definition(
        _holding_back,
        'the wrench that yields on a tool beyond its speeds',
        {'wrench': 'in root axes', 'bias': 'J-dot v'},
        Options.FRAME,
        internal=True,
    ),
    'task_damping': Definition(
        _task_damping,
        'damping with one damping ratio for all directions of a tool',
        result('(6, 6), in the axes'),
        Options.FRAME,
        internal=True,
    ),
    'held_pose_step': Definition(
        _held_pose_step,
        'one step of a pose that follows a tool except along locked directions and into walls',
        {'next_held': 'in the root frame', 'bound': '1 in bound directions, else 0'},
        internal=True,
    ),
    'reflex_torques': Definition(
        _reflex_torques,
        'torques of a reflex to external torques',
        result(TORQUES),
        internal=True,
    ),
    'trail_step': Definition(
        _trail_step,
        'one step of the recent path of a tool',
        result('the path; zeros are an empty one'),
        internal=True,
    ),
    'retract_step': Definition(
        _retract_step,
        'target pose of a tool that moves back along its recent path',
        {
            'goal': 'in the root frame',
            'next_passed': 'number of passed poses, for the next step',
            'arrived': '1 if the setpoint rests at the end of the way, else 0',
        },
        internal=True,
    ),
}
