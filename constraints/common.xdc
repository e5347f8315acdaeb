# Timing of the whole device, for every board.
#
# One clock: clk_i, 250 MHz. Where a PCIe block drives clk_i inside a larger design, its own
# constraint defines the clock, and only the two delays below are wanted.
create_clock -name clk -period 4.000 [get_ports clk_i]

# Everything around the device is clocked by clk, too: a quarter of the period for what is outside.
set_input_delay -clock clk 1.000 [get_ports -filter {DIRECTION == IN && NAME != clk_i}]
set_output_delay -clock clk 1.000 [get_ports -filter {DIRECTION == OUT}]

# rst_ni is synchronous inside the device; a board's wrapper synchronizes the PCIe reset, whose own
# path into the first register of the synchronizer is not timed.
set_false_path -quiet -from [get_ports -quiet pcie_reset_n]

# Floor plan: nothing is placed by hand. Places that are worth it on devices of several dies, each
# engine within one of them, with the links and the memory ports crossing:
#   create_pblock pblock_replay
#   add_cells_to_pblock [get_pblocks pblock_replay] [get_cells u_replay]
#   resize_pblock [get_pblocks pblock_replay] -add {SLR0}
#   create_pblock pblock_learner
#   add_cells_to_pblock [get_pblocks pblock_learner] [get_cells u_learner]
#   resize_pblock [get_pblocks pblock_learner] -add {SLR1}
