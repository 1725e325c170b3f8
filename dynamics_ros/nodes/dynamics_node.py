# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_node: gravity torques and commands; dynamics, payload and gravity on request."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import Vector3, Vector3Stamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from dynamics_ros.constraints import (
    forward_dynamics_in_loops,
    gravity_in_loops,
    inverse_dynamics_in_loops,
)
from dynamics_ros.control import FeedForward
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation import PayloadEstimate, PayloadIdentifier
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.contact_settings import EffortSettings
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.sample_filter import SampleFilter
from dynamics_ros.kernels import Kernel
from dynamics_ros.multibody.kernel_methods import check_size, is_large
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.lifecycle import CommandingComponent, ManagedNode
from dynamics_ros.nodes.load import gravity_in_root
from dynamics_ros.nodes.outputs import FRESH, LATCHED, Output, Publication
from dynamics_ros.nodes.reporting import steady_timer
from dynamics_ros.nodes.services import (
    LoadAction,
    LoadWatch,
    external_wrenches,
    serve,
    state_of,
)
from dynamics_ros.parameters.dynamics import (
    NO_PAYLOAD,
    DynamicsParameters,
    PayloadParameters,
)
from dynamics_ros.parameters.robot import check_known, check_unique
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.robot import Robot
from dynamics_ros.wire.cdr import Evaluate, Message, Template
from dynamics_ros.wire.conversions import (
    Array,
    empty_efforts,
    fill,
    fill_efforts,
    header,
    inertia_arrays,
    inertia_message,
    motion_of,
    violation_message,
)
from dynamics_ros.wire.services import (
    TERMS,
    RequestedState,
    fill_accelerations,
    fill_payload,
    fill_terms,
    fill_torques,
    requested_acceleration,
)
from dynamics_ros_msgs.msg import Payload
from dynamics_ros_msgs.srv import (
    ComputeDynamicsTerms,
    ComputeForwardDynamics,
    ComputeInverseDynamics,
    ComputeTrajectoryEfforts,
    SetGravity,
    SetPayload,
)


def _gravity_of(robot: Robot, names: Sequence[str]) -> Kernel:
    """Return the kernel of the gravity torques of some joints of a robot without loops."""
    indices = [robot.joint_v_indices[name] for name in names]
    if indices == list(range(robot.nv)):
        return robot.kernel('gravity')  # which the services use as well
    return robot.kernel('gravity_of', *names)


IN_LOOPS = {
    'inverse_dynamics': inverse_dynamics_in_loops,
    'forward_dynamics': forward_dynamics_in_loops,
}

DURATION = 10.0
"""Duration of the recording if a goal gives none [s]."""

VELOCITY_NOISE = 0.01
"""Noise of velocities [rad/s or m/s]; a difference between two samples is an outlier from about ten
times this."""


class PayloadAction(LoadAction[PayloadEstimate]):
    """Identifies the whole payload, with the model of the robot without payload."""

    name = 'identify_payload'

    def begin(self, request: Any) -> LoadWatch[PayloadEstimate]:
        """Return the recorder for a goal, after checking the goal and the size of the robot."""
        robot, effort = self.context.required_robot(), self.component.values.effort
        frame = robot.tool_frame
        if request.frame:
            frame = self.context.names.required_frame(robot, request.frame, 'frame')
        duration = self.checked_duration(request.duration, DURATION)
        check_size(robot.model)
        bare = robot.with_payload(None)
        noise = per_velocity(bare, effort.noise, 'effort.noise')
        identifier = PayloadIdentifier(
            bare,
            frame,
            effort_model=effort_model(bare, effort, self.component.values.friction),
            effort_noise=noise,
            effort_sampling=effort.sampling,
        )
        samples: SampleFilter = SampleFilter(
            bare,
            velocity_noise=VELOCITY_NOISE,
            effort_noise=noise,
            effort_scale=per_velocity(bare, effort.scale, 'effort.scale', base=1.0),
        )

        def add(state: RobotState) -> None:
            if state.effort_missing or state.velocity_missing or state.stale:
                return
            for one in samples.take(state, merged=state.ages is not None):
                identifier.add(one.time, one.q, one.v, one.effort)

        return LoadWatch(identifier, add, duration)

    async def finish(self, estimate: PayloadEstimate, request: Any, result: Any) -> None:
        """Fill the result, and apply the payload if the goal asks for it."""
        frame_id = self.context.names.frame_id_of(estimate.frame)
        fill_payload(result, estimate, header(self.context.now(), frame_id))
        if request.apply:
            payload = estimate.frame, estimate.mass, estimate.center_of_mass, estimate.inertia
            change = self.context.changes.change
            await change('payload', payload=PayloadParameters.of(*payload))


SILENCE = 0.5
"""Time without gravity commands, beside the period of their rate, after which they end [s]."""

MOVING = 0.05
"""Gain of joint speed from which torques that an arm does not carry move it [rad/s or m/s]."""


class Dynamics(CommandingComponent[DynamicsParameters, Output]):
    """Component that publishes gravity torques and manages payload and gravity.

    While its node is active and has ``command_joints``, it sends gravity torques to an effort
    controller; the rest works in every state of the node.
    """

    uses_masses = True
    knows_loops = True

    def __init__(self, node: ManagedNode, context: RobotContext) -> None:
        super().__init__(node, context, DynamicsParameters)
        check_unique(self.values.command_joints)
        self.parameters.add_listener(lambda _: context.begin_epoch())
        self._robot: Robot | None = None
        self._state: RobotState | None = None
        self._tau: Array | None = None  # gravity torques of closed loops in the last state
        self._change: tuple[Robot, Any] | None = None
        self._sent, self._sent_at = 0, math.inf
        self._timer = steady_timer(node, 0.2 * SILENCE, self._watch_commands)
        self._torques = Output(node, JointState, '~/gravity_torques')
        self._payload = Output(node, Payload, 'payload', LATCHED)
        self._gravity = Output(node, Vector3Stamped, 'gravity', LATCHED)
        self._published: tuple[Any, Any] = None, None
        serve(node, ComputeInverseDynamics, '~/compute_inverse_dynamics', self._inverse_dynamics)
        serve(node, ComputeForwardDynamics, '~/compute_forward_dynamics', self._forward_dynamics)
        serve(node, ComputeDynamicsTerms, '~/compute_dynamics_terms', self._dynamics_terms)
        serve(node, SetPayload, '~/set_payload', self._set_payload)
        serve(node, SetGravity, '~/set_gravity', self._set_gravity)
        serve(
            node, ComputeTrajectoryEfforts, '~/compute_trajectory_efforts', self._trajectory_efforts
        )
        PayloadAction(self)

    @property
    def sends_torques(self) -> bool:
        """Whether torques that depend on gravity and payload move the robot now."""
        return bool(self.commands and self.node.active and self._robot)

    # --- the robot ------------------------------------------------------------------------------

    def resistance(self, before: Robot) -> str:
        """Return that commanded joints gain speed with the torques added since a robot."""
        robot, state = self.context.robot, self._state
        if robot is None or state is None or robot.joint_names != before.joint_names:
            return ''
        if not self.sends_torques:
            return ''
        joints = [robot.joint_v_indices[name] for name in self.values.command_joints]
        if self._change is None or self._change[0] is not before:
            self._change = before, state.v  # a hand may move the arm already
        v = (state.v - self._change[1])[joints]
        now, then = (
            gravity_in_loops(x, state.q) if x.model.loops else x.gravity(state.q)
            for x in (robot, before)
        )
        powers = (now - then)[joints] * v
        if powers.sum() <= 0.0 or np.abs(v).max() < MOVING:
            return ''
        k = int(powers.argmax())
        return f'moves {self.values.command_joints[k]} by {abs(v[k]):.2f} rad/s or m/s'

    def prepare(self, robot: Robot, *_: object) -> Robot:
        """Check the command joints and compile the kernels of the topics."""
        joints = self.values.command_joints
        check_known(robot, joints)
        for name in joints:
            if name in robot.model.passive_joints:
                problem = f'{name!r} is one of passive_joints'
                raise InvalidArgumentError('command_joints', problem, 'joints with a motor')
        if robot.model.loops:
            # Their kernels are compiled here, not in the thread that answers joint states.
            q, zero = robot.neutral(), np.zeros(robot.nv)
            with suppress(DynamicsRosError):  # the motors may not hold this posture
                gravity_in_loops(robot, q)
            with suppress(DynamicsRosError):
                forward_dynamics_in_loops(robot, q, zero, zero)
            return robot
        _gravity_of(robot, [*robot.joint_v_indices])
        if joints:
            _gravity_of(robot, joints)
        return robot

    def adopt(self, prepared: Robot) -> None:
        """Switch to another robot, and publish payload and gravity."""
        self._robot, self._state = prepared, None
        self._publish_load()

    def _publish_load(self) -> None:
        """Publish payload and gravity of the current robot, each only if it has changed."""
        context, published = self.context, self._published
        assert context.built is not None
        payload, gravity = context.built.request.payload, context.built.request.gravity
        now, root = context.now(), context.root_frame_id()
        if published[0] != payload:
            head = header(now, context.names.frame_id_of(payload.frame))
            matrix = payload.inertia_matrix()
            inertia = inertia_message(payload.mass, payload.center_of_mass, matrix)
            self._payload.publish(Payload(header=head, inertia=inertia))
        if published[1] != (root, gravity):
            vector = fill(Vector3(), gravity)
            self._gravity.publish(Vector3Stamped(header=header(now, root), vector=vector))
        self._published = payload, (root, gravity)

    def leave(self, prepared: Any) -> None:
        """End the gravity commands if the other robot cannot be used."""
        if isinstance(prepared, Exception):
            if self.sends_torques:
                self.deactivate()
            self._robot = None

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Return functions that compile the kernels of the services."""
        robot = self._robot
        if robot is None:
            return ()
        names = () if is_large(robot.model) else ('forward_dynamics', *TERMS)
        return [partial(robot.kernel, name) for name in ('inverse_dynamics', *names)]

    def details(self) -> dict[str, str]:
        """Return the lifecycle state."""
        return {'lifecycle': self.node.lifecycle}

    def start(self) -> None:
        """Start the commands if there are command joints, and apply the payload."""
        if self.values.command_joints:
            super().start()
        payload = self.values.payload
        if payload.mass:
            self.context.changes.change_and_report('payload', payload=payload)

    # --- topics ---------------------------------------------------------------------------------

    def observe(self, state: RobotState) -> None:
        """Store the state; one that contradicts a loop is not used."""
        self.unavailable_reason, self._state = self.context.open_loop, state
        self._tau = None

    def publications(self) -> list[Publication]:
        """Return the outputs: gravity torques, and gravity commands while they are active."""
        self.warning = self._inactive()
        robot = self._robot
        if robot is None:
            return []
        names, joints = [*robot.joint_v_indices], self.values.command_joints
        torques = self._filled(robot, names, partial(empty_efforts, names), 'effort')
        found = [Publication(self._torques, torques, FRESH, self.values.publish_rate)]
        if self.sends_torques and self.commands is not None:
            commands = self._filled(robot, joints, self._zeros, 'data')
            found.append(Publication(self.commands, commands, FRESH, self.values.publish_rate))
        return found

    def _filled(
        self, robot: Robot, names: Sequence[str], prototype: Callable[[], Any], field: str
    ) -> Message | Callable[[], Template]:
        """Return the message with the gravity torques of some joints in a field."""
        if not robot.model.loops:
            torques = Evaluate(_gravity_of(robot, names), (self.arrays.q,))
            return Message(prototype, {field: torques})
        template = Template(prototype(), (field,))
        indices = [robot.joint_v_indices[name] for name in names]

        def fill() -> Template:
            if self._tau is None:
                self._tau = gravity_in_loops(robot, self.arrays.q)
            template.numbers[0][:] = self._tau[indices]
            return template

        return fill

    # --- commands while the node is active --------------------------------------------------------

    def configure(self) -> None:
        """Create the topic.

        Raises:
            InvalidArgumentError: there are no command joints.
        """
        if not self.values.command_joints:
            raise InvalidArgumentError('command_joints', 'empty', 'the joints of the controller')
        self.commands = Output(self.node, Float64MultiArray, '~/gravity_commands')

    def activate(self) -> None:
        """Do nothing: commands are published from now on."""

    def deactivate(self) -> None:
        """Send zeros, unless the parameter ``commands_at_end`` is 'hold'."""
        if self.commands is None or self._robot is None:
            return
        if self.values.commands_at_end != 'hold':
            self.commands.publish(self._zeros())
            self.commands.wait_until_received()

    def _watch_commands(self) -> None:
        """Send the last command if an active node can compute no more, and report it once."""
        commands, now, rate = self.commands, time.monotonic(), self.values.publish_rate
        if commands is None or not (self.sends_torques and commands.has_subscribers(now)):
            self._sent_at = math.inf
        elif commands.published != self._sent:
            self._sent_at = now
        elif now - self._sent_at > SILENCE + (1.0 / rate if rate else 0.0):
            self._sent_at = math.inf
            reason = self.unavailable_reason or self.context.inputs.describe_stopped()
            self.node.get_logger().error(
                f'{commands.topic} ends until it can be computed again, by commands_at_end '
                f'{self.values.commands_at_end!r}: {reason}'
            )
            self.deactivate()
        self._sent = commands.published if commands else 0

    def lifecycle_changed(self) -> None:
        """Update the outputs after commands have begun or ended."""
        self.context.begin_epoch()
        self.warning = self._inactive()

    def _zeros(self) -> Float64MultiArray:
        """Return a command of zeros for the command joints."""
        return Float64MultiArray(data=[0.0] * len(self.values.command_joints))

    def _inactive(self) -> Explanation:
        """Return why configured commands are not sent; empty if they are."""
        if not self.values.command_joints or self.node.active:
            return Explanation(Reason.OK, '')
        why = self.node.inactive()
        return Explanation(why.reason, f'no gravity_commands: {why}')

    # --- services -------------------------------------------------------------------------------

    async def _inverse_dynamics(self, request: Any, response: Any) -> None:
        state, buffer = await state_of(self.context, request), self.context.buffer
        assert buffer is not None
        a = requested_acceleration(request, state, buffer)
        tau = await self._solve('inverse_dynamics', request, state, a)
        fill_torques(response, state.robot, state.stamp, tau)

    async def _forward_dynamics(self, request: Any, response: Any) -> None:
        state = await state_of(self.context, request)
        a = await self._solve('forward_dynamics', request, state, state.required('effort'))
        fill_accelerations(response, state.robot, a)

    async def _solve(self, name: str, request: Any, state: RequestedState, given: Array) -> Array:
        """Return the result (nv) of forward or inverse dynamics for efforts or accelerations."""
        robot, q, v = state.robot, state.q, state.required('velocity')
        wrenches = external_wrenches(self.context, robot, request.external_wrenches)
        loops = bool(robot.model.loops)
        method = IN_LOOPS[name] if loops else getattr(Robot, name)

        def compute() -> Array:
            self.context.check_closed(robot, q)
            result: Array = method(robot, q, v, given, wrenches)
            return result

        return await self.context.compute(robot, [(name, *wrenches)], compute, takes_long=loops)

    async def _dynamics_terms(self, request: Any, response: Any) -> None:
        state = await state_of(self.context, request)
        q, v = state.q, state.required('velocity')

        await self.context.compute(
            state.robot,
            [(name,) for name in TERMS],
            lambda: fill_terms(response, state.robot, q, v),
        )

    async def _trajectory_efforts(self, request: Any, response: Any) -> None:
        motion, values = motion_of(request.trajectory), self.values
        robot = await self.context.first_robot()
        q = robot.neutral()
        if robot.model.loops or set(motion.names) < set(robot.joint_v_indices):
            await self.context.first_state()
            robot, q = self.context.required_robot(), self.context.inputs.latest().q

        def compute() -> None:
            self.context.check_closed(robot, q)
            friction = effort_model(robot, EffortSettings(), values.friction).friction_torque
            with_gravity = not values.robot_carries_itself
            feed_forward = FeedForward(robot, q, friction, with_gravity=with_gravity)
            response.trajectory = request.trajectory
            fill_efforts(response.trajectory, motion, feed_forward.efforts(motion))
            response.violations = [violation_message(x) for x in feed_forward.violations(motion)]

        kernels = [('inverse_dynamics',), ('gravity',)]
        await self.context.compute(robot, kernels, compute, takes_long=True)

    async def _set_payload(self, request: Any, response: Any) -> None:
        robot = await self.context.first_robot()
        mass, center, inertia = inertia_arrays(request.payload.inertia, 'payload.inertia')
        payload = NO_PAYLOAD
        if mass != 0.0:
            frame = self.context.names.required_frame(
                robot, request.payload.header.frame_id, 'payload.header.frame_id'
            )
            payload = PayloadParameters.of(frame, mass, center, inertia)
        await self.context.changes.change('payload', payload=payload)

    async def _set_gravity(self, request: Any, response: Any) -> None:
        await self.context.first_robot()
        gravity = gravity_in_root(self.context, request.gravity)
        await self.context.changes.change('gravity', gravity=gravity)
