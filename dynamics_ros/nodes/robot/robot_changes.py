# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Changes of what the robot is made of: what asks for them, and why they are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String

from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.nodes.app.worker import SupersededError
from dynamics_ros.nodes.output.outputs import LATCHED
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.reporting.refusals import Refusals
from dynamics_ros.nodes.reporting.results import FaultLog
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.requests.robot_request import Built, RobotRequest, check_locked_joints
from dynamics_ros.robot import Robot

from .builder import RobotBuilder

NO_NEW_ROBOT = frozenset({'robot_description', 'joint_timeout', 'state_timeout', 'frame_prefix'})
"""Parameters that need none, or ask for it in another way."""


class RobotChanges:
    """Has the robot built anew when parameters, the topic robot_description or a request say so."""

    def __init__(
        self,
        node: Node,
        parameters: ParameterSet[RobotParameters],
        prepare: Callable[[Robot, str], Any],
        adopt: Callable[[Built], None],
        busy: Callable[[bool], None],
        tell: Callable[[], None],
    ) -> None:
        """Listen to the parameters and the topic; nothing is built before ``build_first``.

        Args:
            node: has the topic.
            parameters: of the robot.
            prepare: makes the components ready for a robot and its default frame; in a thread.
            adopt: puts a robot in force; in the executor's thread, as all that follow.
            busy: told when a change begins (True) and when it is in force or refused (False).
            tell: called whenever diagnostics may have something else to say.
        """
        self._node, self._parameters = node, parameters
        self._adopt, self._busy, self._tell = adopt, busy, tell
        self._refusals = Refusals(node, FaultLog.of(node))
        first = RobotRequest(gravity=parameters.values.gravity, **self._wanted())
        self._builder = RobotBuilder(first, prepare, self._put_in_force)
        self._executor: Executor | None = None
        self._in_force = False
        self._told_description = ''
        check_locked_joints(parameters.values.locked_joints)
        parameters.add_listener(self._parameters_changed)
        node.create_subscription(String, 'robot_description', self._on_description, LATCHED)

    def start(self, executor: Executor) -> None:
        """Take changes from now on: they count for the first robot too."""
        self._executor = executor

    def build_first(self) -> None:
        """Begin to build the robot that the parameters describe."""
        if self._description():
            self._use_description(self._description())

    @property
    def building(self) -> bool:
        """Whether a new robot is being made ready."""
        return self._builder.busy

    @property
    def refusal(self) -> str:
        """Why the newest description, payload or parameters were refused; '' when they were not."""
        return self._refusals.first

    def change(self, subject: str, *, always: bool = False, **values: Any) -> Future[None]:
        """Change what the robot is made of; the future is done when it is in force or refused.

        Whoever asks for the change tells about a refusal.

        Args:
            subject: what the change is about; a newer one about the same replaces it.
            always: make the components ready even for a request like the one in force.
            values: of the request that change, by name.
        """
        assert self._executor is not None, 'start() comes first'
        self._busy(True)
        future = self._builder.change(self._executor, subject, values, always=always)
        future.add_done_callback(self._seen)
        self._tell()
        return future

    def _seen(self, done: Future[None]) -> None:
        done.exception()  # rclpy prints those of futures that nobody has looked at
        self._busy(False)
        self._tell()

    def rebuild(self, subject: str) -> None:
        """Have the components made ready anew for the same robot."""
        if self._executor is not None:
            self.change(subject, always=True)

    def change_reported(self, subject: str, **values: Any) -> None:
        """Change the robot for a topic or a parameter: diagnostics and the log tell a refusal."""
        future = self.change(subject, **values)
        future.add_done_callback(lambda done: self.report(subject, done.exception()))

    def report(self, subject: str, error: BaseException | None) -> None:
        """Have diagnostics and the log tell why something is refused; None: it no longer is."""
        if isinstance(error, SupersededError):
            return
        kept = '; the one before is kept' if self._in_force else ''
        self._refusals.note(subject, error, kept)
        self._tell()

    def _put_in_force(self, built: Built) -> None:
        self._in_force = True
        self._adopt(built)

    def _wanted(self, locked: bool = True) -> dict[str, Any]:
        """What parameters that need another robot say of it, with or without locked joints."""
        values = self._parameters.values
        joints = values.locked_joints
        names = {'locked_names': joints.names, 'locked_positions': joints.positions}
        wanted = {
            'root_joint': values.root_joint,
            'backend': values.backend,
            'largest_payload': values.largest_payload,
        }
        return wanted | names if locked else wanted

    def _parameters_changed(self, names: frozenset[str]) -> None:
        values = self._parameters.values
        if self._executor is None:
            return
        if 'robot_description' in names and self._description():
            self._use_description(self._description())
        if 'gravity' in names:
            # By itself, as the service changes it: what else is asked for meanwhile stays.
            self.change_reported('gravity', gravity=values.gravity)
        if names - NO_NEW_ROBOT - {'gravity'}:
            self.change_reported('parameters', **self._wanted(self._locked_joints_fit()))

    def _locked_joints_fit(self) -> bool:
        """Whether names and positions belong together; while they do not, those before stay."""
        try:
            check_locked_joints(self._parameters.values.locked_joints)
        except InvalidArgumentError as error:
            self.report('locked_joints', error)
            return False
        self.report('locked_joints', None)
        return True

    def _description(self) -> str:
        """What the robot is made of: the parameter, else the topic; '' before either tells it."""
        return self._parameters.values.robot_description or self._told_description

    def _on_description(self, message: String) -> None:
        self._told_description = message.data
        given = self._parameters.values.robot_description
        if not given:
            self._use_description(message.data)
        elif message.data != given:
            self._node.get_logger().warning(
                'the topic robot_description tells of another robot than the parameter of that '
                'name, which is used',
                once=True,
            )

    def _use_description(self, text: str) -> None:
        if not text.strip():
            self.report('robot_description', ModelError('robot_description', 'is empty'))
            return
        self.change_reported('robot_description', description=text)
