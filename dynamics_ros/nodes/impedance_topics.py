# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics of impedance control: targets of the tool, torques, and the status of the arm."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from dynamics_ros.commanding.arm import stiffness_of
from dynamics_ros.commanding.joint_states import StallDetector
from dynamics_ros.control import CompliantArm
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.nodes.commander import (
    POSE,
    TWIST,
    WRENCH,
    Frames,
    TargetKind,
    Targets,
    check_size,
)
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.outputs import Output
from dynamics_ros.parameters.impedance import MAX_STIFFNESS, WrenchParameters
from dynamics_ros.reasons import FAULTS, Explanation, Reason
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.conversions import Array, float_array
from dynamics_ros.wire.templates import Template

HOLDING, GUIDED, PAUSED, BRAKING = 'holding', 'guided by hand', 'paused', 'braking'


class Action(NamedTuple):
    """What the arm does.

    Attributes:
        reason: code of the action, or of the reason for it.
        text: description for people.
        has_problem: whether the text names a problem beside an action that is none.
    """

    reason: Reason
    text: str
    has_problem: bool = False


LIMITS = {
    'singular': 'near a singularity',
    'joint_limit': 'a joint near the end of its range',
    'guard': 'a joint kept from the end of its range',
    'energy': 'the energy tank is empty',
    'torque': 'largest torque',
    'torque_rate': 'largest torque rate',
    'force_integral': 'largest integral of a force',
    'lead': 'the tool does not follow',
    'speed': 'a joint far beyond its velocity limit',
    'range': 'a joint far beyond its range',
}
"""Descriptions of the flags of the control law."""


def described(action: Action, acting: Collection[str]) -> Explanation:
    """Return an action with the limits that acted since the last status, flags of the law."""
    limits = ', '.join(text for flag, text in LIMITS.items() if flag in acting)
    reason = Reason.LIMITED if limits and action.reason not in FAULTS else action.reason
    return Explanation(reason, f'{action.text}; limited by: {limits}' if limits else action.text)


NO_STAMP = packed_stamp(0)


class EffortCommands(Output):
    """Topic ~/joint_commands of torques."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, Float64MultiArray, '~/joint_commands')
        self._template: Template | None = None

    def filled(self, efforts: Array) -> Template:
        """Return the message filled with efforts (n); the caller publishes it."""
        template = self._template
        if template is None or template.numbers[0].size != len(efforts):
            zeros = Float64MultiArray(data=[0.0] * len(efforts))
            template = self._template = Template(zeros, ('data',))
        template.numbers[0][:] = efforts
        return template

    def command(self, efforts: Array) -> None:
        """Publish efforts (n)."""
        self.send(self.filled(efforts), NO_STAMP)


class FallbackController:
    """Controller of ros2_control that takes over an arm from the node.

    Attributes:
        name: of the controller.
    """

    def __init__(self, node: GuardedNode, name: str) -> None:
        """Create the client of the controller manager.

        Raises:
            InvalidArgumentError: the messages of the controller manager are not installed.
        """
        try:
            from controller_manager_msgs.srv import SwitchController
        except ImportError:
            package = 'ros-<distribution>-controller-manager-msgs'
            expected = f'the package controller_manager_msgs ({package}), which is not installed'
            raise InvalidArgumentError('fallback_controller', name, expected) from None
        self.name = name
        self._node, self._request = node, SwitchController.Request
        self._client = node.create_client(SwitchController, 'controller_manager/switch_controller')

    def take_over(self, topic: str, report: Callable[[str], None]) -> str:
        """Ask for the switch from the controllers that subscribe to a topic; returns at once.

        Args:
            topic: of the commands. A controller has a node of its name.
            report: called with the response, as a part of a sentence.

        Returns:
            Why nobody can be asked; '' if the controller manager was.
        """
        if not self._client.service_is_ready():
            service = self._node.resolve_service_name(self._client.srv_name)
            return f'{service} does not exist, so {self.name} is not activated'
        infos = self._node.get_subscriptions_info_by_topic(topic)
        names = sorted({info.node_name for info in infos} - {self.name})
        # Of the subscribers, those that are no controllers are ignored.
        request = self._request(
            activate_controllers=[self.name],
            deactivate_controllers=names,
            strictness=self._request.BEST_EFFORT,
            activate_asap=True,
        )

        def answered(future: Any) -> None:
            response = future.result()
            why = getattr(response, 'message', '')
            refused = f'{self.name} was not activated: {why or "the switch failed"}'
            report(f'{self.name} takes over' if response.ok else refused)

        future = self._client.call_async(request)
        future.add_done_callback(self._node.faults.guarded('fallback_controller', answered))
        return ''

    def close(self) -> None:
        """Destroy the client."""
        self._node.destroy_client(self._client)


NO_WRENCH = np.zeros(6)


def _stiffness(name: str, message: Any, _frames: Frames, _q: Array) -> Array:
    values = float_array(message.data)
    matrix = stiffness_of(f'{name}.data', values)
    check_size(f'{name}.data', values, MAX_STIFFNESS)
    return matrix


STIFFNESS = TargetKind('stiffness_command', Float64MultiArray, _stiffness)
"""Stiffness (6, 6) [N/m, Nm/rad] in the axes of ``stiffness_frame``; it does not become stale."""

KINDS = (POSE, TWIST, WRENCH, STIFFNESS)


class ArmTargets:
    """Current targets of an arm: a motion, a wrench and a stiffness."""

    def __init__(self, frames: Frames, stalls: StallDetector) -> None:
        self._frames = frames
        self._motion, self._wrench, self._stiffness = (Targets(frames, stalls) for _ in range(3))

    def take(self, kind: TargetKind, data: bytes, q: Array, limits: WrenchParameters) -> None:
        """Take the target of a message; refuse wrenches beyond ``limits``.

        Other arguments as of ``Targets.take``.
        """
        places = {WRENCH: self._wrench, STIFFNESS: self._stiffness}
        targets = places.get(kind, self._motion)
        targets.take(kind, data, q)
        if kind is not WRENCH or targets.current is None:
            return
        norms = np.linalg.norm(targets.current.values.reshape(2, 3), axis=1)
        for name, unit, norm in zip(('force', 'torque'), ('N', 'Nm'), norms, strict=True):
            limit = getattr(limits, name)
            if norm > limit:
                bound = f'has {norm:g} {unit}, expected up to wrench.{name}, {limit:g} {unit}'
                targets.drop(f'{kind.name} refused: {bound}')
                return

    def drop(self, problem: str) -> None:
        """Remove the targets of motion and wrench for a reason; the stiffness stays."""
        self._motion.drop(problem)
        self._wrench.drop('')

    def drop_stiffness(self, problem: str = '') -> None:
        """Return to the stiffness of the parameters, for the reason ``problem``."""
        self._stiffness.drop(Explanation(Reason.TARGET_REFUSED, problem) if problem else '')

    @property
    def problem(self) -> str:
        """Why targets were refused or ended; '' if there is no problem."""
        problems = (x.problem for x in (self._motion, self._wrench, self._stiffness))
        return '; '.join(filter(None, problems))

    @property
    def stiffness(self) -> Array | None:
        """Last commanded stiffness (6, 6); None if that of the parameters applies."""
        target = self._stiffness.current
        return None if target is None else target.values

    def follow(
        self, arm: CompliantArm, q: Array, v: Array, dt: float, timeout: float
    ) -> tuple[str, Array]:
        """Follow the targets for one sample.

        Args:
            arm: the arm.
            q, v: configuration (nq) and velocity (nv) of the sample.
            dt: time since the previous sample [s].
            timeout: age from which a target is stale [s].

        Returns:
            Description of the followed target, '' without one, and the torques (nv).
        """
        wrench, wrench_target, target = NO_WRENCH, None, None
        try:
            wrench_target = self._wrench.fresh(timeout)
            if wrench_target is not None:
                wrench = wrench_target.in_root_axes(self._frames, q)
            target = self._motion.fresh(timeout)
            if target is not None and target.kind is TWIST:
                twist = target.in_root_axes(self._frames, q)
                return f'following {target.name}', arm.drive(q, v, dt, twist, wrench)
        except DynamicsRosError as error:  # tf no longer provides a frame
            self.drop(f'a target ended: {error}')
            target, wrench_target, wrench = None, None, NO_WRENCH
        goal = None if target is None else target.values
        leading_target = target or wrench_target
        doing = f'following {leading_target.name}' if leading_target is not None else ''
        return doing, arm.approach(q, v, dt, goal, wrench)
