"""A digest of source files, for compiled functions that are kept on disk.

numba compiles a kept function again when its own file has changed, but not when one of those has
that it calls or takes constants from. A digest of these files in the function's closure is part of
the key under which it is kept.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType


def digest(*modules: ModuleType) -> str:
    """The digest of the files of modules."""
    text = b"".join(Path(str(module.__file__)).read_bytes() for module in modules)
    return hashlib.sha256(text).hexdigest()
