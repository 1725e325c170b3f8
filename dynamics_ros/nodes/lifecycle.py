# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Managed (lifecycle) nodes, which command a robot only while they are active."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from functools import partialmethod
from typing import Any, Generic, TypeVar

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.nodes.context import Component, RobotContext
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.outputs import Output
from dynamics_ros.nodes.rclpy_private import release_state_machine
from dynamics_ros.nodes.reporting import guarded_executor
from dynamics_ros.parameters.robot import CommandingParameters
from dynamics_ros.reasons import Explanation, Reason

Settings = TypeVar('Settings', bound=CommandingParameters)
Topic = TypeVar('Topic', bound=Output)

UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = 'unconfigured', 'inactive', 'active', 'finalized'

LIFECYCLE_STATES = {
    UNCONFIGURED: Explanation(Reason.UNCONFIGURED, UNCONFIGURED),
    INACTIVE: Explanation(Reason.INACTIVE, INACTIVE),
    ACTIVE: Explanation(Reason.OK, ''),
    FINALIZED: Explanation(Reason.FINALIZED, FINALIZED),
}
"""Why a node sends no commands, by its lifecycle state."""

RECOVER = 'recover'
"""Transition of rclpy after one that failed."""

LEASE = 22.0
"""Time for which the middleware may report the publishers of a process that was killed [s]: the
lease of a participant, which is 20 s in Fast DDS and 10 s in Cyclone DDS."""

DISCOVERY = 4.0
"""Time after its start in which a node may not know all publishers yet [s]: the middleware
announces participants every 3 s, its first announcements may be lost (one start in five in Fast
DDS), and names follow 0.1 s later."""


def other_publishers(node: Node, topic: str) -> list[str]:
    """Names of the other nodes that publish on a topic, sorted; one entry a publisher."""
    names = [
        f'{info.node_namespace.rstrip("/")}/{info.node_name}'
        for info in node.get_publishers_info_by_topic(topic)
    ]
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)  # another process may have started the same node
    return sorted(names)


class ManagedNode(LifecycleNodeMixin, GuardedNode):
    """Managed node, whose transitions call its component.

    Attributes:
        commander: the component, which sets this.
        lifecycle: 'unconfigured', 'inactive', 'active' or 'finalized'.
        refusal: why the last transition failed; '' if it succeeded.
        given_up: why the node has deactivated itself; '' after another transition.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Create the node; arguments as of ``rclpy.node.Node``."""
        GuardedNode.__init__(self, name, **options)
        count = len(list(self.services))
        LifecycleNodeMixin.__init__(self)
        # rclpy creates these services without calling ``create_service``.
        for service in list(self.services)[count:]:
            if service.srv_type is ChangeState:
                service.callback = self._activate_alone(service.callback)
            self.guard_service(service)
        self.lifecycle = UNCONFIGURED
        self.refusal = self.given_up = Explanation(Reason.OK, '')
        self.commander: CommandingComponent[Any, Any]
        self._started = time.monotonic()

    def inactive(self) -> Explanation:
        """Return the lifecycle state, and why the last transition failed; empty if active."""
        if self.refusal and not self.active:
            text = f'{self.lifecycle}: {self.refusal}'
            return Explanation(self.refusal.reason, text)
        return LIFECYCLE_STATES[self.lifecycle]

    @property
    def active(self) -> bool:
        """Whether commands may be sent."""
        return self.lifecycle == ACTIVE

    def begin(self, autostart: bool) -> None:
        """Configure and activate the node with ``autostart``; otherwise log how to do it."""
        self._started = time.monotonic()
        if not autostart:
            name = self.get_fully_qualified_name()
            self.get_logger().info(
                f'unconfigured: ros2 lifecycle set {name} configure, and then activate, or '
                'autostart:=true, have it command'
            )
            return
        self.trigger_configure()
        assert self.executor is not None, 'the executor has started the node'
        guarded_executor(self.executor, self.faults).create_task(self._activate_later())

    async def _activate_later(self) -> None:
        await self._others_gone()
        if self.lifecycle == INACTIVE:
            self.trigger_activate()

    def _activate_alone(self, change_state: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return the callback of ~/change_state, which waits before an activation."""

        async def change(request: Any, response: Any) -> Any:
            wanted = request.transition
            if (wanted.label or wanted.id) in ('activate', Transition.TRANSITION_ACTIVATE):
                was_inactive = self.lifecycle == INACTIVE
                await self._others_gone()
                if was_inactive and self.active:  # by another activation that waited, or autostart
                    response.success = True
                    return response
            return change_state(request, response)

        return change

    async def _others_gone(self) -> None:
        """Wait until no other node publishes the commands, for the lease of a dead one at most."""
        known = ''

        def alone() -> bool:
            nonlocal known
            others = self._others()
            if others and others != known:
                known = others
                text = f'waits for up to {LEASE:g} s, in case it has died: {others}'
                self.refusal = Explanation(Reason.OTHER_PUBLISHERS, text)
                self.get_logger().warning(self.refusal)
                self.commander.lifecycle_changed()
            discovered = time.monotonic() - self._started > DISCOVERY
            return self.lifecycle != INACTIVE or (discovered and not others)

        await self.commander.context.threads.until(alone, LEASE)

    def _others(self) -> str:
        """Other publishers of the commands that this node is to send; '' if there are none."""
        topic = self.commander.exclusive_topic
        others = other_publishers(self, topic) if topic else []
        return f'{", ".join(others)} publishes on {topic}' if others else ''

    def end(self) -> None:
        """Deactivate the node before the process ends, which brings the robot to rest."""
        if self.active:
            self.trigger_deactivate()

    def give_up(self, reason: Explanation) -> None:
        """Deactivate the node because it cannot go on; its lifecycle state has this reason."""
        self.get_logger().error(reason)
        self.given_up = reason
        self.trigger_deactivate()

    def destroy_node(self) -> None:
        """Destroy the node and its state machine."""
        super().destroy_node()
        release_state_machine(self)

    # --- transitions, called by rclpy -------------------------------------------------------------

    def _transition(self, verb: str, goal: str, _state: LifecycleState) -> TransitionCallbackReturn:
        """Run a transition, called ``verb`` in messages, and store why it failed."""
        if verb != 'deactivate':
            self.given_up = Explanation(Reason.OK, '')
        before, self.refusal = self.refusal, self.given_up
        try:
            self._run(verb)
        except DynamicsRosError as error:
            self.refusal = Explanation(Reason.TRANSITION_FAILED, f'cannot {verb}: {error}')
            self.get_logger().error(self.refusal)
            # FAILURE returns to the previous state, which is correct only if a start has failed.
            is_start = verb in ('configure', 'activate')
            result = (
                TransitionCallbackReturn.FAILURE if is_start else TransitionCallbackReturn.ERROR
            )
        except Exception as error:
            # rclpy would not report the error.
            text = f'cannot {verb}: {type(error).__name__}: {error}'
            self.refusal = Explanation(Reason.TRANSITION_FAILED, text)
            self.faults.report(verb, error)
            result = TransitionCallbackReturn.ERROR
        else:
            self.lifecycle = goal
            self.get_logger().info(goal)
            result = TransitionCallbackReturn.SUCCESS
        if verb == RECOVER:
            self.refusal = before  # of the transition that failed
        self.commander.lifecycle_changed()
        return result

    def _run(self, verb: str) -> None:
        """Call the commander for a transition."""
        if verb == 'configure':
            self.commander.configure()
        elif verb == 'activate':
            if others := self._others():
                expected = 'its end, or allow_other_publishers beside a multiplexer'
                raise InvalidArgumentError('commands', others, expected)
            self.commander.activate()
        else:
            # Set first: while ``deactivate`` sends the commands of the stop, nothing else may send.
            was_active, self.lifecycle = self.active, INACTIVE
            if was_active:
                self.commander.deactivate()
            if verb != 'deactivate':
                self.commander.cleanup()

    on_configure = partialmethod(_transition, 'configure', INACTIVE)
    on_activate = partialmethod(_transition, 'activate', ACTIVE)
    on_deactivate = partialmethod(_transition, 'deactivate', INACTIVE)
    on_cleanup = partialmethod(_transition, 'clean up', UNCONFIGURED)
    on_shutdown = partialmethod(_transition, 'shut down', FINALIZED)
    on_error = partialmethod(_transition, RECOVER, UNCONFIGURED)


class CommandingComponent(Component[Settings], Generic[Settings, Topic]):
    """Component of a managed node, which commands a robot while its node is active.

    Attributes:
        commands: topic of the commands; None while the node is not configured.
    """

    node: ManagedNode

    def __init__(self, node: ManagedNode, context: RobotContext, settings: type[Settings]) -> None:
        super().__init__(node, context, settings)
        self.commands: Topic | None = None
        node.commander = self

    def lifecycle_changed(self) -> None:
        """Report that the lifecycle state, or the reason why it is not active, has changed."""

    def start(self) -> None:
        """Configure and activate the node if ``autostart`` is set."""
        self.node.begin(self.values.autostart)

    def end(self) -> None:
        """Send the last commands before the process ends, which bring the robot to rest."""
        self.node.end()

    @property
    def exclusive_topic(self) -> str:
        """Topic on which no other node may publish at activation; '' if there is none."""
        if self.commands is None or self.values.allow_other_publishers:
            return ''
        return self.commands.topic

    @abstractmethod
    def configure(self) -> None:
        """Create ``commands``.

        Raises:
            DynamicsRosError: the configuration is invalid.
        """

    @abstractmethod
    def activate(self) -> None:
        """Begin to send commands."""

    @abstractmethod
    def deactivate(self) -> None:
        """Stop; before it returns, all commands that bring the robot to rest have been sent."""

    def cleanup(self) -> None:
        """Destroy the topic of the commands."""
        if self.commands is not None:
            self.commands.close()
            self.commands = None
