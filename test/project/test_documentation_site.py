# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The documentation becomes a site without a warning, such as of a link that leads nowhere."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from documents import PAGES, ROOT

NOT_IN_API = {
    ('dynamics_ros', '__version__'),
    # docs/recordings.md shows how analyze_recordings is called with another executor.
    ('dynamics_ros.fleet.analysis', 'Task'),
    ('dynamics_ros.fleet.results', 'find_bags'),
    ('dynamics_ros.fleet.analysis', 'analyze_all'),
}
"""Names that pages import and no API page has."""

IMPORT = re.compile(
    r'^ *from (dynamics_ros(?:\.[\w.]+)?) import (\([^)]*\)|[^(\n]*)$', re.MULTILINE
)
MENTION = re.compile(r'(?<![\[\w/])(?<!\]\()`?docs/\w+\.md`?(?!\])')
LINK = re.compile(r'\]\(([^)\s]+)\)')


def prose(page: Path) -> str:
    """Its text without blocks of code."""
    return re.sub(r'```.*?```', '', page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_a_page_that_is_named_is_a_link(page):
    assert MENTION.findall(prose(page)) == []


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_every_link_leads_to_a_file(page):
    for target in LINK.findall(prose(page)):
        if not urlsplit(target).scheme:
            assert (page.parent / target.partition('#')[0]).exists(), target


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    """The site, made as scripts/docs makes it."""
    pytest.importorskip('sphinx')
    pytest.importorskip('myst_parser')
    out = tmp_path_factory.mktemp('site')
    command = [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'html']
    done = subprocess.run([*command, ROOT / 'docs', out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_every_page_is_reached_and_every_method_of_a_robot_is_there(site):
    from dynamics_ros import Robot

    for page in (ROOT / 'docs').rglob('*.md'):
        address = page.relative_to(ROOT / 'docs').with_suffix('.html')
        index = site / address.parent / 'index.html'
        assert f'href="{page.stem}.html"' in index.read_text() or page.stem == 'index', page
    text = (site / 'api' / 'robot.html').read_text()
    for name in vars(Robot):
        if not name.startswith('_'):
            assert f'id="dynamics_ros.robot.Robot.{name}"' in text, name


@pytest.mark.slow
def test_every_public_name_and_every_name_that_pages_import_is_in_the_api(site):
    pages = [page.read_text() for page in (site / 'api').glob('*.html')]
    there = {name for page in pages for name in re.findall(r'id="(dynamics_ros\.[\w.]+)"', page)}
    modules = {
        name
        for page in (ROOT / 'docs' / 'api').glob('*.md')
        for name in re.findall(r'automodule:: (\S+)', page.read_text())
    }
    assert len(modules) > 20
    assert not any('<p>| ' in page for page in pages), 'a docstring has a table of Markdown'
    assert not any('"pre">~' in page for page in pages), 'Sphinx could not parse a signature'
    assert not any('<ol class="upperalpha' in page or 'start="' in page for page in pages), (
        'a docstring has a shape such as (6) that became the number of a list'
    )
    wanted = {
        (module, name)
        for module in modules
        for name in getattr(importlib.import_module(module), '__all__', ())
    }
    for page in [*PAGES, *(ROOT / 'examples').glob('*.py')]:
        if page.stem == 'contributing':  # its code is part of the package
            continue
        imports = IMPORT.findall(page.read_text())
        wanted |= {
            (module, name)
            for module, names in imports
            for name in re.findall(r'\w+', re.sub(r'#.*| as \w+', '', names))
        }
    assert len(wanted) > 250
    known = {id(find(name)) for name in there}
    lacking = {
        f'{module}.{name}'
        for module, name in wanted - NOT_IN_API
        if f'{module}.{name}' not in modules | there and id(find(f'{module}.{name}')) not in known
    }
    assert lacking == set()


def find(name: str) -> object:
    """The object of a full name; a name of an instance only is None."""
    parts = name.split('.')
    for length in range(len(parts) - 1, 0, -1):
        module = sys.modules.get('.'.join(parts[:length]))
        if module is not None:
            break
    found: object = module
    for part in parts[length:]:
        found = getattr(found, part, None)
    return found
