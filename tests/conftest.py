"""Shared by all tests: the regression's plugin, and the seed."""

from __future__ import annotations

import pytest

pytest_plugins = ["flow.regression"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=1, help="seed of all random tests")


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.getoption('--seed')} (rerun with --seed N)"


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The run's seed; every random test derives its generators from it."""
    value = int(request.config.getoption("--seed"))
    print(f"seed {value}")
    return value
