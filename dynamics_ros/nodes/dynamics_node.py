"""dynamics_node: gravity torques as topics; dynamics, payload and gravity as services."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from dynamics_ros_msgs.msg import Payload
from dynamics_ros_msgs.srv import (
    ComputeDynamicsTerms,
    ComputeForwardDynamics,
    ComputeInverseDynamics,
    SetGravity,
    SetPayload,
)

from ..errors import InvalidArgumentError, UnknownJointError
from ..robot import Robot
from .conversions import (
    Array,
    accel_array,
    accel_message,
    empty_efforts,
    float_sequence,
    index_of,
    inertia_arrays,
    joint_state,
    point_message,
    vector_array,
    wrench_message,
)
from .declaration import ParameterSet
from .outputs import LATCHED, Output
from .parameters import DynamicsParameters, PayloadParameters
from .part import Part
from .payload_action import PayloadAction
from .request_kernels import kernel
from .request_state import (
    RequestedState,
    external_wrenches,
    joint_values,
    requested_state,
    required_frame,
    velocity_names,
)
from .results import serve
from .robot_builder import PayloadRequest
from .robot_context import RobotContext
from .standalone import run_alone
from .state import RobotState

NAME = 'dynamics_node'

TERMS = (
    'mass_matrix',
    'coriolis',
    'gravity',
    'nonlinear_effects',
    'kinetic_energy',
    'potential_energy',
    'center_of_mass',
)
"""Kernels of ~/compute_dynamics_terms."""


@dataclass(frozen=True)
class Prepared:
    """What is configured, checked against a robot.

    Attributes:
        robot: the robot.
        names: the joints that gravity torques are published for.
        indices: of them in v.
        command_indices: index into v of each command joint.
    """

    robot: Robot
    names: tuple[str, ...]
    indices: Any
    command_indices: NDArray[np.intp]


class Dynamics(Part):
    """Publishes the torques that carry the robot, and decides what it carries."""

    def __init__(self, node: Node, context: RobotContext) -> None:
        super().__init__(node, context)
        self.parameters = ParameterSet(node, DynamicsParameters)
        self.parameters.add_check(self._check)
        self._check(self.parameters.values)
        self.parameters.add_listener(self._changed)
        self._prepared: Prepared | None = None
        self._torques = Output(node, JointState, '~/gravity_torques', outbox=context.outbox)
        self._commands: Output | None = None
        self._payload = Output(node, Payload, 'payload', LATCHED)
        self._announced: PayloadRequest | None = None
        for kind, name, handler in (
            (ComputeInverseDynamics, 'compute_inverse_dynamics', self._inverse_dynamics),
            (ComputeForwardDynamics, 'compute_forward_dynamics', self._forward_dynamics),
            (ComputeDynamicsTerms, 'compute_dynamics_terms', self._dynamics_terms),
            (SetPayload, 'set_payload', self._set_payload),
            (SetGravity, 'set_gravity', self._set_gravity),
        ):
            serve(node, kind, f'~/{name}', handler, self.faults)
        self._identification = PayloadAction(
            node,
            context,
            lambda: self.parameters.values.identification,
            self._put_in_force,
            self.faults,
        )

    # --- the robot ------------------------------------------------------------------------------

    def prepare(self, robot: Robot, default_frame: str) -> Prepared:
        """Check the command joints and compile the kernel of the topics."""
        commands = self.parameters.values.command_joints
        for name in commands:
            if name not in robot.joint_v_indices:
                raise UnknownJointError('command_joints', name, robot.joint_v_indices)
        robot.gravity(robot.neutral())
        indices = robot.joint_v_indices
        return Prepared(
            robot,
            tuple(indices),
            index_of(list(indices.values())),
            np.array([indices[name] for name in commands], dtype=np.intp),
        )

    def adopt(self, prepared: Prepared) -> None:
        """Have the topics of these joints, and tell the payload."""
        self._prepared = prepared
        if prepared.command_indices.size and self._commands is None:
            self._commands = Output(
                self.node, Float64MultiArray, '~/gravity_commands', outbox=self.context.outbox
            )
        elif not prepared.command_indices.size and self._commands is not None:
            self._commands.close()
            self._commands = None
        assert self.context.built is not None
        payload = self.context.built.request.payload
        if payload != self._announced:
            self._announced = payload
            self._payload.publish(self.context.payload_message())

    def warm_up(self) -> Sequence[Callable[[], object]]:
        """Compile what services ask for."""
        if self._prepared is None:
            return ()
        robot = self._prepared.robot
        q, zero = robot.neutral(), np.zeros(robot.nv)
        return (
            partial(robot.inverse_dynamics, q, zero, zero),
            partial(robot.forward_dynamics, q, zero, zero),
            partial(robot.mass_matrix, q),
            partial(robot.nonlinear_effects, q, zero),
            partial(robot.coriolis, q, zero),
            partial(robot.kinetic_energy, q, zero),
            partial(robot.potential_energy, q),
            partial(robot.center_of_mass, q),
        )

    def outputs(self) -> list[Output]:
        """Gravity torques and commands."""
        return [self._torques, *([self._commands] if self._commands else [])]

    def details(self) -> dict[str, str]:
        """Payload and gravity in force."""
        built = self.context.built
        if built is None:
            return {}
        payload = built.request.payload
        carried = f'{payload.mass:g} kg at {payload.frame}' if payload.mass else 'none'
        gravity = ' '.join(f'{component:g}' for component in built.request.gravity)
        return {'payload': carried, 'gravity [m/s^2]': gravity}

    def start(self) -> None:
        """Take over the payload of the parameters."""
        payload = _payload_of(self.parameters.values.payload)
        if payload.mass:
            self.context.change_reported('payload', lambda now: replace(now, payload=payload))

    def _check(self, values: DynamicsParameters) -> None:
        if len(set(values.command_joints)) != len(values.command_joints):
            raise InvalidArgumentError(
                'command_joints', 'a joint is named twice', 'each joint once'
            )
        robot = self.context.robot
        if robot is None:
            return
        for name in values.command_joints:
            if name not in robot.joint_v_indices:
                raise UnknownJointError('command_joints', name, robot.joint_v_indices)
        if values.payload.mass and values.payload.frame not in robot.frame_names:
            required_frame(self.context, robot, values.payload.frame, 'payload.frame')

    def _changed(self, names: frozenset[str]) -> None:
        if any(name.startswith('payload.') for name in names):
            payload = _payload_of(self.parameters.values.payload)
            self.context.change_reported('payload', lambda now: replace(now, payload=payload))
        if 'command_joints' in names:
            self.context.rebuild(NAME)

    # --- topics ---------------------------------------------------------------------------------

    def update(self, state: RobotState) -> None:
        """Publish the torques that hold the robot at rest against gravity."""
        self._identification.update(state)
        self.silence = self.stale_silence(state)
        if self.silence or self._prepared is None:
            return
        prepared, now, values = self._prepared, time.monotonic(), self.parameters.values
        rates, commands = values.publish_rates, self._commands
        torques_due = self._torques.due(now, rates.gravity_torques, values.publish_rate)
        commands_due = commands is not None and commands.due(
            now, rates.gravity_commands, values.publish_rate
        )
        if not torques_due and not commands_due:
            return
        gravity = prepared.robot.gravity(state.q)
        if torques_due:
            torques = gravity[prepared.indices]
            self._torques.send(state, prepared.names, empty_efforts, ('effort',), torques)
        if commands is not None and commands_due:
            effort = gravity[prepared.command_indices]
            commands.send(state, effort.size, _empty_commands, ('data',), effort)

    # --- services -------------------------------------------------------------------------------

    async def _inverse_dynamics(self, request: Any, response: Any) -> None:
        state = requested_state(self.context, request.state, request.base_pose, request.base_twist)
        robot = state.robot
        acceleration = self._acceleration(request, state)
        wrenches = external_wrenches(self.context, robot, request.external_wrenches)
        q, v = state.q, state.required_velocity()
        tau = await self.context.compute(
            robot,
            [kernel('inverse_dynamics', *wrenches)],
            lambda home: home.inverse_dynamics(q, v, acceleration, wrenches),
        )
        response.torques = _torque_message(state.stamp, robot.joint_v_indices, tau)
        response.base_wrench = wrench_message(_base_six(robot, tau))

    def _acceleration(self, request: Any, state: RequestedState) -> Array:
        robot = state.robot
        names = list(request.acceleration_names)
        if not names and len(request.accelerations):
            names = list(state.names) or list(robot.joint_v_indices)
        given = request.accelerations if len(request.accelerations) else [0.0] * len(names)
        acceleration = joint_values(robot, names, given, 'accelerations')
        base = accel_array(request.base_acceleration, 'base_acceleration')
        assert self.context.buffer is not None
        if robot.model.root_joint_nv:
            acceleration[: robot.model.root_joint_nv] = self.context.buffer.base_velocity(base)
        elif base.any():
            raise InvalidArgumentError('base_acceleration', 'the base is fixed', 'zero')
        return acceleration

    async def _forward_dynamics(self, request: Any, response: Any) -> None:
        state = requested_state(self.context, request.state, request.base_pose, request.base_twist)
        robot = state.robot
        wrenches = external_wrenches(self.context, robot, request.external_wrenches)
        q, v, effort = state.q, state.required_velocity(), state.required_effort()
        a = await self.context.compute(
            robot,
            [kernel('forward_dynamics', *wrenches)],
            lambda home: home.forward_dynamics(q, v, effort, wrenches),
        )
        response.joint_names = list(robot.joint_v_indices)
        response.accelerations = float_sequence(a[list(robot.joint_v_indices.values())])
        response.base_acceleration = accel_message(_base_six(robot, a))

    async def _dynamics_terms(self, request: Any, response: Any) -> None:
        state = requested_state(self.context, request.state, request.base_pose, request.base_twist)
        q, v = state.q, state.required_velocity()

        def fill(robot: Robot) -> None:
            response.mass_matrix = float_sequence(robot.mass_matrix(q))
            response.coriolis = float_sequence(robot.coriolis(q, v))
            response.gravity = float_sequence(robot.gravity(q))
            response.nonlinear_effects = float_sequence(robot.nonlinear_effects(q, v))
            response.kinetic_energy = float(robot.kinetic_energy(q, v))
            response.potential_energy = float(robot.potential_energy(q))
            response.center_of_mass = point_message(robot.center_of_mass(q).tolist())

        await self.context.compute(state.robot, map(kernel, TERMS), fill)
        response.velocity_names = velocity_names(state.robot)
        response.size = state.robot.nv
        response.total_mass = float(state.robot.total_mass)

    async def _set_payload(self, request: Any, response: Any) -> None:
        robot = self.context.required_robot()
        mass, center, inertia = inertia_arrays(request.payload.inertia, 'payload.inertia')
        payload = PayloadRequest()
        if mass != 0.0:
            frame_id = request.payload.header.frame_id
            frame = required_frame(self.context, robot, frame_id, 'payload.header.frame_id')
            payload = PayloadRequest.of(frame, mass, center, inertia)
        await self._put_in_force(payload)

    async def _put_in_force(self, payload: PayloadRequest) -> None:
        await self.context.change_robot('payload', lambda now: replace(now, payload=payload))
        # The parameters show what is in force; storing them changes nothing any more.
        self.parameters.store(
            {
                'payload.frame': payload.frame,
                'payload.mass': payload.mass,
                'payload.center_of_mass': payload.center_of_mass,
                'payload.inertia': payload.inertia,
            }
        )

    async def _set_gravity(self, request: Any, response: Any) -> None:
        self.context.required_robot()
        frame_id = request.gravity.header.frame_id
        if frame_id not in ('', self.context.root_frame_id()):
            raise InvalidArgumentError(
                'gravity.header.frame_id',
                repr(frame_id),
                f'{self.context.root_frame_id()!r} or none',
            )
        gravity = tuple(vector_array(request.gravity.vector, 'gravity.vector').tolist())
        await self.context.change_robot('gravity', lambda now: replace(now, gravity=gravity))
        self.context.parameters.store({'gravity': gravity})


def _payload_of(values: PayloadParameters) -> PayloadRequest:
    if not values.mass:
        return PayloadRequest()
    return PayloadRequest(values.frame, values.mass, values.center_of_mass, values.inertia)


def _empty_commands(count: int) -> Float64MultiArray:
    return Float64MultiArray(data=[0.0] * count)


def _torque_message(stamp: Any, joints: dict[str, int], tau: Array) -> JointState:
    return joint_state(stamp, list(joints), effort=tau[list(joints.values())])


def _base_six(robot: Robot, values: Array) -> Array:
    """What stands in front of the joints, as a six-vector of the base."""
    six = np.zeros(6)
    size = robot.model.root_joint_nv
    if size == 3:
        six[[0, 1, 5]] = values[:3]
    else:
        six[:size] = values[:size]
    return six


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Dynamics, arguments, subscribe_payload=False)


if __name__ == '__main__':
    main()
