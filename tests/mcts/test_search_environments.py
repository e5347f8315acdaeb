"""Environments of searches: states that are copied, and those that are refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from jackdaw.errors import ConfigError, EnvError, EnvNotClonable
from jackdaw.search import Connect4Env, SearchEnv, TreeSearch, adapt, check_clonable, decide
from jackdaw.search.environment import maker
from jackdaw.search.games.hidden import HiddenTree
from jackdaw.search.simulation import RESULT, TASK, Rules, Simulator, StateTable

IDS = (
    "CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1", "Taxi-v4", "CliffWalking-v1",
)  # fmt: skip
CALM = {"FrozenLake-v1": {"is_slippery": False}}


class Drifting(HiddenTree):
    """Its rewards hang on a number that is not in its state."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = 0

    def step(self, action: int) -> tuple[float, bool]:
        self.hidden += 1
        return float(self.hidden), super().step(action)[1]


class Shorter(HiddenTree):
    """Its second instance, in whatever process, ends sooner."""

    def load_from(self, buffer: np.ndarray) -> None:
        super().load_from(buffer)
        self.depth = self.steps + 3


class Failing(HiddenTree):
    def load_from(self, buffer: np.ndarray) -> None:
        raise OSError("nothing there")


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_environments_can_be_copied(name: str) -> None:
    check_clonable(name)


def test_games_and_quiet_toys_can_be_copied() -> None:
    for make in (
        Connect4Env,
        HiddenTree,
        lambda: gymnasium.make("FrozenLake-v1", is_slippery=False),
    ):
        check_clonable(make)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: gymnasium.make("Blackjack-v1"), "BlackjackEnv: has no numbers in `state` or `s`"),
        (lambda: gymnasium.make("FrozenLake-v1"), "FrozenLakeEnv: a copy plays on otherwise: in"),
        (Drifting, "Drifting: a copy plays on otherwise: in step 0 the reward differs: 21.0 and 1"),
        (Shorter, "Shorter: a copy plays on otherwise: in step 2 the end differs: False and True"),
        (Failing, "Failing: OSError in the second instance: nothing there"),
    ],
)
def test_environments_that_cannot_be_copied_are_refused(make: Any, text: str) -> None:
    with pytest.raises(EnvNotClonable, match=text):
        check_clonable(make)


def test_box2d_is_refused() -> None:
    pytest.importorskip("Box2D")
    with pytest.raises(EnvNotClonable, match="LunarLander: has no numbers in `state` or `s`"):
        check_clonable(lambda: gymnasium.make("LunarLander-v3"))


def test_atari_games_can_be_copied_unless_actions_stick() -> None:
    pytest.importorskip("ale_py")
    make = maker("ALE/Carnival-v5")
    check_clonable(make)

    def sticky() -> Any:
        make().close()
        return gymnasium.make("ALE/Carnival-v5", repeat_action_probability=0.25)

    with pytest.raises(EnvNotClonable, match=r"repeat_action_probability=0$"):
        check_clonable(sticky)


@pytest.mark.parametrize("name", [*IDS, "FrozenLake-v1"])
def test_a_users_instance_is_taken_and_not_changed(name: str) -> None:
    """The adapted one then gives the same rewards and ends, up to the limit of steps."""
    more = CALM.get(name, {})
    env, rng = gymnasium.make(name, max_episode_steps=30, **more), np.random.default_rng(1)
    env.reset(seed=4)
    mine = adapt(gymnasium.make(name, max_episode_steps=30, **more))
    for _ in range(5):
        env.step(mine.action(int(rng.integers(mine.actions))))
    mine.take(env)
    again = adapt(gymnasium.make(name, max_episode_steps=30, **more))
    again.reset(9)
    again.take(mine)
    over, steps = False, 0
    while not over:
        index = int(rng.integers(mine.actions))
        _, reward, ended, truncated, _ = env.step(mine.action(index))
        over = bool(ended or truncated)
        assert mine.step(index) == (reward, over) == again.step(index)
        steps += 1
    assert steps <= 25
    mine.take(env)
    assert mine.over == (steps == 25 or name == "CartPole-v1")


def test_random_play_is_the_sum_of_its_rewards() -> None:
    class Game(HiddenTree):
        """Two players; the rewards are 1, 2, 4, .. and one of two actions is legal."""

        players = 2

        def step(self, action: int) -> tuple[float, bool]:
            assert self.legal() >> action & 1
            _, over = super().step(action)
            return 2.0 ** (self.steps - 1), over

        def legal(self) -> int:
            return 1 << self.steps % self.actions

    def play(game: HiddenTree, *args: Any) -> float:
        game.reset(1)
        return SearchEnv.rollout(game, np.random.default_rng(1), *args)

    game = Game(actions=3, depth=5)
    assert play(game, 100) == -1 + 2 - 4 + 8 - 16 and game.over
    assert play(game, 3) == -1 + 2 - 4 and not game.over
    assert play(game, 100, 0.5) == -1 + 1 - 1 + 1 - 1
    one = Game(actions=3, depth=5)
    one.players = 1
    assert play(one, 100) == 31 and play(one, 0) == 0


def test_compiled_random_play_of_cartpole_is_that_of_its_steps(seed: int) -> None:
    """Return by return, from states within episodes; near the limit of steps, too."""
    rng, found = np.random.default_rng(seed), []
    compiled = adapt(gymnasium.make("CartPole-v1", max_episode_steps=60))
    assert type(compiled).rollout is not SearchEnv.rollout
    buffer = np.zeros(compiled.state_size, np.uint8)
    for run in range(300):
        compiled.reset(seed + run)
        for _ in range(int(rng.integers(8)) if run % 5 else 40):
            if compiled.step(int(rng.integers(2)))[1]:
                compiled.reset(seed + run)
        compiled.save_into(buffer)
        discount = 1.0 if run % 2 else 0.9
        returns = []
        for play in (type(compiled).rollout, SearchEnv.rollout):
            compiled.load_from(buffer)
            returns.append(play(compiled, np.random.default_rng(run), 50, discount))
        assert returns[0] == pytest.approx(returns[1], abs=1e-9)
        found.append(returns[0])
    assert len(set(found)) > 20
    own = gymnasium.make("CartPole-v1", sutton_barto_reward=True)
    assert type(adapt(own)).rollout is SearchEnv.rollout


def test_what_is_no_environment_is_refused() -> None:
    for make, text in (
        (3, "make_env: got 3, want a callable or a Gymnasium id"),
        (lambda: "x", "environment: got str, want a Gymnasium environment"),
        ("NoSuch-v0", "environment: .*NoSuch"),
        (lambda: gymnasium.make("Reacher-v5"), "actions Box"),
    ):
        if text == "actions Box":
            pytest.importorskip("mujoco")
        with pytest.raises(ConfigError, match=text):
            adapt(maker(make)())
    fresh = gymnasium.make("CartPole-v1")
    with pytest.raises(ConfigError, match="got one that was not reset"):
        adapt(gymnasium.make("CartPole-v1")).take(fresh)
    with pytest.raises(ConfigError, match="want one like those of make_env"):
        HiddenTree().take("x")


class Wrong(HiddenTree):
    """A game with an attribute, a reward or a mask that is not allowed."""

    def __init__(self, name: str = "", value: Any = None) -> None:
        super().__init__()
        self.name_, self.value = name, value
        if name not in ("step", "legal"):
            setattr(self, name, value)

    def step(self, action: int) -> tuple[float, bool]:
        reward, over = super().step(action)
        return (self.value if self.name_ == "step" else reward), over

    def legal(self) -> int:
        return self.value if self.name_ == "legal" else super().legal()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("actions", 33), ("actions", "x"), ("state_size", 0), ("state_size", -8), ("players", 3),
        ("reward", 0), ("reward", np.nan), ("reward", "x"), ("step", np.nan), ("step", "x"),
    ],
)  # fmt: skip
def test_attributes_and_rewards_are_checked(name: str, value: Any) -> None:
    text = (
        "reward of a step: got" if name == "step" else f"{name} of the environment: got {value!r}"
    )
    with pytest.raises(ConfigError, match=text):
        check_clonable(lambda: Wrong(name, value))


@pytest.mark.parametrize("mask", [0, 1 << 40, -1, None])
def test_an_invalid_mask_is_refused(mask: Any) -> None:
    """By the check, and by a search without it."""
    if mask != -1:
        with pytest.raises(EnvError, match=r"mask|unsupported"):
            check_clonable(lambda: Wrong("legal", mask))
    with (
        TreeSearch(lambda: Wrong("legal", mask), 4, 1, check=False) as search,
        pytest.raises(EnvError, match=rf"^legal\(\): got {mask}"),
    ):
        search.search(Wrong("legal", mask))


class Counting(HiddenTree):
    """A step's reward is its number; random play returns 100."""

    def step(self, action: int) -> tuple[float, bool]:
        over = super().step(action)[1]
        return float(self.steps), over

    def rollout(self, rng: np.random.Generator, horizon: int, discount: float = 1.0) -> float:
        return 100.0


@pytest.mark.parametrize(("players", "want"), [(1, [51.0, 27.0]), (2, [51.0, 25.0])])
def test_a_result_is_the_discounted_return_from_the_root(players: int, want: list[float]) -> None:
    env = Counting()
    env.players = players
    table = StateTable(3, env.state_size)
    simulator = Simulator(env, table, Rules(1, 5, 0.5))
    simulator.root()
    found = []
    for source in (0, 1):
        task, result = np.zeros(1, TASK), np.zeros(1, RESULT)
        task["source"], task["store"] = source, source + 1
        simulator.run(task[0], result[0])
        found.append(float(result["value"][0]))
    assert found == want


def test_a_child_with_a_quarter_of_the_most_visits_may_be_chosen() -> None:
    means = np.array([0.1, 0.9])
    for visits, by_mean, want in (([8, 2], True, 1), ([9, 2], True, 0), ([8, 2], False, 0)):
        assert decide(np.array(visits), means * visits, by_mean) == want
