"""Shared by all tests: the regression's plugin."""

pytest_plugins = ["flow.regression"]
