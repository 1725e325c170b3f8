# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics of impedance control: targets of the tool, torques, and the status of the arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from dynamics_ros.commanding.arm import stiffness_of
from dynamics_ros.commanding.joint_states import StallDetector
from dynamics_ros.control import CompliantArm
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.nodes.commander import (
    CommandTopic,
    Frames,
    PoseTarget,
    Target,
    Targets,
    TwistTarget,
    WrenchTarget,
    check_size,
)
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.outputs import Status
from dynamics_ros.parameters.impedance import MAX_STIFFNESS, WrenchParameters
from dynamics_ros.reasons import FAULTS, Explanation, Reason, reason_of
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.conversions import Array, float_array
from dynamics_ros.wire.templates import Template

HOLDING, GUIDED, PAUSED, BRAKING = 'holding', 'guided by hand', 'paused', 'braking'

OK_REASONS = frozenset(
    {
        *(Reason.HOLDING, Reason.GUIDED, Reason.PAUSED, Reason.FOLLOWING),
        *(Reason.UNCONFIGURED, Reason.INACTIVE, Reason.FINALIZED),
    }
)
"""Codes of actions that indicate no problem."""


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


class ImpedanceStatus(Status):
    """Topic ~/status; each message includes all limits that were active since the previous one."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, 'impedance')
        self._action: Action | None = None
        self._active_limits: set[str] = set()

    def record(self, acting: Iterable[str], setpoint_waited: bool) -> None:
        """Record the limits that were active in a step.

        Args:
            acting: flags of the control law in the step.
            setpoint_waited: whether the setpoint waited for the tool.
        """
        self._active_limits.update(acting)
        if setpoint_waited:
            self._active_limits.add('lead')

    def publish_action(
        self,
        action: Action,
        robot: str,
        lifecycle: str,
        arm: CompliantArm | None,
        other_publishers: str = '',
        warning: str = '',
    ) -> None:
        """Publish the status if it has changed or is due.

        Args:
            action: what the arm does.
            robot: name of the robot; '' without one.
            lifecycle: lifecycle state of the node.
            arm: the controlled arm; None without one.
            other_publishers: description of other publishers of commands or targets; '' for none.
            warning: of what lasts, whose code is the name of its value; '' for none.
        """
        if action == self._action and not self.is_due(self.text):
            return
        limits = [
            description for flag, description in LIMITS.items() if flag in self._active_limits
        ]
        text = '; limited by: '.join([action.text, *([', '.join(limits)] if limits else [])])
        text = '; '.join(filter(None, (text, other_publishers)))
        reason = action.reason
        if limits and reason not in FAULTS:
            reason = Reason.LIMITED
        fine = action.reason in OK_REASONS and not action.has_problem
        ok = fine and not limits and not other_publishers
        values = {'lifecycle': lifecycle, 'acting': ' '.join(sorted(self._active_limits))}
        if arm is not None and arm.started:
            values['energy [J]'] = f'{arm.energy:.3g}'
        if warning:
            values[reason_of(warning).value] = warning
        self._action = action
        self._active_limits.clear()
        self.publish(Explanation(reason, text), ok, robot, values)


NO_STAMP = packed_stamp(0)


class EffortCommands(CommandTopic):
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

    def send(self, efforts: Array) -> None:
        """Publish efforts (n)."""
        self.output.send(self.filled(efforts), NO_STAMP)

    def finish(self, efforts: Array) -> None:
        """Publish the last efforts (n), and wait until subscribers have received them."""
        self.send(efforts)
        self.output.wait_until_received()


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


class StiffnessTarget(Target):
    """Stiffness in the axes of the parameter ``stiffness_frame``; it does not become stale.

    Attributes:
        stiffness: (6, 6) [N/m, Nm/rad].
    """

    name = 'stiffness_command'
    message = Float64MultiArray

    def _parse(self, message: Any, frames: Frames, q: Array) -> None:
        values = float_array(message.data)
        self.stiffness = stiffness_of('stiffness_command.data', values)
        check_size('stiffness_command.data', values, MAX_STIFFNESS)


class ArmTargets:
    """Current targets of an arm: a motion, a wrench and a stiffness.

    Attributes:
        kinds: types of the targets.
    """

    kinds = (PoseTarget, TwistTarget, WrenchTarget, StiffnessTarget)

    def __init__(self, frames: Frames, stalls: StallDetector) -> None:
        self._motion: Targets[PoseTarget | TwistTarget] = Targets(frames, stalls)
        self._wrench: Targets[WrenchTarget] = Targets(frames, stalls)
        self._stiffness: Targets[StiffnessTarget] = Targets(frames, stalls)

    def take(self, kind: Any, data: bytes, q: Array, limits: WrenchParameters) -> None:
        """Take the target of a message; refuse wrenches beyond ``limits``.

        Other arguments as of ``Targets.take``.
        """
        targets: Targets[Any] = self._motion
        if kind is WrenchTarget:
            targets = self._wrench
        elif kind is StiffnessTarget:
            targets = self._stiffness
        targets.take(kind, data, q)
        if kind is WrenchTarget:
            self._check_wrench(limits)

    def _check_wrench(self, limits: WrenchParameters) -> None:
        target = self._wrench.fresh(math.inf)
        if target is None:
            return
        force, torque = target.norms
        if force > limits.force:
            bound = f'has {force:g} N, expected up to wrench.force, {limits.force:g} N'
        elif torque > limits.torque:
            bound = f'has {torque:g} Nm, expected up to wrench.torque, {limits.torque:g} Nm'
        else:
            return
        self._wrench.drop(f'{target.name} refused: {bound}')

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
        target = self._stiffness.fresh(math.inf)
        return None if target is None else target.stiffness

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
                wrench = wrench_target.in_root_axes(q)
            target = self._motion.fresh(timeout)
            if isinstance(target, TwistTarget):
                twist = target.in_root_axes(q)
                return f'following {target.name}', arm.drive(q, v, dt, twist, wrench)
        except DynamicsRosError as error:  # tf no longer provides a frame
            self.drop(f'a target ended: {error}')
            target, wrench_target, wrench = None, None, NO_WRENCH
        goal = None if target is None else target.pose
        leading_target = target or wrench_target
        doing = f'following {leading_target.name}' if leading_target is not None else ''
        return doing, arm.approach(q, v, dt, goal, wrench)
