# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Executables with one node each; each imports only the modules of its node.

impedance_controller_node also runs contact_node in its process if it reacts to collisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from dynamics_ros.nodes.app.executor import Application, run
from dynamics_ros.nodes.app.guarded_node import GuardedNode
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.load_topics import LoadSubscriber

from .together import application, check_names

AnyNode = TypeVar('AnyNode', bound=GuardedNode)
Part = TypeVar('Part', bound=Component)


def _none(_part: Component, _context: RobotContext) -> Sequence[Component]:
    return ()


def _run(
    name: str,
    make: Callable[[AnyNode, RobotContext], Part],
    *,
    subscribe_payload: bool,
    node: Callable[[str], AnyNode] = GuardedNode,
    beside: Callable[[Part, RobotContext], Sequence[Component]] = _none,
) -> NoReturn:
    """Run a node with one component, and end the process.

    Args:
        name: name of the node.
        make: creates the component.
        subscribe_payload: whether to subscribe to the topics of payload and gravity; False in the
            process that publishes them.
        node: creates the node from its name.
        beside: creates further components, which have their own nodes and process each state
            before this one.
    """

    def build() -> Application:
        host = node(name)
        context = RobotContext(host)
        if subscribe_payload:
            LoadSubscriber(context)
        part = make(host, context)
        return application(context, [*beside(part, context), part])

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

    def beside(part: Impedance, context: RobotContext) -> Sequence[Component]:
        if part.parameters.values.collision.reaction == 'none':
            part.watch(None)
            return ()
        from dynamics_ros.nodes.contact.contact_node import NAME as CONTACT
        from dynamics_ros.nodes.contact.contact_node import Contact

        host = GuardedNode(CONTACT)
        check_names({NAME: part.node, CONTACT: host})
        contact = Contact(host, context)
        part.watch(contact)
        return [contact]

    _run(NAME, Impedance, subscribe_payload=True, node=ManagedNode, beside=beside)


def cartesian_servo_node() -> NoReturn:
    """Run the node."""
    from dynamics_ros.nodes.app.managed import ManagedNode
    from dynamics_ros.nodes.servo.cartesian_servo_node import NAME, Servo

    _run(NAME, Servo, subscribe_payload=True, node=ManagedNode)
