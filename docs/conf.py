# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes a site of these pages: scripts/docs runs it, and so does rosdoc2."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

# rosdoc2 runs this file from another one, which begins by opening it.
_OPENED = re.search(r'exec\(open\("(.+?)"\)', Path(__file__).read_text())
ROOT = Path(_OPENED[1] if _OPENED else __file__).parents[1]
sys.path.insert(0, str(ROOT))

from sphinx.errors import PycodeError  # noqa: E402
from sphinx.pycode import ModuleAnalyzer  # noqa: E402

import dynamics_ros  # noqa: E402

project = 'dynamics_ros'
author = 'dynamics_ros developers'
copyright = f'2026 {author}'
version = release = dynamics_ros.__version__
extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon', 'sphinx.ext.viewcode']
# Notebooks are read as the Markdown that _markdown makes of them.
source_suffix = {'.md': 'markdown', '.ipynb': 'markdown'}
# standard_docs: README.md and others once more, by rosdoc2.
exclude_patterns = ['images', 'standard_docs']
html_theme = 'alabaster'
# rosdoc2 has a theme of its own.
html_theme_options = (
    {}
    if _OPENED
    else {
        # In windows of at most this width the sidebar is below the text; site.css limits the page.
        'page_width': '900px',
        'body_max_width': '1010px',
        'code_font_size': '0.78em',
        'sidebar_width': '230px',
        'description': release,
        'globaltoc_maxdepth': 2,
    }
)
toc_object_entries = False
html_static_path = [str(ROOT / 'docs' / '_static')]
html_css_files = ['tables.css' if _OPENED else 'site.css']

myst_heading_anchors = 3
# The pages begin at their own title, and name languages that have no highlighter.
suppress_warnings = ['misc.highlighting_failure']

autodoc_default_options = {'members': True, 'show-inheritance': True}
autodoc_member_order = 'bysource'
autodoc_typehints = 'signature'
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
# Shown by their names, not by what they stand for.
autodoc_type_aliases = {name: name for name in ('Array', 'ArrayLike', 'Constraints', 'Wrenches')}
napoleon_google_docstring = True
napoleon_use_ivar = True

# scripts/docs --links: what only the reader's machine answers is passed over.
linkcheck_ignore = [r'https?://localhost\b']
linkcheck_timeout = 30
linkcheck_retries = 2

# Symbols of formulas and shapes are no markup of reStructuredText: X_AB, q_, |v|, a * b, (6).
_VERBATIM = re.compile(r'``.*?``|:\w+:`.*?`|`[^`]*`|(\w_\b|\*\*?|\||\(\w\)(?=\s|$))')


def _as_text(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Docstrings are plain text with code in backquotes."""
    for number, line in enumerate(lines):
        lines[number] = _VERBATIM.sub(
            lambda found: re.sub(r'[_*|(]', r'\\\g<0>', found[0]) if found[1] else found[0],
            line,
        )


_ARRAY = re.compile(
    r'~?numpy\.ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?numpy\.dtype\[~?numpy\.(\w+?)_?\]\]'
)
_FIELD = re.compile(r'^:(ivar|param) (\w+(?:, \w+)+):')


def _types(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Names and types as Sphinx takes them.

    A type of NumPy that ends with an underscore is no link. Of several names with one text, "q, v",
    the first would be a type.
    """
    for number, line in enumerate(lines):
        line = _ARRAY.sub(r'NDArray[\1]', line)
        line = re.sub(r'\bnumpy\.(\w+)_(?!\w)', r'numpy.\1\_', line)
        lines[number] = _FIELD.sub(lambda found: found[0].replace(', ', ','), line)


def _signature(
    _app, _what, _name, _object, _options, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Show a default that is no expression as "...", and arrays as NumPy's users write them.

    Sphinx links the types of a signature only if it can parse it.
    """
    if signature is not None:
        signature = _written(re.sub(r'<[^<>]*>', '...', signature))
    return signature, None if returned is None else _written(returned)


def _written(types: str) -> str:
    """Types of arrays and aliases by the names that code has for them."""
    return re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r'\1', _ARRAY.sub(r'NDArray[\1]', types))


def _data(app, what, name: str, of, options, lines: list[str]) -> None:
    """Document a constant of a package by the text under its definition.

    autodoc reads this text only if the package itself defines the constant.
    """
    if what != 'data':
        return
    package, _, constant = name.rpartition('.')
    for module in sorted(one for one in sys.modules if one.startswith(f'{package}.')):
        try:
            found = ModuleAnalyzer.for_module(module).find_attr_docs().get(('', constant))
        except PycodeError:  # has no source
            continue
        if found:
            lines[:] = found
            _as_text(app, what, name, of, options, lines)
            return


def _home(_app, module: str, name: str) -> str | None:
    """Module whose source is linked: that of an alias of another package's type is its own."""
    value = getattr(sys.modules[module], name.partition('.')[0], None)
    foreign = not str(getattr(value, '__module__', '')).startswith('dynamics_ros')
    return module if foreign else None


_INCLUDE = re.compile(r'^```\{include\} (\S+)\n```$', re.MULTILINE)
_PATH = re.compile(r'(?<=\]\()[^)#\s:]+(?=[)#])|(?<=^```\{literalinclude\} )\S+', re.MULTILINE)


def _source(app, name: str, source: list[str]) -> None:
    """Text of a page, with what it takes from files beside docs/.

    rosdoc2 builds a copy of docs/ alone, so paths to other files of the repository are made anew.
    """
    page = Path(app.env.doc2path(name))
    at = (ROOT / 'docs' / page.relative_to(app.srcdir)).parent
    text = _markdown(json.loads(source[0]), page.name) if page.suffix == '.ipynb' else source[0]

    def moved(text: str, origin: Path) -> str:
        """A text of a folder, with paths from the page."""

        def path(found: re.Match[str]) -> str:
            target = Path(os.path.normpath(origin / found[0]))
            if not target.exists():
                return found[0]
            inside = target.is_relative_to(ROOT / 'docs')
            return os.path.relpath(target, at if inside else page.parent)

        return _PATH.sub(path, text)

    def included(found: re.Match[str]) -> str:
        """A file of the repository without its title; the page has one."""
        file = at / found[1]
        app.env.note_dependency(str(file))
        return moved(file.read_text().partition('\n')[2], file.parent)

    source[0] = _INCLUDE.sub(included, moved(text, at))


def _markdown(notebook: dict, name: str) -> str:
    """Cells of a notebook and what they showed when scripts/images ran them."""
    title, *cells = notebook['cells']
    parts = [''.join(title['source']), f'This page is the notebook {{download}}`{name}`.']
    for cell in cells:
        text = ''.join(cell['source'])
        parts.append(text if cell['cell_type'] == 'markdown' else f'```python\n{text}\n```')
        parts += [_shown(output) for output in cell.get('outputs', ())]
    return '\n\n'.join(parts)


def _shown(output: dict) -> str:
    """An output of a cell: a picture, or text."""
    data = output.get('data', {})
    if 'image/png' in data:
        return f'![plot](data:image/png;base64,{"".join(data["image/png"].split())})'
    return f'```text\n{"".join(output.get("text") or data["text/plain"])}\n```'


def setup(app) -> None:
    """Called by Sphinx."""
    app.connect('source-read', _source)
    app.connect('autodoc-process-docstring', _as_text, priority=400)
    app.connect('autodoc-process-signature', _signature)
    app.connect('viewcode-follow-imported', _home)
    # Napoleon would take "a: b" for a type.
    app.connect('autodoc-process-docstring', _data, priority=550)
    app.connect('autodoc-process-docstring', _types, priority=600)  # after napoleon
