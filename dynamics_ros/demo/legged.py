# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of a legged robot: it stands and is pushed, and its foot forces are estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.model import build_model
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot
from dynamics_ros_msgs.msg import FootContacts

from .demonstration import Demonstration
from .known_robots import LeggedRobot
from .processes import Children
from .screen import Cell, View

Array = NDArray[np.float64]

FELT, TRUTH = '/contact_node/foot_contacts', '/robot_simulator/ground_truth/foot_contacts'

_FORCE_TOLERANCE = 5.0  # RMS error of a vertical foot force, % of an even share of the weight
_MIN_RIGHT_PERCENT = 99.0  # samples in which contact_node is right about the feet in contact
_PUSH = 2.0  # s
_EDGE = 300_000_000  # ns after a push begins or ends, in which the delay of the observer dominates
_SHARE = 0.15  # share of the weight that the push has


class LeggedDemonstration(Demonstration):
    """Pushes a legged robot, and checks its foot forces.

    Forces are vertical sums over the feet, and errors relative to an even share of the weight.
    Forces of the observer do not contain a push at the base, those by constraints do: ``pushed_n``
    is their increase during the push.
    """

    rows = (
        ('weight', '{weight_n:.1f} N, on the feet {true_n:.1f} N, estimated {felt_n:.1f} N'),
        ('push downward', '{push_n:.1f} N, estimated {pushed_n:.1f} N'),
        ('force by the observer', 'off by {observer_error_percent:.1f} % of a foot, RMS'),
        ('force by constraints', 'off by {constraint_error_percent:.1f} % of a foot, RMS'),
        ('feet in contact', 'right in {contact_right_percent:.1f} % of {samples} states'),
    )
    settling = 2.5  # until the robot stands and the filters have settled after touch-down

    def __init__(self, known: LeggedRobot, urdf: str, running: Children, began: float) -> None:
        """Start the processes for a robot with a description."""
        robot = Robot(build_model(read_urdf(urdf), 'floating'))
        common, feet = {'root_joint': 'floating'}, list(known.feet)
        simulator = {
            'robot_description': urdf,
            **common,
            'feet': feet,
            'foot_radius': known.foot_radius,
            'posture': [float(known.stance.get(joint, 0.0)) for joint in robot.joint_names],
        }
        running.start('robot_simulator', {'robot_simulator': simulator})
        nodes = dict.fromkeys(('kinematics_node', 'dynamics_node'), common)
        contact = {**common, 'feet': {'frames': feet}}
        running.start('dynamics_ros', {**nodes, 'contact_node': contact})
        self._known, self._weight = known, 9.81 * float(robot.total_mass)
        figures = {'joints': len(robot.joint_names), 'feet': feet, 'weight_n': self._weight}
        super().__init__(running, began, robot=robot.name, **figures)

    def connect(self) -> None:
        """Subscribe to the forces of the feet, and the true ones."""
        self.subscribe(FELT, FootContacts)
        self.subscribe(TRUTH, FootContacts)

    def round(self, duration: float) -> None:
        """Push the base, and compare the forces of the feet with the true ones."""
        self.watch(max(duration - _PUSH - 1.0, 1.0))
        pushed = self.newest(TRUTH)
        force = _SHARE * self._weight * np.array([0.3, 0.3, -0.9])
        self.figures['push_n'] = -float(force[2])
        self.push(self._known.base, force, _PUSH)
        # A busy machine may push later.
        self.wait_until(self.newest(TRUTH) + round(1e9 * (_PUSH + 0.5)))
        samples = self.matched(FELT, TRUTH, first=self.first)
        if self.are_enough('forces of the feet', samples):
            self._measure(samples, pushed)

    def _measure(self, samples: list[tuple[Any, ...]], pushed: int) -> None:
        """Determine the figures of samples; the push began after the stamp ``pushed`` [ns]."""
        weight, push = self._weight, self.figures['push_n']
        # (samples, feet) of each.
        felt, held, true = np.stack([_vertical(x) for _, *x in samples], axis=1)
        t = np.array([stamp for stamp, *_ in samples])
        carried = t[(true.sum(axis=1) > weight + 0.5 * push) & (t > pushed)]
        began = int(carried[0]) if carried.size else int(t[-1]) + 1
        after = t - began - round(1e9 * _PUSH)
        before, during = t < pushed, (t > began + _EDGE) & (after < -_EDGE)
        true_n, felt_n, held_n = (float(x[before].sum(axis=1).mean()) for x in (true, felt, held))
        if during.any():
            self.figures['pushed_n'] = float(held[during].sum(axis=1).mean()) - held_n
        settled = before | during | (after > _EDGE)
        agree = np.array([np.equal(one.in_contact, two.in_contact) for _, one, two in samples])
        right = 100.0 * float(np.mean(agree[settled]))
        self.figures.update(samples=int(settled.sum()), true_n=true_n, felt_n=felt_n)
        self.require(abs(true_n - weight) < 0.02 * weight, 'the robot does not stand')
        self.figures['contact_right_percent'] = right
        self.require(right > _MIN_RIGHT_PERCENT, 'contact states of the feet are wrong')
        share = weight / len(self._known.feet)
        for name, forces in (('observer', felt), ('constraint', held)):
            error = 100.0 / share * float(np.sqrt(np.mean((forces - true)[before] ** 2)))
            failure = f'forces of the feet by the {name} are off by {error:.1f} %'
            self.check(failure, _FORCE_TOLERANCE, {f'{name}_error_percent': error})

    def view(self) -> View:
        """Vertical forces of the feet beside the simulated ones."""
        felt, truth = self.latest(FELT), self.latest(TRUTH)
        feet, z = self._known.feet, _vertical([felt, truth])
        limit = 2.0 * self._weight / len(feet)
        rows = [(foot, [Cell(x, limit) for x in forces]) for foot, forces in zip(feet, z.T)]
        stand = [foot for foot, stands in zip(feet, felt.in_contact) if stands]
        title = f'{self.figures["robot"]}, in contact: {", ".join(stand) or "no foot"}'
        sums = dict(zip(('estimated', 'simulated'), z.sum(axis=1)[1:].tolist(), strict=True))
        return View(title, ('foot, N', 'observer', 'constraints', 'simulated'), rows, sums)


def _vertical(messages: Sequence[Any]) -> Array:
    """Forces (3, feet) by observer, by constraints, and true ones, of an estimate and a truth."""
    felt, truth = messages
    lists = felt.forces, felt.constraint_forces, truth.forces
    return np.array([[force.z for force in forces] for forces in lists])
