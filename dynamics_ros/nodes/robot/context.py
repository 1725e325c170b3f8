"""The robot of a process and its latest state, shared by the parts that work on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import isfinite
from typing import Any, TypeVar

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.task import Future
from rclpy.timer import Timer
from std_msgs.msg import Header, String

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, ModelError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.app.worker import SupersededError, Worker
from dynamics_ros.nodes.input.backlog import CATCH_UP, MOMENT
from dynamics_ros.nodes.input.joint_state_doubts import JointStateDoubts
from dynamics_ros.nodes.input.joint_state_input import ODOMETRY_QOS, OVERRIDABLE, JointStateInput
from dynamics_ros.nodes.input.resolution import RefusedMessage
from dynamics_ros.nodes.input.state import StateBuffer
from dynamics_ros.nodes.output.outputs import LATCHED
from dynamics_ros.nodes.output.plan import Plan
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.nodes.parameters.robot import RobotParameters
from dynamics_ros.nodes.reporting.clocks import NodeTime
from dynamics_ros.nodes.reporting.meter import Meter
from dynamics_ros.nodes.reporting.rate_limits import RateLimit
from dynamics_ros.nodes.reporting.refusals import Refusals
from dynamics_ros.nodes.reporting.results import (
    FaultLog,
    NoModelError,
    NoStateError,
    StaleStateError,
)
from dynamics_ros.nodes.wire.cdr import MalformedMessageError, packed_stamp
from dynamics_ros.nodes.wire.conversions import JointValues, header
from dynamics_ros.robot import Robot

from .builder import Built, Edit, RobotBuilder, RobotRequest, check_locked_joints
from .component import Component
from .freed_memory import give_back
from .names import FrameNames
from .request_kernels import RequestKernels, WarmUp
from .waiting import Publishers, waiting_for

Answer = TypeVar('Answer')

RESUME_AFTER = 1e-4
"""Seconds until a request goes on whose kernels or whose robot are there."""

WARNING_RATE = 0.2
"""Most warnings a second about messages that are refused; diagnostics counts them all."""


NO_NEW_ROBOT = frozenset({'robot_description', 'joint_timeout', 'state_timeout', 'frame_prefix'})
"""Parameters that need none, or ask for it in another way."""


class RobotContext:
    """One model, one joint state subscription, one odometry subscription, for any number of parts.

    Attributes:
        node: where the parameters of the robot and the inputs live.
        parameters: those of the robot.
        robot: in force, or None.
        built: what it was built from, or None.
        state: the latest complete state, or None.
        input: the joint states as they come in.
        joint_states: rate and age of those of this robot.
        heard: whether any has come, of whatever robot.
        doubts: what joint states say that is probably not meant.
        publishers: who publishes what the node subscribes to.
        components: what works on the robot, in the order in which it was added.
        executor: spins the nodes; set before it does.
        names: what frames are called outside.
        faults: where unforeseen errors go.
    """

    def __init__(self, node: Node) -> None:
        """Declare parameters and subscribe.

        Args:
            node: as above.
        """
        self.node = node
        self.parameters = ParameterSet(node, RobotParameters)
        self.robot: Robot | None = None
        self.built: Built | None = None
        self.state: RobotState | None = None
        self._owed = False
        self._plan: Plan | None = None
        self.buffer: StateBuffer | None = None
        self.joint_states = Meter(NodeTime(node))
        self.heard = False
        self.doubts = JointStateDoubts(node)
        self.publishers = Publishers(node)
        self.joint_state_rate = 0.0
        self.without_model = 0
        self.searches = Worker('searches')
        self._warm_up = WarmUp()
        # Executors resume coroutines only after events of the middleware; guard conditions, which
        # are made for that, the events executor does not take. So a timer that runs out once.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._resume: Timer = node.create_timer(
            RESUME_AFTER, lambda: self._resume.cancel(), clock=steady
        )
        self._resume.cancel()
        self._requests = RequestKernels(self._warm_up, self._resume.reset)
        self.executor: Executor | None = None
        self.components: list[Component] = []
        self._on_change: list[Callable[[], None]] = []
        self.faults = FaultLog.of(node)
        self._warnings, self._refusals = RateLimit(), Refusals(node, self.faults)
        self.names = FrameNames('', self.parameters.values.frame_prefix)
        self._builder = RobotBuilder(self._request(''), self._prepare, self._adopt)
        self.parameters.add_listener(self._parameters_changed)
        check_locked_joints(self.parameters.values.locked_joints)
        node.create_subscription(String, 'robot_description', self._on_description, LATCHED)
        self._told_description = ''
        self.input = JointStateInput(
            node,
            self._on_joint_state,
            self._refuse_bytes,
            self.parameters.values.joint_state_topic,
        )
        node.create_subscription(
            Odometry,
            'odom',
            self._on_odometry,
            ODOMETRY_QOS,
            qos_overriding_options=OVERRIDABLE,
        )

    # --- parts ----------------------------------------------------------------------------------

    def add(self, component: Component) -> None:
        """Have a component told of robots and states."""
        self.components.append(component)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Be told of a new or refused robot, the first state, and refused messages."""
        self._on_change.append(listener)

    def start(self, executor: Executor) -> None:
        """Begin to build the robot that the parameters describe, once the executor is there."""
        self.executor = executor
        for component in self.components:
            component.start()
        if self._description():
            self._use_description(self._description())
        self._warm_up.replace(executor, self._slices())

    def end(self) -> None:
        """Have the parts send what has to be sent before the process ends."""
        for component in self.components:
            try:
                component.end()
            except Exception as error:
                component.faults.report('ending', error)

    # --- the robot ------------------------------------------------------------------------------

    @property
    def building(self) -> bool:
        """Whether a new robot is being made ready."""
        return self._builder.busy

    @property
    def refusal(self) -> str:
        """Why the newest description, payload or parameters were refused; '' when they were not."""
        return self._refusals.first

    def change_robot(self, subject: str, edit: Edit, *, always: bool = False) -> Future[None]:
        """Change what the robot is made of; the future is done when it is in force or refused.

        Whoever asks for the change tells about a refusal.
        """
        assert self.executor is not None, 'start() comes first'
        self._warm_up.hold()
        future = self._builder.change(self.executor, subject, edit, always=always)
        future.add_done_callback(self._seen)
        self.tell_change()
        return future

    def _seen(self, done: Future[None]) -> None:
        done.exception()  # rclpy prints those of futures that nobody has looked at
        self._resume.reset()
        assert self.executor is not None
        self._warm_up.release(self.executor)
        self.tell_change()

    def rebuild(self, subject: str) -> None:
        """Have the parts made ready anew for the same robot."""
        if self.executor is not None:
            self.change_robot(subject, lambda now: now, always=True)

    def change_reported(self, subject: str, edit: Edit) -> None:
        """Change the robot for a topic or a parameter: diagnostics and the log tell a refusal."""
        future = self.change_robot(subject, edit)
        future.add_done_callback(lambda done: self.report(subject, done.exception()))

    def required_robot(self) -> Robot:
        """The robot.

        Raises:
            NoModelError: there is none.
        """
        if self.robot is None:
            raise NoModelError(self.refusal or 'no robot_description has been received yet')
        return self.robot

    async def compute(
        self,
        robot: Robot,
        kernels: Iterable[str],
        function: Callable[[Robot], Answer],
        worker: Worker | None = None,
    ) -> Answer:
        """What a function makes of a robot, without messages waiting for kernels to be made.

        Args, raises: as ``RequestKernels.compute``.
        """
        assert self.executor is not None, 'start() comes first'
        return await self._requests.compute(self.executor, robot, kernels, function, worker)

    def _request(self, description: str) -> RobotRequest:
        values = self.parameters.values
        return RobotRequest(
            description=description,
            root_joint=values.root_joint,
            locked_names=values.locked_joints.names,
            locked_positions=values.locked_joints.positions,
            gravity=values.gravity,
            backend=values.backend,
        )

    def _parameters_changed(self, names: frozenset[str]) -> None:
        values = self.parameters.values
        self.begin_epoch()
        if self.buffer is not None:
            self.buffer.joint_timeout = values.joint_timeout
        self._name()
        if self.executor is None:
            return
        if 'robot_description' in names and self._description():
            self._use_description(self._description())
        if 'gravity' in names:
            # By itself, as the service changes it: what else is asked for meanwhile stays.
            gravity = values.gravity
            self.change_reported('gravity', lambda now: replace(now, gravity=gravity))
        if names - NO_NEW_ROBOT - {'gravity'}:
            wanted = self._request('')
            kept = ['description', 'payload', 'gravity']
            if not self._locked_joints_fit():
                kept += ['locked_names', 'locked_positions']
            self.change_reported(
                'parameters',
                lambda now: replace(wanted, **{name: getattr(now, name) for name in kept}),
            )

    def _locked_joints_fit(self) -> bool:
        """Whether names and positions belong together; while they do not, those before stay."""
        try:
            check_locked_joints(self.parameters.values.locked_joints)
        except InvalidArgumentError as error:
            self.report('locked_joints', error)
            return False
        self.report('locked_joints', None)
        return True

    def _description(self) -> str:
        """What the robot is made of: the parameter, else the topic; '' before either tells it."""
        return self.parameters.values.robot_description or self._told_description

    def _on_description(self, message: String) -> None:
        self._told_description = message.data
        given = self.parameters.values.robot_description
        if not given:
            self._use_description(message.data)
        elif message.data != given:
            self.node.get_logger().warning(
                'the topic robot_description tells of another robot than the parameter of that '
                'name, which is used',
                once=True,
            )

    def _use_description(self, text: str) -> None:
        if not text.strip():
            self.report('robot_description', ModelError('robot_description', 'is empty'))
            return
        self.change_reported('robot_description', lambda now: replace(now, description=text))

    def _prepare(self, robot: Robot, default_frame: str) -> list[Any]:
        """What each part makes of a robot; an error of one is no reason for the others."""
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
        values = self.parameters.values
        buffer = StateBuffer(built.robot, built.request.locked_names, values.joint_timeout)
        if self.buffer is not None:
            buffer.adopt(self.buffer)
        if self.built is None or built.robot.joint_names != self.built.robot.joint_names:
            self.doubts.forget()
        self.buffer, self.built, self.robot = buffer, built, built.robot
        # The poses of a base wait elsewhere: old joint states would be answered with one of them.
        self.input.backlog.whole = MOMENT if buffer.has_base else CATCH_UP
        self.begin_epoch()
        self._requests.adopt(built.robot)
        self._name()
        self.state = buffer.state()
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
        self._warm_up.replace(self.executor, self._slices())

    def _slices(self) -> Iterator[Callable[[], object]]:
        for component in self.components:
            yield from component.warm_up()
        yield give_back

    def report(self, subject: str, error: BaseException | None) -> None:
        """Have diagnostics and the log tell why something is refused; None: it no longer is."""
        if isinstance(error, SupersededError):
            return
        kept = '' if self.robot is None else '; the one before is kept'
        self._refusals.note(subject, error, kept)
        self.tell_change()

    # --- the state ------------------------------------------------------------------------------

    def _on_joint_state(self, message: JointValues, answer: bool) -> None:
        self.heard, buffer = True, self.buffer
        if buffer is None:
            self.without_model += 1
            return
        try:
            if not buffer.update(message):
                return
        except RefusedMessage as refusal:
            self._warn_refused(self.input.topic, refusal)
            return
        self.joint_states.tick(time.monotonic())
        state = buffer.due_state()
        if state is None and answer and self._owed:
            # The newest of those that waited completes none, one before it did.
            state = self.state
        self._tell(state, answer)

    def _refuse_bytes(self, error: MalformedMessageError) -> None:
        self.heard = True
        refusal = RefusedMessage('malformed bytes', str(error))
        if self.buffer is not None:
            self.buffer.refused[refusal.kind] += 1
        self._warn_refused(self.input.topic, refusal)

    def _tell(self, state: RobotState | None, answer: bool = True) -> None:
        """Have the components take in a new state, and publish what follows from it.

        Args:
            state: None where a message has completed none.
            answer: whether it is published; else newer ones wait.
        """
        if state is None:
            return
        first = self.state is None
        self.state, self._owed = state, not answer
        assert self.buffer is not None, 'a state comes out of it'
        for component in self.components:
            if component.problem:
                continue
            try:
                component.observe(state)
            except Exception as error:
                component.failed(error)
        if answer:
            self.buffer.answer(state)
            self._answer(state)
        if first:
            self.doubts.look(self.buffer.robot, self.buffer, state)
            self.tell_change()

    def _answer(self, state: RobotState) -> None:
        """Publish what follows from a state, once all of it has been computed."""
        stamp = packed_stamp(state.time)
        try:
            if self._plan is None:
                self._plan = Plan(one for one in self.components if not one.problem)
            batches = self._plan.answer(state, time.monotonic())
        except Exception as error:
            self.faults.report('computing the outputs', error)
            return
        for batch in batches:
            try:
                batch.publish(stamp)
            except Exception as error:
                self.faults.report('publishing', error)

    def begin_epoch(self) -> None:
        """Have what follows from states be planned anew: something is no longer as it was."""
        self._plan = None

    def _on_odometry(self, message: Odometry) -> None:
        if self.buffer is None or self.built is None or not self.buffer.has_base:
            return
        root = self.built.root_link
        try:
            self.buffer.update_base(message, (root, self.frame_id(root)))
        except RefusedMessage as refusal:
            self._warn_refused('odom', refusal)
            return
        self._name()
        if not self.buffer.joint_names:
            # The pose is all there is to know of a body without joints.
            self.joint_states.tick(time.monotonic())
            self._tell(self.buffer.due_state())

    def _warn_refused(self, topic: str, refusal: RefusedMessage) -> None:
        # Not rclpy's throttle: it looks up the caller's source for every message it drops.
        if self._warnings.passes(time.monotonic(), WARNING_RATE):
            self.node.get_logger().warning(f'message on {topic} refused: {refusal}')
        self.tell_change()

    def latest_state(self) -> RobotState:
        """The latest state, for a service; a moving base without odometry is at identity.

        Raises:
            NoModelError, NoStateError, StaleStateError: there is none to rely on.
        """
        self.required_robot()
        assert self.buffer is not None
        state = self.buffer.state(base_required=False)
        if state is None:
            raise NoStateError(self.waiting_for())
        age = 0.0 if self.immobile else self.joint_states.simulated_age()
        limit = self.parameters.values.state_timeout
        if limit and age > limit:
            old = f'{age:.1f} s old' if isfinite(age) else 'of before the clock was reset'
            raise StaleStateError(f'the latest joint state is {old}; state_timeout is {limit:g} s')
        return state

    @property
    def immobile(self) -> bool:
        """Whether there is a robot that nothing could be told about."""
        buffer = self.buffer
        return buffer is not None and not (buffer.missing() or buffer.robot.nv)

    def waiting_for(self) -> str:
        """What is missing for a first state, in words."""
        return waiting_for(self)

    # --- names and time -------------------------------------------------------------------------

    def frame_id(self, frame: str) -> str:
        """What a frame of the model is called outside."""
        return self.names.outside(frame)

    def frame_name(self, frame_id: str) -> str:
        """What the model calls a frame_id."""
        return self.names.inside(frame_id)

    def root_frame_id(self) -> str:
        """What the frame is called that poses are given in.

        Raises:
            NoModelError: there is no robot.
        """
        self.required_robot()
        return self.names.root

    def _name(self) -> None:
        """Work out what frames are called, which every message asks."""
        prefix = self.parameters.values.frame_prefix
        names = FrameNames('', prefix)
        if self.robot is not None and self.buffer is not None:
            names = FrameNames.of(self.robot, self.buffer, prefix)
        # Another object only if it says something else: that is how others see it.
        if self.names != names:
            self.names = names
            self.begin_epoch()

    def root_header(self, stamp: Time) -> Header:
        """Header of what is given in the root frame."""
        return header(stamp, self.root_frame_id())

    def now(self) -> Time:
        """The time of the node's clock."""
        return self.node.get_clock().now().to_msg()

    def tell_change(self) -> None:
        """Tell listeners that there may be something else to say."""
        for listener in self._on_change:
            listener()
