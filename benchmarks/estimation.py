# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `estimation`: estimates compared with true values in MuJoCo, and cost of a step.

Each part is a function of the options that yields records; `PARTS` lists the parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from benchmarks import (
    estimation_ablation,
    estimation_arms,
    estimation_contacts,
    estimation_cost,
    estimation_feet,
    estimation_observers,
    estimation_payload,
    estimation_standstill,
)
from benchmarks.records import Record

PARTS: tuple[Callable[[argparse.Namespace], Iterator[Record]], ...] = (
    estimation_arms.run,
    estimation_contacts.run,
    estimation_observers.run,
    estimation_payload.run,
    estimation_standstill.run,
    estimation_feet.run,
    estimation_cost.run,
)


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Run all parts; the ablation, which takes minutes, instead if it is selected."""
    for part in (estimation_ablation.ablation,) if options.part else PARTS:
        yield from part(options)
