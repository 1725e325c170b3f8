# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_node: topics of gravity torques; services of dynamics, payload and gravity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sensor_msgs.msg import JointState

from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.app.managed import ManagedNode
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.output.plan import FRESH, Group
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.load_topics import LoadPublisher, gravity_in_root
from dynamics_ros.nodes.robot.robot_component import RobotComponent
from dynamics_ros.nodes.services.request_state import external_wrenches, requested_state
from dynamics_ros.nodes.services.serving import serve
from dynamics_ros.parameters.dynamics import NO_PAYLOAD, DynamicsParameters, PayloadParameters
from dynamics_ros.parameters.names import check_known, check_unique
from dynamics_ros.requests.kernel_twin import kernel
from dynamics_ros.requests.prepared_dynamics import PreparedDynamics
from dynamics_ros.requests.robot_request import check_payload
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import (
    empty_efforts,
    inertia_arrays,
)
from dynamics_ros.wire.requests import requested_acceleration
from dynamics_ros.wire.responses import TERMS, fill_accelerations, fill_terms, fill_torques
from dynamics_ros_msgs.srv import (
    ComputeDynamicsTerms,
    ComputeForwardDynamics,
    ComputeInverseDynamics,
    SetGravity,
    SetPayload,
)

from .feed_forward import TrajectoryEfforts
from .gravity_commands import GravityCommands, gravity_commands
from .payload_action import PayloadAction

NAME = 'dynamics_node'


class Dynamics(RobotComponent[DynamicsParameters]):
    """Component that publishes gravity torques and manages payload and gravity."""

    uses_masses = True

    def __init__(self, node: ManagedNode, context: RobotContext) -> None:
        super().__init__(node, context, DynamicsParameters)
        self.parameters.add_check(self._check)
        self.parameters.add_listener(self._changed)
        self._prepared: PreparedDynamics | None = None
        self._gravity_commands = GravityCommands(node, self.parameters, self._commands_changed)
        self._torques = Output(node, JointState, '~/gravity_torques')
        self._load = LoadPublisher(node, context)
        for kind, name, handler in (
            (ComputeInverseDynamics, 'compute_inverse_dynamics', self._inverse_dynamics),
            (ComputeForwardDynamics, 'compute_forward_dynamics', self._forward_dynamics),
            (ComputeDynamicsTerms, 'compute_dynamics_terms', self._dynamics_terms),
            (SetPayload, 'set_payload', self._set_payload),
            (SetGravity, 'set_gravity', self._set_gravity),
        ):
            serve(node, kind, f'~/{name}', handler)
        self._trajectories = TrajectoryEfforts(self)
        self._identification = PayloadAction(self, self._apply_payload)

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, _default_frame: str) -> PreparedDynamics:
        """Check the command joints and compile the kernels of the topics."""
        return PreparedDynamics.of(robot, self.values.command_joints)

    def adopt(self, prepared: PreparedDynamics) -> None:
        """Switch to the kernels of a robot, and publish payload and gravity."""
        self._prepared = prepared
        self._gravity_commands.adopt(prepared.commands)
        assert self.context.built is not None
        self._load.publish(self.context.built.request)

    def leave(self, prepared: Any) -> None:
        """End the gravity commands if the other robot cannot be used."""
        if isinstance(prepared, Exception):
            self._gravity_commands.adopt(None)
            self._prepared = None

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Return functions that compile the kernels of the services, and load what goals need."""
        kernels = self._prepared.warm_up() if self._prepared else ()
        return [*kernels, PayloadAction.load]

    def outputs(self) -> list[Output]:
        """Return the publishers of gravity torques, commands, trajectories, payload, gravity."""
        load = self._load.outputs
        return [self._torques, self._trajectories.output, *self._gravity_commands.outputs(), *load]

    def details(self) -> dict[str, str]:
        """Return payload, gravity, state of the last trajectory and lifecycle state."""
        built = self.context.built
        if built is None:
            return {}
        payload = built.request.payload
        payload_text = f'{payload.mass:g} kg at {payload.frame}' if payload.mass else 'none'
        gravity = ' '.join(f'{component:g}' for component in built.request.gravity)
        return {
            'payload': payload_text,
            'gravity [m/s^2]': gravity,
            'trajectory': self._trajectories.status,
            **self._gravity_commands.details(),
        }

    def end(self) -> None:
        """Send the final command before the process ends."""
        self._gravity_commands.end()

    def start(self) -> None:
        """Start the commands, and apply the payload of the parameters."""
        self._gravity_commands.start()
        payload = self.values.payload.or_none()
        if payload.mass:
            self.context.changes.change_and_report('payload', payload=payload)

    def _check(self, values: DynamicsParameters) -> None:
        check_unique(values.command_joints)
        robot = self.context.robot
        if robot is None:
            return
        check_known(robot, values.command_joints)
        if values.payload.mass and values.payload.frame not in robot.frame_names:
            self.context.names.required_frame(robot, values.payload.frame, 'payload.frame')
        check_payload(values.payload, robot, self.context.parameters.values.largest_payload)

    def _changed(self, names: frozenset[str]) -> None:
        self.context.begin_epoch()
        if any(name.startswith('payload.') for name in names):
            payload = self.values.payload.or_none()
            self.context.changes.change_and_report('payload', payload=payload)
        if 'command_joints' in names:
            self._gravity_commands.manage_node()
            self.context.changes.rebuild(NAME)

    # --- topics ---------------------------------------------------------------------------------

    def observe(self, state: RobotState) -> None:
        """Pass a state on to the identification of the payload."""
        self.silence = ''
        self._identification.update(state)

    def groups(self) -> list[Group]:
        """Return the outputs: gravity torques, and gravity commands while they are active."""
        self.caution = self._gravity_commands.caution()
        prepared = self._prepared
        if prepared is None:
            return []
        q, message = self.arrays.q, partial(self.kernel_message, self._torques, 'effort')
        make = partial(message, prepared.names, empty_efforts, prepared.torques, q)
        rate = self.rate_of('gravity_torques')
        groups = [Group(self._torques, rate, FRESH, 'gravity torques', make)]
        output, kernel = self._gravity_commands.output, self._gravity_commands.kernel
        if output is not None and kernel is not None:
            count, message = kernel.trace.outputs[0].size, partial(self.kernel_message, output)
            make = partial(message, 'data', count, gravity_commands, kernel, q)
            rate = self.rate_of('gravity_commands')
            groups.append(Group(output, rate, FRESH, 'gravity commands', make))
        return groups

    def _commands_changed(self) -> None:
        """Update the outputs after gravity commands have begun or ended."""
        self.context.begin_epoch()
        self.caution = self._gravity_commands.caution()

    # --- services -------------------------------------------------------------------------------

    async def _inverse_dynamics(self, request: Any, response: Any) -> None:
        state = requested_state(self.context, request.state, request.base_pose, request.base_twist)
        robot = state.robot
        assert self.context.buffer is not None
        acceleration = requested_acceleration(request, state, self.context.buffer)
        wrenches = external_wrenches(self.context, robot, request.external_wrenches)
        q, v = state.q, state.required_velocity()
        tau = await self.context.compute(
            robot,
            [kernel('inverse_dynamics', *wrenches)],
            lambda owner: owner.inverse_dynamics(q, v, acceleration, wrenches),
        )
        fill_torques(response, robot, state.stamp, tau)

    async def _forward_dynamics(self, request: Any, response: Any) -> None:
        state = requested_state(self.context, request.state, request.base_pose, request.base_twist)
        robot = state.robot
        wrenches = external_wrenches(self.context, robot, request.external_wrenches)
        q, v, effort = state.q, state.required_velocity(), state.required_effort()
        a = await self.context.compute(
            robot,
            [kernel('forward_dynamics', *wrenches)],
            lambda owner: owner.forward_dynamics(q, v, effort, wrenches),
        )
        fill_accelerations(response, robot, a)

    async def _dynamics_terms(self, request: Any, response: Any) -> None:
        state = requested_state(self.context, request.state, request.base_pose, request.base_twist)
        q, v = state.q, state.required_velocity()

        await self.context.compute(
            state.robot, map(kernel, TERMS), lambda robot: fill_terms(response, robot, q, v)
        )

    async def _set_payload(self, request: Any, response: Any) -> None:
        robot = self.context.required_robot()
        mass, center, inertia = inertia_arrays(request.payload.inertia, 'payload.inertia')
        payload = NO_PAYLOAD
        if mass != 0.0:
            frame = self.context.names.required_frame(
                robot, request.payload.header.frame_id, 'payload.header.frame_id'
            )
            payload = PayloadParameters.of(frame, mass, center, inertia)
        await self._apply_payload(payload)

    async def _apply_payload(self, payload: PayloadParameters) -> None:
        await self.context.changes.change('payload', payload=payload)
        # Show the current payload in the parameters; storing them triggers no further change.
        self.parameters.store(payload.by_name())

    async def _set_gravity(self, request: Any, response: Any) -> None:
        self.context.required_robot()
        gravity = gravity_in_root(self.context, request.gravity)
        await self.context.changes.change('gravity', gravity=gravity)
        self.context.parameters.store({'gravity': gravity})
