"""Tree search: an environment in, actions out; the tree on the CPU or on the mcts engine.

The parts, from above: `TreeSearch`, the class that a user has; the master, which turns responses
into tasks and results into requests; pools of workers; environments; trees.

Source: thesis 5.1.
"""

from jackdaw.search.environment import SearchEnv, adapt, check_clonable
from jackdaw.search.games.connect4 import Connect4Env
from jackdaw.search.master import Statistics
from jackdaw.search.tree_search import Result, TreeSearch, decide, replay

__all__ = [
    "Connect4Env",
    "Result",
    "SearchEnv",
    "Statistics",
    "TreeSearch",
    "adapt",
    "check_clonable",
    "decide",
    "replay",
]
