"""Formal proofs of Jackdaw's blocks: the table, and a harness in SystemVerilog for each."""
