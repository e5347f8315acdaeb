"""Drivers of the engines: arrays in, registers and descriptors out."""
