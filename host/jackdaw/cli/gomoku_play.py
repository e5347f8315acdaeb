"""Play Gomoku in the terminal, against a trained network, plain tree search, or random moves."""

from __future__ import annotations

import argparse
import io
import re
import sys
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.text import Text

from jackdaw.environments.gomoku import Gomoku, usual_win
from jackdaw.errors import ConfigError
from jackdaw.runtime import seeds
from jackdaw.search.players import Player, RandomPlayer, SearchPlayer, uct_player

AGAINST = ("uct", "untrained", "random")
STONES = {1: ("●", "bold bright_white"), 2: ("●", "bold dodger_blue1")}
NAMES = {1: "white", 2: "blue"}
HELP = "a column and a row, e.g. c4; also: undo, hint, quit"
MOVE = re.compile(r"([a-p])\s*(\d{1,2})")


class Quit(Exception):
    """The user leaves the game."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line."""
    parser.add_argument("run", type=Path, nargs="?", help="folder of a trained run")
    parser.add_argument("--against", choices=AGAINST,
                        help="without a run: uct, plain tree search (default), a network that was "
                        "never trained, or random moves")  # fmt: skip
    parser.add_argument("--size", type=int, help="without a run: rows and columns; default 6")
    parser.add_argument("--win", type=int, help="without a run: stones in a row; default 4 up to "
                        "8 x 8, else 5")  # fmt: skip
    parser.add_argument("--playouts", type=int, help="of a move: how strong the opponent is")
    parser.add_argument("--second", action="store_true", help="the opponent begins")
    parser.add_argument("--watch", action="store_true", help="plain tree search plays for you")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write the last board here")


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Play one game. Raises: ConfigError, CheckpointError, EvaluatorError, SearchTimeout."""
    svg = options.svg
    if svg and (svg.is_dir() or not svg.absolute().parent.is_dir()):
        raise ConfigError(f"--svg: got {svg}, want a file in a folder that is there")
    game, opponent = opponent_of(options)
    with closing(opponent), closing(uct_player(game, seed=options.seed)) as adviser:
        table = Table(game, opponent, adviser, Console())
        table.say(f"Gomoku {game.size} x {game.size}, {game.win} in a row; against "
                  f"{opponent.name}. {HELP}")  # fmt: skip
        try:
            table.play(2 if options.second else 1, options.watch)
        except Quit:
            table.say("The game is left.")
        if options.svg:
            table.picture(options.svg)
    return 0


def opponent_of(options: argparse.Namespace) -> tuple[Gomoku, Player]:
    """The game and who plays against the user."""
    changed = {} if options.playouts is None else {"playouts": options.playouts}
    if options.run is not None:
        for name in ("against", "size", "win"):
            got = getattr(options, name)
            if got is not None:
                raise ConfigError(
                    f"--{name}: got {got} with {options.run}, want it without a run, which has its "
                    "own game and opponent"
                )
        from jackdaw.search.alphazero import load

        agent = load(options.run, **changed)
        return agent.game, agent.player(f"the network of {options.run}")
    size = 6 if options.size is None else options.size
    game = Gomoku(size, usual_win(size) if options.win is None else options.win)
    if options.against == "random":
        return game, RandomPlayer(seeds.generator(options.seed, "player"))
    if options.against in (None, "uct"):
        return game, uct_player(game, seed=options.seed, **changed)
    from jackdaw.search.alphazero import AlphaZero

    agent = AlphaZero(game, scheme="local", batch=4, seed=options.seed, **changed)
    return game, agent.player("an untrained network")


class Table:
    """A game between the user and an opponent."""

    def __init__(
        self, game: Gomoku, opponent: Player, adviser: SearchPlayer, console: Console
    ) -> None:
        """Begin.

        Args:
            game: the empty board.
            opponent: of the user.
            adviser: gives hints, and plays for a user who watches.
            console: where it is shown.
        """
        self._game, self._opponent, self._adviser = game, opponent, adviser
        self._console = console
        self._moves: list[int] = []

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, highlight=False, soft_wrap=True)

    def play(self, user: int, watch: bool) -> None:
        """Play to the end.

        Args:
            user: 1 if the user begins, else 2.
            watch: the adviser moves for the user.
        Raises: Quit.
        """
        while (position := self._position()).outcome is None:
            if len(self._moves) % 2 + 1 != user:
                move = self._opponent.choose(position, self._moves)
                self.say(f"{self._opponent.name}: {self._name(move)}{self._opinion(move)}")
            elif watch:
                move = self._adviser.choose(position, self._moves)
                self.say(f"{self._adviser.name}: {self._name(move)}")
            else:
                self.show()
                asked = self._ask(position)
                if asked is None:
                    continue
                move = asked
            self._moves.append(move)
            if watch:
                self.show()
        if not watch:
            self.show()
        last = 2 - len(self._moves) % 2
        won = {1.0: f"{NAMES[last]} wins", 0.0: "a draw"}[position.outcome]
        who = " You win!" if last == user and won != "a draw" and not watch else ""
        self.say(f"After {len(self._moves)} moves: {won}.{who}")

    def _position(self) -> Gomoku:
        position = self._game
        for move in self._moves:
            position = position.play(move)
        return position

    def _name(self, move: int) -> str:
        row, column = divmod(move, self._game.size)
        return f"{chr(ord('a') + column)}{row + 1}"

    def _opinion(self, move: int) -> str:
        """What the opponent's search thinks of its move."""
        if not isinstance(self._opponent, SearchPlayer):
            return ""
        found = self._opponent.found
        mean = found.values[move] / max(found.visits[move], 1)
        return f" (it expects to win {50 + 50 * mean:.0f} %)"

    def _ask(self, position: Gomoku) -> int | None:
        """A move of the user; None after another command. Raises: Quit."""
        colour = NAMES[len(self._moves) % 2 + 1]
        while True:
            if sys.stdin is None:  # closed
                raise Quit
            try:
                text = self._console.input(f"{colour}> ").strip().lower()
            except EOFError:
                raise Quit from None
            if not sys.stdin.isatty():
                self.say(text)
            if text in ("quit", "q", "exit"):
                raise Quit
            if text == "undo":
                del self._moves[-2:]
                return None
            if text == "hint":
                self.say(f"{self._name(self._adviser.choose(position, self._moves))}?")
                continue
            found, n = MOVE.fullmatch(text), self._game.size
            if found is None:
                self.say(f"got {text!r}, want {HELP}")
                continue
            column, row = ord(found[1]) - ord("a"), int(found[2]) - 1
            if column >= n or not 0 <= row < n:
                self.say(f"{text} is not on the board")
            elif not position.legal >> row * n + column & 1:
                self.say(f"{text} is taken")
            else:
                return row * n + column

    def show(self) -> None:
        """Draw the board; the last move is marked."""
        n, board = self._game.size, dict[int, int]()
        for number, move in enumerate(self._moves):
            board[move] = number % 2 + 1
        out = Text("\n    " + " ".join(chr(ord("a") + c) for c in range(n)) + "\n")
        for row in range(n):
            out.append(f"{row + 1:3} ")
            for column in range(n):
                cell = row * n + column
                stone, style = STONES[board[cell]] if cell in board else ("·", "bright_black")
                if board.get(cell) == 2 and not self._console.is_terminal:
                    stone = "○"  # without colours
                if self._moves and cell == self._moves[-1]:
                    style += " underline"
                out.append(stone, style)
                out.append(" " if column < n - 1 else "\n")
        self._console.print(out)

    def picture(self, path: Path) -> None:
        """Write the board as an SVG."""
        width = 4 * self._game.size
        alone = Console(record=True, width=width, force_terminal=True, file=io.StringIO())
        self._console = alone
        self.show()
        path.write_text(alone.export_svg(title="jackdaw play gomoku"))
