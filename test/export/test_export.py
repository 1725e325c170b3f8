# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels in C are the kernels of the robot, and what the header and the document say of them."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE
from random_robots import random_urdf
from tolerances import EXACT, LAW

from dynamics_ros import Robot, export_kernels
from dynamics_ros.algorithms.quantity import Options
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.export.command import main
from dynamics_ros.export.files import catalogue, key_of

ROOT = Path(__file__).parents[2]
ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'
C = shutil.which('gcc') or shutil.which('cc')
CPP = shutil.which('g++') or shutil.which('c++')
LAWS = (
    *('operational_space:tool0', 'motion_torques:tool0:012', 'operational_space_torques:tool0'),
    'constrained_forward_dynamics:point:tool0',
)
"""Of control, which are exported by name."""

STRICT = ['-Wall', '-Wextra', '-pedantic', '-Werror']

needs_compilers = pytest.mark.skipif(not (C and CPP), reason='no C and C++ compiler here')


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM, backend='python')


def made(*command):
    subprocess.run([str(x) for x in command], check=True, timeout=PATIENCE)


def every_kernel(robot):
    """Each kernel once, those with frames on the last one."""
    frame = robot.frame_names[-1]
    for name, definition in catalogue().items():
        if definition.internal:
            continue
        if robot.nv == 0 and ('center' in name or 'centroidal' in name or 'com_' in name):
            continue  # nothing moves
        yield f'{name}:{frame}' if definition.names_a_frame else name
        if definition.options is Options.WRENCHES:
            yield f'{name}:{frame}:{robot.frame_names[0]}'
        if definition.options is Options.PRESCRIBED and robot.nv > 0:
            yield f'{name}:0:{robot.nv - 1}'
    if frame == 'tool0':
        yield from LAWS


def inputs_of(kernel, robot, rng):
    for variable in kernel.trace.inputs:
        if variable.name.startswith('q'):
            yield robot.random_configuration(rng)
        elif variable.shape:
            yield rng.normal(size=variable.shape)
        else:
            yield float(rng.uniform())


@pytest.fixture(scope='module', params=['arm', 'bolted', 'fixed', 'floating', 'planar'])
def exported(request, arm, tmp_path_factory):
    folder = tmp_path_factory.mktemp('exported') / 'new' / 'folder'
    robot = arm
    if request.param == 'bolted':
        robot = Robot.from_urdf(random_urdf(11, 1), 'fixed', locked_joints={'joint_1': 0.3})
    elif request.param != 'arm':
        robot = Robot.from_urdf(random_urdf(11, 5), request.param, backend='python')
    code, header = export_kernels(robot, every_kernel(robot), folder, 'my')
    return robot, code, header


class TestTheCode:
    """Compiled strictly as C and as C++; the values are those of the plain traces."""

    @needs_compilers
    @pytest.mark.few(3)
    def test_it_computes_what_the_robot_computes(self, exported):
        robot, code, _ = exported
        library = code.with_suffix('.so')
        made(C, '-std=c99', *STRICT, '-O0', '-shared', '-fPIC', '-o', library, code, '-lm')
        functions = ctypes.CDLL(str(library))
        rng = np.random.default_rng(0)
        for text in every_kernel(robot):
            key = key_of(text, robot.model)
            kernel = robot.kernel(*key)
            arguments = list(inputs_of(kernel, robot, rng))
            results = [np.full(x.shape, np.nan) for x in kernel.trace.outputs]
            passed = [
                ctypes.c_double(x) if isinstance(x, float) else x.ctypes.data_as(ctypes.c_void_p)
                for x in (*arguments, *results)
            ]
            getattr(functions, '_'.join(['my', *key]))(*passed)
            wanted = kernel(*arguments)
            for result, value in zip(results, wanted if len(results) > 1 else [wanted]):
                scale = max(1.0, np.abs(value).max(initial=0.0))
                loose = text in LAWS or catalogue()[key[0]].may_be_singular
                tolerance = LAW if loose else EXACT
                assert np.abs(result - value).max(initial=0.0) <= tolerance * scale, text

    @needs_compilers
    @pytest.mark.few(1)
    def test_it_is_cpp_too(self, exported, tmp_path):
        _, code, header = exported
        made(CPP, '-std=c++14', *STRICT, '-x', 'c++', '-c', code, '-o', tmp_path / 'code.o')
        twice = tmp_path / 'twice.cpp'
        twice.write_text(f'#include "{header}"\n#include "{header}"\n')
        made(CPP, '-std=c++14', *STRICT, '-c', twice, '-o', tmp_path / 'header.o')

    def test_it_keeps_no_state_and_allocates_nothing(self, exported):
        text = exported[1].read_text()
        assert re.findall(r'#include <.*>', text) == ['#include <math.h>']
        assert all('(' in line for line in re.findall(r'^ *static .*', text, re.MULTILINE))
        assert 'alloc' not in text


class TestTheHeader:
    def test_it_explains_an_arm(self, arm, tmp_path):
        _, header = export_kernels(arm, ['inverse_dynamics:tool0', 'all_frames'], tmp_path)
        text = header.read_text()
        assert header.name == 'seven_joint_arm_kernels.h'
        for line in (
            '// Kernels of the robot seven_joint_arm, written by dynamics_ros ',
            '// Root frame: base_link. Gravity in it: (0, 0, -9.81) m/s^2.',
            '//   q[0]  shoulder_yaw [rad]\n',
            '//   v[6]  wrist_roll [rad/s], [rad/s^2], [N m]\n',
            '#define SEVEN_JOINT_ARM_NQ 7\n',
            'external_wrench_0 (6): force [N] and torque [N m] of the environment on tool0',
            '//   out  result (7): torques, as tau\n',
            f'// {arm.kernel("inverse_dynamics", "tool0").operation_count} operations.\n',
            f'//   out  result ({len(arm.frame_names)} x 4 x 4)',
        ):
            assert line in text
        assert ', '.join(arm.frame_names) in text.replace('\n// ', ' ')

    @needs_compilers
    def test_names_of_any_kind_become_names_of_c(self, tmp_path):
        text = random_urdf(3, 2).replace('"random_3"', '\'3 "arm" \u00e9\\\'')
        text = text.replace('"joint_1"', "'a\"\\?b'")
        robot = Robot.from_urdf(text, backend='python')
        code, _ = export_kernels(robot, ['gravity', 'forward_kinematics:link_2'], tmp_path)
        assert code.name == 'robot_3__arm_____kernels.c'
        library = tmp_path / 'names.so'
        made(C, '-std=c99', *STRICT, '-shared', '-fPIC', '-o', library, code, '-lm')
        names = (ctypes.c_char_p * len(robot.joint_names)).in_dll(
            ctypes.CDLL(str(library)), 'robot_3__arm_____joint_names'
        )
        assert [name.decode() for name in names] == list(robot.joint_names)


class TestErrors:
    @pytest.mark.parametrize(
        ('kernels', 'message'),
        [
            (['mass'], r"no kernel 'mass'; expected .*mass_matrix, .* --list"),
            (['jacobain:tool0'], r"no kernel 'jacobain'; expected jacobian:FRAME\[:REFERENCE], "),
            (['observer_step'], r"no kernel 'observer_step'"),
            ([], 'none; expected at least one'),
            (['jacobian'], r"'jacobian'; expected jacobian:FRAME\[:REFERENCE]"),
            (['gravity:tool0'], "'gravity:tool0'; expected gravity"),
            (['jacobian:tool0:base'], r'expected one of .*local_world_aligned'),
            (['hybrid_dynamics:7'], 'indices of v, from 0 to 6'),
            (['motion_torques'], r'expected motion_torques:FRAME\[:ROWS]'),
            (['motion_torques:tool0:06'], 'different digits from 0 to 5'),
            (['motion_torques:tool0:00'], 'different digits from 0 to 5'),
            (['constrained_forward_dynamics:glued:tool0'], 'expected a kind of'),
            (['constrained_forward_dynamics:pose:tool0'], 'its frame or its two frames'),
            (['hybrid_dynamics:-1'], 'indices of v, from 0 to 6'),
        ],
    )
    def test_what_is_no_kernel_is_refused(self, arm, kernels, message, tmp_path):
        with pytest.raises(InvalidArgumentError, match=message):
            export_kernels(arm, kernels, tmp_path / 'folder')
        assert not (tmp_path / 'folder').exists()

    def test_a_folder_that_is_a_file_is_refused(self, arm, tmp_path):
        (tmp_path / 'file').write_text('')
        with pytest.raises(InvalidArgumentError, match=r'folder: .*file.*can be written'):
            export_kernels(arm, ['gravity'], tmp_path / 'file')

    def test_files_that_are_there_are_replaced_or_stay(self, arm, tmp_path):
        code, _ = export_kernels(arm, ['gravity'], tmp_path)
        code.write_text('old')
        with pytest.raises(InvalidArgumentError):
            export_kernels(arm, ['gravity', 'nothing'], tmp_path)
        assert code.read_text() == 'old'
        export_kernels(arm, ['gravity'], tmp_path)
        assert 'seven_joint_arm_gravity' in code.read_text()


class TestTheCommand:
    def test_it_writes_the_files_and_says_where(self, tmp_path, capsys):
        options = ['--kernels', 'gravity,jacobian:tool0', '--output', str(tmp_path / 'out')]
        options += ['--robot', str(ARM), '--root-joint', 'floating', '--gravity', '0', '0', '-1.62']
        assert main([*options, '--lock', 'elbow_pitch=0.5', '--prefix', 'lunar']) == 0
        paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
        assert [path.name for path in paths] == ['lunar_kernels.c', 'lunar_kernels.h']
        text = paths[1].read_text()
        assert '(0, 0, -1.62) m/s^2' in text
        assert '#define LUNAR_NV 12\n' in text
        assert 'elbow_pitch' not in text

    def test_it_reads_other_formats(self, tmp_path, capsys):
        pytest.importorskip('mujoco')
        file = tmp_path / 'hinge.xml'
        file.write_text(
            '<mujoco model="hinge"><option gravity="0 0 0"/><worldbody><body><joint axis="0 1 0"/>'
            '<geom size="1" pos="1 0 0"/></body></worldbody></mujoco>'
        )
        assert main(['--robot', str(file), '--kernels', 'gravity', '--output', str(tmp_path)]) == 0
        text = (tmp_path / 'hinge_kernels.c').read_text()
        assert 'cos' not in text.split('hinge_gravity(')[-1], 'gravity is that of the file'
        assert capsys.readouterr().out

    @pytest.mark.parametrize(
        ('options', 'message'),
        [
            (['--robot', 'nothing.urdf'], "file 'nothing.urdf'"),
            (['--kernels', 'nothing'], "no kernel 'nothing'"),
            (['--kernels', 'forward_kinematics:nothing'], "unknown frame 'nothing'"),
            (['--lock', 'nothing=1'], "unknown joint 'nothing'"),
        ],
    )
    def test_a_mistake_is_named_in_one_line(self, options, message, tmp_path, capsys):
        usual = ['--robot', str(ARM), '--kernels', 'gravity', '--output', str(tmp_path)]
        assert main([*usual, *options]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count('\n') == 1
        assert list(tmp_path.iterdir()) == []
