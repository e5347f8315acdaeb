"""An environment of one's own, a callback that shows progress and ends the run, and a picture."""

import gymnasium

import jackdaw


def short_pole(render_mode=None):
    """CartPole with episodes of at most 200 steps; any function or class will do."""
    return gymnasium.make("CartPole-v1", max_episode_steps=200, render_mode=render_mode)


class Enough(jackdaw.Callback):
    """Ends the run at the first evaluation with a mean return of 190."""

    def on_evaluation(self, training, mean, episodes):
        print(f"step {training.step}: {mean:.0f} in {episodes} episodes")
        return mean < 190


run = jackdaw.train(
    "dqn", short_pole, device="model", callback=Enough(), steps=1000,
    learning_rate=0.01, warm=500, epsilon_steps=3000, evaluate_every=25,
)  # fmt: skip
policy = jackdaw.load(run)
print(jackdaw.evaluate(policy, episodes=20))
jackdaw.record(policy, run.path / "episode.gif")
