# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Latest estimates of contact_node, in arrays from which messages are filled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynamics_ros.estimation import ContactPipeline
from dynamics_ros.estimation.external_torques import ExternalTorques
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.wire.conversions import Array


class StateArrays(NamedTuple):
    """Fixed arrays of the latest state, from which kernels and copies fill the messages.

    Attributes:
        q, v: configuration (nq) and velocity (nv).
        tau: torques of the joints on the rigid bodies (nv), for robots with feet [Nm or N].
        torques: external torques (nv) [Nm or N].
        thresholds: thresholds of contact and of collision (2, nv) [Nm or N].
        offset: offset of the tare (nv) [Nm or N].
    """

    q: Array
    v: Array
    tau: Array
    torques: Array
    thresholds: Array
    offset: Array

    @classmethod
    def zeros(cls, nq: int, nv: int) -> StateArrays:
        """Return arrays of zeros for a robot with ``nq`` coordinates and ``nv`` velocities."""
        v, tau, torques, offset = np.zeros((4, nv))
        return cls(np.zeros(nq), v, tau, torques, np.zeros((2, nv)), offset)


class Estimated(NamedTuple):
    """Latest estimates.

    Attributes:
        pipeline: the estimators.
        state: the state that they are about.
        external: external torques.
        arrays: arrays from which messages are filled.
    """

    pipeline: ContactPipeline
    state: RobotState
    external: ExternalTorques
    arrays: StateArrays
