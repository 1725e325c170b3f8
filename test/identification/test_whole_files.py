# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A full disk, or the end of the process while it writes, leaves the files that were there."""

from __future__ import annotations

import ast
import ctypes
import io
import os
import pickle
import resource
import shutil
import signal
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')
pytest.importorskip('pyarrow')

from simulated_arm import FILE, ROBOT, as_csv, recording, truth

from benchmarks.recordings_fleet import FleetRobot, Recorded, record
from dynamics_ros.calibration import command as calibration
from dynamics_ros.calibration import in_motion
from dynamics_ros.calibration import plan as planning
from dynamics_ros.doctor.graph import observe
from dynamics_ros.export import command as export
from dynamics_ros.files import NotWrittenError, completed, write_files
from dynamics_ros.fleet import command as fleet
from dynamics_ros.fleet.results import SUMMARY, Bag, write_rows
from dynamics_ros.kernels.process import disk_cache
from dynamics_ros.recordings import command as estimation

PACKAGE = Path(in_motion.__file__).parents[1]
OLD = b'what was there\n'
MOST = 700
"""Bytes of a file after which the process is killed."""

SAMPLES = recording(truth(1), duration=6.0, rate=100.0)
BAG = Bag('arm', 'day', Path('day'))


@pytest.fixture(scope='module')
def inputs(tmp_path_factory):
    """A folder with a table and a bag; what takes long is computed once, before the processes."""
    folder = tmp_path_factory.mktemp('inputs')
    as_csv(SAMPLES, folder / 'samples.csv')
    record(FleetRobot.of(), Recorded(folder / 'arm' / 'day', 'mcap', 2.0, 50.0))
    with pytest.MonkeyPatch.context() as patch:
        quick = partial(planning.plan_excitation, iterations=0)
        patch.setattr(planning, 'plan_excitation', quick)
        for module, name in (
            (planning, 'plan_excitation'),
            (calibration, 'identify'),
            (calibration, 'learn'),
        ):
            patch.setattr(module, name, first_result(getattr(module, name)))
        assert plan(folder, folder) == calibrate(folder, folder) == 0
        yield folder


def first_result(function):
    """The function, but later calls return what the first one did."""
    results = []

    def cached(*arguments, **options):
        results[:] = results or [function(*arguments, **options)]
        return results[0]

    return cached


def calibrate(inputs, folder):
    files = [f'--output={folder}/new.urdf', f'--parameters={folder}/new.yaml']
    files.append(f'--report={folder}/new.html')
    return calibration.main([str(inputs / 'samples.csv'), '--robot', str(FILE), *files])


def plan(_inputs, folder):
    words = ['--robot', str(FILE), '--duration', '5']
    return calibration.main(['plan', *words, f'--output={folder}/plan.yaml'])


def calibrate_in_motion(_inputs, folder):
    path = folder / 'contact.yaml'
    found = {'effort.noise': [0.1] * 200}
    value = {}.get
    in_motion.write(path, found, frozenset(found), value, 'contact_node', ROBOT)


def write_summary(_inputs, folder):
    write_rows(folder, SUMMARY, BAG, [{'findings': [str(i**9) for i in range(9999)]}])


def analyze(inputs, folder):
    words = [str(inputs / 'arm'), f'--output={folder}', '--jobs=1']
    return fleet.main(words)


def estimate(inputs, folder):
    words = [str(inputs / 'arm' / 'day'), '--robot', str(FILE)]
    return estimation.main([*words, f'--output={folder}/estimates'])


def export_kernels(_inputs, folder):
    kernels = 'inverse_dynamics,gravity,mass_matrix'
    return export.main(
        ['--robot', str(FILE), '--kernels', kernels, '--output', str(folder), '--prefix', 'arm']
    )


def export_package(_inputs, folder):
    return export.main(['--robot', str(FILE), '--ros2-control', 'arm', '--output', str(folder)])


TOOLS = {
    calibrate: ('new.urdf', 'new.yaml', 'new.html'),
    plan: ('plan.yaml',),
    calibrate_in_motion: (),
    write_summary: (f'{SUMMARY}/robot=arm/bag=day/part.parquet',),
    analyze: (),
    estimate: (),
    export_kernels: ('arm_kernels.c', 'arm_kernels.h'),
    export_package: ('arm/package.xml', 'arm/CMakeLists.txt'),
}
"""Functions of inputs and folder that write, and the files that they replace there."""


def contents(folder):
    """Contents of a folder by name, without what is hidden."""
    names = {path: str(path.relative_to(folder)) for path in folder.rglob('*') if path.is_file()}
    return {name: path.read_bytes() for path, name in names.items() if '/.' not in f'/{name}'}


def in_child(work, *arguments):
    """Result of a function in a forked process, and the signal that ended it, or 0."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException), os.fdopen(writing, 'wb') as pipe:
            try:
                result = work(*arguments)
            except BaseException:
                result = traceback.format_exc()
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, 'rb') as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(answer) if answer else None, os.WTERMSIG(status)


def said(tool, inputs, folder):
    """What a tool prints or raises as an error; '' if it succeeds."""
    errors = io.StringIO()
    with redirect_stderr(errors), redirect_stdout(io.StringIO()):
        try:
            return errors.getvalue() if tool(inputs, folder) else ''
        except Exception as error:
            return f'{type(error).__name__}: {error}'


def killed(tool, inputs, folder):
    """Runs a tool in a process that ends, as by SIGKILL, when a file gets longer than MOST."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    keep_no_caches()
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))
    return said(tool, inputs, folder)


def keep_no_caches():
    """Neither ours nor Python's, which keeps a cut .pyc file and fails in later processes."""
    os.environ['DYNAMICS_ROS_CACHE'] = 'off'
    os.environ['PYTHONDONTWRITEBYTECODE'] = '1'
    sys.dont_write_bytecode = True


def on_a_full_disk(tool, inputs, folder, files):
    """What a tool says on a disk that is full, and what is in the folder then.

    The disk is a tmpfs of this process alone, or, where that is not allowed, files are short.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    alone = 0x20000  # CLONE_NEWNS
    private = 0x4000 | 0x40000  # MS_REC | MS_PRIVATE
    mounted = (
        libc.unshare(alone) == 0
        and libc.mount(None, b'/', None, private, None) == 0
        and libc.mount(b'none', os.fsencode(folder), b'tmpfs', 0, b'size=512k') == 0
    )
    place(folder, files)
    keep_no_caches()
    if mounted:
        with suppress(OSError), (folder / '.filler').open('wb', buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
    else:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))
    text = said(tool, inputs, folder)
    hidden = [path.name for path in folder.rglob('.*') if path.name != '.filler']
    return text, contents(folder), hidden


def place(folder, files):
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(OLD)


@pytest.mark.slow
@pytest.mark.parametrize(('tool', 'files'), TOOLS.items(), ids=lambda x: getattr(x, '__name__', ''))
class TestOf:
    def test_a_process_that_ends_while_it_writes(self, inputs, tmp_path, tool, files):
        place(tmp_path, files)
        text, number = in_child(killed, tool, inputs, tmp_path)
        assert number == signal.SIGXFSZ, text
        assert contents(tmp_path) == dict.fromkeys(files, OLD)

    def test_a_full_disk(self, inputs, tmp_path, tool, files):
        (text, there, hidden), _ = in_child(on_a_full_disk, tool, inputs, tmp_path, files)
        assert 'not written' in text or 'cannot be written' in text
        assert 'No space left on device' in text or 'File too large' in text
        assert 'Traceback' not in text
        assert there == dict.fromkeys(files, OLD)
        assert hidden == []


class TestTheWriter:
    def test_a_link_stays_and_its_file_keeps_its_mode(self, tmp_path):
        file, link = tmp_path / 'file.yaml', tmp_path / 'link.yaml'
        file.write_bytes(OLD)
        file.chmod(0o640)
        link.symlink_to(file)
        write_files({link: 'new'})
        assert link.is_symlink() and file.read_text() == 'new'
        assert file.stat().st_mode & 0o777 == 0o640
        assert sorted(path.name for path in tmp_path.iterdir()) == ['file.yaml', 'link.yaml']

    def test_a_folder_is_replaced_as_a_whole(self, tmp_path):
        folder = tmp_path / 'bag'
        write_files({folder / 'old': 'old'})
        with pytest.raises(NotWrittenError, match='exists'), completed(folder, replace=False):
            pass
        for fails in (True, False):
            with suppress(KeyError), completed(folder) as unfinished:
                write_files({unfinished / 'new': 'new'})
                if fails:
                    raise KeyError
            assert [path.name for path in folder.iterdir()] == ['old' if fails else 'new']
        assert list(tmp_path.iterdir()) == [folder]


WRITERS = {
    'files.py': 'the writer',
    'kernels/process/disk_cache.py': 'relative to a folder that it has opened and checked',
    'demo/processes.py': 'logs of the processes in a temporary folder',
}
"""Files of the package that open a file for writing themselves, and why they may."""

OF_LIBRARIES = ('savez', 'savefig', 'ParquetWriter', 'Writer', 'RecordingWriter')
"""Functions that write a file, which must be an unfinished one of ``completed``."""


def name_of(call):
    return getattr(call.func, 'attr', getattr(call.func, 'id', ''))


def opens_for_writing(call):
    """Whether a call writes or opens a file, or creates a temporary one."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    modes = [x.value for x in given if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    if name_of(call) in ('open', 'fdopen'):
        flags = ast.dump(call)
        constant = any(set(mode) <= set('rwaxbt+') and set(mode) & set('wax+') for mode in modes)
        return constant or 'O_WRONLY' in flags or 'O_RDWR' in flags
    return name_of(call) in (
        *('write_text', 'write_bytes', 'NamedTemporaryFile', 'TemporaryFile'),
        *('tofile', 'savetxt', 'copyfile', 'copytree'),
    )


def test_no_other_file_opens_for_writing():
    writing, whole = set(), set()
    for path in PACKAGE.rglob('*.py'):
        text = path.read_text()
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        if any(opens_for_writing(call) for call in calls):
            writing.add(str(path.relative_to(PACKAGE)))
        if any(name_of(call) in OF_LIBRARIES for call in calls) and 'completed(' not in text:
            whole.add(str(path.relative_to(PACKAGE)))
    assert writing == set(WRITERS)
    # One draws into memory, and RecordingWriter is such a function.
    assert whole == {'recordings/bag.py', 'calibration/results.py'}


def test_in_a_read_only_home_ros_logs_elsewhere_and_nothing_is_cached(monkeypatch, capsys, caplog):
    for name in ('ROS_LOG_DIR', 'ROS_HOME', 'XDG_CACHE_HOME', disk_cache.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('HOME', os.devnull)
    disk_cache._note.cache_clear()
    for name in ('a' * 64, 'b' * 64):
        disk_cache.write(name, b'compiled')
        assert disk_cache.read(name) is None
    (line,) = caplog.messages
    assert line.startswith('compiled kernels are not kept (DYNAMICS_ROS_CACHE=off stops this')
    observe(0.2)
    assert '/dev/null/.ros/log cannot be written: log files are in ' in capsys.readouterr().err
    shutil.rmtree(os.environ.pop('ROS_LOG_DIR'))
