"""Benchmarks of the engines: clocks of the simulated device, the ideal and peers beside them."""
