# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot with wrong files and options: one line names the fault, before any work."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

from two_joint_arm import two_joint_arm

from dynamics_ros.calibration import command
from dynamics_ros.calibration.command import main
from dynamics_ros.calibration.recorded import read_samples
from dynamics_ros.identification import UnusableRecordingError

TEXT = two_joint_arm()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'arm.urdf').write_text(TEXT)
    names = ('shoulder', 'elbow')
    columns = ['time', *(f'{n}.position' for n in names), *(f'{n}.effort' for n in names)]
    rows = [f'{0.01 * k},0,0,1,1' for k in range(100)]
    (tmp_path / 'rec.csv').write_text('\n'.join([','.join(columns), *rows]))
    return tmp_path


def told(capsys, *words):
    """The line on standard error of a command that fails."""
    assert main([str(word) for word in words]) == 1
    line = capsys.readouterr().err.strip()
    assert '\n' not in line
    return line


@pytest.mark.parametrize(
    ('outputs', 'problem'),
    [
        (['--output', 'nowhere/new.urdf'], '--output: * is in a folder that does not exist'),
        (['--parameters', 'folder'], '--parameters: * is a folder'),
        (['--output', 'arm.urdf'], '--output: * is an input of the same command'),
        (['--report', 'folder/../rec.csv'], '--report: * is an input of the same command'),
        (['--output', 'new', '--report', 'new'], '--report: * is that of --output too'),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_the_work(
    folder, capsys, monkeypatch, outputs, problem
):
    monkeypatch.setattr(command, 'read_subject', lambda *_, **__: pytest.fail('work has begun'))
    (folder / 'folder').mkdir()
    before = (folder / 'arm.urdf').read_text(), (folder / 'rec.csv').read_text()
    words = [word if word.startswith('--') else folder / word for word in outputs]
    line = told(capsys, folder / 'rec.csv', '--robot', folder / 'arm.urdf', *words)
    option, _, problem = problem.partition('* ')
    assert option in line and problem in line
    assert ((folder / 'arm.urdf').read_text(), (folder / 'rec.csv').read_text()) == before


@pytest.mark.parametrize(
    ('options', 'problem'),
    [
        (['--duration', '-5'], '--duration: -5 s'),
        (['--duration', 'nan'], '--duration: nan s'),
        (['--duration', '1e9'], '--duration: 1e+09 s'),
        (['--lock', 'shoulder=0', 'elbow=0'], 'no joint of it moves'),
        (['--output', 'nowhere/motion.yaml'], 'a folder that does not exist'),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused(folder, capsys, options, problem):
    words = ['--robot', folder / 'arm.urdf', '--output', folder / 'motion.yaml']
    assert problem in told(capsys, 'plan', *words, *options)
    assert not (folder / 'motion.yaml').exists()


@pytest.mark.parametrize(
    'words', [['--floor', 'nan'], ['--gravity', '1e200', '0', '0'], ['--gravity', 'x', '0', '0']]
)
def test_numbers_of_options_are_finite_and_believable(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(['plan', '--robot', 'arm.urdf', '--output', 'motion.yaml', *words])
    assert ended.value.code == 2
    assert f'argument {words[0]}' in capsys.readouterr().err


def test_tables_without_columns_of_numbers_are_told(tmp_path):
    pyarrow = pytest.importorskip('pyarrow')
    from pyarrow.parquet import write_table

    path = tmp_path / 'table.parquet'
    write_table(pyarrow.table({}), path)
    with pytest.raises(UnusableRecordingError, match='no columns of numbers'):
        read_samples(path)
    write_table(pyarrow.table({'time': [0.0], 'position': [[]]}), path)
    with pytest.raises(UnusableRecordingError, match='no columns of positions'):
        read_samples(path)


def test_a_name_that_the_robot_does_not_have_is_refused(folder, capsys):
    words = ['--robot', folder / 'arm.urdf', '--joints', 'elbow=elbo']
    assert "--joints: unknown joint 'elbo'" in told(capsys, folder / 'rec.csv', *words)
