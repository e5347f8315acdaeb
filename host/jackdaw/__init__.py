"""Jackdaw: deep reinforcement learning on simulated hardware."""

__version__ = "0.1.0"
