# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of components, each of which computes, publishes and serves one kind of results."""

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
    """Component of a process, such as kinematics: a node with parameters, outputs and services.

    Attributes:
        node: node of its parameters, topics and services.
        faults: log of unexpected errors.
        problem: why it is not ready for the current robot; '' if it is.
        silence: why it published nothing for the last state; '' if it published or has no
            subscribers.
        caution: warning about its outputs for the last state; '' without one.
        uses_masses: whether its outputs are wrong if masses are missing in the description.
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
        """Prepare for a robot; called in another thread, so it must not change the current state.

        Args:
            robot: the robot.
            default_frame: frame to use where the parameters name none.

        Returns:
            Argument of ``adopt``.

        Raises:
            DynamicsRosError: the configuration does not fit the robot.
        """

    @abstractmethod
    def adopt(self, prepared: Any) -> None:
        """Switch to the result of ``prepare``; called between two messages."""

    def leave(self, prepared: Any) -> None:  # noqa: B027 - most components move nothing
        """Finish with the current robot before the switch to another one.

        Args:
            prepared: result of ``prepare`` for the other robot, or its error; after an error,
                ``adopt`` is not called.
        """

    def observe(self, state: RobotState) -> None:
        """Process a state; called for every state, even if no outputs are computed for it."""
        self.silence = ''

    def groups(self) -> Sequence[Group]:
        """Return the outputs of the component for the current epoch of the plan."""
        return ()

    @abstractmethod
    def outputs(self) -> list[Output]:
        """Return all publishers except that of diagnostics."""

    def start(self) -> None:  # noqa: B027 - most components need no start
        """Apply parameters to the robot; called when the executor has been created."""

    def end(self) -> None:  # noqa: B027 - most components move nothing
        """Send the last messages before the process ends."""

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Return functions that prepare the first requests, to be called in another thread.

        Each function is short. Called at start, and after each ``adopt``.
        """
        return ()

    def details(self) -> dict[str, str]:
        """Return additional values for diagnostics."""
        return {}

    def failed(self, error: Exception) -> None:
        """Set ``silence`` because of an error; other components continue to publish."""
        if isinstance(error, DynamicsRosError):
            self.silence = str(error)
            return
        # FaultLog ignores errors after a signal has shut the context down.
        self.silence = f'unexpected error: {type(error).__name__}: {error}'
        self.faults.report('computing the outputs', error)
