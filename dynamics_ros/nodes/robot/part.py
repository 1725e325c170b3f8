"""What the three jobs of the package have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError, UnknownFrameError
from dynamics_ros.nodes.input.state import RobotState
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.output.short_way import Share
from dynamics_ros.nodes.reporting.results import FaultLog
from dynamics_ros.robot import Robot

if TYPE_CHECKING:
    from .context import RobotContext


class Part(ABC):
    """One job on the robot of a context: its own node, parameters, outputs and services.

    Attributes:
        node: where its parameters, topics and services live.
        context: the robot and its state, shared by the parts of a process.
        faults: where unforeseen errors go.
        problem: why it is not ready for the robot in force; '' when it is.
        silence: why it published nothing for the last state; '' when it did or nobody listens.
        caution: what to know about what it published for the last state; '' when all is well.
        uses_masses: whether what it publishes is wrong for bodies that lack their mass.
    """

    uses_masses: ClassVar[bool] = False

    def __init__(self, node: Node, context: RobotContext) -> None:
        self.node = node
        self.context = context
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

    @abstractmethod
    def update(self, state: RobotState) -> None:
        """Publish what follows from a new state."""

    def follow(self, state: RobotState) -> None:  # noqa: B027 - most parts remember nothing
        """Take in a state that is not answered, because newer ones wait."""

    def share(self, now: float) -> Share | None:
        """What it does for states that are like the last one; None: they want ``update``.

        Asked for after ``update``, at the time ``now`` of the steady clock [s].
        """
        return None

    def catch_up(self, state: RobotState, states: int) -> None:  # noqa: B027 - not all have to
        """Publish what is published less often than states come, while these go the short way.

        Args:
            state: the latest.
            states: so many have gone that way since the last time.
        """

    def pass_over(self, states: int) -> None:  # noqa: B027 - not all have to
        """Count states that went the short way and that nothing rare was published of."""

    @abstractmethod
    def outputs(self) -> list[Output]:
        """Every publisher but that of diagnostics."""

    def start(self) -> None:  # noqa: B027 - not every part has something to ask for
        """Ask for what the parameters say about the robot, once the executor is there."""

    def end(self) -> None:  # noqa: B027 - most parts leave nothing behind that moves
        """Send what has to be sent before the process ends."""

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """What makes the first requests as quick as all others, in slices for another thread.

        Asked for at start, and whenever a robot has been adopted.
        """
        return ()

    def details(self) -> dict[str, str]:
        """What diagnostics shows beside what it shows of every part."""
        return {}

    def failed(self, error: Exception) -> None:
        """Be silent because of an error, which is no reason for others to be."""
        if isinstance(error, DynamicsRosError):
            self.silence = str(error)
            return
        # Of a context that a signal has shut down nothing is told: see FaultLog.
        self.silence = f'unexpected error: {type(error).__name__}: {error}'
        self.faults.report('computing the outputs', error)

    def stale_silence(self, state: RobotState) -> str:
        """Why nothing may be computed from a state with stale joints; '' when there are none."""
        if not state.stale:
            return ''
        return f'no news for longer than joint_timeout of: {", ".join(state.stale)}'


def known_frames(
    robot: Robot, frames: tuple[str, ...], default: str, parameter: str = 'frames'
) -> tuple[str, ...]:
    """The frames that a parameter configures, or the default.

    Raises:
        UnknownFrameError: the robot does not have one of them.
    """
    for frame in frames:
        if frame not in robot.frame_names:
            raise UnknownFrameError(parameter, frame, robot.frame_names)
    return frames or (default,)
