# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot: recordings of every kind in, a description and figures out, or one line."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from simulated_arm import COULOMB, FILE, ROBOT, TEXT, VISCOUS, as_csv, recording, truth
from two_joint_arm import two_joint_arm

from dynamics_ros import Robot
from dynamics_ros.calibration import command
from dynamics_ros.calibration.command import main
from dynamics_ros.calibration.recorded import read_samples
from dynamics_ros.estimation.contact_estimators import effort_model
from dynamics_ros.identification import UnusableRecordingError
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.recordings.bag import RecordingError
from dynamics_ros.recordings.settings import read_parameters, settings_of

ARM = truth(1)
JOINT_STATE = 'sensor_msgs/msg/JointState'


@pytest.fixture(scope='module')
def samples():
    return recording(ARM, duration=20.0, rate=100.0)


@pytest.fixture(scope='module')
def calibrated(samples, tmp_path_factory):
    """Output of a run: the folder with its files, and the JSON."""
    folder = tmp_path_factory.mktemp('calibrated')
    train = as_csv(samples, folder / 'train.csv')
    test = as_csv(recording(ARM, duration=10.0, rate=100.0, seed=4), folder / 'test.csv')
    return folder, run(folder, train, '--test', test)


def run(folder, *arguments):
    """The JSON of a run that writes all files into a folder."""
    files = [*('--output', folder / 'new.urdf'), *('--parameters', folder / 'new.yaml')]
    files += ['--report', folder / 'new.html']
    words = [str(word) for word in (*arguments, '--robot', FILE, *files, '--json')]
    lines = Captured()
    assert lines.of(words) == 0, lines.error
    return json.loads(lines.output.splitlines()[-1])


class Captured:
    """Runs the command and keeps what it says."""

    def of(self, words):
        import contextlib
        import io

        output, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(error):
            code = main(words)
        self.output, self.error = output.getvalue(), error.getvalue()
        return code


def as_parquet(samples, path):
    pyarrow = pytest.importorskip('pyarrow')
    from pyarrow.parquet import write_table

    columns = {'stamp_ns': np.round(samples.time * 1e9).astype(np.int64)}
    for word, values in (('q', samples.position), ('tau', samples.effort)):
        columns |= {f'{word}_{n}': c for n, c in zip(samples.joint_names, values.T, strict=True)}
    columns['comment'] = ['x'] * len(samples)
    write_table(pyarrow.table(columns), path)
    return path


def as_bag(samples, path, kind, *, stamped=True):
    """A bag whose stamps are those of the samples, or zero."""
    ros1 = kind == 'ros1'
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_KILTED)
    plugin = StoragePlugin.MCAP if kind == 'mcap' else StoragePlugin.SQLITE3
    writer = Writer1(path) if ros1 else Writer(path, version=9, storage_plugin=plugin)
    types = store.types
    with writer as bag:
        connection = bag.add_connection('/joint_states', JOINT_STATE, typestore=store)
        for k, time in enumerate(samples.time):
            total = 10**9 + round(time * 1e9)
            at = total if stamped else 0
            stamp = types['builtin_interfaces/msg/Time'](at // 10**9, at % 10**9)
            first = (k,) if ros1 else ()
            message = types[JOINT_STATE](
                types['std_msgs/msg/Header'](*first, stamp, ''),
                list(samples.joint_names),
                samples.position[k],
                samples.velocity[k],
                samples.effort[k],
            )
            encode = store.serialize_ros1 if ros1 else store.serialize_cdr
            bag.write(connection, total, encode(message, JOINT_STATE))
    return path


@pytest.mark.parametrize('kind', ['sqlite3', 'mcap', 'ros1', 'csv', 'parquet'])
def test_every_kind_of_file_holds_the_same_samples(samples, tmp_path, kind):
    part = samples.between(0.0, 0.1)
    if kind in ('csv', 'parquet'):
        path = (as_csv if kind == 'csv' else as_parquet)(part, tmp_path / f'a.{kind}')
    else:
        path = as_bag(part, tmp_path / ('a.bag' if kind == 'ros1' else 'a'), kind)
    read = read_samples(path)
    assert read.joint_names == part.joint_names
    for name in ('position', 'effort'):
        assert getattr(read, name) == pytest.approx(getattr(part, name), rel=1e-6, abs=1e-9)
    assert np.diff(read.time) == pytest.approx(np.diff(part.time), abs=1e-6)
    assert (read.velocity is None) == (kind == 'parquet')


def test_a_bag_without_joint_states_is_told_by_what_it_holds(tmp_path):
    path = tmp_path / 'a'
    store = get_typestore(Stores.ROS2_KILTED)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        connection = bag.add_connection('/word', 'std_msgs/msg/String', typestore=store)
        message = store.types['std_msgs/msg/String']('no joints')
        bag.write(connection, 10**9, store.serialize_cdr(message, 'std_msgs/msg/String'))
    with pytest.raises(RecordingError, match=r'no joint states .* topics are: /word \(std_msgs'):
        read_samples(path)


def test_the_json_has_what_is_promised(calibrated):
    _, result = calibrated
    assert result['joints'] == list(ROBOT.joint_names)
    for part in ('train', 'test'):
        assert set(result[part]) == {'rms_nm', 'percent', 'percent_all'}
        assert len(result[part]['rms_nm']) == len(result[part]['percent']) == 7
    assert result['test']['percent_all'] < 1.0
    first = result['parameters'][0]
    assert {'name', 'value', 'standard_deviation', 'identifiable'} <= set(first)
    assert result['consistent'] is True
    assert 0.0 < result['seconds'] < math.inf


def test_the_description_that_is_written_gives_the_torques_that_were_recorded(calibrated):
    folder, _ = calibrated
    text = (folder / 'new.urdf').read_text()
    written = Robot.from_urdf(text)
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 7))
    difference = written.gravity(q) - ARM.robot.gravity(q)
    described = ROBOT.gravity(q) - ARM.robot.gravity(q)
    assert np.abs(difference).max() < 0.1 * np.abs(described).max()
    joints = {joint.name: joint for joint in written.model.actuated}
    for name, viscous, coulomb in zip(ROBOT.joint_names, VISCOUS, COULOMB, strict=True):
        assert joints[name].damping == pytest.approx(viscous, abs=0.1)
        assert joints[name].friction == pytest.approx(coulomb, abs=0.1)
    assert text.count('<visual>') == TEXT.count('<visual>')
    assert written.frame_names == ROBOT.frame_names


def test_the_parameters_are_those_of_contact_node(calibrated):
    folder, result = calibrated
    values = read_parameters(folder / 'new.yaml', 'contact_node')
    settings = settings_of(ContactParameters, values)
    model = effort_model(ROBOT, settings.effort, settings.friction)
    for name in ('scale', 'offset', 'viscous', 'coulomb', 'stribeck', 'rotor_inertia'):
        assert getattr(model, name) == pytest.approx(result['effort'][name], rel=1e-4, abs=1e-6)
    assert settings.effort.noise == pytest.approx([0.1] * 7, rel=0.3)
    for name in ('speed', 'load', 'reversal', 'standing', 'tail'):
        told = result['unexplained'][name]
        assert getattr(settings.unexplained, name) == pytest.approx(told, rel=1e-4, abs=1e-6)
    assert settings.effort.model_error == pytest.approx(result['unexplained']['constant'], rel=1e-4)
    assert settings.thresholds.false_alarms_per_hour == 1.0
    assert list(yaml.safe_load((folder / 'new.yaml').read_text())) == ['/**/contact_node']


def test_the_report_is_one_page_with_pictures_and_deviations(calibrated):
    folder, result = calibrated
    page = (folder / 'new.html').read_text()
    assert page.count('data:image/png;base64,') == 7
    assert 'http' not in page
    for parameter in result['parameters']:
        assert f'<td>{parameter["name"]}</td>' in page


def in_degrees(samples):
    return replace(
        samples, position=np.degrees(samples.position), velocity=np.degrees(samples.velocity)
    )


def test_degrees_are_converted_where_that_is_asked_for(samples, calibrated, tmp_path):
    folder, expected = calibrated
    path = as_csv(in_degrees(samples), tmp_path / 'train.csv')
    test = as_csv(
        in_degrees(recording(ARM, duration=10.0, rate=100.0, seed=4)), tmp_path / 'test.csv'
    )
    found = run(tmp_path, path, '--test', test, '--units', 'degrees')
    assert found['test']['percent_all'] == pytest.approx(expected['test']['percent_all'], rel=1e-3)
    lines = Captured()
    assert lines.of([str(path), '--robot', str(FILE)]) != 0
    assert '--units degrees' in lines.error
    words = [str(folder / 'train.csv'), '--robot', str(FILE), '--units', 'degrees']
    assert lines.of(words) != 0
    assert 'seem to be in rad' in lines.error


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        (lambda s: replace(s, effort=np.zeros_like(s.effort)), 'holds no efforts'),
        (lambda s: replace(s, position=100.0 * (1.0 + s.position)), 'degrees'),
        (lambda s: s.columns([0, 1], ['one', 'two']), 'of another robot'),
        (lambda s: s.between(0.0, 0.01), 'too short'),
    ],
)
def test_a_recording_that_cannot_be_used_ends_with_a_sentence(samples, tmp_path, change, sentence):
    path = as_csv(change(samples), tmp_path / 'bad.csv')
    said = Captured()
    assert said.of([str(path), '--robot', str(FILE)]) == 1
    assert sentence in said.error
    assert said.error.count('\n') == 1


@pytest.mark.parametrize(
    ('name', 'content', 'sentence'),
    [
        ('none.csv', 'time,a.effort\n1,2\n', 'no columns of positions'),
        ('none.csv', 'a.position,a.effort\n1,2\n', 'no column of time'),
        ('none.csv', 'time,a.position\n1,2\n', 'holds no efforts of a'),
        ('none.csv', '', 'it is empty'),
        ('none.parquet', 'no parquet', 'cannot be read'),
        ('none.bag', 'no bag', 'cannot be read'),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_text(content)
    said = Captured()
    assert said.of([str(path), '--robot', str(FILE)]) == 1
    assert sentence in said.error and name in said.error


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'arm.urdf').write_text(two_joint_arm())
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
