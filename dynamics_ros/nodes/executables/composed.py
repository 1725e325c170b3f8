# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Executable dynamics_ros: three nodes in one process, with one robot and shared subscriptions.

Topics, services and parameters are the same as when the nodes run separately, except that the
parameters of the robot belong to dynamics_node, which manages payload and gravity.
"""

from __future__ import annotations

from functools import partial

from dynamics_ros.nodes.app.executor import Application, run
from dynamics_ros.nodes.app.guarded_node import GuardedNode
from dynamics_ros.nodes.app.managed import ManagedNode
from dynamics_ros.nodes.contact.contact_node import NAME as CONTACT
from dynamics_ros.nodes.contact.contact_node import Contact
from dynamics_ros.nodes.dynamics.dynamics_node import NAME as DYNAMICS
from dynamics_ros.nodes.dynamics.dynamics_node import Dynamics
from dynamics_ros.nodes.kinematics.kinematics_node import NAME as KINEMATICS
from dynamics_ros.nodes.kinematics.kinematics_node import Kinematics
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext

from .assembly import application, check_names


def build() -> Application:
    """Create the three nodes on one robot.

    Raises:
        DynamicsRosError: a remapping gives several nodes the same name, or a parameter is invalid.
    """
    host = ManagedNode(DYNAMICS)
    nodes = {KINEMATICS: GuardedNode(KINEMATICS), DYNAMICS: host, CONTACT: GuardedNode(CONTACT)}
    check_names(nodes)
    context = RobotContext(host)
    # Kernels of services are compiled in this order; those of inverse kinematics come first.
    components: list[Component] = [
        Kinematics(nodes[KINEMATICS], context),
        Dynamics(host, context),
        Contact(nodes[CONTACT], context),
    ]
    return application(context, components)


main = partial(run, build)
