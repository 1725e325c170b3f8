# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""File of Rerun with the robot, its forces and external torques over the time of a recording."""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.collision_geometry import by_reason, read_visual_geometry
from dynamics_ros.robot import Robot

from .states import EstimatedBlock

LOG = logging.getLogger(__name__)

PERIOD = 20_000_000
"""Least time between two pictures of the robot, whose torques are those of that state [ns]."""

FORCE_SCALE = 0.01
"""Length of an arrow per force [m/N]."""


class RerunFile:
    """Writes the states of a robot, with what is estimated for them."""

    def __init__(self, path: Path, robot: Robot, description: str, folder: Path) -> None:
        """Write the shapes of the robot.

        Args:
            path: the new file.
            robot: the robot.
            description: its URDF as XML text.
            folder: folder of relative mesh paths.

        Raises:
            InvalidArgumentError: rerun-sdk is not installed.
        """
        try:
            rerun = import_module('rerun')
        except ImportError as missing:
            cure = 'pip install rerun-sdk'
            raise InvalidArgumentError('--rerun', 'rerun-sdk is not installed', cure) from missing
        self._rr, self._last = rerun, -PERIOD
        self._stream = rerun.RecordingStream(robot.name or 'robot')
        self._stream.save(path)
        names = rerun.SeriesLines(names=robot.joint_names)
        self._stream.log('external_torques', names, static=True)
        visuals, problems = read_visual_geometry(description, folder)
        for problem in by_reason(problems):
            LOG.warning('no shape in the file of Rerun: %s', problem)
        for number, visual in enumerate(visuals):
            corners = visual.triangles.reshape(-1, 3)
            faces = np.arange(len(corners)).reshape(-1, 3)
            mesh = rerun.Mesh3D(vertex_positions=corners, triangle_indices=faces)
            self._stream.log(['robot', visual.link, str(number)], mesh, static=True)

    def write(self, block: EstimatedBlock) -> None:
        """Write the first state of a block, unless the one before is less than a period old."""
        rr, log = self._rr, self._stream.log
        _, stamps, estimates, estimators = block
        state, external, pipeline = estimates.states.row(0), estimates.row(0), estimators.pipeline
        if abs(stamps[0] - self._last) < PERIOD:  # a clock may be set back
            return
        self._last, robot = stamps[0], pipeline.robot
        self._stream.set_time('stamp', timestamp=np.datetime64(int(stamps[0]), 'ns'))
        for frame, X in zip(robot.frame_names, robot.all_frames(state.q), strict=True):
            log(['robot', frame], rr.Transform3D(translation=X[:3, 3], mat3x3=X[:3, :3]))
        log('external_torques', rr.Scalars(external.values[list(robot.joint_v_indices.values())]))
        log('contact', rr.TextLog(f'{external.report.state.name} {external.report.link}'.strip()))
        for estimate in pipeline.wrenches(state, external.values):
            vector = FORCE_SCALE * estimate.wrench[:3]
            arrow = rr.Arrows3D(origins=estimate.reference_point - vector, vectors=vector)
            log(['robot', estimate.expressed_in, f'force_at_{estimate.frame}'], arrow)

    def close(self) -> None:
        """Complete the file."""
        self._stream.disconnect()
