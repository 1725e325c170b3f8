# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Atomic writing and bounded reading of files.

All files for a user are written here: under a hidden name beside their place, synchronized with the
disk, and renamed. A full disk, an error or the end of the process leaves the previous contents.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from .errors import DynamicsRosError

MAXIMUM_SIZE = 64_000_000
"""Default size limit of a file that is read [bytes]."""

_STREAMS = ('/dev/', '/proc/')


class NotWrittenError(DynamicsRosError, OSError):
    """Raised if a file or folder cannot be written; its previous contents are unchanged."""


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files that belong together: all are complete before the first gets its name.

    Args:
        contents: content by path; text is encoded as UTF-8.

    Raises:
        NotWrittenError: a file cannot be written.
    """
    with ExitStack() as stack:
        for path, content in contents.items():
            unfinished = stack.enter_context(completed(path))
            data = content.encode() if isinstance(content, str) else content
            with unfinished.open('wb') as file:
                file.write(data)
                file.flush()
                if unfinished != path:
                    os.fsync(file.fileno())


@contextmanager
def completed(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Context with a path for a new file or folder, which gets its name when the context ends.

    On an error nothing remains, and what existed is unchanged. A symbolic link is followed. A
    stream, such as /dev/stdout or a named pipe, is its own path.

    Args:
        path: final path; its folder is created if it does not exist.
        replace: whether to replace an existing file or folder; otherwise that is an error.

    Raises:
        NotWrittenError: it exists already, or an OSError occurred in the context.
    """
    given = Path(path)
    if _is_stream(given):
        yield given
        return
    final = given.resolve()
    try:
        if not replace and final.exists():
            raise FileExistsError(errno.EEXIST, 'it already exists')
        final.parent.mkdir(parents=True, exist_ok=True)
        # A folder of its own, because the files of a rosbag2 are named after their folder, and
        # because libraries choose a format by the suffix.
        hidden = Path(tempfile.mkdtemp(prefix=f'.{final.name[:99]}.', dir=final.parent))
        try:
            yield hidden / final.name
            _synchronize(hidden / final.name)
            _rename(hidden / final.name, final, hidden / 'previous')
        finally:
            shutil.rmtree(hidden, ignore_errors=True)
    except NotWrittenError:
        raise
    except OSError as error:
        problem = f'{given}: not written, and nothing is changed: {error.strerror or error}'
        raise NotWrittenError(problem) from error


def _is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe, or a link to an open file of the process."""
    exists = path.exists() and not path.is_file() and not path.is_dir()
    return exists or (str(path).startswith(_STREAMS) and path.is_symlink())


def _synchronize(path: Path) -> None:
    """Write a file, or all files below a folder, to the disk."""
    for one in [path, *path.rglob('*')]:
        handle = os.open(one, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _rename(unfinished: Path, final: Path, previous: Path) -> None:
    if final.is_file():
        shutil.copymode(final, unfinished)
    if final.is_dir() and unfinished.is_dir():
        final.rename(previous)
        try:
            unfinished.rename(final)
        except BaseException:
            previous.rename(final)
            raise
    else:
        unfinished.replace(final)
    with suppress(OSError):  # not every file system synchronizes folders
        _synchronize_folder(final.parent)


def _synchronize_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_file(path: str | os.PathLike[str], limit: int = MAXIMUM_SIZE) -> bytes:
    """Return the content of a regular file; a pipe or device is refused without waiting for it.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger than the limit [bytes].
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_CLOEXEC', 0))
    with open(handle, 'rb') as file:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, 'not a regular file; save its content as a file')
        # One byte more than allowed, because files of /proc have no size, and others may grow.
        content = file.read(limit + 1) if status.st_size <= limit else b''
        if max(status.st_size, len(content)) > limit:
            raise OSError(errno.EFBIG, f'larger than {limit / 1e6:g} MB')
        return content


def use_writable_log_folder() -> None:
    """Let ROS log to a temporary folder, with a warning, if its own cannot be written.

    Otherwise no node would start in a read-only home folder.
    """
    home = os.environ.get('ROS_HOME') or '~/.ros'
    folder = Path(os.environ.get('ROS_LOG_DIR') or Path(home, 'log'))
    with suppress(OSError, RuntimeError):
        folder = folder.expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return
    with suppress(OSError):  # ROS says then that it cannot log
        os.environ['ROS_LOG_DIR'] = tempfile.mkdtemp(prefix='dynamics_ros_log_')
        place = os.environ['ROS_LOG_DIR']
        print(f'{folder} cannot be written: log files are in {place}', file=sys.stderr)
