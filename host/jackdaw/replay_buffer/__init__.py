"""A prioritized replay buffer on a device, for training loops that were written for cpprb.

    from jackdaw.device import open_device
    from jackdaw.replay_buffer import PrioritizedReplayBuffer

    with open_device("sim") as device:
        fields = {"obs": {"shape": 4}, "act": {"dtype": int}, "rew": {}, "done": {}}
        buffer = PrioritizedReplayBuffer(10_000, fields, alpha=0.6, device=device)
        buffer.add(obs=obs, act=act, rew=rew, done=done)
        batch = buffer.sample(32, beta=0.4)
        buffer.update_priorities(batch["indexes"], np.abs(td_errors))

Priorities live in the engine's sum tree, rows in device memory.
"""

from jackdaw.replay_buffer.buffer import PrioritizedReplayBuffer
from jackdaw.replay_buffer.fields import row_layout

__all__ = ["PrioritizedReplayBuffer", "row_layout"]
