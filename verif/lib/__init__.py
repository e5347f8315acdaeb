"""Tests of the library blocks, run by tests/lib."""
