"""Executable ``kinematics_node``."""

from __future__ import annotations

from typing import NoReturn

from dynamics_ros.nodes.kinematics.kinematics_node import NAME, Kinematics

from .standalone import run_alone


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Kinematics, arguments, subscribe_payload=True)


if __name__ == '__main__':
    main()
