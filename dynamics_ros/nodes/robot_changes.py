# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Changes of the robot: by parameters, topics and services, with the reasons of refusals."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String

from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.nodes.outputs import LATCHED
from dynamics_ros.nodes.parameters import ParameterSet
from dynamics_ros.nodes.reporting import FaultLog, Refusals, steady_timer
from dynamics_ros.nodes.robot_request import (
    ARGUMENTS,
    FILE,
    Built,
    Description,
    DescriptionFile,
    RobotMaker,
    RobotRequest,
    approached,
    check_locked_joints,
    requested_values,
)
from dynamics_ros.nodes.workers import SupersededError, Worker
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.robot import Robot

STEP_TIME = 0.1
"""Time between two steps of gravity or payload while torques are sent [s]."""

NO_REBUILD = frozenset(
    {
        *('robot_description', FILE, ARGUMENTS, 'frame_prefix'),
        *('joint_timeout', 'state_timeout', 'loop_tolerance'),
    }
)
"""Parameters that do not change the robot, or change it in another way."""


class RobotChanges:
    """Rebuilds the robot when parameters, the topic robot_description or requests change it.

    A changed robot is built in a thread, while the current one stays in use. Changes apply in
    order, but of several waiting ones with the same subject only the newest. A refused change
    leaves the robot as it is.
    """

    def __init__(
        self,
        node: Node,
        parameters: ParameterSet[RobotParameters],
        worker: Worker,
        prepare: Callable[[Robot, str, Description], Any],
        adopt: Callable[[Built], None],
        busy: Callable[[bool], None],
        on_change: Callable[[], None],
        sends_torques: Callable[[], bool] = lambda: False,
        resistance: Callable[[Robot], str] = lambda before: '',
    ) -> None:
        """Subscribe to parameters and topic; ``build_first`` starts building.

        The functions are called in the executor's thread, except ``prepare``.

        Args:
            node: node of the topic.
            parameters: parameters of the robot.
            worker: thread in which robots are built.
            prepare: prepares the components for a robot, its default frame and its description;
                called in a thread.
            adopt: makes a robot the current one.
            busy: called with True when a change begins, and with False when it has ended.
            on_change: called whenever the diagnostics may have changed.
            sends_torques: whether gravity and payload act on the robot, so that they change
                gradually.
            resistance: why torques show that such a change since a robot is wrong; '' if they do
                not. It is then undone.
        """
        self._node, self._parameters, self._prepare = node, parameters, prepare
        self._adopt, self._busy, self._on_change = adopt, busy, on_change
        self._sends_torques, self._resistance = sends_torques, resistance
        self._robot: Robot | None = None
        self._newest: dict[str, tuple[dict[str, Any], Future[None]]] = {}
        self._order: Counter[str] = Counter()
        self._stepped = 0.0
        self._refusals = Refusals(node, FaultLog.of(node))
        self._request = RobotRequest(
            gravity=parameters.values.gravity, **requested_values(parameters.values)
        )
        self._maker = RobotMaker()
        self._worker = worker
        self._pending = 0
        self._executor: Executor | None = None
        self._in_force = False
        self._topic_description = ''
        values = parameters.values
        self._file = DescriptionFile.of(
            values.robot_description_file, values.robot_description_arguments
        )
        check_locked_joints(parameters.values.locked_joints)
        parameters.add_listener(self._parameters_changed)
        node.create_subscription(String, 'robot_description', self._on_description, LATCHED)

    def start(self, executor: Executor) -> None:
        """Accept changes from now on, which also apply to the first robot."""
        self._executor = executor

    def build_first(self) -> None:
        """Start to build the robot from the description, if there is one already."""
        if self._description():
            self._use_description(self._description())

    @property
    def building(self) -> bool:
        """Whether a change is waiting or being applied."""
        return self._pending > 0

    @property
    def refusal(self) -> str:
        """Reason of a refused description, payload or parameter; '' if none is refused."""
        return self._refusals.first

    @property
    def description_refused(self) -> bool:
        """Whether the newest description is refused, and none is being made ready."""
        return 'robot_description' in self._refusals and not self.building

    def change(self, subject: str, *, always: bool = False, **values: Any) -> Future[None]:
        """Change the robot; the caller reports a refusal.

        Args:
            subject: key of the change; it replaces a waiting change with the same key.
            always: prepare the components even if the request does not change.
            values: changed values of the request, by name.

        Returns:
            Future that completes when the change has taken effect, with an error if it is refused
            or superseded. A request that is repeated meanwhile gets the same future.
        """
        executor = self._executor
        assert executor is not None, 'start() must be called first'
        newest = self._newest.get(subject)
        if self._pending == 1 and newest and newest[0] == values and not newest[1].done():
            return newest[1]
        result: Future[None] = Future(executor=executor)
        before: tuple[Robot, dict[str, Any]] | None = None

        def submit() -> None:
            if self._newest[subject][1] is not result:
                end(SupersededError(f'a newer request for {subject} came in'))
                return
            nonlocal before
            if before is not None and self._sends_torques():
                # Looked at before the next step: torques follow the last one by now.
                wrong = self._resistance(before[0])
                if wrong:
                    end(InvalidArgumentError(', '.join(values), wrong, 'what the robot carries'))
                    self.change(subject, **before[1])
                    return
            elif self._robot is not None:
                before = self._robot, {name: getattr(self._request, name) for name in values}
            building = self._worker.submit(executor, lambda: self._build(values, always), subject)
            building.add_done_callback(finish)

        def finish(done: Future[tuple[Built | None, bool]]) -> None:
            try:
                built, complete = done.result()
                self._take(built)
                if complete:
                    end(None)
                else:
                    self._later(submit)
            except Exception as error:
                end(error)

        def end(error: Exception | None) -> None:
            self._pending -= 1
            if error is None:
                result.set_result(None)
            else:
                result.set_exception(error)
                result.exception()  # rclpy prints errors of futures that have not been read
            self._busy(False)
            self._on_change()

        self._busy(True)
        self._pending += 1
        self._newest[subject] = values, result
        submit()
        self._on_change()
        return result

    def _later(self, action: Callable[[], None]) -> None:
        """Call an action after ``STEP_TIME``."""

        def act() -> None:
            self._node.destroy_timer(timer)
            action()

        timer = steady_timer(self._node, STEP_TIME, act)

    def _build(self, values: Mapping[str, Any], always: bool) -> tuple[Built | None, bool]:
        """Build the robot of a changed request, in the worker's thread.

        Returns:
            The robot, None without a new one, and whether all values have been reached.
        """
        wanted = request = replace(self._request, **values)
        if request == self._request and not always:
            return None, True
        if self._in_force and self._sends_torques():
            self._maker.check(wanted)
            now = time.monotonic()
            request = approached(self._request, wanted, min(now - self._stepped, STEP_TIME))
            self._stepped = now
        built = self._maker.make(request, self._prepare) if request.description else None
        self._request = request
        return built, request == wanted

    def _take(self, built: Built | None) -> None:
        if built is not None:
            self._in_force, self._robot = True, built.robot
            self._adopt(built)

    def rebuild(self, subject: str) -> None:
        """Prepare the components again for the same robot."""
        if self._executor is not None:
            self.change(subject, always=True)

    def change_and_report(self, subject: str, **values: Any) -> None:
        """Change the robot; report a refusal in diagnostics and in the log."""
        future = self.change(subject, **values)
        self._order[subject] += 1
        number = self._order[subject]

        def report(done: Future[None]) -> None:
            # The success of a change says nothing of one that was refused after it.
            if done.exception() is not None or number == self._order[subject]:
                self._record(subject, done.exception())

        future.add_done_callback(report)

    def report(self, subject: str, error: BaseException | None) -> None:
        """Report the error of a subject in diagnostics and log; None: it is no longer refused."""
        self._order[subject] += 1
        self._record(subject, error)

    def _record(self, subject: str, error: BaseException | None) -> None:
        if isinstance(error, SupersededError):
            return
        kept = '; the one before is kept' if self._in_force else ''
        self._refusals.record(subject, error, kept)
        self._on_change()

    def _parameters_changed(self, names: frozenset[str]) -> None:
        values = self._parameters.values
        if self._executor is None:
            return
        if 'robot_description' in names and self._description():
            self._use_description(self._description())
        if 'gravity' in names:
            # A separate change, like that of the service, so that it replaces no other change.
            self.change_and_report('gravity', gravity=values.gravity)
        if names - NO_REBUILD - {'gravity'}:
            self.change_and_report(
                'parameters', **requested_values(values, locked=self._locked_joints_fit())
            )

    def _locked_joints_fit(self) -> bool:
        """Return whether names and positions of locked joints match; otherwise report that."""
        try:
            check_locked_joints(self._parameters.values.locked_joints)
        except InvalidArgumentError as error:
            self.report('locked_joints', error)
            return False
        self.report('locked_joints', None)
        return True

    def _description(self) -> str | DescriptionFile:
        """Return the description of the parameter, else the file, else that of the topic, or ''."""
        text = self._parameters.values.robot_description
        return text or self._file or self._topic_description

    def _on_description(self, message: String) -> None:
        self._topic_description = message.data
        given = self._parameters.values.robot_description
        if not given and self._file is None:
            self._use_description(message.data)
        elif given and message.data != given:
            self._node.get_logger().warning(
                'the topic robot_description tells of another robot than the parameter of that '
                'name, which is used',
                once=True,
            )

    def _use_description(self, given: str | DescriptionFile) -> None:
        if isinstance(given, str) and not given.strip():
            self.report('robot_description', ModelError('robot_description', 'is empty'))
            return
        self.change_and_report('robot_description', description=given)
