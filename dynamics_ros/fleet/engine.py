# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs one task per bag on the cores of a machine or of a cluster with joblib.

The result of a bag depends on that bag only. If a worker dies, the tasks of other workers are lost
too. The bags in progress are then tried once more, each alone, to find the one that kills its
worker.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynamics_ros.errors import DynamicsRosError

from .analysis import Task, analyze, failed
from .bags import Bag, folder_name

try:
    from joblib import Parallel, delayed, parallel_config
except ImportError as error:
    MISSING: str = f'the Python package joblib is missing (pip install joblib): {error}'
else:
    MISSING = ''

IN_PROGRESS = '.under_way'
"""Folder of the output with one file for each bag in progress."""

Analyze = Callable[[Task, Bag], dict[str, Any]]


@contextmanager
def workers(jobs: int, backend: str, scheduler: str) -> Iterator[None]:
    """Context manager that provides the workers.

    Args:
        jobs: number of processes on this machine; -1 for one per core.
        backend: 'loky' for processes of this machine, 'dask' for those of a cluster.
        scheduler: address of the cluster's scheduler.

    Raises:
        DynamicsRosError: a package is missing, or the scheduler does not answer.
    """
    if MISSING:
        raise DynamicsRosError(MISSING)
    if backend != 'dask':
        with parallel_config(backend=backend, n_jobs=jobs, inner_max_num_threads=1):
            yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise DynamicsRosError(f"pip install 'dask[distributed]': {error}") from error
    try:
        client = Client(scheduler, timeout='20s')
    except (OSError, ValueError) as error:
        raise DynamicsRosError(f'no dask scheduler at {scheduler}: {error}') from error
    with client, parallel_config(backend='dask', wait_for_workers_timeout=60):
        yield


def analyze_all(
    task: Task, bags: Sequence[Bag], analyze_one: Analyze = analyze
) -> Iterator[dict[str, Any]]:
    """Yields the summaries of bags as they finish; bags whose worker dies twice count as failed."""
    folder = task.output / IN_PROGRESS
    # Remove marks of a run that was killed.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield from _with_retries(task, list(bags), analyze_one)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _with_retries(task: Task, waiting: list[Bag], analyze_one: Analyze) -> Iterator[dict[str, Any]]:
    """Yields the summaries of bags; those in progress when a worker dies are tried again."""
    folder = task.output / IN_PROGRESS
    while waiting:
        done: set[Bag] = set()
        try:
            for bag, summary in _run(task, waiting, analyze_one):
                done.add(bag)
                yield summary
        except Exception as error:  # joblib and dask raise different types
            waiting = [bag for bag in waiting if bag not in done]
            suspects = [bag for bag in waiting if _mark(folder, bag).exists()]
            if not suspects:
                raise DynamicsRosError(f'workers cannot be used: {error!r}') from error
            for bag in suspects:
                yield _run_alone(task, bag, analyze_one)
            waiting = [bag for bag in waiting if bag not in suspects]
        else:
            waiting = []


def _run(
    task: Task, bags: Sequence[Bag], analyze_one: Analyze
) -> Iterator[tuple[Bag, dict[str, Any]]]:
    results = Parallel(batch_size=1, pre_dispatch='2*n_jobs', return_as='generator_unordered')(
        delayed(_marked)(task, bag, analyze_one) for bag in bags
    )
    yield from results


def _run_alone(task: Task, bag: Bag, analyze_one: Analyze) -> dict[str, Any]:
    try:
        ((_, summary),) = _run(task, [bag], analyze_one)
    except Exception as error:
        reason = f'its worker died twice ({type(error).__name__}): out of memory, or killed'
        return {'robot': bag.robot, 'bag': bag.name, **failed(bag, reason)}
    return summary


def _marked(task: Task, bag: Bag, analyze_one: Analyze) -> tuple[Bag, dict[str, Any]]:
    """Analyzes a bag in a worker; a mark file exists meanwhile."""
    mark = _mark(task.output / IN_PROGRESS, bag)
    try:
        mark.touch()
        summary = analyze_one(task, bag)
    except OSError as error:
        summary = {'robot': bag.robot, 'bag': bag.name, **failed(bag, str(error))}
    mark.unlink(missing_ok=True)
    return bag, summary


def _mark(folder: Path, bag: Bag) -> Path:
    return folder / f'{folder_name(bag.robot)}.{bag.name}'
