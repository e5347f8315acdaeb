"""The short sections of the project's docstrings, for the site's reference.

`Returns: the child's index.` stands on one line here. Griffe, which reads docstrings for
mkdocstrings, wants a section's text below its name, so it gets them as paragraphs.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^( *)(Returns|Raises|Yields|Source): (?=\S)", re.M)


class ShortSections(griffe.Extension):
    """Turns `Returns: text` into a paragraph that begins with a bold word."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = SECTION.sub(r"\n\1**\2:** ", obj.docstring.value)
