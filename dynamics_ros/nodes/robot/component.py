# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the jobs on a robot have in common: their nodes publish and serve what they compute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.output.plan import Group
from dynamics_ros.nodes.reporting.results import FaultLog
from dynamics_ros.robot import Robot


class Component(ABC):
    """One job on the robot of a context, with its own node, parameters, outputs and services.

    Attributes:
        node: where its parameters, topics and services live.
        faults: where unforeseen errors go.
        problem: why it is not ready for the robot in force; '' when it is.
        silence: why it published nothing for the last state; '' when it did or nobody listens.
        caution: what to know about what it published for the last state; '' when all is well.
        uses_masses: whether what it publishes is wrong for bodies that lack their mass.
    """

    uses_masses: ClassVar[bool] = False

    def __init__(self, node: Node) -> None:
        self.node = node
        self.faults = FaultLog.of(node)
        self.problem = ''
        self.silence = ''
        self.caution = ''

    @abstractmethod
    def prepare(self, robot: Robot, default_frame: str) -> Any:
        """Make ready for a robot: in another thread, touching nothing that is in use.

        Raises:
            DynamicsRosError: this robot cannot be worked with as configured.
        """

    @abstractmethod
    def adopt(self, prepared: Any) -> None:
        """Take what was prepared into use, between two messages."""

    def leave(self, prepared: Any) -> None:  # noqa: B027 - most have nothing that moves
        """Get ready for another robot, while states are still those of the one in force.

        Args:
            prepared: what ``prepare`` has made of the other one, or the error that it raised:
                then there is no ``adopt``.
        """

    def observe(self, state: RobotState) -> None:
        """Take in a state, whether or not it is answered."""
        self.silence = ''

    def groups(self) -> Sequence[Group]:
        """What it publishes of a state, in the epoch that has begun."""
        return ()

    @abstractmethod
    def outputs(self) -> list[Output]:
        """Every publisher but that of diagnostics."""

    def start(self) -> None:  # noqa: B027 - not every component has something to ask for
        """Ask for what the parameters say about the robot, once the executor is there."""

    def end(self) -> None:  # noqa: B027 - most leave nothing behind that moves
        """Send what has to be sent before the process ends."""

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """What makes the first requests as quick as all others, in slices for another thread.

        Asked for at start, and whenever a robot has been adopted.
        """
        return ()

    def details(self) -> dict[str, str]:
        """What diagnostics shows beside what it shows of every component."""
        return {}

    def failed(self, error: Exception) -> None:
        """Be silent because of an error, which is no reason for others to be."""
        if isinstance(error, DynamicsRosError):
            self.silence = str(error)
            return
        # Of a context that a signal has shut down nothing is told: see FaultLog.
        self.silence = f'unexpected error: {type(error).__name__}: {error}'
        self.faults.report('computing the outputs', error)
