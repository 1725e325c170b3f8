# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""After a test has failed, what the tests of its file share is made anew.

A node that many tests share may be in any state then, and each of the others would wait in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

FAILED = pytest.StashKey[bool]()

_shared: list[tuple[pytest.FixtureDef[Any], Any]] = []
"""Fixtures of the file, with the requests for which they were made."""


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: Any) -> Iterator[None]:
    """Remember what is shared; what could not be made is not tried again."""
    if fixturedef.scope != 'module':
        return (yield)
    try:
        made = yield
    except BaseException:
        _shared.clear()
        raise
    _shared.append((fixturedef, request))
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Note that a test has failed, or what only this test uses."""
    report = yield
    if report.failed and call.when != 'teardown':
        item.stash[FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """End what is shared, after what only a failed test uses; the next test makes it anew."""
    try:
        return (yield)
    finally:
        while item.stash.get(FAILED, False) and _shared:
            fixture, request = _shared.pop()
            fixture.finish(request)
