"""What evaluates the leaves of DNN-guided search: batches of positions to priors and values."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np

from jackdaw.environments.gomoku import PLANES
from jackdaw.ranges import Range, real, whole

MOST_STREAMS = 64
EXTERNAL, TABLE, EMULATED, ROLLOUTS = range(4)  # as the compiled tree numbers them


class Evaluator:
    """Evaluates batches; a class of its own overrides `__call__`.

    Attributes:
        name: shown in reports.
        kind: EXTERNAL if it is called; all others are inside the compiled tree.
        streams: batches that are evaluated at the same time, 1..64.
    """

    name = "own"
    kind = EXTERNAL

    def __init__(self, streams: int = 1) -> None:
        self.streams = whole("streams", streams, 1, MOST_STREAMS)

    def __call__(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate positions; several threads call this if there are several streams.

        Args:
            planes: [B, 4, n, n] float32, see Gomoku.planes.
        Returns: priors [B, n * n] of any sum, at least 0, and values [B] for the player to move,
            -1..1; both float32.
        """
        raise NotImplementedError

    def load(self, network: Any) -> None:
        """Take a network's weights as they are now, if there is one; not while a search runs."""


class Table(Evaluator):
    """A hash of the position, for tests: it does not depend on the batch."""

    name = "table"
    kind = TABLE


class Emulated(Evaluator):
    """A table that takes as long as an accelerator, for machines without one.

    Args:
        base_s: seconds of a batch, 0..10.
        item_s: seconds of each position in it, 0..1.
        streams: see Evaluator.
    """

    name = "emulated"
    kind = EMULATED

    def __init__(self, base_s: float = 0.5e-3, item_s: float = 20e-6, streams: int = 1) -> None:
        super().__init__(streams)
        self.base_s = real("base_s", base_s, Range(0, 10))
        self.item_s = real("item_s", item_s, Range(0, 1))


class Rollouts(Evaluator):
    """Equal priors, and the outcome of one random game: plain tree search, local tree only."""

    name = "rollouts"
    kind = ROLLOUTS


class Torch(Evaluator):
    """A PyTorch network, on the processor (`torch-cpu`) or a GPU (`torch-cuda`).

    On the processor, PyTorch gets one thread in the whole process: streams are the parallel part,
    and results do not depend on the number of cores.

    Args:
        network: see network.Network. Its weights are copied; `load` takes newer ones.
        device: of PyTorch.
        streams: see Evaluator. On a GPU each has a CUDA stream of its own.
    """

    def __init__(self, network: Any, device: str = "cpu", streams: int = 1) -> None:
        import torch

        super().__init__(streams)
        self.device = torch.device(device)
        self.name = f"torch-{self.device.type}"
        if self.device.type == "cpu":
            torch.set_num_threads(1)
        self._local = threading.local()
        self._own: Any = None
        self.load(network)

    def load(self, network: Any) -> None:
        """See Evaluator."""
        import torch

        if self._own is None:
            self._own = copy.deepcopy(network).to(self.device).eval().requires_grad_(False)
            planes = torch.zeros(2, PLANES, network.size, network.size, device=self.device)
            # Traced, it is one call without Python's lock.
            self._module = torch.jit.trace(self._own, planes)  # type: ignore[no-untyped-call]
        else:  # the traced module has the same tensors
            self._own.load_state_dict(network.state_dict())

    def __call__(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See Evaluator."""
        import torch

        with torch.inference_mode():
            given = torch.from_numpy(planes)
            if self.device.type != "cuda":
                log_priors, values = self._module(given)
                return log_priors.exp().numpy(), values.numpy()
            if not hasattr(self._local, "stream"):
                self._local.stream = torch.cuda.Stream(self.device)
            with torch.cuda.stream(self._local.stream):
                log_priors, values = self._module(
                    given.pin_memory().to(self.device, non_blocking=True)
                )
                return log_priors.exp().cpu().numpy(), values.cpu().numpy()
