#!/usr/bin/env python3
"""`jackdaw train a3c` on the golden models, with a folder for each seed and a plot of all.

python scripts/train_a3c.py --env PixelCatch --seeds 1 2 3 --out runs/a3c
python scripts/train_a3c.py --env ALE/Breakout-v5 --minutes 30 --out runs/breakout
python scripts/train_a3c.py --env ALE/Breakout-v5 --minutes 30 --out runs/breakout --resume
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jackdaw.cli import call

DEFAULTS = {
    "--env": "PixelCatch", "--device": "model", "--seeds": "1", "--out": "runs/a3c"
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    more = [word for name, value in DEFAULTS.items() if name not in given for word in (name, value)]
    return call("train", ["--agent", "a3c", *more, *given], "train_a3c")


if __name__ == "__main__":
    sys.exit(main())
