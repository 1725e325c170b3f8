# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Managed nodes: what commands a robot does so only while it is active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.rclpy_private import release_state_machine

from .guarded_node import GuardedNode

UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = 'unconfigured', 'inactive', 'active', 'finalized'


class Commander(Protocol):
    """What commands a robot, as a managed node sees it."""

    def configure(self) -> None:
        """Make ready.

        Raises:
            DynamicsRosError: why that cannot be.
        """

    def activate(self) -> None:
        """Command from now on."""

    def deactivate(self) -> None:
        """Command nothing more; what moves has been sent its whole way to rest on return."""

    def cleanup(self) -> None:
        """Undo ``configure``."""


class ManagedNode(LifecycleNodeMixin, GuardedNode):
    """A node that is managed from ``manage`` on, and a plain one until then.

    Attributes:
        lifecycle: 'unconfigured', 'inactive', 'active' or 'finalized'.
        refusal: why the last transition failed; '' when it did not.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Make the node; arguments as of ``rclpy.node.Node``."""
        GuardedNode.__init__(self, name, **options)
        self.lifecycle = UNCONFIGURED
        self.refusal = ''
        self._commander: Commander | None = None
        self._on_change: Callable[[], None] = lambda: None

    @property
    def managed(self) -> bool:
        """Whether the node has the services of a managed one."""
        return self._commander is not None

    @property
    def active(self) -> bool:
        """Whether commands may be sent."""
        return self.lifecycle == ACTIVE

    def manage(self, commander: Commander, on_change: Callable[[], None] = lambda: None) -> None:
        """Offer the services of a managed node, once.

        Args:
            commander: what the transitions are about.
            on_change: told after each.
        """
        self._commander, self._on_change = commander, on_change
        others = list(self.services)
        LifecycleNodeMixin.__init__(self)
        for service in self.services:
            if service not in others:
                # rclpy makes these services past ``create_service``.
                service.callback = self.guarded_service(
                    service.srv_type, service.srv_name, service.callback
                )
        if self.executor is not None:
            self.executor.wake()  # which does not know these services yet

    def begin(self, autostart: bool) -> None:
        """Configure and activate it as a lifecycle manager would, or say that one has to."""
        if not autostart:
            name = self.get_fully_qualified_name()
            self.get_logger().info(
                f'unconfigured: ros2 lifecycle set {name} configure, and then activate, or '
                'autostart:=true, have it command'
            )
            return
        self.trigger_configure()
        if self.lifecycle == INACTIVE:
            self.trigger_activate()

    def end(self) -> None:
        """Send what moves its way to rest, before the process ends."""
        if self._commander is not None and self.active:
            self.trigger_deactivate()

    def destroy_node(self) -> None:
        """Let go of everything in the middleware."""
        super().destroy_node()
        release_state_machine(self)

    # --- transitions, called by rclpy -------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make ready."""
        assert self._commander is not None
        return self._pass('configure', INACTIVE, self._commander.configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to command."""
        assert self._commander is not None
        return self._pass('activate', ACTIVE, self._commander.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Bring to rest what moves."""
        assert self._commander is not None
        # Before the way to rest is sent: nothing else may be while it is.
        self.lifecycle = INACTIVE
        return self._pass('deactivate', INACTIVE, self._commander.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Undo the configuration."""
        assert self._commander is not None
        return self._pass('clean up', UNCONFIGURED, self._commander.cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Command nothing ever again."""
        return self._pass('shut down', FINALIZED, self._retreat)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin anew after a transition that went wrong."""
        refusal = self.refusal
        result = self._pass('recover', UNCONFIGURED, self._retreat)
        self.refusal = refusal
        return result

    def _retreat(self) -> None:
        """To where nothing is configured, from wherever it is."""
        assert self._commander is not None
        was_active, self.lifecycle = self.active, INACTIVE
        if was_active:
            self._commander.deactivate()
        self._commander.cleanup()

    def _pass(self, verb: str, goal: str, action: Callable[[], None]) -> TransitionCallbackReturn:
        """Do what a transition is about, and say why it cannot be done."""
        self.refusal = ''
        try:
            action()
        except DynamicsRosError as error:
            self.refusal = f'cannot {verb}: {error}'
            self.get_logger().error(self.refusal)
            # Whoever fails to end something is not as active as before.
            begins = goal in (INACTIVE, ACTIVE) and verb != 'deactivate'
            result = TransitionCallbackReturn.FAILURE if begins else TransitionCallbackReturn.ERROR
        except Exception as error:
            # rclpy would say nothing of it.
            self.refusal = f'cannot {verb}: {type(error).__name__}: {error}'
            self.faults.report(verb, error)
            result = TransitionCallbackReturn.ERROR
        else:
            self.lifecycle = goal
            self.get_logger().info(goal)
            result = TransitionCallbackReturn.SUCCESS
        self._on_change()
        return result
