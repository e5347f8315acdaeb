"""Register maps, generated from the register descriptions by scripts/registers.py."""
