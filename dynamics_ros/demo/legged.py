# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration of a legged robot: it stands and is pushed, and its foot forces are estimated."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.model import build_model
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot
from dynamics_ros_msgs.msg import FootContacts

from .client import Client, ServiceError, Track, matched, spun
from .known_robots import LeggedRobot
from .processes import Children
from .report import Report
from .screen import Cell, Screen, View

Array = NDArray[np.float64]

_FORCE_TOLERANCE = 5.0  # RMS error of a vertical foot force, % of an even share of the weight
_MIN_RIGHT_PERCENT = 99.0  # samples in which contact_node is right about the feet in contact
_ROUND = 12.0  # s
_SETTLING = 2.5  # s, until the robot stands and the filters have settled after touch-down
_PUSH = 2.0  # s
_EDGE = 300_000_000  # ns after a push begins or ends, in which the delay of the observer dominates
_SHARE = 0.15  # share of the weight that the push has


@dataclass(kw_only=True)
class LeggedReport(Report):
    """Results; forces are vertical, and errors relative to an even share of the weight."""

    rows = (
        ('weight', '{0.weight_n:.1f} N, on the feet {0.true_n:.1f} N, estimated {0.felt_n:.1f} N'),
        ('push downward', '{0.push_n:.1f} N, estimated {0.pushed_n:.1f} N'),
        ('force by the observer', 'off by {0.observer_error_percent:.1f} % of a foot, RMS'),
        ('force by constraints', 'off by {0.constraint_error_percent:.1f} % of a foot, RMS'),
        ('feet in contact', 'right in {0.contact_right_percent:.1f} % of {0.samples} states'),
    )
    feet: tuple[str, ...]
    weight_n: float
    samples: int = 0  # number of compared states
    true_n: float | None = None  # sum over the feet before the push
    felt_n: float | None = None  # the same, estimated
    pushed_n: float | None = None  # increase of the sum during the push, by constraint forces;
    # the forces of the observer do not contain a push at the base
    push_n: float = 0.0  # downward component of the push
    observer_error_percent: float | None = None
    constraint_error_percent: float | None = None
    contact_right_percent: float | None = None


class LeggedDemonstration:
    """Starts simulator and nodes for a legged robot, pushes it, and checks its foot forces.

    Attributes:
        report: the results.
        complete: whether a round is complete.
    """

    def __init__(self, known: LeggedRobot, urdf: str, running: Children) -> None:
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
        contact = {**common, 'feet': {'frames': list(known.feet)}, 'location': {'enabled': False}}
        nodes = dict.fromkeys(('kinematics_node', 'dynamics_node'), common)
        running.start('dynamics_ros', {**nodes, 'contact_node': contact})
        weight = 9.81 * float(robot.total_mass)
        self.report = LeggedReport(
            robot=robot.name, joints=len(robot.joint_names), feet=known.feet, weight_n=weight
        )
        self.complete = False
        self._base, self._running = known.base, running

    def run(self, duration: float) -> None:
        """Run rounds for a duration [s]; infinite: until interrupted.

        Raises:
            DemonstrationError: a process has ended or sends no messages.
        """
        with spun(self._running) as client:
            self._felt: Track[FootContacts] = client.subscribe(
                '/contact_node/foot_contacts', FootContacts
            )
            truth = '/robot_simulator/ground_truth/foot_contacts'
            self._truth: Track[FootContacts] = client.subscribe(truth, FootContacts)
            client.wait_for(client.silent)
            with Screen(self._view) as screen:
                client.show = screen.update
                end = time.monotonic() + duration
                client.watch(_SETTLING)
                while not self.complete or (
                    time.monotonic() + 0.5 * _ROUND < end and not self.report.failures
                ):
                    lasting = min(_ROUND, max(duration - _SETTLING, _PUSH + 2.0))
                    self._round(client, screen, lasting)
                    self.complete = True

    def _round(self, client: Client, screen: Screen, duration: float) -> None:
        first = self._truth.newest
        client.watch(max(duration - _PUSH - 1.0, 1.0))
        pushed = self._truth.newest
        force = _SHARE * self.report.weight_n * np.array([0.3, 0.3, -0.9])
        self.report.push_n = -float(force[2])
        screen.event(f'push at {self._base}: {np.linalg.norm(force):.0f} N for {_PUSH:g} s')
        try:
            client.push(self._base, force, _PUSH)
        except ServiceError as error:
            self.report.require(False, str(error))
        # A busy machine may push later, and simulate more slowly.
        over = self._truth.newest + round(1e9 * (_PUSH + 0.5))
        client.wait_for(lambda: client.behind(over, (self._truth,)))
        self._measure(first, pushed)

    def _view(self) -> View:
        """Vertical forces of the feet beside the simulated ones."""
        felt: Any = self._felt.latest
        truth: Any = self._truth.latest
        rows: list[tuple[str, list[Cell]]] = []
        stand: list[str] = []
        share = self.report.weight_n / len(self.report.feet)
        for i, foot in enumerate(self.report.feet if felt and truth else ()):
            forces = (felt.forces[i], felt.constraint_forces[i], truth.forces[i])
            rows.append((foot, [Cell(force.z, 2.0 * share) for force in forces]))
            stand += [foot] if felt.in_contact[i] else []
        sums = np.sum([[cell.value for cell in cells] for _, cells in rows], axis=0).tolist()
        on_feet = dict(zip(('estimated', 'simulated'), sums[1:], strict=True)) if rows else {}
        text = f'in contact: {", ".join(stand) or "no foot"}'
        numbers = ', '.join(f'{name} {value:.0f} N' for name, value in on_feet.items())
        return View(
            f'{self.report.robot}, {text}',
            ('foot, N', 'observer', 'constraints', 'simulated'),
            rows,
            on_feet,
            f'{text}; on all feet {numbers}',
        )

    def _measure(self, first: int, pushed: int) -> None:
        """Fill the report from messages after a stamp [ns]; the push began after ``pushed``."""
        report = self.report
        samples = matched(self._felt, self._truth, first=first)
        if len(samples) < 10:
            report.require(False, 'contact_node and the truth have next to no stamps in common')
            return
        stamps = np.array([stamp for stamp, *_ in samples])
        true, felt, held = (
            np.array([[vector.z for vector in vectors] for vectors in column])
            for column in zip(
                *((truth.forces, one.forces, one.constraint_forces) for _, one, truth in samples),
                strict=True,
            )
        )
        stood, estimated = (np.array([m[k].in_contact for m in samples]) for k in (2, 1))
        share = report.weight_n / len(report.feet)
        carried = true.sum(axis=1) > report.weight_n + 0.5 * report.push_n
        carried &= stamps > pushed
        began = int(stamps[carried][0]) if carried.any() else pushed
        ended = began + round(1e9 * _PUSH)
        during = (stamps > began + _EDGE) & (stamps < ended - _EDGE) & carried.any()
        before = stamps < pushed
        settled = before | during | (stamps > ended + _EDGE)
        report.samples = int(settled.sum())
        report.true_n = float(true[before].sum(axis=1).mean())
        report.felt_n = float(felt[before].sum(axis=1).mean())
        if during.any():
            before_n = held[before].sum(axis=1).mean()
            report.pushed_n = float(held[during].sum(axis=1).mean() - before_n)
        observer = report.observer_error_percent = 100.0 * _rms(felt[before] - true[before]) / share
        constraint = 100.0 * _rms(held[before] - true[before]) / share
        report.constraint_error_percent = constraint
        right = report.contact_right_percent = 100.0 * float((stood == estimated)[settled].mean())
        stands = abs(report.true_n - report.weight_n) < 0.02 * report.weight_n
        report.require(stands, 'the robot does not stand')
        report.require(observer < _FORCE_TOLERANCE, 'forces by the observer are off')
        report.require(constraint < _FORCE_TOLERANCE, 'forces by constraints are off')
        report.require(right > _MIN_RIGHT_PERCENT, 'contact states of the feet are wrong')


def _rms(values: Array) -> float:
    return math.sqrt(float(np.mean(values**2)))
