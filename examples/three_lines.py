"""The smallest program: train, load, judge."""

import jackdaw

run = jackdaw.train("dqn", "CartPole-v1", device="model")
policy = jackdaw.load(run)
print(jackdaw.evaluate(policy))
