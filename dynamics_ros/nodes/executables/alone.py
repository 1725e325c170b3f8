# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Executables of one node each, in a process of its own. Each imports no more than its node."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from dynamics_ros.nodes.app.executor import Application, run
from dynamics_ros.nodes.app.guarded_node import GuardedNode
from dynamics_ros.nodes.parameters.undeclared import refuse_undeclared
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.diagnostics import Diagnostics, report_in_turn
from dynamics_ros.nodes.robot.gravity_follower import GravityFollower
from dynamics_ros.nodes.robot.load_topics import LoadSubscriber

AnyNode = TypeVar('AnyNode', bound=GuardedNode)


def _run(
    name: str,
    make: Callable[[AnyNode, RobotContext], Component],
    *,
    subscribe_payload: bool,
    node: Callable[[str], AnyNode] = GuardedNode,
) -> NoReturn:
    """Run a node with one part on a robot of its own; ends the process.

    Args:
        name: of the node.
        make: makes the part.
        subscribe_payload: whether payload and gravity come from the topics of these names: not so
            in the process that decides them.
        node: makes the node of a name.
    """

    def build() -> Application:
        host = node(name)
        context = RobotContext(host)
        if subscribe_payload:
            LoadSubscriber(context)
        part = make(host, context)
        context.add(part)
        report_in_turn(host, [Diagnostics(context, part)])
        GravityFollower(context)
        refuse_undeclared([host])
        return Application([host], context)

    run(build, None)


def kinematics_node() -> NoReturn:
    """Run the node."""
    from dynamics_ros.nodes.kinematics.kinematics_node import NAME, Kinematics

    _run(NAME, Kinematics, subscribe_payload=True)


def dynamics_node() -> NoReturn:
    """Run the node."""
    from dynamics_ros.nodes.app.managed import ManagedNode
    from dynamics_ros.nodes.dynamics.dynamics_node import NAME, Dynamics

    _run(NAME, Dynamics, subscribe_payload=False, node=ManagedNode)


def contact_node() -> NoReturn:
    """Run the node."""
    from dynamics_ros.nodes.contact.contact_node import NAME, Contact

    _run(NAME, Contact, subscribe_payload=True)


def impedance_controller_node() -> NoReturn:
    """Run the node."""
    from dynamics_ros.nodes.app.managed import ManagedNode
    from dynamics_ros.nodes.impedance.impedance_controller_node import NAME, Impedance

    _run(NAME, Impedance, subscribe_payload=True, node=ManagedNode)


def cartesian_servo_node() -> NoReturn:
    """Run the node."""
    from dynamics_ros.nodes.app.managed import ManagedNode
    from dynamics_ros.nodes.servo.cartesian_servo_node import NAME, Servo

    _run(NAME, Servo, subscribe_payload=True, node=ManagedNode)
