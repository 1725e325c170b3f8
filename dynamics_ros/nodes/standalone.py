"""One part in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from rclpy.node import Node

from .diagnostics import Diagnostics, report_in_turn
from .executor import Application, run
from .gravity_follower import GravityFollower
from .guarded_node import GuardedNode
from .part import Part
from .robot_context import RobotContext
from .undeclared import refuse_undeclared


def run_alone(
    name: str,
    make: Callable[[Node, RobotContext], Part],
    arguments: list[str] | None,
    *,
    subscribe_payload: bool,
) -> NoReturn:
    """Run a node with one part on a robot of its own; ends the process.

    Args:
        name: of the node.
        make: makes the part.
        arguments: of the command line; None for those of the process.
        subscribe_payload: whether payload and gravity come from elsewhere.
    """

    def build() -> Application:
        node = GuardedNode(name)
        context = RobotContext(node, subscribe_payload=subscribe_payload)
        part = make(node, context)
        context.add(part)
        report_in_turn(node, [Diagnostics(context, part)])
        GravityFollower(context)
        refuse_undeclared([node])
        return Application([node], context)

    run(build, arguments)
