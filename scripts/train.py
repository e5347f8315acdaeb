#!/usr/bin/env python3
"""`jackdaw train` with its own name: trains an agent; see host/jackdaw/cli/train.py.

    scripts/train.py --agent dqn --env CartPole-v1 --device sim --seed 1 --out runs/cartpole

Exit code 0 only if the evaluation (100 greedy episodes) reached the recipe's threshold.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jackdaw.cli import call


def main(argv: Sequence[str] | None = None) -> int:
    return call("train", sys.argv[1:] if argv is None else argv, "train")


if __name__ == "__main__":
    sys.exit(main())
