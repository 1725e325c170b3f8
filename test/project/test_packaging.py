# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The two packages are complete, agree with each other, and are installed as ROS 2 expects."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path
from types import SimpleNamespace

import pytest
from catkin_pkg.package import parse_package
from patience import PATIENCE

ROOT = Path(__file__).parents[2]
MESSAGES = ROOT / 'dynamics_ros_msgs'
INTERFACES = sorted(p for kind in ('msg', 'srv', 'action') for p in MESSAGES.glob(f'{kind}/*'))
PARTS = {'.msg': (), '.srv': ('Request', 'Response'), '.action': ('Goal', 'Result', 'Feedback')}
SERVICES = [path.stem for path in INTERFACES if path.suffix == '.srv']
EXECUTABLES = [
    'analyze_recordings',
    'calibrate_robot',
    'cartesian_servo_node',
    'contact_node',
    'doctor',
    'dynamics_node',
    'dynamics_ros',
    'dynamics_ros_viewer',
    'estimate_bag',
    'export_kernels',
    'impedance_controller_node',
    'inspect',
    'kinematics_node',
    'robot_simulator',
]
OPTIONAL = {
    *('coal', 'control_msgs', 'controller_manager_msgs', 'daqp', 'distributed', 'jax', 'llvmlite'),
    *('lz4', 'matplotlib', 'moveit_msgs', 'mujoco', 'pydrake', 'pyarrow', 'rich', 'rosbags'),
    *('rerun', 'robot_descriptions', 'tf2_ros', 'torch', 'trimesh', 'typing_extensions', 'viser'),
}
"""What the package does without."""

DATA_FILES = sorted(
    str(path.relative_to(ROOT))
    for folder in ('launch', 'config', 'urdf')
    for path in (ROOT / folder).glob('*')
    if path.is_file()
)
RESULT_CODES = (
    *('SUCCESS', 'FAILURE', 'INVALID_ARGUMENT', 'UNKNOWN_FRAME', 'UNKNOWN_JOINT', 'NO_MODEL'),
    *('NO_STATE', 'STALE_STATE', 'NO_SOLUTION', 'UNREACHABLE', 'TIMED_OUT', 'SINGULAR'),
    *('NOT_STATIONARY', 'NOT_SUPPORTED'),
)
"""From 1 downward."""


def installed(package: str) -> Path:
    from ament_index_python.packages import get_package_prefix

    return Path(get_package_prefix(package))


# --- package.xml, setup.py, CHANGELOG -----------------------------------------------------------


@pytest.mark.parametrize('folder', [ROOT, MESSAGES], ids=['dynamics_ros', 'dynamics_ros_msgs'])
def test_package_xml_is_valid(folder):
    warnings: list[str] = []
    package = parse_package(str(folder), warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    assert package.package_format == 3
    assert package.licenses == ['Apache-2.0']


def test_every_file_that_has_a_version_has_the_same():
    expected = parse_package(str(ROOT)).version
    changelog = re.search(r'^(\d+\.\d+\.\d+) ', (ROOT / 'CHANGELOG.rst').read_text(), re.M)
    assert changelog
    assert changelog[1] == expected
    assert parse_package(str(MESSAGES)).version == expected
    assert version('dynamics_ros') == expected


def test_every_package_that_is_imported_is_a_declared_dependency():
    keys = {name: f'python3-{name}' for name in ('numpy', 'scipy', 'yaml')}
    declared = {dependency.name for dependency in parse_package(str(ROOT)).exec_depends}
    undeclared = {
        f'{path.relative_to(ROOT)} imports {name}'
        for folder in ('dynamics_ros', 'launch')
        for path in (ROOT / folder).rglob('*.py')
        for name in imported_packages(path)
        if name not in OPTIONAL and keys.get(name, name) not in declared
    }
    assert undeclared == set()


def test_the_viewer_says_what_it_needs_and_ends():
    program = (
        "import sys; sys.modules['viser'] = None; "
        'from dynamics_ros.viewer.node import main; main([])'
    )
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 1
    assert 'viser is not installed; expected pip install viser' in done.stderr
    assert 'Traceback' not in done.stderr


def test_without_tf2_ros_only_frames_of_the_model_are_known(monkeypatch):
    from rclpy.clock import Clock, ClockType

    from dynamics_ros.nodes.load import Transforms
    from dynamics_ros.nodes.reporting import TransformError

    monkeypatch.setitem(sys.modules, 'tf2_ros', None)
    node = SimpleNamespace(get_clock=lambda: Clock(clock_type=ClockType.ROS_TIME))
    with pytest.raises(TransformError, match='tf2_ros is not installed'):
        Transforms(node).pose('base', 'tool')


def test_without_trimesh_a_mesh_that_is_no_stl_is_named(monkeypatch, tmp_path):
    from dynamics_ros.errors import ModelError
    from dynamics_ros.model.mesh_file import read_mesh

    monkeypatch.setitem(sys.modules, 'trimesh', None)
    path = tmp_path / 'part.dae'
    path.write_text('<COLLADA/>')
    with pytest.raises(ModelError, match='needs the Python package trimesh'):
        read_mesh(path)


def imported_packages(path: Path) -> set[str]:
    names = set(re.findall(r"import_module\('(\w+)'\)", path.read_text()))
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    return {name.partition('.')[0] for name in names} - sys.stdlib_module_names - {'dynamics_ros'}


# --- what is installed --------------------------------------------------------------------------


@pytest.mark.parametrize('name', EXECUTABLES)
def test_ros2_run_finds_the_executable_and_its_main_function(name):
    assert os.access(installed('dynamics_ros') / 'lib' / 'dynamics_ros' / name, os.X_OK)
    entries = entry_points(group='console_scripts', name=name)
    (entry,) = [entry for entry in entries if entry.value.startswith('dynamics_ros.')]
    assert callable(entry.load())


@pytest.mark.parametrize('name', ['package.xml', *DATA_FILES])
def test_the_file_is_installed_in_the_share_folder(name):
    copy = installed('dynamics_ros') / 'share' / 'dynamics_ros' / name
    assert copy.read_bytes() == (ROOT / name).read_bytes()


# --- messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize('path', INTERFACES, ids=lambda path: path.stem)
def test_the_interface_is_generated_and_default_constructs(path):
    module = importlib.import_module(f'dynamics_ros_msgs.{path.parent.name}')
    kind = getattr(module, path.stem)
    for part in [getattr(kind, name) for name in PARTS[path.suffix]] or [kind]:
        assert part() == part()


@pytest.mark.parametrize('path', INTERFACES, ids=lambda path: path.stem)
def test_every_field_of_the_interface_is_explained(path):
    lines = path.read_text().splitlines()
    field = re.compile(r'[\w/]+(\[\d*\])? \w+$')
    unexplained = [
        line
        for before, line in zip(['', *lines], lines)
        if field.match(line) and not before.startswith('#')
    ]
    assert unexplained == []
    assert lines[0].startswith('# ')


def test_result_codes_are_those_of_the_documentation():
    from dynamics_ros_msgs.msg import Result

    # rosidl keeps the constants in a mangled dictionary of the metaclass.
    (constants,) = [v for k, v in vars(type(Result)).items() if k.endswith('__constants')]
    assert constants == {name: 1 - k for k, name in enumerate(RESULT_CODES)}


@pytest.mark.parametrize('name', SERVICES)
def test_every_response_begins_with_a_result(name):
    module = importlib.import_module('dynamics_ros_msgs.srv')
    fields = getattr(module, name).Response.get_fields_and_field_types()
    assert next(iter(fields.items())) == ('result', 'dynamics_ros_msgs/Result')
