# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Components of a process and what they share: the current robot, its changes, its latest state.

More than 700 lines, because these three refer to each other.
"""

from __future__ import annotations

import gc
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String

from dynamics_ros.constraints import PassiveJoints, widest_gap
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, NoModelError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.kernels.process.background import give_back
from dynamics_ros.multibody.kernel_methods import check_size
from dynamics_ros.nodes.inputs import RobotInputs
from dynamics_ros.nodes.outputs import LATCHED, Plan, Publication
from dynamics_ros.nodes.parameters import ParameterSet
from dynamics_ros.nodes.reporting import FaultLog
from dynamics_ros.nodes.robot_request import (
    Built,
    Description,
    FrameNames,
    RobotRequest,
    approached,
    check_parameters,
    check_payload,
    description_path,
    make_robot,
)
from dynamics_ros.nodes.workers import SupersededError, Threads
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.reasons import Explanation, Figure, Reason
from dynamics_ros.robot import Robot
from dynamics_ros.settings import Settings
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.conversions import Array, prepare_conversions

Answer = TypeVar('Answer')

KernelKey = tuple[str, ...]
"""Name and options of a kernel, such as a frame and a reference."""


class Component(ABC, Generic[Settings]):
    """Component of a process, such as kinematics: a node with parameters, outputs and services.

    Its parts, such as an action, get it as their only argument.

    Attributes:
        node: node of its parameters, topics and services.
        context: the robot and its state.
        parameters: parameters of its node.
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

    def __init__(self, node: Node, context: RobotContext, settings: type[Settings]) -> None:
        self.node, self.context = node, context
        self.faults = FaultLog.of(node)
        self.problem = ''
        self.unavailable_reason = ''
        self.warning = ''
        self.parameters = ParameterSet(node, settings)

    @property
    def values(self) -> Settings:
        """Current values of the parameters."""
        return self.parameters.values

    @property
    def arrays(self) -> StateBuffer:
        """Arrays of the current state, which kernels of messages read."""
        assert self.context.buffer is not None, 'outputs are computed only for a state'
        return self.context.buffer

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
    def prepare(self, robot: Robot, description: Description) -> Any:
        """Prepare for a robot; called in another thread, so it must not change the current state.

        Args:
            robot: the robot.
            description: what the robot was made from.

        Returns:
            Argument of ``adopt``.

        Raises:
            DynamicsRosError: the configuration does not fit the robot.
        """

    @abstractmethod
    def adopt(self, prepared: Any) -> None:
        """Switch to the result of ``prepare``; called between two messages."""

    def leave(self, prepared: Any) -> None:
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

    def start(self) -> None:
        """Apply parameters to the robot; called when the executor has been created."""

    def end(self) -> None:
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

RETRY_TIME = 1.0
"""Time without repetitions after which a value that moved the arm is tried again [s]."""

MAX_LOGGED, LOGGED_SECONDS = 20, 10.0
"""Most refusals that are logged within a time [s]: invalid input must not flood the log."""


@dataclass
class Change:
    """Change of the robot: the arguments and the result of ``RobotChanges.change``.

    Attributes:
        before: from the first step on, the robot and its values before the change and those that it
            supersedes: requests that alternate are compared with what was before all of them.
        undoes: whether it takes a refused change back: it has no subject, so that no repeated
            request replaces it, and precedes all others.
    """

    subject: str
    always: bool
    values: dict[str, Any]
    result: Future[None]
    before: tuple[Robot | None, dict[str, Any]] | None = None
    undoes: bool = False

    def end(self, error: Exception | None = None) -> None:
        """Complete the result, with an error unless the change has taken effect."""
        if error is None:
            self.result.set_result(None)
        else:
            self.result.set_exception(error)
            self.result.exception()  # rclpy prints errors of futures that have not been read


class RobotChanges:
    """Rebuilds the robot when a topic or a request changes description, gravity or payload.

    A changed robot is built in a thread, while the current one stays in use. Changes apply one
    after another, those in steps by turns, but of several with the same subject only the newest.
    A refused change leaves the robot as it is.
    """

    def __init__(self, context: RobotContext) -> None:
        """Subscribe to the topic, which counts unless parameters give the description.

        Raises:
            InvalidArgumentError: a parameter of the robot is invalid.
        """
        self._context = context
        self._waiting: dict[str, Change] = {}
        self._current: Change | None = None
        self._reported: dict[str, Future[None]] = {}
        self._refused: dict[str, str] = {}
        self._logged: deque[float] = deque(maxlen=MAX_LOGGED)
        values = context.parameters.values
        check_parameters(values)
        path = description_path(values)  # which checks the arguments of a file
        self._given = values.robot_description or path
        self._request = RobotRequest(values, gravity=values.gravity)
        self._stepped: dict[str, float] = {}  # time of the last step by what it changed
        # What the torques contradicted: subject, values and result, and when it was last asked for.
        self._resisted: tuple[tuple[str, dict[str, Any], Future[None]] | None, float] = None, 0.0
        context.node.create_subscription(String, 'robot_description', self._on_description, LATCHED)

    def build_first(self) -> None:
        """Start to build the robot from the description of the parameters, if there is one."""
        if self._given:
            self.change_and_report('robot_description', description=self._given)

    def _on_description(self, message: String) -> None:
        if not self._given:
            # Not the empty text, without which no robot is asked for; a blank one is refused.
            self.change_and_report('robot_description', description=message.data or ' ')
        elif isinstance(self._given, str) and message.data != self._given:
            self._context.node.get_logger().warning(
                'the topic robot_description describes another robot than the parameter of that '
                'name, which is used',
                once=True,
            )

    @property
    def building(self) -> bool:
        """Whether a change is waiting or being applied."""
        return self._current is not None

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
            subject: key of the change; it replaces a waiting change with the same key, and ends the
                steps of one that is being applied.
            always: prepare the components even if the request does not change.
            values: changed values of the request, by name.

        Returns:
            Future that completes when the change has taken effect, with an error if it is refused
            or superseded. A request that is repeated meanwhile gets the same future; one that the
            torques contradicted does until it has not been repeated for ``RETRY_TIME``.
        """
        threads, newest, now = self._context.threads, self._waiting.get(subject), time.monotonic()
        resisted, since = self._resisted
        again = resisted and resisted[:2] == (subject, values)
        if resisted and again and now - since < RETRY_TIME and self._sends_torques():
            self._resisted = resisted, now
            return resisted[2]
        if newest is None and not self._waiting:
            newest = self._current
        # One that prepares anew may have read the parameters before their last change.
        if newest and (newest.subject, newest.values) == (subject, values) and not always:
            return newest.result
        change = Change(subject, always, values, threads.future())
        if superseded := self._waiting.pop(subject, None):
            change.before = superseded.before
            superseded.end(SupersededError(subject))
        self._waiting[subject] = change
        threads.prepare(())  # for the robot before: they would slow this one down
        if self._current is None:
            self._current = change
            threads.run(self._apply_all())
        self._context.notify_change()
        return change.result

    async def _apply_all(self) -> None:
        context = self._context
        while self._waiting:
            change = self._current = self._waiting.pop(next(iter(self._waiting)))
            try:
                if await self._step(change):
                    change.end()
                elif newer := self._waiting.get(change.subject):
                    newer.before = change.before
                    change.end(SupersededError(change.subject))
                elif change.undoes:
                    self._put_first(change)
                    continue
                else:
                    self._waiting[change.subject] = change  # after what else waits
                    continue
            except Exception as error:
                change.end(error)
            if not self._waiting:
                self._current = None
                context.warm_up()
            context.threads.resume()
            context.notify_change()

    async def _step(self, change: Change) -> bool:
        """Apply a change, or a step of it while gravity or payload act on the robot.

        Returns:
            Whether it is complete.
        """
        context, threads, subject = self._context, self._context.threads, change.subject
        first = change.before is None
        if first:
            undo = {x: getattr(self._request, x) for x in change.values}
            change.before = context.robot, undo
        # Torques follow the last step before the next one; components are prepared no more often.
        pause = self._last_step(change) + STEP_TIME - time.monotonic()
        if pause > 0.0 and (change.always or not first):
            await threads.until(lambda: False, pause)
            if subject in self._waiting:
                return False
        if not first and not change.undoes and self._sends_torques():
            self._check_resistance(change)
        built, complete = await threads.submit(threads.changes, partial(self._build, change))
        if built is not None:
            context.adopt(built)
        return complete

    def _last_step(self, change: Change) -> float:
        """Time of the last step of the values of a change."""
        return max(self._stepped.get(x, 0.0) for x in change.values or (change.subject,))

    def _check_resistance(self, change: Change) -> None:
        """Undo a change that the torques of the arm contradict.

        Raises:
            InvalidArgumentError: they do.
        """
        robot, undo = change.before or (None, {})
        if robot is None or change.values == undo:  # towards what the arm carried before
            return
        try:
            wrong = [x.resistance(robot) for x in self._context.components]
        except DynamicsRosError as unknown:  # what cannot be judged is undone too
            wrong = [str(unknown)]
        if any(wrong):
            tried = change.subject, change.values, change.result
            self._resisted = tried, time.monotonic()
            self._put_first(Change('', False, undo, self._context.threads.future(), undoes=True))
            problem = next(filter(None, wrong))
            expected = f'what the robot carries; again {RETRY_TIME:g} s after the last try'
            raise InvalidArgumentError(', '.join(undo), problem, expected)

    def _put_first(self, change: Change) -> None:
        self._waiting = {change.subject: change, **self._waiting}

    def _sends_torques(self) -> bool:
        return any(component.sends_torques for component in self._context.components)

    def _build(self, change: Change) -> tuple[Built | None, bool]:
        """Build the robot of a changed request, in the thread of changes.

        Returns:
            The robot, None without a new one, and whether all values have been reached.
        """
        latest, wanted = self._context.built, replace(self._request, **change.values)
        request, built = wanted, None
        if request == self._request and not change.always:
            return None, True
        if latest is not None and self._sends_torques():
            check_payload(wanted.payload, latest.robot, wanted.parameters.largest_payload)
            elapsed = time.monotonic() - self._last_step(change)
            request = approached(self._request, wanted, min(elapsed, STEP_TIME))
        self._stepped |= dict.fromkeys(change.values or (change.subject,), time.monotonic())
        if request.description:
            built = make_robot(request, latest)
            built = replace(built, prepared=self._prepare(built))
        self._request = request
        return built, request == wanted

    def _prepare(self, built: Built) -> list[Any]:
        """Return the result of ``prepare`` of each component, or its error."""
        robot = built.robot
        prepare_conversions()
        if robot.model.loops:
            # Compiles the kernels for each state.
            passive = PassiveJoints(robot, robot.model.passive_joints)
            passive.solve(robot.neutral(), np.zeros(robot.nv))
        prepared: list[Any] = []
        for component in self._context.components:
            try:
                if robot.model.loops and not component.knows_loops:
                    expected = 'none, or locked_joints for all joints of a loop, as of a gripper'
                    raise InvalidArgumentError('loops', 'are not known to this node', expected)
                prepared.append(component.prepare(robot, built.description))
            except Exception as error:
                if not isinstance(error, DynamicsRosError):
                    component.faults.report('making ready for the robot', error)
                prepared.append(error)
        return prepared

    def rebuild(self, subject: str) -> None:
        """Prepare the components again for the same robot."""
        if self._context.threads.executor is not None:
            self.change(subject, always=True)

    def change_and_report(self, subject: str, **values: Any) -> None:
        """Change the robot; report a refusal in diagnostics and in the log."""
        future = self._reported[subject] = self.change(subject, **values)

        def report(done: Future[None]) -> None:
            # The success of a change says nothing of one that was refused after it.
            if done.exception() is not None or self._reported.get(subject) is future:
                self._record(subject, done.exception())

        future.add_done_callback(report)

    def report(self, subject: str, error: BaseException) -> None:
        """Report the error of a subject in diagnostics and log."""
        self._reported.pop(subject, None)
        self._record(subject, error)

    def _record(self, subject: str, error: BaseException | None) -> None:
        if isinstance(error, SupersededError):
            return
        if error is None:
            self._refused.pop(subject, None)
        else:
            if not isinstance(error, DynamicsRosError):
                self._context.faults.report(subject, error)
            kept, name, node = '', getattr(error, 'argument', ''), self._context.node
            if self._context.built is not None:
                kept = '; the one before is kept'
            elif subject == 'robot_description' and (self._given or node.has_parameter(name)):
                kept = '; it is fixed at start: correct it and start the node anew'
            text = f'{subject} refused: {error}{kept}'
            now, logged = time.monotonic(), self._logged
            rare = len(logged) < MAX_LOGGED or now - logged[0] > LOGGED_SECONDS
            if rare and text != self._refused.get(subject):
                logged.append(now)
                node.get_logger().error(text)
            self._refused[subject] = text
        self._context.notify_change()


CLOSED = Explanation(Reason.OK, '')
"""No loop is open."""


class RobotContext:
    """Current robot of a process, its changes and its inputs, for all components.

    Attributes:
        node: node of the parameters of the robot and of the inputs.
        parameters: parameters of the robot.
        threads: worker threads, and coroutines that wait.
        built: the current robot with the request that it was built from, or None.
        changes: changes of the robot.
        inputs: joint states and odometry.
        components: components, in the order in which they process a state.
        watchers: functions that record states of a robot, for actions, and that robot.
        names: names of the frames in messages.
        faults: log of unexpected errors.
        open_loop: which loop the last state contradicts; empty if none.
        on_change: called after a new or refused robot, the first state, and refused messages.
    """

    def __init__(self, node: Node) -> None:
        """Declare the parameters of the robot and subscribe to its inputs on a node."""
        self.node = node
        self.parameters = ParameterSet(node, RobotParameters)
        self.threads = Threads(node)
        self._plan: Plan | None = None
        self.components: list[Component[Any]] = []
        self.watchers: dict[Callable[[RobotState], None], Robot] = {}
        self.on_change: list[Callable[[], None]] = []
        self.faults = FaultLog.of(node)
        self.open_loop = CLOSED
        self._frozen = False
        self.names = FrameNames('', self.parameters.values.frame_prefix)
        self.parameters.add_listener(self._parameters_changed)
        self.built: Built | None = None
        self.changes = RobotChanges(self)
        self.inputs = RobotInputs(
            node, self.parameters, self._on_state, self._update_names, self.notify_change
        )

    # --- components -----------------------------------------------------------------------------

    def start(self, executor: Executor) -> None:
        """Start the components and build the first robot; called by the executor."""
        self.threads.executor = executor
        for component in self.components:
            component.faults.guarded('starting', component.start)()
        self.warm_up()
        self.changes.build_first()

    def end(self) -> None:
        """Let the components send their last messages before the process ends."""
        for component in self.components:
            component.faults.guarded('ending', component.end)()

    def notify_change(self) -> None:
        """Call the listeners, because the diagnostics may have changed."""
        for listener in self.on_change:
            self.faults.guarded('reporting a change', listener)()

    # --- the robot ------------------------------------------------------------------------------

    @property
    def robot(self) -> Robot | None:
        """The current robot, or None."""
        return self.built.robot if self.built else None

    def required_robot(self) -> Robot:
        """Return the current robot.

        Raises:
            NoModelError: there is no robot.
        """
        if self.built is None:
            building = 'the robot is being made ready' if self.changes.building else ''
            raise NoModelError(self.changes.refusal or building or self.inputs.waiting_for())
        return self.built.robot

    async def first_robot(self, limit: float = 0.0) -> Robot:
        """Return the current robot, for a request; wait for the first one.

        Args:
            limit: longest time to wait [s]; 0: ``FIRST_INPUT_TIMEOUT``.

        Raises:
            NoModelError: there is no robot by then, or its description is refused.
        """
        changes = self.changes
        if self.built is None:
            await self.threads.wait(lambda: bool(self.built) or changes.description_refused, limit)
        return self.required_robot()

    async def first_state(self, limit: float = 0.0) -> None:
        """Wait for a complete state of the current robot; argument as of ``first_robot``."""
        await self.threads.wait(lambda: self.buffer is None or self.inputs.complete, limit)

    async def compute(
        self,
        robot: Robot,
        kernels: Iterable[KernelKey],
        function: Callable[[], Answer],
        takes_long: bool = False,
        compiles: bool = False,
    ) -> Answer:
        """Evaluate a function for a request: at once if its kernels exist, else in a thread.

        Args:
            robot: the current robot when the request arrived.
            kernels: keys of the kernels that the function uses.
            function: computes the result.
            takes_long: whether it takes long even with existing kernels.
            compiles: whether it compiles others.

        Raises:
            DynamicsRosError: the error of the function.
        """
        needed = frozenset(kernels)
        check_size(robot.model, needed)
        ready, threads = robot.has_kernels(needed), self.threads
        if ready and not takes_long:
            return function()
        worker = threads.searches if ready and not compiles else threads.builder
        return await threads.submit(worker, function)

    def adopt(self, built: Built) -> None:
        """Switch the components to a robot that was prepared for them."""
        for component, prepared in zip(self.components, built.prepared, strict=True):
            try:
                component.leave(prepared)
            except Exception as error:
                component.failed(error)
        self.built = built
        self.inputs.adopt(built)
        self.begin_epoch()
        self._update_names()
        for component, prepared in zip(self.components, built.prepared, strict=True):
            if isinstance(prepared, Exception):
                component.problem = str(prepared)
                component.node.get_logger().error(f'silent: {prepared}')
                continue
            component.problem = ''
            try:
                component.adopt(prepared)
            except Exception as error:
                component.failed(error)
                component.problem = component.unavailable_reason
        self.node.get_logger().info(
            f'robot {built.robot.name!r} is ready: {built.robot.nv} '
            f'{"degree" if built.robot.nv == 1 else "degrees"} of freedom'
        )

    def warm_up(self) -> None:
        """Prepare for requests in a thread, unless the robot is being changed."""
        own = chain.from_iterable(component.warm_up() for component in self.components)
        self.threads.prepare([*own, give_back, self._freeze])

    def _freeze(self) -> None:
        """Have collections skip what exists, once the first robot is ready.

        A robot and its kernels are a hundred thousand objects; a collection that scans them would
        delay messages. Done once, so that at most one replaced robot is not collected.
        """
        if self.built is not None and not self._frozen:
            self._frozen = True
            gc.freeze()

    # --- states ---------------------------------------------------------------------------------

    @property
    def buffer(self) -> StateBuffer | None:
        """Latest data of each joint and of the base; None without a robot."""
        return self.inputs.buffer

    def _parameters_changed(self, names: frozenset[str]) -> None:
        self.begin_epoch()
        if self.buffer is not None:
            self.buffer.joint_timeout = self.parameters.values.joint_timeout

    def _on_state(self, state: RobotState, answer: bool) -> None:
        """Process a new state in all components, and publish their outputs if ``answer`` is set."""
        assert self.built is not None, 'the state is of a robot'
        robot, self.open_loop = self.built.robot, CLOSED
        if robot.model.loops:
            try:
                self.open_loop = self.find_open_loop(robot, state.q)
            except DynamicsRosError as error:
                self.open_loop = Explanation(Reason.COMPUTATION_FAILED, str(error))
        for component in self.components:
            if component.problem:
                continue
            try:
                component.observe(state)
            except Exception as error:
                component.failed(error)
        for record, recorded in self.watchers.items():
            if recorded is robot:
                self.faults.guarded('recording a state', record)(state)
        if not answer:
            return
        buffer = self.inputs.buffer
        assert buffer is not None, 'the state comes from the buffer'
        buffer.answer(state)
        try:
            if self._plan is None:
                self._plan = Plan(
                    component for component in self.components if not component.problem
                )
            batches = self._plan.compute(state, time.monotonic())
        except Exception as error:
            self.faults.report('computing the outputs', error)
            return
        stamp = packed_stamp(state.time)
        for batch in batches:
            batch.publish(stamp)

    def find_open_loop(self, robot: Robot, q: Array) -> Explanation:
        """Return which loop of a robot is open at q (nq), and how far; empty if none is."""
        if not robot.model.loops:
            return CLOSED
        (loop, distance, angle), tolerance = widest_gap(robot, q), self.parameters.values
        if max(distance, angle) <= tolerance.loop_tolerance:
            return CLOSED
        frames = f'the loop of {loop.frame!r} and {loop.other!r} is open by '
        figures = Figure(1e3 * distance, '.3g'), ' mm', ' and ', Figure(angle, '.3g'), ' rad'
        bound = f'; loop_tolerance is {tolerance.loop_tolerance:g} m or rad'
        return Explanation(Reason.LOOP_OPEN, frames, *figures[: 5 if angle else 2], bound)

    def check_closed(self, robot: Robot, q: Array) -> None:
        """Refuse a state q (nq) of a request that contradicts a loop.

        Raises:
            InvalidArgumentError: a loop is open.
        """
        if problem := self.find_open_loop(robot, q):
            raise InvalidArgumentError('state', problem, 'positions that close the loops')

    def begin_epoch(self) -> None:
        """Discard the plan of the outputs, so that the next state builds a new one."""
        self._plan = None

    # --- names and time -------------------------------------------------------------------------

    def root_frame_id(self) -> str:
        """Return the frame id of the root frame, in which poses are expressed.

        Raises:
            NoModelError: there is no robot.
        """
        self.required_robot()
        return self.names.root

    def _update_names(self) -> None:
        """Update ``names`` from robot, odometry and ``frame_prefix``."""
        prefix, robot, buffer = self.parameters.values.frame_prefix, self.robot, self.buffer
        root = '' if robot is None else f'{prefix}{robot.root_frame}'
        if robot is not None and buffer is not None and buffer.has_base:
            root = buffer.base_frame_id or robot.root_frame
        names = FrameNames(root, prefix)
        # A change of names invalidates the messages of the current plan.
        if self.names != names:
            self.names = names
            self.begin_epoch()

    def now(self) -> Time:
        """Return the time of the node's clock."""
        return self.node.get_clock().now().to_msg()
