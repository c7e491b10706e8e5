"""The index of chapters by the words that their rows begin with, made from the rows.

Layer: intrinsics.reference.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from intrinsics.catalog import chapters, words_in

_HEAD = '''"""The words that the ids and heads of each chapter's rows begin with.

Made from the rows by `make docs`; do not edit.  By them a program is read without the chapters that
it does not use.
"""

WORDS = {
'''


def index() -> str:
    """The text of `intrinsics/chapter_words.py`."""
    return _HEAD + "".join(_entries()) + "}\n"


def _entries() -> Iterator[str]:
    for chapter, rows in chapters().items():
        words = " ".join(words_in(rows))
        if len(words) + len(chapter) < 80:
            yield f'    "{chapter}": "{words}",\n'
            continue
        lines = textwrap.wrap(words, 84)
        yield f'    "{chapter}": (\n'
        for line in lines[:-1]:
            yield f'        "{line} "\n'
        yield f'        "{lines[-1]}"\n    ),\n'
