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

from .demonstration import Demonstration, matched
from .known_robots import LeggedRobot
from .processes import Children
from .screen import Cell, View

Array = NDArray[np.float64]

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
        common = {'root_joint': 'floating'}
        simulator = {
            'robot_description': urdf,
            **common,
            'feet': list(known.feet),
            'foot_radius': known.foot_radius,
            'posture': [float(known.stance.get(joint, 0.0)) for joint in robot.joint_names],
        }
        running.start('robot_simulator', {'robot_simulator': simulator})
        contact = {**common, 'feet': {'frames': list(known.feet)}}
        nodes = dict.fromkeys(('kinematics_node', 'dynamics_node'), common)
        running.start('dynamics_ros', {**nodes, 'contact_node': contact})
        self._known, self._weight = known, 9.81 * float(robot.total_mass)
        joints, feet, weight = len(robot.joint_names), known.feet, self._weight
        super().__init__(
            running, began, robot=robot.name, joints=joints, feet=feet, weight_n=weight
        )

    def connect(self) -> None:
        """Subscribe to the forces of the feet, and the true ones."""
        truth = '/robot_simulator/ground_truth/foot_contacts'
        self._felt = self.subscribe('/contact_node/foot_contacts', FootContacts)
        self._truth = self.subscribe(truth, FootContacts)

    def round(self, duration: float) -> None:
        """Push the base, and compare the forces of the feet with the true ones."""
        report, first = self.current, self._truth.newest
        self.watch(max(duration - _PUSH - 1.0, 1.0))
        pushed = self._truth.newest
        force = _SHARE * self._weight * np.array([0.3, 0.3, -0.9])
        base, size = self._known.base, np.linalg.norm(force)
        report.figures['push_n'] = -float(force[2])
        self.screen.event(f'push at {base}: {size:.0f} N for {_PUSH:g} s')
        self.push(base, force, _PUSH)
        # A busy machine may push later.
        self.wait_until(self._truth.newest + round(1e9 * (_PUSH + 0.5)))
        samples = matched(self._felt, self._truth, first=first)
        if len(samples) < 10:
            report.require(False, 'contact_node and the truth have next to no stamps in common')
        else:
            self._measure(samples, pushed)

    def view(self) -> View:
        """Vertical forces of the feet beside the simulated ones."""
        felt, truth = self._felt.latest, self._truth.latest
        feet, share = self._known.feet, self._weight / len(self._known.feet)
        z = _vertical([felt, truth]) if felt and truth else np.zeros((3, 0))
        rows = [
            (foot, [Cell(force, 2.0 * share) for force in forces])
            for foot, forces in zip(feet, z.T, strict=False)
        ]
        stand = [foot for foot, stands in zip(feet, felt.in_contact if felt else ()) if stands]
        title = f'{self.report.figures["robot"]}, in contact: {", ".join(stand) or "no foot"}'
        sums = dict(zip(('estimated', 'simulated'), z.sum(axis=1)[1:].tolist(), strict=True))
        return View(title, ('foot, N', 'observer', 'constraints', 'simulated'), rows, sums)

    def _measure(self, samples: list[tuple[Any, ...]], pushed: int) -> None:
        """Fill the report from samples; the push began after the stamp ``pushed`` [ns]."""
        report, figures, weight = self.current, self.current.figures, self._weight
        share = weight / len(self._known.feet)
        # (samples, feet) of each.
        felt, held, true = np.stack([_vertical(x) for _, *x in samples], axis=1)
        t = np.array([stamp for stamp, *_ in samples])
        carried = t[(true.sum(axis=1) > weight + 0.5 * figures['push_n']) & (t > pushed)]
        began = int(carried[0]) if carried.size else pushed
        ended = began + round(1e9 * _PUSH)
        before, during = t < pushed, (t > began + _EDGE) & (t < ended - _EDGE)
        true_n, felt_n, held_n = (float(x[before].sum(axis=1).mean()) for x in (true, felt, held))
        if carried.size and during.any():
            figures['pushed_n'] = float(held[during].sum(axis=1).mean()) - held_n
        observer, constraint = (
            100.0 * float(np.sqrt(np.mean((x - true)[before] ** 2))) / share for x in (felt, held)
        )
        settled = before | (during & bool(carried.size)) | (t > ended + _EDGE)
        agree = [np.equal(one.in_contact, other.in_contact) for _, one, other in samples]
        right = 100.0 * float(np.mean(np.array(agree)[settled]))
        figures.update(
            samples=int(settled.sum()),
            true_n=true_n,
            felt_n=felt_n,
            observer_error_percent=observer,
            constraint_error_percent=constraint,
            contact_right_percent=right,
        )
        report.require(abs(true_n - weight) < 0.02 * weight, 'the robot does not stand')
        report.require(observer < _FORCE_TOLERANCE, 'forces by the observer are off')
        report.require(constraint < _FORCE_TOLERANCE, 'forces by constraints are off')
        report.require(right > _MIN_RIGHT_PERCENT, 'contact states of the feet are wrong')


def _vertical(messages: Sequence[Any]) -> Array:
    """Forces (3, feet) by observer, by constraints, and true ones, of an estimate and a truth."""
    felt, truth = messages
    lists = felt.forces, felt.constraint_forces, truth.forces
    return np.array([[force.z for force in forces] for forces in lists])
