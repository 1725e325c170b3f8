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

from .assembly import application, check_names

AnyNode = TypeVar('AnyNode', bound=GuardedNode)
Part = TypeVar('Part', bound=Component)


def _no_components(_component: Component, _context: RobotContext) -> Sequence[Component]:
    return ()


def _run(
    name: str,
    make: Callable[[AnyNode, RobotContext], Part],
    *,
    subscribe_payload: bool,
    node: Callable[[str], AnyNode] = GuardedNode,
    make_others: Callable[[Part, RobotContext], Sequence[Component]] = _no_components,
) -> NoReturn:
    """Run a node with one component, and end the process.

    Args:
        name: name of the node.
        make: creates the component.
        subscribe_payload: whether to subscribe to the topics of payload and gravity; False in the
            process that publishes them.
        node: creates the node from its name.
        make_others: creates further components, which have their own nodes and process each state
            before this one.
    """

    def build() -> Application:
        host = node(name)
        context = RobotContext(host)
        if subscribe_payload:
            LoadSubscriber(context)
        component = make(host, context)
        return application(context, [*make_others(component, context), component])

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

    def make_others(component: Impedance, context: RobotContext) -> Sequence[Component]:
        if component.parameters.values.collision.reaction == 'none':
            component.watch(None)
            return ()
        from dynamics_ros.nodes.contact.contact_node import NAME as CONTACT
        from dynamics_ros.nodes.contact.contact_node import Contact

        host = GuardedNode(CONTACT)
        check_names({NAME: component.node, CONTACT: host})
        contact = Contact(host, context)
        component.watch(contact)
        return [contact]

    _run(NAME, Impedance, subscribe_payload=True, node=ManagedNode, make_others=make_others)


def cartesian_servo_node() -> NoReturn:
    """Run the node."""
    from dynamics_ros.nodes.app.managed import ManagedNode
    from dynamics_ros.nodes.servo.cartesian_servo_node import NAME, Servo

    _run(NAME, Servo, subscribe_payload=True, node=ManagedNode)
