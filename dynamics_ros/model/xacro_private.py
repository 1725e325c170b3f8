# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Search for packages in ``$(find package)`` of xacro, through a name inside its module.

xacro finds built packages of a sourced ROS 2 alone. With another version of xacro, which lacks
this name, that stays so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_lock = threading.Lock()


@contextmanager
def packages_found_by(find: Callable[[str], str]) -> Iterator[None]:
    """Context in which xacro finds the share folders of packages by a function of their name."""
    module: Any = import_module('xacro.substitution_args')
    if not hasattr(module, '_eval_find'):
        yield
        return
    with _lock:
        own = module._eval_find
        module._eval_find = find
        try:
            yield
        finally:
            module._eval_find = own
