# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Payload of a running robot from two runs, the first of which is without the payload."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynamics_ros.estimation import (
    EffortModel,
    NotIdentifiableError,
    PayloadEstimate,
    PayloadIdentifier,
)
from dynamics_ros.estimation.payload_identification import estimate_of
from dynamics_ros.identification import (
    JointSamples,
    UnusableRecordingError,
    identify,
    identify_with_payload,
)
from dynamics_ros.identification.uncertainty import Recorder
from dynamics_ros.parameters.dynamics import IdentificationParameters
from dynamics_ros.robot import Robot

from .in_motion import MotionRecording


@dataclass(frozen=True, eq=False)
class EmptyRun:
    """A run without the payload.

    Attributes:
        robot: the robot without payload.
        samples: the run, with efforts as torques.
    """

    robot: Robot
    samples: JointSamples


class EmptyRunWatch(MotionRecording):
    """Records a run without the payload."""

    def __init__(self, robot: Robot, values: IdentificationParameters, duration: float) -> None:
        """Create it without samples; raises as ``MotionRecording``."""
        super().__init__(robot.with_payload(None), values, duration)

    def estimate(self) -> EmptyRun:
        """Return the run, if the robot can be identified from it.

        Raises:
            DynamicsRosError: the samples are not sufficient, or not of this robot.
        """
        run = EmptyRun(self._robot, _torques(self._robot, self._model, self.recorder))
        identify(run.robot, [run.samples], scale=np.ones(run.robot.nv))
        return run


class LoadedRunWatch(MotionRecording):
    """Records a run with the payload and subtracts what an empty run tells of the robot."""

    def __init__(
        self, empty: EmptyRun, frame: str, values: IdentificationParameters, duration: float
    ) -> None:
        """Create it without samples.

        Args:
            empty: the run without the payload.
            frame: frame that the payload is fixed to.
            values, duration: as for ``MotionRecording``.

        Raises:
            DynamicsRosError: as for ``MotionRecording``, or no joint moves the frame.
        """
        super().__init__(empty.robot, values, duration)
        PayloadIdentifier(empty.robot, frame)  # checks the frame
        self._empty, self._frame = empty, frame

    def estimate(self) -> PayloadEstimate:
        """Return the payload.

        Raises:
            DynamicsRosError: the samples are not sufficient, or the runs are swapped.
        """
        robot, samples = self._empty.robot, _torques(self._robot, self._model, self.recorder)
        identified, found = identify_with_payload(
            robot, [self._empty.samples], [samples], self._frame, scale=np.ones(robot.nv)
        )
        if found.swapped:
            raise UnusableRecordingError(
                f'the robot carries {found.mass:.2f} kg less than in the run that is said to be '
                'without payload: repeat both runs'
            )
        residual = float(np.sqrt((identified.train.residual**2).mean()))
        rows, count = len(identified.train.time), self.recorder.count
        pi, covariance = found.parameters, found.covariance
        return estimate_of(self._frame, pi, covariance, residual, count, rows, found.unit_deviation)


def _torques(robot: Robot, model: EffortModel, recorder: Recorder) -> JointSamples:
    """The recorded samples, with the torques of the drives instead of the reported efforts.

    Raises:
        NotIdentifiableError: there are none.
    """
    if not recorder.count:
        raise NotIdentifiableError('no samples: joint states have to come all the time')
    samples = recorder.samples
    torques = model.scale * samples.effort
    if not model.includes_gravity:
        torques = torques + robot.gravity(samples.position)
    return replace(samples, effort=torques)
