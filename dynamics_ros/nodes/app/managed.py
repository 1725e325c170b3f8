# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Managed (lifecycle) nodes, which command a robot only while they are active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.rclpy_private import release_state_machine

from .guarded_node import GuardedNode

UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = 'unconfigured', 'inactive', 'active', 'finalized'


class LifecycleCallbacks(Protocol):
    """Interface of the methods that a managed node calls in its transitions."""

    def configure(self) -> None:
        """Prepare for commands, such as by creating publishers.

        Raises:
            DynamicsRosError: the configuration is invalid.
        """

    def activate(self) -> None:
        """Begin to send commands."""

    def deactivate(self) -> None:
        """Stop; before it returns, all commands that bring the robot to rest have been sent."""

    def cleanup(self) -> None:
        """Undo ``configure``."""


class ManagedNode(LifecycleNodeMixin, GuardedNode):
    """Node that becomes a managed node when ``manage`` is called.

    Attributes:
        lifecycle: 'unconfigured', 'inactive', 'active' or 'finalized'.
        refusal: why the last transition failed; '' if it succeeded.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Create the node; arguments as of ``rclpy.node.Node``."""
        GuardedNode.__init__(self, name, **options)
        self.lifecycle = UNCONFIGURED
        self.refusal = ''
        self._commander: LifecycleCallbacks | None = None
        self._on_change: Callable[[], None] = lambda: None

    @property
    def managed(self) -> bool:
        """Whether the node has the services of a managed node."""
        return self._commander is not None

    @property
    def _managed(self) -> LifecycleCallbacks:
        assert self._commander is not None, 'only a managed node has transitions'
        return self._commander

    @property
    def active(self) -> bool:
        """Whether commands may be sent."""
        return self.lifecycle == ACTIVE

    def manage(
        self, commander: LifecycleCallbacks, on_change: Callable[[], None] = lambda: None
    ) -> None:
        """Create the services of a managed node; may be called once.

        Args:
            commander: its methods are called in the transitions.
            on_change: called after each transition.
        """
        self._commander, self._on_change = commander, on_change
        others = list(self.services)
        LifecycleNodeMixin.__init__(self)
        for service in self.services:
            if service not in others:
                # rclpy creates these services without calling ``create_service``.
                service.callback = self.guarded_service(
                    service.srv_type, service.srv_name, service.callback
                )
        if self.executor is not None:
            self.executor.wake()  # so that it adds the new services

    def begin(self, autostart: bool) -> None:
        """Configure and activate the node with ``autostart``; otherwise log how to do it."""
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
        """Deactivate the node before the process ends, which brings the robot to rest."""
        if self._commander is not None and self.active:
            self.trigger_deactivate()

    def destroy_node(self) -> None:
        """Destroy the node and its state machine."""
        super().destroy_node()
        release_state_machine(self)

    # --- transitions, called by rclpy -------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``configure`` of the commander."""
        return self._transition('configure', INACTIVE, self._managed.configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``activate`` of the commander."""
        return self._transition('activate', ACTIVE, self._managed.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``deactivate`` of the commander, which brings the robot to rest."""
        # Set first: while ``deactivate`` sends the commands of the stop, nothing else may send any.
        self.lifecycle = INACTIVE
        return self._transition('deactivate', INACTIVE, self._managed.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``cleanup`` of the commander."""
        return self._transition('clean up', UNCONFIGURED, self._managed.cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate and clean up for good."""
        return self._transition('shut down', FINALIZED, self._deactivate_and_clean_up)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate and clean up after a failed transition; keep its reason."""
        refusal = self.refusal
        result = self._transition('recover', UNCONFIGURED, self._deactivate_and_clean_up)
        self.refusal = refusal
        return result

    def _deactivate_and_clean_up(self) -> None:
        """Deactivate, if active, and clean up."""
        was_active, self.lifecycle = self.active, INACTIVE
        if was_active:
            self._managed.deactivate()
        self._managed.cleanup()

    def _transition(
        self, verb: str, goal: str, action: Callable[[], None]
    ) -> TransitionCallbackReturn:
        """Run the action of a transition, called ``verb`` in messages, and store why it failed."""
        self.refusal = ''
        try:
            action()
        except DynamicsRosError as error:
            self.refusal = f'cannot {verb}: {error}'
            self.get_logger().error(self.refusal)
            # FAILURE returns to the previous state, which is correct only if a start has failed.
            is_start = goal in (INACTIVE, ACTIVE) and verb != 'deactivate'
            result = (
                TransitionCallbackReturn.FAILURE if is_start else TransitionCallbackReturn.ERROR
            )
        except Exception as error:
            # rclpy would not report the error.
            self.refusal = f'cannot {verb}: {type(error).__name__}: {error}'
            self.faults.report(verb, error)
            result = TransitionCallbackReturn.ERROR
        else:
            self.lifecycle = goal
            self.get_logger().info(goal)
            result = TransitionCallbackReturn.SUCCESS
        self._on_change()
        return result
