# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands that the pages show are there, with their options, parameters, arguments and fields.

What tutorials show is run by test_tutorials.py. What other pages show may need a robot, a recording
or a file of the reader's, so here each name in it is looked up.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
import yaml

pytest.importorskip('rclpy')

from documents import PAGES, ROOT, commands
from node_parameters import SECTIONS

from dynamics_ros import tools
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.parameters.simulator import SimulatorParameters
from dynamics_ros.settings import declared
from dynamics_ros.viewer.node import ViewerParameters

OPTION = re.compile(r'(?<![\w-])--[a-z][\w-]*')
MODULES = {'demo': 'dynamics_ros.demo', 'bench': 'benchmarks'}
"""What the scripts that take options run."""

NODES = {
    pattern.rpartition('/')[2]: {item.name for item in declared(kind)}
    for pattern, kind in SECTIONS.items()
}
OF_ROBOT = {item.name for item in declared(RobotParameters)}
PARAMETERS = {
    **{name: names | OF_ROBOT for name, names in NODES.items() if name != '**'},
    'dynamics_ros': OF_ROBOT.union(*NODES.values()),
    'robot_simulator': {item.name for item in declared(SimulatorParameters)},
    'dynamics_ros_viewer': {item.name for item in declared(ViewerParameters)},
}
"""Names of the parameters of each node."""

PLACES = {*re.findall(r"'(\w+)': 'tools:", (ROOT / 'setup.py').read_text())}
"""Tools."""


def shown(pattern: str) -> list[Any]:
    """A case for each command of the pages that matches; the first group and the rest."""
    return [
        pytest.param(match[1], match[2], id=f'{page.stem}: {command[:60]}')
        for page in PAGES
        for command in commands(page)
        if (match := re.match(pattern, command))
    ]


@cache
def help_of(module: str, *sub: str) -> str:
    name = f'{module}.__main__' if module == 'benchmarks' else f'{module}.command'
    with redirect_stdout(StringIO()) as printed, pytest.raises(SystemExit, match='0'):
        import_module(name).main([*sub, '--help'])
    return printed.getvalue()


def help_of_tool(name: str, *sub: str) -> str:
    return help_of(f'dynamics_ros.{getattr(tools, name).args[0]}', *sub)


PROGRAMS = {*re.findall(r"'(\w+)': '[\w.]+:\w+'", (ROOT / 'setup.py').read_text())}


@pytest.mark.parametrize(
    ('name', 'rest'), shown(r'(?:ros2 run dynamics_ros|scripts/ros run) (\S+)(.*)')
)
def test_a_program_has_the_options_and_parameters(name, rest):
    assert name in PROGRAMS
    rest = rest.partition('  #')[0]
    if name in PLACES:
        word = rest.split()[0] if rest.split() else ''
        sub = (word,) if name == 'calibrate_robot' and word in ('plan', 'run') else ()
        offered = set(OPTION.findall(help_of_tool(name, *sub)))
        if sub == ('run',):  # takes those of the identification as well
            offered |= set(OPTION.findall(help_of_tool(name)))
        assert set(OPTION.findall(rest)) <= offered
    else:
        for parameter in re.findall(r'-p ([\w.]+):=', rest):
            assert parameter in PARAMETERS[name], parameter


@pytest.mark.parametrize(('file', 'rest'), shown(r'ros2 launch dynamics_ros (\S+)(.*)'))
def test_a_launch_file_has_the_arguments(launched, file, rest):
    if file.startswith('.'):
        return
    known = {item.name for item in launched.arguments(file)}
    for word in shlex.split(rest, comments=True):
        if ':=' in word:
            assert word.partition(':=')[0] in known, word


@pytest.mark.parametrize(('module', 'rest'), shown(r'python3? -m (dynamics_ros\S*|benchmarks)(.*)'))
def test_a_module_is_there_and_has_the_options(module, rest):
    assert importlib.util.find_spec(module) is not None
    options = set(OPTION.findall(rest.partition('  #')[0]))
    assert not options or options <= set(OPTION.findall(help_of(module)))


@pytest.mark.parametrize(('script', 'rest'), shown(r'scripts/(\w+)(.*)'))
def test_a_script_has_the_options(script, rest):
    assert (ROOT / 'scripts' / script).is_file()
    options = set(OPTION.findall(rest.partition('  #')[0]))
    if script in MODULES:
        assert options <= set(OPTION.findall(help_of(MODULES[script])))


@pytest.mark.parametrize(
    ('kind', 'request_text'),
    shown(r'ros2 (?:service call|action send_goal(?: --feedback)?) \S+ (\S+)(.*)'),
)
def test_a_request_has_the_fields(kind, request_text):
    package, room, name = kind.split('/')
    found = getattr(import_module(f'{package}.{room}'), name)
    message = found.Request() if room == 'srv' else found.Goal()
    words = shlex.split(request_text)
    if words:
        check_fields(message, yaml.safe_load(words[0]))


def check_fields(message: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        assert name in message.get_fields_and_field_types(), name
        if isinstance(value, dict):
            check_fields(getattr(message, name), value)
