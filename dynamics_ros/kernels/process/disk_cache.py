# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Disk cache of traces and machine code for later processes.

Loaded files are executed, so they are only read from a folder that belongs to this user and that
nobody else can write to, and only if the same holds for the file. Both are checked through open
descriptors, so that neither can be exchanged between check and read. Each file begins with a digest
of its name and contents; a damaged or renamed file is ignored. A cache that cannot be used is never
an error.

The environment variable ``DYNAMICS_ROS_CACHE`` names another folder by an absolute path, or is
``off``.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[2]

VARIABLE = 'DYNAMICS_ROS_CACHE'

LIMIT = 128 * 2**20
"""Size limit of all files together [bytes]; the least recently used files are removed first."""

LARGEST = LIMIT // 2
"""Size limit of one file that is read [bytes]."""

CHECK_EVERY = LIMIT // 16
"""Bytes that a process writes between two checks of the total size, which are slow."""

SUFFIX = '.kernel'
DIGEST = hashlib.sha256
OURS = re.compile(r'[0-9a-f]{64}\.')
"""Pattern of the names of cache files, including unfinished ones."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_log = logging.getLogger('dynamics_ros.kernels')

_written = CHECK_EVERY
"""Bytes written since the last check; a process checks at its first file."""


def folder() -> Path | None:
    """Return the cache folder, or None if the cache is off."""
    chosen = os.environ.get(VARIABLE, '')
    if chosen.lower() in ('off', '0', 'no', 'false'):
        return None
    if os.open not in os.supports_dir_fd or not hasattr(os, 'geteuid'):
        return None
    if os.path.isabs(chosen):
        return Path(chosen)
    base = os.environ.get('XDG_CACHE_HOME', '')
    try:
        # The XDG specification wants relative paths to be ignored.
        parent = Path(base) if os.path.isabs(base) else Path.home() / '.cache'
    except RuntimeError:
        return None
    return parent / 'dynamics_ros'


def key(*parts: str | bytes) -> str:
    """Return a digest of some texts as the cache key of what is made from them."""
    digest = DIGEST()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(f'{len(content)} '.encode())
        digest.update(content)
    return digest.hexdigest()


def sources(*rooms: str) -> str:
    """Return a digest of the sources of rooms of this package, for `origin`; '' without any.

    It is called while these are imported, so that it is of what runs, whatever replaces them later.
    """
    digest, read = DIGEST(), False
    for room in rooms:
        for path, folders, names in os.walk(PACKAGE / room):
            folders.sort()
            for name in sorted(x for x in names if x.endswith('.py')):
                # The lock file of an editor points nowhere.
                with suppress(OSError), open(f'{path}/{name}', 'rb') as file:
                    digest.update(f'{path}/{name} '.encode() + file.read())
                    read = True
    return digest.hexdigest() if read else ''


_OWN = sources('kernels')


def origin(depends_on: Any, code: str = '') -> str:
    """Return a key for what code of this package makes, such as a trace; '' if it cannot be kept.

    Args:
        depends_on: everything that it depends on besides code; it is not kept if this cannot be
            pickled.
        code: the `sources` that it depends on, besides those of ``kernels``.
    """
    if folder() is None or not _OWN:
        return ''
    try:
        content = pickle.dumps(depends_on, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):
        return ''
    return key('trace', sys.version, np.__version__, _OWN, code, content)


def read(name: str) -> bytes | None:
    """Return the contents for a key, or None if there is no trustworthy file."""
    try:
        with _opened(make=False) as directory:
            # O_NONBLOCK: a named pipe in place of the file must not hold up the process.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            file = os.open(name + SUFFIX, flags, dir_fd=directory)
            with open(file, 'rb') as stream:
                if not _is_ours(os.fstat(file), stat.S_ISREG):
                    _log.warning('the file %s of the cache is not trusted', name)
                    return None
                if os.fstat(file).st_size > LARGEST:
                    return None
                content = stream.read(LARGEST)
                with suppress(OSError):
                    os.utime(file)
    except OSError:
        return None
    size = DIGEST().digest_size
    kept = content[size:]
    return kept if _digest(name, kept) == content[:size] else None


def write(name: str, kept: bytes) -> None:
    """Keep bytes under a key, if that can be done."""
    content = _digest(name, kept) + kept
    temporary = f'{name}.{os.getpid()}.{os.urandom(4).hex()}'
    try:
        with _opened(make=True) as directory:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            file = os.open(temporary, flags, 0o600, dir_fd=directory)
            try:
                with open(file, 'wb') as stream:
                    stream.write(content)
                os.replace(temporary, name + SUFFIX, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=directory)
                raise
            _keep_small(directory, len(content))
    except OSError as reason:
        if folder() is not None:
            _note(f'{folder()}: {reason.strerror or reason}')


@lru_cache(maxsize=8)
def _note(reason: str) -> None:
    """Warn once that every start compiles again, for each reason."""
    _log.warning('compiled kernels are not kept (%s=off stops this warning): %s', VARIABLE, reason)


def _digest(name: str, kept: bytes) -> bytes:
    """Return what a file begins with: under another name the rest is as good as damaged."""
    return DIGEST(name.encode() + kept).digest()


@contextmanager
def _opened(make: bool) -> Iterator[int]:
    """Open the folder.

    Raises:
        OSError: there is none, or it is not only ours.
    """
    path = folder()
    if path is None:
        raise FileNotFoundError('the cache is off')
    if make:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if not _is_ours(os.fstat(directory), stat.S_ISDIR):
            raise PermissionError(f'{path} belongs to somebody else or others can write to it')
        yield directory
    finally:
        os.close(directory)


def _is_ours(found: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    mine = found.st_uid == os.geteuid()
    return is_kind(found.st_mode) and mine and not found.st_mode & OTHERS_WRITE


def _keep_small(directory: int, size: int) -> None:
    """Remove the files that were not used for the longest time until the rest is small enough.

    It looks at all files where this process has not yet, or has written much since. What others
    keep in the same folder stays, and does not count.
    """
    global _written
    _written += size
    if _written < CHECK_EVERY:
        return
    _written, found = 0, []
    for name in filter(OURS.match, os.listdir(directory)):
        with suppress(OSError):
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                found.append((status.st_mtime, status.st_size, name))
    total = sum(size for _, size, _ in found)
    for _, size, name in sorted(found):
        if total <= LIMIT:
            return
        with suppress(OSError):
            os.unlink(name, dir_fd=directory)
        total -= size
