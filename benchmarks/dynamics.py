# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `dynamics`: time of calls from Python with NumPy arrays, compared with other libraries.

Statements of all libraries are timed in one interleaved loop; the median counts. Arguments in the
conventions of each library are prepared beforehand. Before timing, the inverse dynamics of all
libraries are compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks import contact, exported, jax_calls, startup, user_functions
from benchmarks.descriptions import bare
from benchmarks.dynamics_cases import (
    BATCH,
    BATCH_CASES,
    CASES,
    PLAIN_PYTHON,
    Case,
)
from benchmarks.mujoco_peer import MujocoPeer
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.records import Record
from benchmarks.robots import SUBJECTS, Subject, urdf_path
from benchmarks.timing import QUICK, Effort, interleaved
from dynamics_ros import Robot

Array = NDArray[np.float64]

SUITE = 'dynamics'
STATES = 10_000
BATCH_EFFORT = Effort(repeats=15, slice_seconds=0.0)
WRITING = 'np.copyto(np.empty(shape), 1.0)'
"""Lower bound of the time of a call that returns a new array: creating and filling the array."""
AGREEMENT = 1e-9
"""Relative tolerance: algorithms differ by rounding, MuJoCo also normalizes and composes
differently."""

PARTS = ('calls', 'batch', 'python', 'startup', 'contact', 'functions', 'exported', 'jax')


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure the selected parts."""
    subjects = [x for x in SUBJECTS if options.robot in x.name]
    effort = QUICK if options.quick else Effort()
    parts = options.part or PARTS
    for subject in subjects:
        bench = Bench.of(subject, set(options.peers))
        if 'calls' in parts:
            yield from bench.calls(effort)
        if 'batch' in parts:
            yield from bench.batches(200 if options.quick else STATES)
        if 'python' in parts and bench.robot.nv == 7:
            yield from bench.plain_python(effort)
    if 'startup' in parts:
        yield from startup.run(subjects, repeats=1 if options.quick else 3)
    if 'contact' in parts:
        yield from contact.run(subjects, effort)
    if 'functions' in parts and 'casadi' in options.peers:
        yield from user_functions.run(effort)
    if 'exported' in parts and 'pin' in options.peers:
        yield from exported.run(subjects, effort)
    if 'jax' in parts:
        yield from jax_calls.run(subjects, effort)


@dataclass(frozen=True)
class Bench:
    """A robot with the names that statements may use.

    Attributes:
        subject: the measured robot.
        robot: our model.
        peers: available peer libraries.
        names: namespace of the statements.
    """

    subject: Subject
    robot: Robot
    peers: frozenset[str]
    names: dict[str, Any]

    @classmethod
    def of(cls, subject: Subject, wanted: set[str]) -> Bench:
        """Load the robot into every library; skip a library that rejects it, with the reason."""
        text = bare(urdf_path(subject.name), subject.locked)
        robot = Robot.from_urdf(text, subject.root)
        rng = np.random.default_rng(0)
        q = robot.random_configuration(rng)
        v, a = rng.normal(size=(2, robot.nv))
        peer = PinocchioPeer(text, robot)
        names: dict[str, Any] = {
            'robot': robot, 'q': q, 'v': v, 'a': a, 'frame': subject.frame,
            'np': np, 'pin': pin, 'model': peer.model, 'data': peer.data,
            'q_p': peer.configuration(q), 'v_p': peer.velocity(v), 'a_p': peer.velocity(a),
            'frame_id': peer.frame_id(subject.frame),
            'frame_ids': [peer.frame_id(frame) for frame in peer.frames],
            'ALIGNED': pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
            'WORLD': pin.Convention.WORLD, 'LOCAL': pin.Convention.LOCAL,
        }  # fmt: skip
        found = {'pin'} & wanted
        _agree('pin', subject, peer.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))
        state = q, v, a
        arguments = text, robot, subject.frame, state
        if 'mujoco' in wanted:
            try:
                mj = MujocoPeer(*arguments)
            except ValueError as error:
                print(f'MuJoCo refuses {subject.name}: {error}')
            else:
                tau = mj.joint_torques()
                _agree('mujoco', subject, tau, robot.inverse_dynamics(*state)[-len(tau) :])
                found.add('mujoco')
                names |= {'mj': mj, 'q_m': mj.q, 'v_m': mj.v, 'a_m': mj.a}
        return cls(subject, robot, frozenset(found), names)

    def calls(self, effort: Effort) -> Iterator[Record]:
        """Time of every quantity of one state."""
        for case in CASES:
            statements = self._statements(case)
            seconds = interleaved(statements, self.names, effort)
            ours = 1e6 * seconds.pop('ours')
            record = Record(SUITE, case.name, self.subject.name, ours, 'us')
            yield from self._with_peers(record, case, {k: 1e6 * x for k, x in seconds.items()})

    def _statements(self, case: Case) -> dict[str, str]:
        statements = {'ours': case.ours}
        if 'pin' in self.peers:
            statements |= {f'pin {i}': source for i, source in enumerate(case.pin)}
            if case.unread:
                statements['pin (unread)'] = case.unread
        if case.mujoco and 'mujoco' in self.peers:
            statements['mujoco'] = case.mujoco
        return statements

    def _with_peers(self, ours: Record, case: Case, micros: dict[str, float]) -> Iterator[Record]:
        ways = [micros.pop(f'pin {i}') for i in range(len(case.pin)) if f'pin {i}' in micros]
        if ways:
            micros = {'pin': min(ways), **micros}
        if not micros:
            yield ours
        goals = {'pin': case.goal, 'pin (unread)': case.goal}
        for peer, value in micros.items():
            yield _with_peer(ours, peer, value, goals.get(peer))

    def batches(self, states: int) -> Iterator[Record]:
        """Time per state of quantities of many states in one call."""
        rng = np.random.default_rng(1)
        Q = np.array([self.robot.random_configuration(rng) for _ in range(states)])
        V, A = rng.normal(size=(2, states, self.robot.nv))
        peer = PinocchioPeer(bare(urdf_path(self.subject.name), self.subject.locked), self.robot)
        names = self.names | {'Q': Q, 'V': V, 'A': A}
        names['Q_p'] = np.array([peer.configuration(q) for q in Q])
        names['V_p'], names['A_p'] = (np.array([peer.velocity(x) for x in X]) for X in (V, A))
        for case in BATCH_CASES:
            names['shape'] = eval(case.ours, names).shape
            statements = {'ours': case.ours, 'writing': WRITING}
            if 'pin' in self.peers:
                statements['pin'] = case.pin
            seconds = interleaved(statements, names, BATCH_EFFORT)
            micros = {name: 1e6 * value / states for name, value in seconds.items()}
            theirs = micros.get('pin')
            for label, name, goal in (('', 'ours', BATCH), (', writing alone', 'writing', None)):
                record = Record(
                    SUITE,
                    f'batch of {states}: {case.name}{label}',
                    self.subject.name,
                    micros[name],
                    'us',
                )
                yield record if theirs is None else _with_peer(record, 'pin', theirs, goal)

    def plain_python(self, effort: Effort) -> Iterator[Record]:
        """Time of RNEA by the plain Python trace, as without llvmlite."""
        names = self.names | {'robot': Robot(self.robot.model, backend='python')}
        seconds = interleaved({'ours': CASES[0].ours}, names, effort)
        value = 1e6 * seconds['ours']
        yield Record(SUITE, 'RNEA, plain Python', self.subject.name, value, 'us', goal=PLAIN_PYTHON)


def _with_peer(ours: Record, peer: str, value: float, goal: Any) -> Record:
    return Record(SUITE, ours.case, ours.robot, ours.value, ours.unit, peer, value, goal)


def _agree(peer: str, subject: Subject, theirs: Array, ours: Array) -> None:
    """End the program if a library computes another robot or another state."""
    error = float(np.abs(theirs - ours).max()) / max(1.0, float(np.abs(ours).max()))
    if not error <= AGREEMENT:
        raise SystemExit(f'{peer} disagrees on {subject.name}: relative error {error:.1e}')
