# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Time of one step of observer and wrench, compared with Pinocchio and NumPy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.descriptions import bare
from benchmarks.records import Goal, Record
from benchmarks.robots import SUBJECTS, urdf_path
from benchmarks.timing import QUICK, Effort, interleaved
from dynamics_ros import Robot
from dynamics_ros.estimation import MomentumObserver, WrenchEstimator

Array = NDArray[np.float64]

GAIN, NOISE, LENGTH, THRESHOLD, PRIOR = 75.0, 0.1, 0.3, 0.02, 100.0
"""Defaults of our estimators [1/s, Nm, m, Nm per N, N]."""

COST = Goal(10.0, of='value')
SHARE = Goal(0.25)

AGREEMENT = 1e-8
"""Relative tolerance for different rounding."""


class Peer:
    """Momentum observer and wrench estimate, written with Pinocchio and NumPy.

    The results are the same as ours: external torques; wrench, covariance, singular values,
    degraded.
    """

    def __init__(self, urdf: str, frame: str) -> None:
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(frame)
        self.units = np.array([1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH])
        self.external = np.zeros(self.model.nv)
        self.stamp = 0
        self.decay = 0.0
        self.p: Any = None
        self.sampled: Any = None

    def observe(self, stamp: int, q: Array, v: Array, tau: Array) -> Array:
        """External torques (nv) after a sample."""
        model, data = self.model, self.data
        M = pin.crba(model, data, q, pin.Convention.WORLD)
        M = np.triu(M) + np.triu(M, 1).T
        C = pin.computeCoriolisMatrix(model, data, q, v)
        g = pin.computeGeneralizedGravity(model, data, q)
        p = M @ v
        sampled = C.T @ v - g + tau
        if self.p is not None:
            interval = (stamp - self.stamp) * 1e-9
            mean = (p - self.p) / interval - 0.5 * (sampled + self.sampled)
            self.external = mean + np.exp(-GAIN * interval) * (self.external - mean)
        self.stamp, self.p, self.sampled = stamp, p, sampled
        return self.external

    def wrench(self, q: Array, external: Array) -> tuple[Array, Array, Array, bool]:
        """Wrench (6), covariance (6, 6), singular values, and whether the estimate is degraded."""
        J = pin.computeFrameJacobian(
            self.model, self.data, q, self.frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        U, s, Vt = np.linalg.svd(J.T * self.units, full_matrices=False)
        d = np.maximum(s * s, THRESHOLD**2)
        w = Vt.T @ ((s / d) * (U.T @ external))
        missing = 1.0 - s * s / d
        variance = (NOISE * s / d) ** 2 + (missing * PRIOR) ** 2
        scaled = Vt.T * self.units[:, None]
        return self.units * w, (scaled * variance) @ scaled.T, s, bool(missing.any())

    def plain_wrench(self, q: Array, external: Array) -> Array:
        """Wrench (6) by normal equations, without covariance and singular values."""
        J = pin.computeFrameJacobian(
            self.model, self.data, q, self.frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        return np.asarray(np.linalg.solve(J @ J.T, J @ external))


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Time of the observer, and of observer and wrench, on panda and xarm7."""
    for subject in SUBJECTS:
        if subject.root != 'fixed' or options.robot not in subject.name:
            continue
        if subject.name not in ('panda', 'xarm7'):
            continue
        urdf = bare(urdf_path(subject.name), subject.locked)
        robot = Robot.from_urdf(urdf)
        rng = np.random.default_rng(0)
        q = robot.random_configuration(rng)
        v, tau = rng.uniform(-1.0, 1.0, robot.nv), rng.uniform(-5.0, 5.0, robot.nv)
        estimator = WrenchEstimator(robot, subject.frame, effort_noise=NOISE)
        estimator.compile()
        names: dict[str, Any] = {
            'q': q,
            'v': v,
            'tau': tau,
            'observer': MomentumObserver(robot, GAIN),
            'estimator': estimator,
            'peer': Peer(urdf, subject.frame),
            'clock': iter(range(0, 10**18, 1_000_000)).__next__,
            'peer_clock': iter(range(0, 10**18, 1_000_000)).__next__,
        }
        _compare(names)
        observe = 'r = observer.update(clock(), q, v, tau)'
        peer_observe = 'r = peer.observe(peer_clock(), q, v, tau)'
        estimate, peer_estimate = 'w, = estimator.estimate(q, r)', 'peer.wrench(q, r)'
        statements = {
            'observer': (observe, peer_observe),
            'observer and wrench': (f'{observe}; {estimate}', f'{peer_observe}; {peer_estimate}'),
        }
        sources = {
            f'{case} {who}': text
            for case, both in statements.items()
            for who, text in zip(('ours', 'pin'), both, strict=True)
        }
        sources['lean'] = f'{peer_observe}; peer.plain_wrench(q, r)'
        seconds = interleaved(sources, names, QUICK if options.quick else Effort())
        for case in statements:
            whole = case != 'observer'
            ours, theirs = 1e6 * seconds[f'{case} ours'], 1e6 * seconds[f'{case} pin']
            record = (
                'estimation',
                f'cost of {case}',
                subject.name,
                ours,
                'us',
                'pin + NumPy',
                theirs,
            )
            yield Record(*record, goal=SHARE if whole else None)
            if whole:
                yield Record('estimation', 'cost of a step', subject.name, ours, 'us', goal=COST)
                lean = 1e6 * seconds['lean']
                yield Record(
                    'estimation',
                    'beside no covariance, no SVD',
                    subject.name,
                    ours,
                    'us',
                    'pin + NumPy',
                    lean,
                )


def _compare(names: dict[str, Any]) -> None:
    """Check that both compute the same.

    Raises:
        ValueError: they do not.
    """
    q, v, tau = names['q'], names['v'], names['tau']
    observer, peer, estimator = names['observer'], names['peer'], names['estimator']
    for stamp in range(0, 5_000_000, 1_000_000):
        ours = observer.update(stamp, q, v, tau)
        theirs = peer.observe(stamp, q, v, tau)
    (estimate,) = estimator.estimate(q, ours)
    wrench, covariance, singular_values, degraded = peer.wrench(q, theirs)
    pairs = [
        (ours, theirs),
        (estimate.wrench, wrench),
        (estimate.covariance, covariance),
        (estimate.singular_values, singular_values),
    ]
    for mine, other in pairs:
        if np.abs(mine - other).max() > AGREEMENT * np.abs(other).max():
            raise ValueError(f'the peer does not agree: {mine} and {other}')
    if estimate.degraded != degraded:
        raise ValueError('the peer does not agree whether the estimate is degraded')
    observer.reset()
    peer.p = None
