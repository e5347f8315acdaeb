"""Shared by all tests: the seed, and where a build's parameters come from."""

from __future__ import annotations

import pytest


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest file first, so that no worker is left alone with it."""
    items.sort(key=lambda item: item.path.parent.name != "mutation")
