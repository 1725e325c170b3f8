# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Executables with one node each; each imports only the modules of its node.

impedance_controller_node also runs contact_node in its process if it reacts to collisions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from dynamics_ros.nodes.app.executor import Application, run
from dynamics_ros.nodes.app.guarded_node import GuardedNode
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.load_topics import LoadSubscriber

from .assembly import application, check_names


def _run(
    module: str,
    component: str,
    *,
    managed: bool = False,
    subscribe_payload: bool = True,
    make_others: Callable[[Any, RobotContext], list[Component]] = lambda _component, _context: [],
) -> NoReturn:
    """Run a node with one component, and end the process.

    Args:
        module: module of the component below ``nodes``, which has the name of the node in NAME.
        component: name of the component's class.
        managed: whether the node can be a managed node.
        subscribe_payload: whether to subscribe to the topics of payload and gravity; False in the
            process that publishes them.
        make_others: creates further components, which have their own nodes and process each state
            before this one.
    """
    code = import_module(f'dynamics_ros.nodes.{module}')
    node_class: Any = GuardedNode
    if managed:
        node_class = import_module('dynamics_ros.nodes.app.managed').ManagedNode

    def build() -> Application:
        node = node_class(code.NAME)
        context = RobotContext(node)
        if subscribe_payload:
            LoadSubscriber(context)
        own = getattr(code, component)(node, context)
        return application(context, [*make_others(own, context), own])

    run(build, None)


def _collision_detector(impedance: Any, context: RobotContext) -> list[Component]:
    """Return contact_node as the detector of collisions, if an arm reacts to them."""
    if impedance.parameters.values.collision.reaction == 'none':
        impedance.watch(None)
        return []
    from dynamics_ros.nodes.contact.contact_node import NAME, Contact

    node = GuardedNode(NAME)
    check_names({'impedance_controller_node': impedance.node, NAME: node})
    contact = Contact(node, context)
    impedance.watch(contact)
    return [contact]


kinematics_node = partial(_run, 'kinematics.kinematics_node', 'Kinematics')
dynamics_node = partial(
    _run, 'dynamics.dynamics_node', 'Dynamics', managed=True, subscribe_payload=False
)
contact_node = partial(_run, 'contact.contact_node', 'Contact')
impedance_controller_node = partial(
    _run,
    'impedance.impedance_controller_node',
    'Impedance',
    managed=True,
    make_others=_collision_detector,
)
cartesian_servo_node = partial(_run, 'servo.cartesian_servo_node', 'Servo', managed=True)
