# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reduction of a recording to triangular factors of its equations.

The rows A x = b of a joint may be replaced by the R factor of the QR factorization of [A b]: every
least-squares problem of them has the same solution and residual. Recordings of a robot are combined
by factorizing their stacked triangles, so a thousand recordings need no more memory than one. The
regressor is computed for some blocks at a time (``equations``) and not stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.identification.equations import EquationMaker, Equations, Filtering
from dynamics_ros.identification.equations.friction_shape import friction_columns
from dynamics_ros.identification.evaluation import Evaluation
from dynamics_ros.identification.fit import Fit
from dynamics_ros.identification.joint_states.clock import extremes_of, regular_stretches
from dynamics_ros.identification.joint_states.noise import noises_of
from dynamics_ros.identification.joint_states.samples import JointSamples, UnusableRecordingError
from dynamics_ros.identification.normal_equations import Layout, predictions
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

SUFFIX = '.npz'

MAX_BLOCKS = 240
"""Largest number of separate triangles in an identification; more recordings are combined."""

SAME_TOLERANCE = 1e-9
"""Largest difference of the base parameters of equal robots."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """Triangular factors of one or more recordings of a robot.

    Attributes:
        source: name of the recordings in messages.
        joint_names: joint names of the robot, in its order.
        combination: (b, p) matrix of the base parameters of the first columns.
        triangles: (nv, 2, c, c) R factors of rows in motion and at rest, with the columns base
            parameters, friction shapes, effort as reported.
        counts: (nv, 2) numbers of rows.
        extremes: (2, nv) lowest and highest positions [rad or m].
        effort_noise, velocity_noise: (nv) largest standard deviations of single reported values.
        velocity_differenced: (nv) least share of the velocity variance from position differences.
        filtering: cutoff frequencies of the longest recording.
    """

    source: str
    joint_names: tuple[str, ...]
    combination: Array
    triangles: Array
    counts: NDArray[np.int64]
    extremes: Array
    effort_noise: Array
    velocity_noise: Array
    velocity_differenced: Array
    filtering: Filtering

    @classmethod
    def combined(cls, parts: Sequence[Reduction]) -> Reduction:
        """One reduction of all recordings together."""
        first = max(parts, key=lambda part: part.count)
        stacked = np.concatenate([part.triangles for part in parts], axis=2)
        return cls(
            first.source if len(parts) == 1 else f'{len(parts)} recordings',
            first.joint_names,
            first.combination,
            np.asarray(np.linalg.qr(stacked, mode='r')),
            np.sum([part.counts for part in parts], axis=0),
            np.array(
                [
                    np.min([part.extremes[0] for part in parts], axis=0),
                    np.max([part.extremes[1] for part in parts], axis=0),
                ]
            ),
            np.max([part.effort_noise for part in parts], axis=0),
            np.max([part.velocity_noise for part in parts], axis=0),
            np.min([part.velocity_differenced for part in parts], axis=0),
            first.filtering,
        )

    @property
    def count(self) -> int:
        """Number of rows of each joint."""
        return int(self.counts[0].sum())

    def write(self, path: Path) -> None:
        """Write a file for ``read``."""
        with path.open('wb') as file:
            np.savez(
                file,
                source=self.source,
                joint_names=np.array(self.joint_names),
                combination=self.combination,
                triangles=self.triangles,
                counts=self.counts,
                extremes=self.extremes,
                effort_noise=self.effort_noise,
                velocity_noise=self.velocity_noise,
                velocity_differenced=self.velocity_differenced,
                filtering=np.array([self.filtering.narrow, self.filtering.wide]),
            )

    @classmethod
    def read(cls, path: Path) -> Reduction:
        """Read a file.

        Raises:
            UnusableRecordingError: it is not a reduced recording.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(
                    str(file['source']),
                    tuple(file['joint_names'].tolist()),
                    file['combination'],
                    file['triangles'],
                    file['counts'],
                    file['extremes'],
                    file['effort_noise'],
                    file['velocity_noise'],
                    file['velocity_differenced'],
                    Filtering(*file['filtering'].tolist()),
                )
        except Exception as error:  # of the archive, its compression, its arrays
            raise UnusableRecordingError(f'{path}: no reduced recording: {error}') from error


class Reducer:
    """Reduces a recording in parts."""

    def __init__(self, robot: Robot, base: BaseParameters) -> None:
        """Create a reducer; ``base`` are the base parameters of the robot."""
        self._robot, self._base = robot, base
        self._maker: EquationMaker | None = None
        self._triangles: Array | None = None
        self._counts = np.zeros((robot.nv, 2), dtype=np.int64)
        self._noise = np.zeros((2, robot.nv))
        self._differenced = np.ones(robot.nv)
        self._extremes = np.outer([np.inf, -np.inf], np.ones(robot.nv))

    def add(self, samples: JointSamples) -> None:
        """Add a part of the recording: samples of the joints of the robot in its order.

        Parts that are shorter than the filters are ignored.
        """
        if self._maker is None:
            filtering = Filtering.for_motion(regular_stretches(samples))
            self._maker = EquationMaker(self._robot, self._base, filtering, np.ones(self._robot.nv))
        try:
            equations = self._maker.equations(samples)
        except UnusableRecordingError:
            return
        nv, _, c = equations.rows.shape
        if self._triangles is None:
            self._triangles = np.zeros((nv, 2, c, c))
        for k, own in enumerate((~equations.standing, equations.standing)):
            rows = [self._triangles[:, k], equations.rows[:, own[equations.block]]]
            self._triangles[:, k] = np.linalg.qr(np.concatenate(rows, axis=1), mode='r')
            self._counts[:, k] += equations.counts[:, own].sum(axis=1)
        stretches = regular_stretches(samples)
        *noise, differenced = noises_of(stretches, np.ones(self._robot.nv))
        self._noise = np.maximum(self._noise, noise)
        self._differenced = np.minimum(self._differenced, differenced)
        lowest, highest = extremes_of(stretches)
        self._extremes = np.array(
            [np.minimum(self._extremes[0], lowest), np.maximum(self._extremes[1], highest)]
        )

    def result(self, source: str) -> Reduction:
        """The reduction of all parts.

        Raises:
            UnusableRecordingError: all parts were too short.
        """
        if self._maker is None or self._triangles is None:
            raise UnusableRecordingError(f'{source}: too short to identify anything from')
        return Reduction(
            source,
            self._robot.joint_names,
            self._base.combination,
            self._triangles,
            self._counts,
            self._extremes,
            self._noise[0],
            self._noise[1],
            self._differenced,
            self._maker.filtering,
        )


def evaluation_of(layout: Layout, equations: Equations, fit: Fit) -> Evaluation:
    """Residuals of the rows of triangles, which have no times.

    Rows are scaled so that root mean squares are those of the original rows. The residuals appear
    uncorrelated in time, so standard deviations that follow from them are too small.
    """
    rows = equations.rows
    scale = np.sqrt(rows.shape[1] / equations.counts[0].sum())
    measured = scale * rows[..., -1].T
    modelled = scale * predictions(layout, rows, fit.x, fit.shape).T
    time = np.arange(len(measured), dtype=np.float64)
    zero = np.zeros_like(measured)
    standing = np.tile(equations.standing[equations.block, np.newaxis], measured.shape[1])
    return Evaluation(time, zero, measured, modelled, zero, standing)


def equations_of(base: BaseParameters, reductions: Sequence[Reduction]) -> Equations:
    """Equations of reduced recordings, two blocks each; neighbouring recordings may be combined.

    Raises:
        UnusableRecordingError: a recording was reduced for another robot, or by another version.
    """
    columns = len(base) + friction_columns(np.zeros(1)).shape[-1] + 1
    for one in reductions:
        same = one.combination.shape == base.combination.shape
        if not same or np.abs(one.combination - base.combination).max() > SAME_TOLERANCE:
            raise UnusableRecordingError(
                f'{one.source} was reduced for another robot, or with other joints locked: '
                'reduce the recording anew'
            )
        if one.triangles.shape[-1] != columns:
            raise UnusableRecordingError(
                f'{one.source} was reduced by a version with other columns: reduce the recording '
                'anew'
            )
    groups = np.array_split(np.arange(len(reductions)), min(MAX_BLOCKS, len(reductions)))
    parts = [Reduction.combined([reductions[k] for k in group]) for group in groups]
    triangles = np.concatenate([part.triangles for part in parts], axis=1)
    nv, blocks, c = triangles.shape[:3]
    return Equations(
        triangles.reshape(nv, blocks * c, c),
        np.zeros((nv, blocks * c)),
        np.repeat(np.arange(blocks), c),
        np.zeros(blocks),
        np.concatenate([part.counts for part in parts], axis=1),
        np.arange(blocks) % 2 == 1,
        np.zeros((nv, blocks * c)),
    )
