# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Entry points of the command line tools; each imports its tool when it is called.

This module imports next to nothing, so that an interruption of the other imports is silent.
"""

import os
import signal
import sys
from functools import partial
from importlib import import_module
from types import ModuleType

INTERRUPTED = 130
"""Exit code after SIGINT, as used by shells."""


def load(module: str) -> ModuleType:
    """Import a module of ``dynamics_ros``; end the process if rclpy lacks what that needs."""
    try:
        return import_module(f'dynamics_ros.{module}')
    except ImportError as error:
        if (error.name or '').partition('.')[0] != 'rclpy':
            raise
        release = os.environ.get('ROS_DISTRO', 'not set')
        python = '.'.join(map(str, sys.version_info[:2]))
        sys.exit(
            f'cannot start: {error.msg}; expected ROS 2 Jazzy or newer, and ROS_DISTRO is '
            f'{release}: source a release for this Python, {python}'
        )


def run(room: str) -> int:
    """Run the main function of ``dynamics_ros.ROOM.command``, and return its exit code.

    Characters that the encoding of the terminal lacks are printed as Python escapes. An
    interruption that the tool does not handle, as during imports, ends the process silently with
    code 130. BLAS has one thread, unless the environment says otherwise.

    Args:
        room: name of a package within ``dynamics_ros``.
    """
    usual = signal.default_int_handler
    silent = signal.getsignal(signal.SIGINT) is usual
    if silent:  # an exception would show a traceback wherever an import handles it
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    # Threads of BLAS spin while they wait: beside other work, an identification took ten times as
    # long with two of them.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, 'errors', '') == 'strict':
            stream.reconfigure(errors='backslashreplace')  # type: ignore[union-attr]
    main = load(f'{room}.command').main
    try:
        if silent:
            signal.signal(signal.SIGINT, usual)
        return int(main())
    except KeyboardInterrupt:
        return INTERRUPTED


analyze_recordings = partial(run, 'fleet')
calibrate_robot = partial(run, 'calibration')
doctor = partial(run, 'doctor')
estimate_bag = partial(run, 'recordings')
export_kernels = partial(run, 'export')
inspect = partial(run, 'inspect')
