"""Agents: what is trained, and how."""
