# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tree of a generated ros2_control package is whole; what none can be made of is refused."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from random_robots import random_urdf

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.export import export_ros2_control
from dynamics_ros.export.command import main

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp('package')
    robot = Robot.from_urdf(ARM, backend='python')
    files = export_ros2_control(robot, ARM.read_text(), 'my_arm', folder)
    return SimpleNamespace(robot=robot, folder=folder / 'my_arm', files=files)


class TestTheTree:
    def test_what_cmake_names_is_there(self, package):
        text = (package.folder / 'CMakeLists.txt').read_text()
        named = set(re.findall(r'\S+\.(?:cpp|c|xml)\b', text))
        assert len(named) == 9
        for name in named:
            assert (package.folder / name).is_file(), name
        (folders,) = re.findall(r'install\(DIRECTORY (.+?) DESTINATION share', text)
        for folder in folders.split():
            assert (package.folder / folder).is_dir(), folder

    def test_what_runs_in_a_control_loop_allocates_nothing(self, package):
        sources = [p for p in package.files if p.suffix in ('.c', '.h')]
        assert len(sources) >= 4
        assert not [p for p in sources if 'alloc(' in p.read_text()]

    def test_plugins_are_classes_that_the_sources_export(self, package):
        text = ''.join(p.read_text() for p in package.files if p.suffix == '.cpp')
        exports = set(re.findall(r'PLUGINLIB_EXPORT_CLASS\((\S+), (\S+)\)', text))
        cmake = (package.folder / 'CMakeLists.txt').read_text()
        found = set()
        for path in package.folder.glob('*.xml'):
            root = ElementTree.parse(path).getroot()
            if root.tag == 'library':
                assert f'add_library({root.get("path")} SHARED' in cmake
                found |= {(x.get('type'), x.get('base_class_type')) for x in root}
        assert found == exports and len(found) == 4

    def test_parameters_are_those_that_are_declared(self, package):
        given = yaml.safe_load((package.folder / 'config' / 'controllers.yaml').read_text())
        for name, file in (
            ('impedance_controller', 'impedance_controller.cpp'),
            ('tool_wrench', 'force_torque_broadcaster.cpp'),
        ):
            source = (package.folder / 'src' / file).read_text()
            declared = set(re.findall(r'auto_declare<[^(]*>\(\s*"([\w.]+)"', source))
            declared |= set(re.findall(r'^    \{"([\w.]+)", ', source, re.MULTILINE))
            assert set(flat(given[name]['ros__parameters'])) == declared

    def test_the_launch_file_starts_the_controllers_of_the_package(self, package, monkeypatch):
        pytest.importorskip('launch_ros')
        import ament_index_python.packages
        from launch import LaunchContext

        share = {'my_arm': str(package.folder)}
        monkeypatch.setattr(
            ament_index_python.packages, 'get_package_share_directory', share.__getitem__
        )
        path = package.folder / 'launch' / 'mock.launch.py'
        found = {}
        exec(compile(path.read_text(), str(path), 'exec'), found)
        description = found['generate_launch_description']()
        context = LaunchContext()
        declared, nodes = {}, {}
        for entity in description.entities:
            if hasattr(entity, 'default_value'):
                default = ''.join(part.perform(context) for part in entity.default_value)
                declared[entity.name] = context.launch_configurations[entity.name] = default
            else:
                nodes[entity.node_executable] = entity
        assert set(nodes) == {'robot_state_publisher', 'ros2_control_node', 'spawner'}
        assert Path(declared['description']) == package.folder / 'urdf' / 'robot.urdf'
        assert Path(declared['controllers']) == package.folder / 'config' / 'controllers.yaml'
        given = yaml.safe_load(Path(declared['controllers']).read_text())
        types = given['controller_manager']['ros__parameters']
        for name in found['CONTROLLERS']:
            assert types[name]['type']
        needed = {x.text for x in ElementTree.parse(package.folder / 'package.xml').iter()}
        for node in nodes.values():
            assert node.node_package in needed


def flat(values, above=''):
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f'{above}{name}.')
        else:
            yield above + name


class TestErrors:
    @pytest.mark.parametrize(
        'name', ['', 'Arm', '7arm', 'my-arm', 'my__arm', 'arm_', 'class', 'std']
    )
    def test_a_name_that_no_package_has(self, name, tmp_path):
        robot = Robot.from_urdf(ARM, backend='python')
        with pytest.raises(InvalidArgumentError, match='a name of a ROS package'):
            export_ros2_control(robot, ARM.read_text(), name, tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_tool_that_does_not_move(self, tmp_path):
        robot = Robot.from_urdf(ARM, backend='python')
        with pytest.raises(InvalidArgumentError, match="no joint moves 'base_link'"):
            export_ros2_control(robot, ARM.read_text(), 'arm', tmp_path, 'base_link')

    def test_names_of_any_kind_are_only_text(self, tmp_path):
        text = random_urdf(3, 3).replace('"random_3"', '\'3 "arm" \\ */ %\'')
        robot = Robot.from_urdf(text, backend='python')
        paths = export_ros2_control(robot, text, 'odd', tmp_path, robot.frame_names[-1])
        for path in paths:
            if path.suffix in ('.c', '.h'):
                assert not re.search(r'\\$', path.read_text(), re.MULTILINE), path
        ElementTree.parse(tmp_path / 'odd' / 'package.xml')


class TestTheCommand:
    def test_it_writes_the_package_and_says_where(self, tmp_path, capsys):
        options = ['--robot', str(ARM), '--output', str(tmp_path), '--ros2-control', 'my_arm']
        assert main(options) == 0
        paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
        assert sorted(paths) == sorted(p for p in tmp_path.rglob('*') if p.is_file())
        assert 'my_arm_tool_frame = "tool0"' in (tmp_path / 'my_arm/src/control.c').read_text()

    @pytest.mark.parametrize(
        ('options', 'message'),
        [
            (['--ros2-control', 'My'], 'expected a name of a ROS package'),
            (['--ros2-control', 'my', '--tool', 'tool1'], "unknown frame 'tool1'"),
            (['--ros2-control', 'my', '--root-joint', 'planar'], 'its base is planar'),
        ],
    )
    def test_a_mistake_is_named_in_one_line(self, options, message, tmp_path, capsys):
        assert main(['--robot', str(ARM), '--output', str(tmp_path / 'x'), *options]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count('\n') == 1
        assert not (tmp_path / 'x').exists()

    @pytest.mark.parametrize('more', [['--kernels', 'gravity'], ['--prefix', 'x']])
    def test_options_of_kernels_are_refused(self, more, tmp_path, capsys):
        usual = ['--robot', str(ARM), '--output', str(tmp_path), '--ros2-control', 'my']
        with pytest.raises(SystemExit) as status:
            main([*usual, *more])
        assert status.value.code == 2
        assert f'{more[0]} and --ros2-control' in capsys.readouterr().err
