# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of command line tools: streams of any locale, interruption, numbers of options."""

from __future__ import annotations

import argparse
import io
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .settings import MAX_GRAVITY

INTERRUPTED = 130
"""Exit code after SIGINT, as used by shells."""


@contextmanager
def command_line() -> Iterator[None]:
    """Run a tool: its imports and its main function.

    Characters that the encoding of the terminal lacks are printed as Python escapes. An
    interruption that the tool does not handle, as during imports, ends the process with code 130.
    BLAS has one thread, unless the environment says otherwise.
    """
    # Threads of BLAS spin while they wait: beside other work, an identification took ten times as
    # long with two of them.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == 'strict':
            stream.reconfigure(errors='backslashreplace')
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def finite(text: str) -> float:
    """A number of an option.

    Raises:
        ArgumentTypeError: it is none, or not finite.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f'{text!r} is no finite number')
    return number


def acceleration(text: str) -> float:
    """A component of gravity of an option [m/s^2].

    Raises:
        ArgumentTypeError: it is no finite number, or too large.
    """
    number = finite(text)
    if abs(number) > MAX_GRAVITY:
        raise argparse.ArgumentTypeError(f'{text} is more than {MAX_GRAVITY:g} m/s^2')
    return number
