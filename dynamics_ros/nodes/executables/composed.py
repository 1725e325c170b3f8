# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_ros: the three nodes in one process, on one robot and one set of subscriptions.

Topics, services and parameters are those of the nodes run apart, except that the robot's own
parameters are those of dynamics_node, which knows payload and gravity.
"""

from __future__ import annotations

from typing import NoReturn

from dynamics_ros.nodes.app.executor import Application, run
from dynamics_ros.nodes.app.guarded_node import GuardedNode
from dynamics_ros.nodes.app.managed import ManagedNode
from dynamics_ros.nodes.contact.contact_node import NAME as CONTACT
from dynamics_ros.nodes.contact.contact_node import Contact
from dynamics_ros.nodes.dynamics.dynamics_node import NAME as DYNAMICS
from dynamics_ros.nodes.dynamics.dynamics_node import Dynamics
from dynamics_ros.nodes.kinematics.kinematics_node import NAME as KINEMATICS
from dynamics_ros.nodes.kinematics.kinematics_node import Kinematics
from dynamics_ros.nodes.robot.context import RobotContext

from .together import application, check_names


def build() -> Application:
    """Three nodes on one robot.

    Raises:
        DynamicsRosError: a remapping gives one name to several of them, or a parameter is wrong.
    """
    host = ManagedNode(DYNAMICS)
    nodes = {KINEMATICS: GuardedNode(KINEMATICS), DYNAMICS: host, CONTACT: GuardedNode(CONTACT)}
    check_names(nodes)
    context = RobotContext(host)
    # In the order in which their services become quick: a search waits for nobody.
    parts = [
        Kinematics(nodes[KINEMATICS], context),
        Dynamics(host, context),
        Contact(nodes[CONTACT], context),
    ]
    return application(context, parts)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the nodes."""
    run(build, arguments)


if __name__ == '__main__':
    main()
