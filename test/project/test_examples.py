# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Examples in C++ compile; those in Python need nothing but rclpy and messages, and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rclpy')

from ros_harness import occupy
from terminals import Terminals

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / 'examples'
SOURCES = sorted((EXAMPLES / 'cpp' / 'src').glob('*.cpp'))
DOMAIN = 163

PRIMITIVES = {'boolean': 'bool', 'string': 'std::string', 'octet': 'unsigned char'}


def header(package: str, room: str, name: str, folder: Path) -> None:
    """Write a header with the fields of an interface, as the classes of Python have them."""
    kind = getattr(import_module(f'{package}.{room}'), name)
    stem = re.sub(r'(?<!^)(?=[A-Z])', '_', name).lower()
    path = folder / package / room / f'{stem}.hpp'
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()  # for messages that hold one another
    parts = {name: kind} if room == 'msg' else {'Request': kind.Request, 'Response': kind.Response}
    includes, structs = set(), ''
    for part, one in parts.items():
        fields = ''
        for field, text in one.get_fields_and_field_types().items():
            fields += f'  {member(text, includes, folder)} {field};\n'
        fields += ''.join(
            f'  static constexpr int {constant} = {value};\n'
            for constant, value in constants(one).items()
        )
        structs += f'struct {part} {{\n{fields}}};\n'
    if room == 'srv':
        structs = f'struct {name} {{\n{structs}}};\n'
    lines = ''.join(f'#include "{x}"\n' for x in sorted(includes))
    path.write_text(
        f'#pragma once\n#include <array>\n#include <string>\n#include <vector>\n{lines}'
        f'namespace {package}::{room} {{\n{structs}}}\n'
    )


def constants(kind: Any) -> dict[str, int]:
    return {
        name: getattr(kind, name)
        for name in dir(type(kind))
        if name.isupper() and isinstance(getattr(kind, name), int)
    }


def member(text: str, includes: set[str], folder: Path) -> str:
    """Return the type of a field in C++, after writing the headers that it needs."""
    if sequence := re.fullmatch(r'sequence<(.*?)(, \d+)?>', text):
        return f'std::vector<{member(sequence[1], includes, folder)}>'
    if array := re.fullmatch(r'(.*)\[(\d+)\]', text):
        return f'std::array<{member(array[1], includes, folder)}, {array[2]}>'
    if '/' in text:
        package, name = text.split('/')
        header(package, 'msg', name, folder)
        stem = re.sub(r'(?<!^)(?=[A-Z])', '_', name).lower()
        includes.add(f'{package}/msg/{stem}.hpp')
        return f'{package}::msg::{name}'
    number = re.fullmatch(r'(u?int)(\d+)', text)
    return PRIMITIVES.get(text, f'{number[1]}{number[2]}_t' if number else text.partition('<')[0])


@pytest.mark.skipif(shutil.which('g++') is None, reason='no compiler')
@pytest.mark.parametrize('source', SOURCES, ids=lambda path: path.stem)
def test_an_example_in_c_plus_plus_compiles(source: Path, tmp_path: Path) -> None:
    prefixes = [Path(one) for one in os.environ['AMENT_PREFIX_PATH'].split(os.pathsep) if one]
    folders = [folder for prefix in prefixes for folder in (prefix / 'include').glob('*')]
    if not any((folder / 'rclcpp').is_dir() for folder in folders):
        folders = [ROOT / 'test' / 'stand_ins' / 'rclcpp', tmp_path]
        text = source.read_text()
        for package, room, stem in re.findall(r'#include "(\w+)/(msg|srv)/(\w+)\.hpp"', text):
            name = ''.join(word.capitalize() for word in stem.split('_'))
            header(package, room, name.replace('Float64Multiarray', 'Float64MultiArray'), tmp_path)
    includes = [f'-I{folder}' for folder in folders]
    command = ['g++', '-std=c++17', '-Wall', '-Werror', '-fsyntax-only', *includes, str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.ros
@pytest.mark.slow
def test_the_examples_in_python_run(tmp_path: Path) -> None:
    occupy(DOMAIN)
    (tmp_path / 'examples').symlink_to(EXAMPLES)
    terminals = Terminals(tmp_path, DOMAIN)
    file = f'-p robot_description_file:={ROOT}/urdf/seven_joint_arm.urdf'
    joints = 'shoulder_yaw shoulder_pitch'
    try:
        terminals.start('1', f'exec ros2 run dynamics_ros robot_simulator --ros-args {file}')
        terminals.start('2', f'exec ros2 run dynamics_ros dynamics_ros --ros-args {file}')
        assert (
            terminals.run('python3 examples/set_payload.py 1.5 0.05') == 'the payload is 1.5 kg\n'
        )
        shown = terminals.run(f"""
            python3 examples/gravity_torques.py {joints} >&2 &
            ros2 topic echo --once effort_controller/commands std_msgs/msg/Float64MultiArray
            kill -INT $! || true
        """)
        assert len(re.findall(r'^- ', shown.partition('data:')[2], re.MULTILINE)) == 2
    finally:
        terminals.close()
