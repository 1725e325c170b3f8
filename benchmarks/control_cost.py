# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Time of a step of each control law, in C and from Python, compared with Pinocchio and NumPy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.control_c import timed
from benchmarks.control_peer import PinocchioContacts, PinocchioController
from benchmarks.descriptions import bare
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.records import Goal, Record
from benchmarks.robots import SUBJECTS, Subject, urdf_path
from benchmarks.timing import QUICK, Effort, interleaved
from dynamics_ros import Robot
from dynamics_ros.constraints import Contact, support_projector
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
    WholeBodyProblem,
    motion_torques,
)
from dynamics_ros.demo.known_robots import LEGGED

Array = NDArray[np.float64]

SHARE = 0.3
"""Goal of the ratio to the time of Pinocchio from Python."""

FEET = {
    'talos_reduced': (('left_sole_link', 'right_sole_link'), 'surface'),
    'anymal': (('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT'), 'point'),
}

AGREEMENT = 1e-6
"""Relative tolerance, also for different methods to bound the task inertia."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure the arms, then the legged robots."""
    for subject in SUBJECTS:
        if options.robot not in subject.name:
            continue
        yield from _feet(subject, options) if subject.name in FEET else _arm(subject, options)


def _arm(subject: Subject, options: argparse.Namespace) -> Iterator[Record]:
    urdf = bare(urdf_path(subject.name), subject.locked)
    robot = Robot.from_urdf(urdf)
    controller = ImpedanceController(robot, subject.frame)
    n = robot.nv
    rng = np.random.default_rng(0)
    q = 0.5 * np.clip(robot.random_configuration(rng), -2.0, 2.0)
    v = 0.2 * rng.normal(size=n)
    friction = {'viscous': 0.5, 'coulomb': 0.3}
    posture = {'posture_stiffness': 10.0, 'posture_damping': 2.0, 'max_torque_rate': 1e5}
    gains = ImpedanceGains(
        robot, np.repeat([800.0, 40.0], 3), np.repeat([60.0, 5.0], 3), joints=friction | posture
    )
    target = ImpedanceTarget(robot.forward_kinematics(q + 0.02, subject.frame), q + 0.02)
    memory = controller.start(q)
    state = ImpedanceState(q, v, 1e-3)
    acceleration = rng.normal(size=6)
    said = controller.step(state, target, gains, memory)
    names: dict[str, Any] = {
        **{'controller': controller, 'state': state, 'target': target, 'gains': gains},
        **{'memory': memory, 'robot': robot, 'frame': subject.frame, 'q': q, 'v': v},
        **{'acceleration': acceleration, 'motion_torques': motion_torques},
        'kernel': _compiled(robot, 'motion_torques', subject.frame, '012345'),
    }
    statements = {
        'impedance': 'controller.step(state, target, gains, memory)',
        'operational': 'kernel(q, v, acceleration)',
        'function': 'motion_torques(robot, q, v, frame, acceleration)',
    }
    peer = None
    if 'pin' in options.peers:
        peer = PinocchioController(urdf, subject.frame)
        start = (robot.gravity(q), np.zeros(n))
        names |= {'peer': peer, 'start': start}
        statements |= {
            'their impedance': 'peer.impedance_step(q, v, target, gains, start, 1e-3)',
            'their operational': 'peer.motion_torques(q, v, acceleration)',
        }
        _agree(said.tau, peer.impedance_step(q, v, target, gains, start, 1e-3)[0])
        ours = motion_torques(robot, q, v, subject.frame, acceleration)
        _agree(ours, peer.motion_torques(q, v, acceleration))
    times = interleaved(statements, names, QUICK if options.quick else Effort())

    def record(case: str, ours: str, theirs: str, most: float) -> Iterator[Record]:
        value, peer_value = 1e6 * times[ours], None
        yield Record('control', case, subject.name, value, 'us', goal=Goal(most, of='value'))
        if peer is not None:
            peer_value = 1e6 * times[theirs]
            goal = Goal(SHARE)
            yield Record('control', case, subject.name, value, 'us', 'pin', peer_value, goal)

    yield from record('impedance step, Python', 'impedance', 'their impedance', 4.0)
    yield from record('operational-space torques', 'operational', 'their operational', 5.0)
    yield from record('the same, checked function', 'function', 'their operational', 5.0)
    calls = 10**4 if options.quick else 10**6
    inputs = [
        *(q, v, target.pose, target.twist, target.acceleration, target.wrench, target.posture),
        *(*gains.arrays, np.zeros(n), memory, 1e-3),
    ]
    sizes = [x.size for x in controller.kernel.trace.outputs]
    measured = timed(robot, f'impedance_step:{subject.frame}', inputs, sizes, calls)
    if measured is None:
        return
    _agree(np.array([measured.first]), said.tau[:1])
    figures = (
        ('impedance step, C, mean', 1e6 * measured.mean, 'us', Goal(2.0, of='value')),
        (f'its worst of {calls}', 1e6 * measured.worst, 'us', Goal(50.0, of='value')),
        ('its allocations', float(measured.allocations), '', Goal(0.0, of='value')),
    )
    for case, value, unit, goal in figures:
        yield Record('control', case, subject.name, value, unit, goal=goal)


def _feet(subject: Subject, options: argparse.Namespace) -> Iterator[Record]:
    feet, kind = FEET[subject.name]
    urdf = bare(urdf_path(subject.name), subject.locked)
    robot = Robot.from_urdf(urdf, subject.root)
    contacts = [Contact(foot, kind) for foot in feet]
    rng = np.random.default_rng(0)
    q = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv))
    # Feet at rest: Pinocchio constrains spatial accelerations, ours are those of points.
    v = support_projector(robot, q, contacts) @ rng.normal(size=robot.nv)
    tau = rng.normal(size=robot.nv)
    a, _ = robot.constrained_forward_dynamics(q, v, tau, contacts)
    key = [name for contact in contacts for name in contact.key]
    names: dict[str, Any] = {
        'kernel': _compiled(robot, 'constrained_forward_dynamics', *key),
        **{'robot': robot, 'q': q, 'v': v, 'tau': tau, 'contacts': contacts},
        'points': np.zeros((len(feet), 2, 3)),
        'directions': np.zeros((len(feet), 2, 3)),
    }
    statements = {
        'kernel': 'kernel(q, v, tau, points, directions)',
        'method': 'robot.constrained_forward_dynamics(q, v, tau, contacts)',
    }
    with_peer = 'pin' in options.peers
    if with_peer:
        peer = PinocchioContacts(urdf, feet, kind)
        coordinates = PinocchioPeer(urdf, robot)
        state = (coordinates.configuration(q), coordinates.velocity(v), coordinates.velocity(tau))
        names |= {'peer': peer, 'state': state}
        statements['theirs'] = 'peer.forward_dynamics(*state)'
        _agree(coordinates.velocity(a), peer.forward_dynamics(*state))
    times = interleaved(statements, names, QUICK if options.quick else Effort())
    for case, ours in (('dynamics in contact', 'kernel'), ('the same, method', 'method')):
        value = 1e6 * times[ours]
        goal = Goal(20.0, of='value')
        yield Record('control', case, subject.name, value, 'us', goal=goal)
        if with_peer:
            yield Record(
                'control', case, subject.name, value, 'us', 'pin', 1e6 * times['theirs'],
                Goal(SHARE),
            )  # fmt: skip
    if subject.name in LEGGED:
        yield from _whole_body(robot, feet, options)


def _whole_body(
    robot: Robot, feet: tuple[str, ...], options: argparse.Namespace
) -> Iterator[Record]:
    """Times of three levels of a robot on its feet, for states around a stance."""
    q = robot.neutral()
    q[7:] = [LEGGED['anymal'].stance.get(name, 0.0) for name in robot.joint_names]
    rng = np.random.default_rng(0)
    states = [
        (robot.integrate(q, 0.05 * rng.normal(size=18)), 0.1 * rng.normal(size=18))
        for _ in range(20)
    ]

    def solve(count: int) -> None:
        for state in states:
            problem = WholeBodyProblem(robot, *state, feet[:count])
            problem.solve(
                [
                    problem.friction_cones(0.6) + problem.torque_limits(),
                    problem.frame_acceleration('base', np.zeros(6)),
                    problem.torques(np.zeros(12)),
                ]
            )

    statements = {f'{count} feet': f'solve({count})' for count in (4, 3)}
    effort = QUICK if options.quick else Effort()
    times = interleaved(statements, {'solve': solve}, effort)
    for case, time in times.items():
        value = 1e6 * time / len(states)
        goal = Goal(1000.0, of='value')
        yield Record(
            'control', f'whole body, three levels, {case}', 'anymal', value, 'us', goal=goal
        )


def _compiled(robot: Robot, *key: str) -> Any:
    """The function of a kernel after its compilation."""
    kernel = robot.kernel(*key)
    kernel.wait()
    return kernel.call


def _agree(ours: Array, theirs: Array) -> None:
    """Raise an error if both results differ."""
    scale = max(1.0, float(np.abs(theirs).max()))
    if np.abs(ours - theirs).max() > AGREEMENT * scale:
        raise AssertionError(f'{ours} and {theirs} differ')
