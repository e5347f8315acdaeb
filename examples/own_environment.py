"""An environment of one's own, a callback that shows progress and ends the run, and a picture."""

import gymnasium

import jackdaw


def long_pole() -> gymnasium.Env:
    """CartPole with a pole of twice the length."""
    environment = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    environment.unwrapped.length = 1.0
    return environment


class Enough(jackdaw.Callback):
    """Ends the run at the first evaluation with a mean return of 400."""

    def on_evaluation(self, training, mean, episodes):
        print(f"step {training.step}: {mean:.0f} in {episodes} episodes")
        return mean < 400


settings = {"learning_rate": 0.01, "warm": 500, "epsilon_steps": 3000, "evaluate_every": 25}
run = jackdaw.train("dqn", lambda render_mode=None: long_pole(), device="model",
                    callback=Enough(), steps=1000, **settings)  # fmt: skip
policy = jackdaw.load(run)
print(jackdaw.evaluate(policy, episodes=20))
jackdaw.record(policy, run.path / "episode.gif")
