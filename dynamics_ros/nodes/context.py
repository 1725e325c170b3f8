# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Components of a process and what they share: the current robot and its latest state."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from builtin_interfaces.msg import Time
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from rclpy.timer import Timer

from dynamics_ros.constraints import widest_gap
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, NoModelError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.kernels.process.system import give_back
from dynamics_ros.nodes.inputs import RobotInputs
from dynamics_ros.nodes.outputs import Output, Plan, Publication, cap
from dynamics_ros.nodes.parameters import ParameterSet
from dynamics_ros.nodes.reporting import FaultLog, steady_timer
from dynamics_ros.nodes.robot_changes import RobotChanges
from dynamics_ros.nodes.robot_request import (
    Built,
    Description,
    FrameNames,
    check_gravity,
    check_loops,
)
from dynamics_ros.nodes.workers import FIRST_INPUT_TIMEOUT, RequestKernels, Waiting, WarmUp, Worker
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.reasons import Explanation, Figure, Reason
from dynamics_ros.robot import Robot
from dynamics_ros.settings import Settings
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.conversions import Array, prepare_conversions


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


Answer = TypeVar('Answer')

RESUME_AFTER = 1e-4
"""Delay after which a waiting request is resumed [s]."""


class RobotContext:
    """Current robot of a process, its changes and its inputs, for all components.

    Attributes:
        node: node of the parameters of the robot and of the inputs.
        parameters: parameters of the robot.
        built: the current robot with the request that it was built from, or None.
        changes: changes of the robot.
        inputs: joint states and odometry.
        components: components, in the order in which they process a state.
        searches: worker thread of long searches.
        requests: kernels of requests.
        executor: executor of the nodes; set before it spins.
        names: names of the frames in messages.
        faults: log of unexpected errors.
        open_loop: which loop the last state contradicts; empty if none.
    """

    def __init__(self, node: Node) -> None:
        """Declare the parameters of the robot and subscribe to its inputs on a node."""
        self.node = node
        self.parameters = ParameterSet(node, RobotParameters)
        self.built: Built | None = None
        self._plan: Plan | None = None
        self.searches = Worker('searches')
        builder = Worker('builder')
        # A payload or gravity that has to be undone does not wait for kernels of a request.
        changer = Worker('changes')
        self._warm_up = WarmUp(builder)
        # Executors resume coroutines only after an event of the middleware, and the events executor
        # does not support guard conditions. Therefore a timer that fires once resumes them.
        self._resume: Timer = steady_timer(node, RESUME_AFTER, lambda: self._resume.cancel())
        self._resume.cancel()
        self.requests = RequestKernels(builder, self._warm_up, self._resume.reset)
        self._waiting = Waiting(node, self._resume.reset)
        self.executor: Executor | None = None
        self.components: list[Component] = []
        self._on_change: list[Callable[[], None]] = []
        self.faults = FaultLog.of(node)
        self.open_loop = Explanation(Reason.OK, '')
        self.names = FrameNames('', self.parameters.values.frame_prefix)
        self.parameters.add_listener(self._parameters_changed)
        self.parameters.add_check(lambda values: check_gravity('gravity', values.gravity))
        self.parameters.add_check(lambda values: check_loops(values.loops))
        self.changes = RobotChanges(
            node,
            self.parameters,
            changer,
            self._prepare,
            self._adopt,
            self._set_busy,
            self.notify_change,
            lambda: any(component.sends_torques for component in self.components),
            lambda before: next(filter(None, (x.resistance(before) for x in self.components)), ''),
        )
        self.inputs = RobotInputs(
            node, self.parameters, self._on_state, self._update_names, self.notify_change
        )

    # --- components -----------------------------------------------------------------------------

    def add(self, component: Component) -> None:
        """Add a component, which is then informed of robots and states."""
        self.components.append(component)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call a listener after a new or refused robot, the first state, and refused messages."""
        self._on_change.append(listener)

    def start(self, executor: Executor) -> None:
        """Start the components and build the first robot; called by the executor."""
        self.executor = executor
        self.changes.start(executor)
        for component in self.components:
            component.faults.guarded('starting', component.start)()
        self.changes.build_first()
        self._warm_up.replace(executor, self._warm_up_slices())

    def end(self) -> None:
        """Let the components send their last messages before the process ends."""
        for component in self.components:
            component.faults.guarded('ending', component.end)()

    def notify_change(self) -> None:
        """Call the listeners, because the diagnostics may have changed."""
        for listener in self._on_change:
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
            await self.wait(lambda: bool(self.built) or changes.description_refused, limit)
        return self.required_robot()

    async def first_state(self, limit: float = 0.0) -> None:
        """Wait for a complete state of the current robot; argument as of ``first_robot``."""
        await self.wait(lambda: self.buffer is None or self.inputs.complete, limit)

    async def wait(self, ready: Callable[[], bool], limit: float = 0.0) -> None:
        """Wait for a condition, for a time [s]; arguments as of ``first_robot``."""
        assert self.executor is not None, 'start() must be called first'
        deadline = time.monotonic() + (limit if limit > 0.0 else FIRST_INPUT_TIMEOUT)
        await self._waiting.until(self.executor, ready, deadline)

    async def compute(
        self,
        robot: Robot,
        kernels: Iterable[str],
        function: Callable[[Robot], Answer],
        worker: Worker | None = None,
    ) -> Answer:
        """Evaluate a function of a robot without delaying messages while kernels are compiled.

        Arguments, result and errors as of ``RequestKernels.compute``.
        """
        assert self.executor is not None, 'start() must be called first'
        return await self.requests.compute(self.executor, robot, kernels, function, worker)

    def submit(
        self, worker: Worker, function: Callable[[], Answer], subject: str = ''
    ) -> Future[Answer]:
        """Run a function in the thread of a worker; arguments as of ``Worker.submit``."""
        assert self.executor is not None, 'start() must be called first'
        return worker.submit(self.executor, function, subject)

    def _set_busy(self, busy: bool) -> None:
        """Pause the warm-up while a change is applied; then resume it and the waiting requests."""
        if busy:
            self._warm_up.hold()
            return
        assert self.executor is not None
        self._resume.reset()
        self._warm_up.release(self.executor)

    def _prepare(self, robot: Robot, default_frame: str, description: Description) -> list[Any]:
        """Return the result of ``prepare`` of each component, or its error."""
        prepare_conversions()
        prepared: list[Any] = []
        for component in self.components:
            try:
                if robot.model.loops and not component.knows_loops:
                    expected = 'none, or locked_joints for all joints of a loop, as of a gripper'
                    raise InvalidArgumentError('loops', 'are not known to this node', expected)
                prepared.append(component.prepare(robot, default_frame, description))
            except Exception as error:
                if not isinstance(error, DynamicsRosError):
                    component.faults.report('making ready for the robot', error)
                prepared.append(error)
        return prepared

    def _adopt(self, built: Built) -> None:
        for component, prepared in zip(self.components, built.prepared, strict=True):
            try:
                component.leave(prepared)
            except Exception as error:
                component.failed(error)
        self.built = built
        self.inputs.adopt(built)
        self.begin_epoch()
        self.requests.adopt(built.robot)
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
            f'{"degree" if built.robot.nv == 1 else "degrees"} of freedom, made in '
            f'{built.seconds:.2f} s'
        )
        assert self.executor is not None
        self._warm_up.replace(self.executor, self._warm_up_slices())

    def _warm_up_slices(self) -> Iterator[Callable[[], object]]:
        for component in self.components:
            yield from component.warm_up()
        yield give_back

    # --- states ---------------------------------------------------------------------------------

    @property
    def buffer(self) -> StateBuffer | None:
        """Latest data of each joint and of the base; None without a robot."""
        return self.inputs.buffer

    def latest_state(self) -> RobotState:
        """Return the latest state for a service; a base without odometry is at the identity.

        Raises:
            NoModelError: there is no robot.
            NoStateError: no complete state has arrived yet.
            StaleStateError: the latest state is older than ``state_timeout``.
        """
        self.required_robot()
        return self.inputs.latest()

    def _parameters_changed(self, names: frozenset[str]) -> None:
        self.begin_epoch()
        if self.buffer is not None:
            self.buffer.joint_timeout = self.parameters.values.joint_timeout
        self._update_names()

    def _on_state(self, state: RobotState, answer: bool) -> None:
        """Process a new state in all components, and publish their outputs if ``answer`` is set."""
        if self.robot is not None and self.robot.model.loops:
            self.open_loop = self.find_open_loop(self.robot, state.q)
        for component in self.components:
            if component.problem:
                continue
            try:
                component.observe(state)
            except Exception as error:
                component.failed(error)
        if not answer:
            return
        buffer = self.inputs.buffer
        assert buffer is not None, 'the state comes from the buffer'
        buffer.answer(state)
        stamp = packed_stamp(state.time)
        try:
            plan = self._plan
            if plan is None:
                plan = self._plan = Plan(
                    component for component in self.components if not component.problem
                )
            batches = plan.compute(state, time.monotonic())
        except Exception as error:
            self.faults.report('computing the outputs', error)
            return
        for batch in batches:
            try:
                batch.publish(stamp)
            except Exception as error:
                self.faults.report('publishing', error)

    def find_open_loop(self, robot: Robot, q: Array) -> Explanation:
        """Return which loop of a robot is open at q (nq), and how far; empty if none is."""
        if not robot.model.loops:
            return Explanation(Reason.OK, '')
        (loop, distance, angle), tolerance = widest_gap(robot, q), self.parameters.values
        if max(distance, angle) <= tolerance.loop_tolerance:
            return Explanation(Reason.OK, '')
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
        prefix = self.parameters.values.frame_prefix
        names = FrameNames('', prefix)
        if self.robot is not None and self.buffer is not None:
            names = FrameNames.of(self.robot, self.buffer, prefix)
        # A change of names invalidates the messages of the current plan.
        if self.names != names:
            self.names = names
            self.begin_epoch()

    def now(self) -> Time:
        """Return the time of the node's clock."""
        return self.node.get_clock().now().to_msg()


class RobotComponent(Component, ABC, Generic[Settings]):
    """Component with parameters; its parts, such as an action, get it as their only argument.

    Attributes:
        context: the robot and its state.
        parameters: parameters of its node.
    """

    def __init__(self, node: Node, context: RobotContext, settings: type[Settings]) -> None:
        super().__init__(node)
        self.context = context
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

    def rate_of(self, name: str) -> float:
        """Return the maximum rate of an output by the parameter ``publish_rates.NAME`` [Hz]."""
        values: Any = self.values
        return cap(getattr(values.publish_rates, name), values.publish_rate)
