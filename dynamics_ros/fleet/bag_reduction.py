# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reduction of bags to triangles from which ``calibrate_robot`` identifies the robot."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.identification.reduced import Reducer
from dynamics_ros.identification.reduced.reduction import SUFFIX
from dynamics_ros.robot import Robot

from .bags import Bag, folder_name
from .samples import Block

REDUCED = 'reduced'
"""Name of the folder in the output."""

PART = 60.0
"""Duration of samples that are filtered together; the filters lose a fraction of a second at each
end [s]."""


class BagReduction:
    """Collects the samples of a bag and reduces them part by part."""

    def __init__(self, robot: Robot) -> None:
        """Creates an empty reduction for the robot without recorded payloads.

        Raises:
            InvalidArgumentError: the base moves, or a joint has several coordinates.
        """
        if any(joint.kind.nq != 1 for joint in robot.model.joints):
            raise InvalidArgumentError(
                '--reduce', 'joints of several coordinates', 'revolute and prismatic joints'
            )
        self._robot = robot
        self._reducer = Reducer(robot, _base(robot))
        self._blocks: list[Block] = []

    def add(self, block: Block) -> None:
        """Adds samples."""
        self._blocks.append(block)
        if (block.time[-1] - self._blocks[0].time[0]) * 1e-9 >= PART:
            self._reduce()

    def write(self, output: Path, bag: Bag) -> None:
        """Writes the file of a bag.

        Raises:
            UnusableRecordingError: the bag is too short.
            OSError: the file cannot be written.
        """
        self._reduce()
        path = output / REDUCED / f'robot={folder_name(bag.robot)}' / f'{bag.name}{SUFFIX}'
        path.parent.mkdir(parents=True, exist_ok=True)
        self._reducer.result(bag.name).write(path)

    def _reduce(self) -> None:
        blocks, self._blocks = self._blocks, []
        if not blocks:
            return
        first = blocks[0].time[0]
        time = np.concatenate([block.time for block in blocks])
        self._reducer.add(
            JointSamples(
                'bag',
                self._robot.joint_names,
                (time - first) * 1e-9,
                np.concatenate([block.q for block in blocks]),
                np.concatenate([block.v for block in blocks]),
                np.concatenate([block.effort for block in blocks]),
            )
        )


@lru_cache(maxsize=4)
def _base(robot: Robot) -> BaseParameters:
    return BaseParameters.of(robot)
