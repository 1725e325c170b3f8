# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Our composed nodes with an empty service, as a baseline for service calls, and callback times.

Run as a program with the arguments of the executable `dynamics_ros`.
"""

from __future__ import annotations

import json
import statistics
import time
from inspect import isawaitable
from typing import Any

from std_srvs.srv import Trigger

from dynamics_ros.nodes.executables import build_composed
from dynamics_ros.nodes.process import Application, run

EMPTY, CALLBACKS = 'empty', 'callbacks'
"""An empty service; one that answers the medians of callbacks since its last call [us], as JSON."""


def build() -> Application:
    """The nodes and the two services."""
    application = build_composed()
    taken: dict[str, list[float]] = {}
    for node in application.nodes:
        for service in node.services:
            if '/compute_' in service.srv_name:
                name = service.srv_name.rpartition('/compute_')[2]
                service.callback = _timed(service.callback, taken.setdefault(name, []))

    def answer(_request: Any, response: Any) -> Any:
        medians = {name: statistics.median(times) for name, times in taken.items() if times}
        for times in taken.values():
            times.clear()
        response.message = json.dumps(medians)
        return response

    application.nodes[0].create_service(Trigger, EMPTY, lambda _request, response: response)
    application.nodes[0].create_service(Trigger, CALLBACKS, answer)
    return application


def _timed(callback: Any, times: list[float]) -> Any:
    """The callback of a service, whose times [us] are appended."""

    async def timed(request: Any, response: Any) -> Any:
        started = time.perf_counter()
        response = callback(request, response)
        if isawaitable(response):
            response = await response
        times.append(1e6 * (time.perf_counter() - started))
        return response

    return timed


if __name__ == '__main__':
    run(build)
