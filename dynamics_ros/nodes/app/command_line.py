# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check of a node's command line: all arguments are for ROS, and unreadable ones are explained."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.utilities import remove_ros_args

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.reporting.middleware_errors import describe_error
from dynamics_ros.settings import yaml_problem

USAGE = """\
usage: ros2 run dynamics_ros {name} [--ros-args ARGUMENTS]

  -p NAME:=VALUE       set a parameter; config/dynamics_ros.yaml of the package lists them
  --params-file FILE   set the parameters of a YAML file like that one
  -r FROM:=TO          rename a topic or service; -r __ns:=/NAME puts the node into a namespace
  --log-level LEVEL    debug, info, warn, error or fatal
"""

EXPECTED = {
    '--params-file': "a YAML file of the form 'NODE: {ros__parameters: {NAME: VALUE}}'",
    '-p': 'NAME:=VALUE',
    '--param': 'NAME:=VALUE',
    '-r': 'FROM:=TO with names of ROS; a namespace begins with a slash',
    '--remap': 'FROM:=TO with names of ROS; a namespace begins with a slash',
    '--log-level': 'debug, info, warn, error, fatal or LOGGER:=LEVEL',
}

_UNREADABLE = re.compile(r"Couldn't parse [^:]*: '(?P<given>.*?)'\. Error: (?P<why>.*)", re.DOTALL)
_TRAILING = re.compile(r'trailing (?P<flag>\S+) flag')


def wants_help(arguments: Sequence[str]) -> bool:
    """Whether the arguments ask for help."""
    return '--help' in arguments or '-h' in arguments


def usage() -> str:
    """Return the usage text of the current command."""
    return USAGE.format(name=Path(sys.argv[0]).name)


def check(arguments: Sequence[str]) -> None:
    """Check the arguments before ``rclpy.init`` reads them.

    Args:
        arguments: arguments without the name of the program.

    Raises:
        InvalidArgumentError: some are not for ROS, or ROS cannot read them.
    """
    # rclpy.init parses the arguments again and prints the warnings of the parser then.
    set_logger_level('rcl', LoggingSeverity.FATAL)
    try:
        others = remove_ros_args(arguments)
    except RuntimeError as error:
        raise _explain(describe_error(error)) from error
    finally:
        set_logger_level('rcl', LoggingSeverity.UNSET)
    if others:
        raise InvalidArgumentError(
            ' '.join(others),
            'a node takes no such argument',
            '--ros-args -p NAME:=VALUE, or --help',
        )


def _fault_of_file(file: Path) -> str:
    """Return why a parameter file is not YAML, with the line; '' if it is, or cannot be opened."""
    if not file.is_file():
        return 'no such file'
    try:
        yaml.safe_load(file.read_text('utf-8'))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        return yaml_problem(error)
    except OSError as error:
        return f'cannot be read: {error.strerror}'
    return ''


def _explain(text: str) -> InvalidArgumentError:
    """Return an error that explains the error text of the ROS argument parser."""
    match, trailing = _UNREADABLE.search(text), _TRAILING.search(text)
    if match is not None:
        argument, reason = match['given'], 'ROS cannot read it'
        if argument.startswith('--params-file'):
            reason = _fault_of_file(Path(argument.partition(' ')[2])) or match['why']
        elif 'same type' in match['why']:
            expected = 'values of one type in a list: numbers all with a point, or all without'
            return InvalidArgumentError(argument, reason, expected)
    elif trailing is not None:
        argument, reason = trailing['flag'], 'nothing follows'
    elif text.startswith('['):  # a list of flags that ROS does not know
        argument, reason = text.strip('[]').replace("'", ''), 'ROS has no such argument'
    else:
        argument, reason = 'arguments', text
    return InvalidArgumentError(
        argument, reason, EXPECTED.get(argument.split()[0], 'what --help says')
    )
