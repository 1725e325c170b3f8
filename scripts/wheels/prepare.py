# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Turns a virtual environment full of ROS 2 wheels into a prefix that colcon and CMake can use.

Run by scripts/setup with the Python of that environment. It may be run again.
"""

from __future__ import annotations

import re
import shlex
import sys
import sysconfig
from pathlib import Path

import numpy

PREFIX = Path(sys.prefix)
SITE_PACKAGES = Path(sysconfig.get_path('purelib'))

# What the exported CMake files of the wheels name: folders of the machine that built them.
FOREIGN_FOLDERS = {
    re.compile(r'/opt/python/cp\d+-cp\d+/include/python3\.\d+'): sysconfig.get_path('include'),
    re.compile(r'/opt/python/cp\d+-cp\d+/lib/python3\.\d+/site-packages/numpy/_?core/include'): (
        numpy.get_include()
    ),
}

# How a generator of C++ has itself run for each message package. There are no wheels of rclcpp, and
# what Python needs of a message is in C: the C++ took half the time of a build.
GENERATOR_OF_CPP = re.compile(
    r'ament_register_extension\(\s*"rosidl_generate_idl_interfaces"\s*"\w+_cpp"\s*"\w+\.cmake"\s*\)'
)

# The part of a prefix that colcon sources when a workspace is chained to it. It is the same for
# every shell and may be sourced twice.
LOCAL_SETUP = """\
# Written by scripts/setup: enters the environment of the ROS 2 wheels, as /opt/ros/<distro> does
# for an installed one.
_prepend() {{
  eval "_value=\\"\\${{$1:-}}\\""
  case ":$_value:" in
    *":$2:"*) ;;
    *) export "$1=$2${{_value:+:$_value}}" ;;
  esac
}}
{prepends}
unset -f _prepend
unset _value
export VIRTUAL_ENV={prefix}
export ROS_VERSION=2
export ROS_PYTHON_VERSION=3
# The wheels start every Python twice to set LD_LIBRARY_PATH, unless it is said to be set.
export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
"""


def replace_foreign_folders() -> None:
    """Make the exported CMake files name the folders of this interpreter."""
    for path in sorted((PREFIX / 'share').rglob('*.cmake')):
        text = original = path.read_text()
        for foreign, own in FOREIGN_FOLDERS.items():
            text = foreign.sub(lambda _, own=own: own, text)
        if text != original:
            path.write_text(text)


def leave_out_cpp() -> None:
    """Have message packages built without the part that C++ programs would use."""
    for path in sorted((PREFIX / 'share').glob('rosidl_*_cpp/cmake/*.cmake')):
        text = path.read_text()
        if GENERATOR_OF_CPP.search(text):
            path.write_text(GENERATOR_OF_CPP.sub('# left out by scripts/setup', text))


def write_local_setup() -> None:
    """Write local_setup.* into the environment."""
    libraries = [PREFIX / 'lib', *sorted(SITE_PACKAGES.glob('ros_*.libs'))]
    prepends = [('LD_LIBRARY_PATH', folder) for folder in reversed(libraries)]
    prepends += [
        ('CMAKE_PREFIX_PATH', PREFIX),
        ('AMENT_PREFIX_PATH', PREFIX),
        ('PATH', PREFIX / 'bin'),
    ]
    text = LOCAL_SETUP.format(
        prepends='\n'.join(f'_prepend {name} {shlex.quote(str(p))}' for name, p in prepends),
        prefix=shlex.quote(str(PREFIX)),
    )
    for shell in ('sh', 'bash', 'zsh'):
        (PREFIX / f'local_setup.{shell}').write_text(text)


if __name__ == '__main__':
    replace_foreign_folders()
    leave_out_cpp()
    write_local_setup()
