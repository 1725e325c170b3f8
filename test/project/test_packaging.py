# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The two packages are complete, agree with each other, and are installed as ROS 2 expects."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path
from types import SimpleNamespace

import pytest
from catkin_pkg.package import parse_package
from packaging.requirements import Requirement

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
    'clarabel': 'calibrate_robot takes a Newton method of its own, which finds the same',
    'control_msgs': 'joint_state_topic and calibrate_robot run are refused with the reason; '
    'robot_simulator follows no trajectories',
    'daqp': 'bounded least squares are solved by SciPy; a log line of the servo says so; '
    'StandingRobot is refused with the reason',
    'distributed': 'analyze_recordings --backend dask ends with the reason',
    'jax': 'jax_function raises ImportError',
    'joblib': 'analyze_recordings ends with the reason',
    'llvmlite': 'kernels run as Python; a log line says so',
    'matplotlib': 'estimate_bag and calibrate_robot draw nothing; a log line says so',
    'moveit_msgs': 'moveit_services is refused with the reason',
    'mujoco': 'a simulated base that moves and Robot.from_mjcf are refused with the reason',
    'pyarrow': 'analyze_recordings ends with the reason, calibrate_robot refuses Parquet files',
    'rosbags': 'analyze_recordings and estimate_bag end with the reason, bags are refused',
    'tf2_ros': 'targets in frames of tf are refused with the reason',
    'torch': 'torch_function raises ImportError',
    'tqdm': 'analyze_recordings shows no progress',
    'trimesh': 'meshes other than STL are left out with the reason',
    'typing_extensions': 'type checkers alone import it',
    'viser': 'dynamics_ros_viewer ends with the reason',
}
"""What the package does without, and what happens where it is missing."""

DATA_FILES = sorted(
    str(path.relative_to(ROOT))
    for folder in ('launch', 'config', 'urdf')
    for path in (ROOT / folder).glob('*')
    if path.is_file()
)
RESULT_CODES = {
    'SUCCESS': 1,
    'FAILURE': 0,
    'INVALID_ARGUMENT': -1,
    'UNKNOWN_FRAME': -2,
    'UNKNOWN_JOINT': -3,
    'NO_MODEL': -4,
    'NO_STATE': -5,
    'STALE_STATE': -6,
    'NO_SOLUTION': -7,
    'UNREACHABLE': -8,
    'TIMED_OUT': -9,
    'SINGULAR': -10,
    'NOT_STATIONARY': -11,
    'NOT_SUPPORTED': -12,
}


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
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert 'viser is not installed; expected pip install viser' in done.stderr
    assert 'Traceback' not in done.stderr


def test_without_tf2_ros_only_frames_of_the_model_are_known(monkeypatch):
    from rclpy.clock import Clock, ClockType

    from dynamics_ros.nodes.reporting.results import TransformError
    from dynamics_ros.nodes.robot.transforms import Transforms

    monkeypatch.setitem(sys.modules, 'tf2_ros', None)
    node = SimpleNamespace(get_clock=lambda: Clock(clock_type=ClockType.ROS_TIME))
    with pytest.raises(TransformError, match='tf2_ros is not installed'):
        Transforms(node).listen()


def test_without_matplotlib_there_is_no_plot_and_a_log_line(monkeypatch, tmp_path, caplog):
    from dynamics_ros.recordings.plot import plot

    for name in ('matplotlib', 'matplotlib.figure', 'matplotlib.backends.backend_agg'):
        monkeypatch.setitem(sys.modules, name, None)
    assert not plot(None, tmp_path / 'plot.png')
    assert 'matplotlib is not installed' in caplog.text


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
def test_ros2_run_finds_the_executable(name):
    path = installed('dynamics_ros') / 'lib' / 'dynamics_ros' / name
    assert os.access(path, os.X_OK)


@pytest.mark.parametrize('name', EXECUTABLES)
def test_the_executable_has_a_main_function(name):
    (entry,) = [
        entry
        for entry in entry_points(group='console_scripts', name=name)
        if entry.value.startswith('dynamics_ros.')
    ]
    assert callable(entry.load())


@pytest.mark.parametrize('name', ['package.xml', *DATA_FILES])
def test_the_file_is_installed_in_the_share_folder(name):
    copy = installed('dynamics_ros') / 'share' / 'dynamics_ros' / name
    assert copy.read_bytes() == (ROOT / name).read_bytes()


def test_every_folder_of_python_files_is_a_package():
    without = {
        str(path.parent.relative_to(ROOT))
        for path in (ROOT / 'dynamics_ros').rglob('*.py')
        if not (path.parent / '__init__.py').exists()
    }
    assert without == set()


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


@pytest.mark.parametrize('path', INTERFACES, ids=lambda path: path.stem)
def test_cmake_generates_the_interface(path):
    assert f'{path.parent.name}/{path.name}\n' in (MESSAGES / 'CMakeLists.txt').read_text()


def test_result_codes_are_those_of_the_documentation():
    from dynamics_ros_msgs.msg import Result

    # rosidl keeps the constants in a mangled dictionary of the metaclass.
    (constants,) = [v for k, v in vars(type(Result)).items() if k.endswith('__constants')]
    assert constants == RESULT_CODES


def test_contact_states_are_ordered_by_severity():
    from dynamics_ros_msgs.msg import ContactState

    assert ContactState.NONE < ContactState.CONTACT < ContactState.COLLISION


@pytest.mark.parametrize('name', SERVICES)
def test_every_response_begins_with_a_result(name):
    module = importlib.import_module('dynamics_ros_msgs.srv')
    fields = getattr(module, name).Response.get_fields_and_field_types()
    assert next(iter(fields.items())) == ('result', 'dynamics_ros_msgs/Result')


# --- scripts/setup ------------------------------------------------------------------------------


def check_machine(path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `scripts/setup --check` with nothing on PATH but one folder."""
    return subprocess.run(
        [ROOT / 'scripts' / 'setup', '--check'],
        env={'PATH': str(path), **variables},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def bare_machine(tmp_path):
    """A folder with links to all that scripts/setup needs of a machine that has no ROS 2."""
    if 'ROS_DISTRO' in os.environ:
        pytest.skip('this machine has a ROS 2 and need not be able to do without')
    for tool in ('bash', 'env', 'dirname', 'uname', 'cmake', 'make', 'g++'):
        target = next(
            folder / tool for folder in map(Path, os.get_exec_path()) if (folder / tool).exists()
        )
        (tmp_path / tool).symlink_to(target)
    (tmp_path / 'python3').symlink_to(Path(sys.base_prefix) / 'bin' / 'python3')
    return tmp_path


def test_setup_finds_nothing_missing_on_a_machine_that_has_all(bare_machine):
    answer = check_machine(bare_machine)
    assert (answer.returncode, answer.stderr) == (0, '')


@pytest.mark.parametrize(
    ('tool', 'package'),
    [('cmake', 'cmake'), ('make', 'make'), ('g++', 'g++'), ('python3', 'python3')],
)
def test_setup_names_what_is_missing_in_one_line(bare_machine, tool, package):
    (bare_machine / tool).unlink()
    answer = check_machine(bare_machine)
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert tool in line
    assert line.endswith(f'package {package}')


def test_setup_says_that_the_wheels_do_not_fit_the_processor(bare_machine):
    (bare_machine / 'uname').unlink()
    (bare_machine / 'uname').write_text('#!/bin/sh\necho Linux aarch64\n')
    (bare_machine / 'uname').chmod(0o755)
    (line,) = check_machine(bare_machine).stderr.splitlines()
    assert 'x86-64 only' in line
    assert 'Linux aarch64' in line


def test_setup_names_everything_missing_at_once(bare_machine):
    (bare_machine / 'cmake').unlink()
    (bare_machine / 'g++').unlink()
    assert len(check_machine(bare_machine).stderr.splitlines()) == 2


def test_setup_names_what_a_sourced_distribution_lacks(bare_machine):
    answer = check_machine(bare_machine, ROS_DISTRO='jazzy')
    assert answer.returncode == 1
    assert 'python3-colcon-common-extensions' in answer.stderr
    assert 'ros-jazzy-rclpy' in answer.stderr


def test_setup_names_the_wheels_that_there_are(bare_machine):
    answer = check_machine(bare_machine, DYNAMICS_ROS_WHEELS='humble')
    assert answer.returncode == 1
    assert "DYNAMICS_ROS_WHEELS is 'humble'; there are kilted and jazzy" in answer.stderr
    assert check_machine(bare_machine, DYNAMICS_ROS_WHEELS='jazzy').returncode == 0


def test_setup_takes_no_wheels_where_a_ros_is_sourced(bare_machine):
    variables = {'DYNAMICS_ROS_WHEELS': 'jazzy', 'ROS_DISTRO': 'kilted'}
    assert 'a ROS 2 is sourced (kilted)' in check_machine(bare_machine, **variables).stderr


IN_THE_REPOSITORY = pytest.mark.skipif(
    os.environ.get('DYNAMICS_ROS_SET_UP') != str(ROOT), reason='scripts/test has not begun this'
)


@IN_THE_REPOSITORY
def test_setup_has_nothing_to_do_a_second_time():
    for arguments in (['--test', '--ready'], ['--test']):
        answer = subprocess.run(
            [ROOT / 'scripts' / 'setup', *arguments], capture_output=True, text=True, timeout=60
        )
        assert (answer.returncode, answer.stdout, answer.stderr) == (0, '', '')


# --- scripts/ros --------------------------------------------------------------------------------


def ros(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / 'scripts' / 'ros', *arguments], capture_output=True, text=True, timeout=60
    )


@IN_THE_REPOSITORY
def test_a_machine_without_ros2_starts_every_node_and_tool():
    assert ros('list').stdout.split() == EXECUTABLES
    answer = ros('run', 'export_kernels', '--help')
    assert answer.returncode == 0, answer.stderr
    assert '--robot' in answer.stdout


@IN_THE_REPOSITORY
def test_a_program_that_there_is_not_is_answered_with_those_that_there_are():
    answer = ros('run', 'contact_nod')
    assert answer.returncode == 1
    assert answer.stderr.startswith(
        'ros: there is no contact_nod; there are: analyze_recordings calibrate_robot '
    )


@pytest.mark.parametrize('arguments', [(), ('run',), ('walk',), ('list', 'more')])
def test_without_a_command_it_says_which_there_are(arguments):
    answer = ros(*arguments)
    assert answer.returncode == 2
    assert 'scripts/ros run contact_node' in answer.stderr


@pytest.fixture
def fresh_clone(tmp_path):
    """The repository in the src/ of a workspace, as `colcon test` finds it."""
    clone = tmp_path / 'src' / 'dynamics_ros'
    for name in ('scripts', 'config', 'launch', 'urdf', 'resource', 'dynamics_ros_msgs'):
        shutil.copytree(ROOT / name, clone / name)
    for name in ('package.xml', 'setup.py', 'setup.cfg', 'colcon_defaults.yaml'):
        shutil.copy(ROOT / name, clone)
    (clone / 'dynamics_ros').mkdir()
    return clone


@pytest.mark.parametrize('distribution', ['', 'jazzy'])
@pytest.mark.parametrize(
    ('command', 'told'),
    [
        ('setup --test', 'a test makes no environment'),
        ('setup --ready', 'something is to do'),
        ('demo --duration 5', 'a test makes no environment'),
        ('test -q', 'a test makes no environment'),
        ('bench --help', 'a test makes no environment'),
    ],
)
def test_no_test_makes_an_environment_in_the_workspace_of_a_user(
    fresh_clone, command, told, distribution
):
    before = sorted(fresh_clone.rglob('*'))
    program, *arguments = command.split()
    answer = subprocess.run(
        [fresh_clone / 'scripts' / program, *arguments],
        env=os.environ | {'ROS_DISTRO': distribution},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.returncode == 1
    assert told in answer.stderr
    assert sorted(fresh_clone.rglob('*')) == before


def test_setup_refuses_an_unknown_argument():
    answer = subprocess.run(
        [ROOT / 'scripts' / 'setup', '--tset'], capture_output=True, text=True, timeout=60
    )
    assert answer.returncode == 1
    assert '--tset' in answer.stderr
    assert '--test' in answer.stderr


LOCKED = {
    ('requirements.lock', 'test-requirements.lock'): ('requirements.in', 'test-requirements.in'),
    ('requirements.lock',): ('requirements.in',),
    ('jazzy.lock',): ('jazzy.in',),
}


@pytest.mark.parametrize('locks', LOCKED, ids=' '.join)
@pytest.mark.parametrize('python', ['3.10', '3.11', '3.12', '3.13'])
def test_the_lock_files_pin_all_that_is_asked_for_once_per_python(python, locks):
    wheels = ROOT / 'scripts' / 'wheels'
    pins: dict[str, str] = {}
    for requirement in [one for lock in locks for one in requirements(wheels / lock)]:
        if requirement.marker is None or requirement.marker.evaluate({'python_version': python}):
            (pin,) = requirement.specifier
            assert pin.operator == '=='
            assert requirement.name not in pins
            pins[requirement.name] = pin.version
    for name in LOCKED[locks]:
        for requirement in requirements(wheels / name):
            assert requirement.specifier.contains(pins[requirement.name.lower()])


def test_what_only_tests_need_is_not_installed_for_the_demo():
    wheels = ROOT / 'scripts' / 'wheels'
    demo = {one.name for one in requirements(wheels / 'requirements.lock')}
    asked = {one.name.lower() for one in requirements(wheels / 'requirements.in')}
    tests = {one.name.lower() for one in requirements(wheels / 'test-requirements.in')}
    assert demo & (tests - asked) == {'pytest'}  # colcon needs it


def requirements(path: Path) -> list[Requirement]:
    lines = (line.partition('#')[0].strip() for line in path.read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith('-r')]
