# Alveo U200, part xcu200-fsgd2104-2-e.
#
# For a wrapper with these port names; without one, none of the ports exists and nothing is set.
# Pins as in the public constraint files of the vendor and of the Corundum project. Memory, network
# and the lanes of PCIe are left to the constraints that the vendor's IP brings with it.

# 300 MHz, of DDR4 channel 0
set_property -quiet -dict {PACKAGE_PIN AY37 IOSTANDARD LVDS} [get_ports -quiet clk_300mhz_0_p]
set_property -quiet -dict {PACKAGE_PIN AY38 IOSTANDARD LVDS} [get_ports -quiet clk_300mhz_0_n]
create_clock -quiet -name clk_300mhz_0 -period 3.333 [get_ports -quiet clk_300mhz_0_p]

# 300 MHz, of DDR4 channel 1
set_property -quiet -dict {PACKAGE_PIN AW20 IOSTANDARD LVDS} [get_ports -quiet clk_300mhz_1_p]
set_property -quiet -dict {PACKAGE_PIN AW19 IOSTANDARD LVDS} [get_ports -quiet clk_300mhz_1_n]
create_clock -quiet -name clk_300mhz_1 -period 3.333 [get_ports -quiet clk_300mhz_1_p]

# 300 MHz, of DDR4 channel 2
set_property -quiet -dict {PACKAGE_PIN F32 IOSTANDARD LVDS} [get_ports -quiet clk_300mhz_2_p]
set_property -quiet -dict {PACKAGE_PIN E32 IOSTANDARD LVDS} [get_ports -quiet clk_300mhz_2_n]
create_clock -quiet -name clk_300mhz_2 -period 3.333 [get_ports -quiet clk_300mhz_2_p]

# 300 MHz, of DDR4 channel 3
set_property -quiet -dict {PACKAGE_PIN J16 IOSTANDARD LVDS} [get_ports -quiet clk_300mhz_3_p]
set_property -quiet -dict {PACKAGE_PIN H16 IOSTANDARD LVDS} [get_ports -quiet clk_300mhz_3_n]
create_clock -quiet -name clk_300mhz_3 -period 3.333 [get_ports -quiet clk_300mhz_3_p]

# PCIe: reset from the edge connector, 100 MHz reference clock
set_property -quiet -dict {PACKAGE_PIN BD21 IOSTANDARD LVCMOS12 PULLUP true} [get_ports -quiet pcie_reset_n]
set_property -quiet -dict {PACKAGE_PIN AM11} [get_ports -quiet pcie_refclk_p]
set_property -quiet -dict {PACKAGE_PIN AM10} [get_ports -quiet pcie_refclk_n]
create_clock -quiet -name pcie_refclk -period 10.000 [get_ports -quiet pcie_refclk_p]
