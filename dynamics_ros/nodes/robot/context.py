# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Context of a process: the current robot and its latest state, shared by its components."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from builtin_interfaces.msg import Time
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from rclpy.timer import Timer

from dynamics_ros.errors import DynamicsRosError, NoModelError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.kernels.process.freed_memory import give_back
from dynamics_ros.nodes.app.worker import Worker
from dynamics_ros.nodes.output.plan import Plan
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.reporting.clocks import steady_timer
from dynamics_ros.nodes.reporting.results import FaultLog
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.requests.frame_names import FrameNames
from dynamics_ros.requests.robot_request import Built
from dynamics_ros.robot import Robot
from dynamics_ros.wire.cdr import packed_stamp

from .component import Component
from .inputs import RobotInputs
from .request_kernels import RequestKernels, WarmUp
from .robot_changes import RobotChanges

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
        executor: executor of the nodes; set before it spins.
        names: names of the frames in messages.
        faults: log of unexpected errors.
    """

    def __init__(self, node: Node) -> None:
        """Declare the parameters of the robot and subscribe to its inputs on a node."""
        self.node = node
        self.parameters = ParameterSet(node, RobotParameters)
        self.built: Built | None = None
        self._plan: Plan | None = None
        self.searches = Worker('searches')
        self._warm_up = WarmUp()
        # Executors resume coroutines only after an event of the middleware, and the events executor
        # does not support guard conditions. Therefore a timer that fires once resumes them.
        self._resume: Timer = steady_timer(node, RESUME_AFTER, lambda: self._resume.cancel())
        self._resume.cancel()
        self._requests = RequestKernels(self._warm_up, self._resume.reset)
        self.executor: Executor | None = None
        self.components: list[Component] = []
        self._on_change: list[Callable[[], None]] = []
        self.faults = FaultLog.of(node)
        self.names = FrameNames('', self.parameters.values.frame_prefix)
        self.parameters.add_listener(self._parameters_changed)
        self.changes = RobotChanges(
            node, self.parameters, self._prepare, self._adopt, self._set_busy, self.notify_change
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
            component.start()
        self.changes.build_first()
        self._warm_up.replace(executor, self._warm_up_slices())

    def end(self) -> None:
        """Let the components send their last messages before the process ends."""
        for component in self.components:
            try:
                component.end()
            except Exception as error:
                component.faults.report('ending', error)

    def notify_change(self) -> None:
        """Call the listeners, because the diagnostics may have changed."""
        for listener in self._on_change:
            listener()

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
            raise NoModelError(self.changes.refusal or 'no robot_description has been received yet')
        return self.built.robot

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
        return await self._requests.compute(self.executor, robot, kernels, function, worker)

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

    def _prepare(self, robot: Robot, default_frame: str) -> list[Any]:
        """Return the result of ``prepare`` of each component, or its error."""
        prepared: list[Any] = []
        for component in self.components:
            try:
                prepared.append(component.prepare(robot, default_frame))
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
        self._requests.adopt(built.robot)
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
                component.problem = component.silence
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
        for component in self.components:
            if component.problem:
                continue
            try:
                component.observe(state)
            except Exception as error:
                component.failed(error)
        if answer:
            assert self.buffer is not None, 'the state comes from the buffer'
            self.buffer.answer(state)
            self._publish_outputs(state)

    def _publish_outputs(self, state: RobotState) -> None:
        """Compute the outputs of all components for a state, then publish them."""
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
