"""Which extra of the package brings what is not installed."""

from __future__ import annotations

EXTRAS = {
    "gymnasium": "train", "matplotlib": "train", "tqdm": "train", "rich": "train", "Box2D": "box2d",
    "mujoco": "mujoco", "ale_py": "atari", "torch": "torch", "onnx": "onnx", "fusesoc": "sim",
    "cocotb_tools": "sim", "ray": "ray", "pyspiel": "games", "pettingzoo": "games",
}  # fmt: skip


def missing(error: ImportError) -> str:
    """What to say of an import that failed: the package, and how to install it."""
    name = (error.name or "").partition(".")[0]
    if name not in EXTRAS:
        return str(error)
    return f"{name} is not installed: pip install 'jackdaw[{EXTRAS[name]}]'"
