"""Executable ``dynamics_node``."""

from __future__ import annotations

from typing import NoReturn

from dynamics_ros.nodes.app.managed import ManagedNode
from dynamics_ros.nodes.dynamics.dynamics_node import NAME, Dynamics

from .standalone import run_alone


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Dynamics, arguments, subscribe_payload=False, node=ManagedNode)


if __name__ == '__main__':
    main()
