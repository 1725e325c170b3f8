# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Components of a process, and the robot that they work on, which parameters and topics change."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String

from dynamics_ros.constraints import widest_gap
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, ModelError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.outputs import LATCHED, Output, Publication
from dynamics_ros.nodes.parameters import ParameterSet
from dynamics_ros.nodes.reporting import Burst, FaultLog, SourceLostError
from dynamics_ros.nodes.robot_request import (
    ARGUMENTS,
    FILE,
    OF_PARAMETERS,
    Built,
    Description,
    DescriptionFile,
    RobotMaker,
    RobotRequest,
    approached,
    check_locked_joints,
)
from dynamics_ros.nodes.workers import SupersededError, Threads
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import prepare_conversions


class Component(ABC):
    """Component of a process, such as kinematics: a node with parameters, outputs and services.

    Attributes:
        node: node of its parameters, topics and services.
        faults: log of unexpected errors.
        problem: why it is not ready for the current robot; '' if it is.
        unavailable_reason: why it published nothing for the last state; '' if it published or has
            no subscribers.
        warning: warning about its outputs for the last state; '' without one.
        uses_masses: whether its outputs are wrong if masses are missing in the description.
        knows_loops: whether it is right for robots with closed loops.
    """

    uses_masses: ClassVar[bool] = False
    knows_loops: ClassVar[bool] = False

    def __init__(self, node: Node) -> None:
        self.node = node
        self.faults = FaultLog.of(node)
        self.problem = ''
        self.unavailable_reason = ''
        self.warning = ''

    @property
    def sends_torques(self) -> bool:
        """Whether torques that depend on gravity and payload move the robot now."""
        return False

    def resistance(self, before: Robot) -> str:
        """Return why torques show that a change of gravity or payload is wrong; '' if they do not.

        Args:
            before: the robot before the change.
        """
        return ''

    @abstractmethod
    def prepare(self, robot: Robot, default_frame: str, description: Description) -> Any:
        """Prepare for a robot; called in another thread, so it must not change the current state.

        Args:
            robot: the robot.
            default_frame: frame to use where the parameters name none.
            description: what the robot was made from.

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
        self.unavailable_reason = ''

    def publications(self) -> Sequence[Publication]:
        """Return the outputs of the component for the current epoch of the plan."""
        return ()

    def write_inputs(self) -> None:  # noqa: B027 - the state buffer has the inputs of most
        """Write the latest state to the arrays that fill the messages, before they are computed."""

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
        """Set ``unavailable_reason`` because of an error; other components continue to publish."""
        if isinstance(error, DynamicsRosError):
            self.unavailable_reason = Explanation(Reason.COMPUTATION_FAILED, str(error))
            return
        # FaultLog ignores errors after a signal has shut the context down.
        text = f'unexpected error: {type(error).__name__}: {error}'
        self.unavailable_reason = Explanation(Reason.UNEXPECTED_ERROR, text)
        self.faults.report('computing the outputs', error)


STEP_TIME = 0.1
"""Time between two steps of gravity or payload while torques are sent [s]."""

NO_REBUILD = frozenset(
    {
        *('robot_description', FILE, ARGUMENTS, 'frame_prefix'),
        *('joint_timeout', 'state_timeout', 'loop_tolerance'),
    }
)
"""Parameters that do not change the robot, or change it in another way."""


MAX_LOGGED, LOGGED_SECONDS = 20, 10.0
"""Maximum number of logged refusals within a time [s], so that invalid input cannot flood the
log."""


class RobotChanges:
    """Rebuilds the robot when parameters, the topic robot_description or requests change it.

    A changed robot is built in a thread, while the current one stays in use. Changes apply in
    order, but of several waiting ones with the same subject only the newest. A refused change
    leaves the robot as it is.

    Attributes:
        built: the current robot with the request that it was built from, or None.
    """

    def __init__(
        self,
        node: Node,
        parameters: ParameterSet[RobotParameters],
        threads: Threads,
        components: Sequence[Component],
        adopt: Callable[[Built], None],
        on_change: Callable[[], None],
    ) -> None:
        """Subscribe to parameters and topic; ``build_first`` starts building.

        Args:
            node: node of the topic.
            parameters: parameters of the robot.
            threads: threads, one of which builds robots.
            components: components that are prepared for each robot; more may be added.
            adopt: switches the components to a robot, and sets ``built``.
            on_change: called whenever the diagnostics may have changed.
        """
        self._node, self._parameters, self._threads = node, parameters, threads
        self._components, self._adopt, self._on_change = components, adopt, on_change
        self.built: Built | None = None
        self._newest: dict[str, tuple[dict[str, Any], Future[None]]] = {}
        self._order: Counter[str] = Counter()
        self._stepped = 0.0
        self._refused: dict[str, str] = {}
        self._logged = Burst(MAX_LOGGED, LOGGED_SECONDS)
        values = parameters.values
        self._request = RobotRequest(gravity=values.gravity, **self._values_of(OF_PARAMETERS))
        self._maker = RobotMaker()
        self._pending = 0
        self._topic_description = ''
        self._file = DescriptionFile.of(
            values.robot_description_file, values.robot_description_arguments
        )
        check_locked_joints(values.locked_joints)
        parameters.add_listener(self._parameters_changed)
        node.create_subscription(String, 'robot_description', self._on_description, LATCHED)

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
        return next(iter(self._refused.values()), '')

    @property
    def description_refused(self) -> bool:
        """Whether the newest description is refused, and none is being made ready."""
        return 'robot_description' in self._refused and not self.building

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
        newest = self._newest.get(subject)
        same = self._pending == 1 and newest and newest[0] == values and not newest[1].done()
        # One that prepares anew may have read the parameters before their last change.
        if same and newest and not always:
            return newest[1]
        result = self._threads.future()
        self._threads.builder.hold(1)
        self._pending += 1
        self._newest[subject] = values, result
        self._threads.run(self._apply(subject, values, always, result))
        self._on_change()
        return result

    async def _apply(
        self, subject: str, values: dict[str, Any], always: bool, result: Future[None]
    ) -> None:
        """Apply a change, in steps while gravity or payload act on the robot; complete a future."""
        error: Exception | None = None
        try:
            before, complete = None, False
            while not complete:
                if self._newest[subject][1] is not result:
                    raise SupersededError(subject)
                if before is None and self.built is not None:
                    before = self.built.robot, {x: getattr(self._request, x) for x in values}
                elif before is not None and self._sends_torques():
                    # Looked at before the next step: torques follow the last one by now.
                    robot, undo = before
                    try:
                        wrong = [x.resistance(robot) for x in self._components]
                    except DynamicsRosError as doubt:  # what cannot be judged is undone too
                        wrong = [str(doubt)]
                    if any(wrong):
                        self.change(subject, **undo)
                        problem = next(filter(None, wrong))
                        expected = 'what the robot carries'
                        raise InvalidArgumentError(', '.join(values), problem, expected)
                built, complete = await self._threads.submit(
                    self._threads.changes, lambda: self._build(values, always), subject
                )
                if built is not None:
                    self._adopt(built)
                if not complete:
                    await self._threads.sleep(STEP_TIME)
        except Exception as raised:
            error = raised
        self._pending -= 1
        if error is None:
            result.set_result(None)
        else:
            result.set_exception(error)
            result.exception()  # rclpy prints errors of futures that have not been read
        self._threads.builder.hold(-1)
        self._threads.resume()
        self._on_change()

    def _sends_torques(self) -> bool:
        return any(component.sends_torques for component in self._components)

    def _build(self, values: Mapping[str, Any], always: bool) -> tuple[Built | None, bool]:
        """Build the robot of a changed request, in the worker's thread.

        Returns:
            The robot, None without a new one, and whether all values have been reached.
        """
        started = time.perf_counter()
        wanted = request = replace(self._request, **values)
        if request == self._request and not always:
            return None, True
        if self.built is not None and self._sends_torques():
            self._maker.check(wanted)
            now = time.monotonic()
            request = approached(self._request, wanted, min(now - self._stepped, STEP_TIME))
            self._stepped = now
        built = None
        if request.description:
            built = self._maker.make(request)
            built.prepared = self._prepare(built)
            built.seconds = time.perf_counter() - started
        self._request = request
        return built, request == wanted

    def _prepare(self, built: Built) -> list[Any]:
        """Return the result of ``prepare`` of each component, or its error."""
        prepare_conversions()
        if built.robot.model.loops:
            widest_gap(built.robot, built.robot.neutral())  # compiles the kernel for each state
        prepared: list[Any] = []
        for component in self._components:
            try:
                if built.robot.model.loops and not component.knows_loops:
                    expected = 'none, or locked_joints for all joints of a loop, as of a gripper'
                    raise InvalidArgumentError('loops', 'are not known to this node', expected)
                prepared.append(
                    component.prepare(built.robot, built.default_frame, built.description)
                )
            except Exception as error:
                if not isinstance(error, DynamicsRosError):
                    component.faults.report('making ready for the robot', error)
                prepared.append(error)
        return prepared

    def rebuild(self, subject: str) -> None:
        """Prepare the components again for the same robot."""
        if self._threads.executor is not None:
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
        if error is None:
            self._refused.pop(subject, None)
        else:
            if not isinstance(error, DynamicsRosError):
                FaultLog.of(self._node).report(subject, error)
            kept = '; the one before is kept' if self.built is not None else ''
            text = f'{subject} refused: {error}{kept}'
            if isinstance(error, SourceLostError):
                text = str(error)
            if text != self._refused.get(subject) and self._logged.passes(time.monotonic()):
                self._node.get_logger().error(text)
            self._refused[subject] = text
        self._on_change()

    def _values_of(self, names: Sequence[str]) -> dict[str, Any]:
        return {name: getattr(self._parameters.values, name) for name in names}

    def _parameters_changed(self, names: frozenset[str]) -> None:
        if self._threads.executor is None:
            return
        if 'robot_description' in names and self._description():
            self._use_description(self._description())
        if 'gravity' in names:
            # A separate change, like that of the service, so that it replaces no other change.
            self.change_and_report('gravity', **self._values_of(['gravity']))
        if names - NO_REBUILD - {'gravity'}:
            changed = self._values_of(OF_PARAMETERS)
            try:
                check_locked_joints(changed['locked_joints'])
            except InvalidArgumentError as error:
                self.report('locked_joints', error)
                del changed['locked_joints']  # while they do not match, the ones before stay
            else:
                self.report('locked_joints', None)
            self.change_and_report('parameters', **changed)

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
