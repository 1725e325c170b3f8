# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics in contact and its derivatives, compared with Pinocchio's ``constraintDynamics``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pinocchio as pin

from benchmarks.pinocchio_contacts import PinocchioContacts
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.records import Goal, Record
from benchmarks.robots import Subject, urdf_path
from benchmarks.timing import Effort, interleaved
from dynamics_ros import Robot
from dynamics_ros.constraints import Contact, support_projector

SUITE = 'dynamics'
GOAL = Goal(1.0)
AGREEMENT = 1e-7
"""Relative tolerance: derivatives of a humanoid lose digits to the condition of its mass matrix."""

FEET = {
    'anymal': ('point', ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')),
    'talos_reduced': ('surface', ('left_sole_link', 'right_sole_link')),
}
"""Kind of contact and feet of each robot."""

PIN = 'pin.constraintDynamics(model, data, q_p, v_p, tau_p, models, workspace)'

CASES = {
    'dynamics in contact': ('robot.constrained_forward_dynamics(q, v, tau, feet)', PIN),
    'derivatives in contact': (
        'robot.constrained_forward_dynamics_derivatives(q, v, tau, feet)',
        f'{PIN}; pin.computeConstraintDynamicsDerivatives(model, data, models, workspace)',
    ),
    'hybrid dynamics': ('robot.hybrid_dynamics(q, v, a, tau, legs)', None),
}
"""Our statement and Pinocchio's of each case; Pinocchio has no hybrid dynamics."""


def run(subjects: Iterable[Subject], effort: Effort) -> Iterator[Record]:
    """Time the robots of `FEET`."""
    for subject in subjects:
        if subject.name in FEET:
            yield from _timed(subject, effort)


def _timed(subject: Subject, effort: Effort) -> Iterator[Record]:
    kind, names = FEET[subject.name]
    text = urdf_path(subject.name).read_text()
    robot = Robot.from_urdf(text, 'floating', backend='llvm')
    peer = PinocchioPeer(text, robot)
    feet = [Contact(name, kind) for name in names]
    contacts = PinocchioContacts(peer, feet)
    rng = np.random.default_rng(1)
    q = robot.random_configuration(rng)
    v, a, tau = rng.normal(size=(3, robot.nv))
    v = support_projector(robot, q, feet) @ v
    found = robot.constrained_forward_dynamics_derivatives(q, v, tau, feet)
    for ours, theirs in zip(found, contacts.derivatives(q, v, tau), strict=True):
        assert np.abs(ours - theirs).max() <= AGREEMENT * np.abs(theirs).max()
    names_of_all = {
        'robot': robot, 'q': q, 'v': v, 'a': a, 'tau': tau, 'feet': feet, 'pin': pin,
        'legs': np.arange(robot.nv) >= 6,
        'model': peer.model, 'data': peer.data, 'q_p': peer.configuration(q),
        'v_p': peer.velocity(v), 'tau_p': peer.velocity(tau),
        'models': contacts.models, 'workspace': contacts.data,
    }  # fmt: skip
    statements = {
        f'{case}, {who}': statement
        for case, pair in CASES.items()
        for who, statement in zip(('ours', 'pin'), pair, strict=True)
        if statement is not None
    }
    times = interleaved(statements, names_of_all, effort)
    for case, (_, theirs) in CASES.items():
        ours = times[f'{case}, ours'] * 1e6
        if theirs is None:
            yield Record(SUITE, case, subject.name, ours, 'us')
            continue
        peer_value = times[f'{case}, pin'] * 1e6
        yield Record(SUITE, case, subject.name, ours, 'us', 'pinocchio', peer_value, GOAL)
