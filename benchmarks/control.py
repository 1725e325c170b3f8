# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `control`: cost of controllers, effect on a simulated arm, latency of the node."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from benchmarks import (
    control_admittance,
    control_cost,
    control_faults,
    control_node,
    control_plant,
    control_reactions,
    control_soak,
)
from benchmarks.records import Record

PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Record]]] = {
    'cost': control_cost.run,
    'plant': control_plant.run,
    'reactions': control_reactions.run,
    'faults': control_faults.run,
    'soak': control_soak.run,
    'admittance': control_admittance.run,
    'node': control_node.run,
}


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Run the selected parts."""
    for name, part in PARTS.items():
        if not options.part or name in options.part:
            yield from part(options)
