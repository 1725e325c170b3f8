# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Components of a process and what they share: the current robot and its latest state."""

from __future__ import annotations

import gc
import time
from abc import ABC
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Generic, TypeVar

from builtin_interfaces.msg import Time
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future

from dynamics_ros.constraints import widest_gap
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, NoModelError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.kernels.process.system import give_back
from dynamics_ros.multibody.large_robots import check_kernels
from dynamics_ros.nodes.inputs import RobotInputs
from dynamics_ros.nodes.outputs import Plan, cap
from dynamics_ros.nodes.parameters import ParameterSet
from dynamics_ros.nodes.reporting import FaultLog
from dynamics_ros.nodes.robot_changes import Component, RobotChanges
from dynamics_ros.nodes.robot_request import Built, FrameNames, check_gravity, check_loops
from dynamics_ros.nodes.workers import Threads, Worker
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.reasons import Explanation, Figure, Reason
from dynamics_ros.robot import Robot
from dynamics_ros.settings import Settings
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.conversions import Array

Answer = TypeVar('Answer')

KernelKey = tuple[str, ...]
"""Name and options of a kernel, such as a frame and a reference."""


class RobotContext:
    """Current robot of a process, its changes and its inputs, for all components.

    Attributes:
        node: node of the parameters of the robot and of the inputs.
        parameters: parameters of the robot.
        threads: worker threads, and coroutines that wait.
        changes: the robot and its changes.
        inputs: joint states and odometry.
        components: components, in the order in which they process a state.
        names: names of the frames in messages.
        faults: log of unexpected errors.
        open_loop: which loop the last state contradicts; empty if none.
    """

    def __init__(self, node: Node) -> None:
        """Declare the parameters of the robot and subscribe to its inputs on a node."""
        self.node = node
        self.parameters = ParameterSet(node, RobotParameters)
        self.threads = Threads(node)
        self._plan: Plan | None = None
        self.components: list[Component] = []
        self._on_change: list[Callable[[], None]] = []
        self.faults = FaultLog.of(node)
        self.open_loop = Explanation(Reason.OK, '')
        self._frozen = False
        self.names = FrameNames('', self.parameters.values.frame_prefix)
        self.parameters.add_listener(self._parameters_changed)
        self.parameters.add_check(lambda values: check_gravity('gravity', values.gravity))
        self.parameters.add_check(lambda values: check_loops(values.loops))
        self.changes = RobotChanges(
            *(node, self.parameters, self.threads, self.components),
            self._adopt,
            self.notify_change,
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
        self.threads.executor = executor
        for component in self.components:
            component.faults.guarded('starting', component.start)()
        self.changes.build_first()
        self._warm_up()

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
    def built(self) -> Built | None:
        """The current robot with the request that it was built from, or None."""
        return self.changes.built

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
        """Wait for a condition, for a time [s], unless too many requests wait already."""
        if not self.threads.crowded:
            await self.threads.until(ready, limit)

    async def compute(
        self,
        robot: Robot,
        kernels: Iterable[KernelKey],
        function: Callable[[], Answer],
        worker: Worker | None = None,
    ) -> Answer:
        """Evaluate a function for a request: at once if its kernels exist, else in a thread.

        Args:
            robot: the current robot when the request arrived.
            kernels: keys of the kernels that the function uses.
            function: computes the result.
            worker: thread for functions that take long even with existing kernels.

        Raises:
            DynamicsRosError: the error of the function, or too many requests are waiting.
        """
        needed = frozenset(kernels)
        check_kernels(robot, needed)
        ready, builder = robot.has_kernels(needed), self.threads.builder
        if ready and worker is None:
            return function()
        builder.hold(1)
        try:
            return await self.submit(worker if ready and worker else builder, function)
        finally:
            builder.hold(-1)

    def submit(
        self, worker: Worker, function: Callable[[], Answer], subject: str = ''
    ) -> Future[Answer]:
        """Run a function in the thread of a worker; arguments as of ``Threads.submit``."""
        return self.threads.submit(worker, function, subject)

    def _adopt(self, built: Built) -> None:
        for component, prepared in zip(self.components, built.prepared, strict=True):
            try:
                component.leave(prepared)
            except Exception as error:
                component.failed(error)
        self.changes.built = built
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
            f'{"degree" if built.robot.nv == 1 else "degrees"} of freedom, made in '
            f'{built.seconds:.2f} s'
        )
        self._warm_up()

    def _warm_up(self) -> None:
        """Prepare for requests in a thread."""
        own = chain.from_iterable(component.warm_up() for component in self.components)
        self.threads.builder.prepare([*own, give_back, self._freeze])

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
        robot = self.robot
        assert robot is not None, 'the state is of a robot'
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
