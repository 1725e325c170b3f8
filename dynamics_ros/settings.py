"""Settings as frozen dataclasses whose fields say what they mean and which values they take.

Nodes declare such fields as ROS parameters.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Constraint:
    """What a parameter is and which values it takes."""

    description: str
    unit: str = ''
    minimum: float = -sys.float_info.max
    maximum: float = sys.float_info.max
    choices: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    may_be_infinite: bool = False
    read_only: bool = False


def parameter(default: Any, description: str, **constraint: Any) -> Any:
    """A field of a dataclass of settings; see Constraint for the keywords."""
    metadata = {'constraint': Constraint(description, **constraint)}
    return dataclasses.field(default=default, metadata=metadata)
