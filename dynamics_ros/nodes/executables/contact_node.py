"""Executable ``contact_node``."""

from __future__ import annotations

from typing import NoReturn

from dynamics_ros.nodes.contact.contact_node import NAME, Contact

from .standalone import run_alone


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the node."""
    run_alone(NAME, Contact, arguments, subscribe_payload=True)


if __name__ == '__main__':
    main()
