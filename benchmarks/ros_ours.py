# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Our composed nodes with an additional empty service, as a baseline for service calls.

Run as a program with the arguments of the executable `dynamics_ros`.
"""

from __future__ import annotations

from typing import Any

from std_srvs.srv import Trigger

from dynamics_ros.nodes.executables import build_composed
from dynamics_ros.nodes.process import Application, run

EMPTY = 'empty'


def build() -> Application:
    """The nodes and the empty service."""
    application = build_composed()

    def nothing(_request: Any, response: Any) -> Any:
        return response

    application.nodes[0].create_service(Trigger, EMPTY, nothing)
    return application


if __name__ == '__main__':
    run(build)
