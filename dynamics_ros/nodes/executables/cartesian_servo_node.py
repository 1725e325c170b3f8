"""Executable ``cartesian_servo_node``."""

from __future__ import annotations

from typing import NoReturn

from dynamics_ros.nodes.app.managed import ManagedNode
from dynamics_ros.nodes.servo.cartesian_servo_node import NAME, Servo

from .standalone import run_alone


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Servo, arguments, subscribe_payload=True, node=ManagedNode)


if __name__ == '__main__':
    main()
