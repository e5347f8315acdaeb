# Alveo U280, part xcu280-fsvh2892-2L-e.
#
# For a wrapper with these port names; without one, none of the ports exists and nothing is set.
# Pins as in the public constraint files of the vendor and of the Corundum project. Memory, network
# and the lanes of PCIe are left to the constraints that the vendor's IP brings with it.

# 100 MHz, of DDR4 channel 0
set_property -quiet -dict {PACKAGE_PIN BJ43 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_0_p]
set_property -quiet -dict {PACKAGE_PIN BJ44 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_0_n]
create_clock -quiet -name clk_100mhz_0 -period 10.000 [get_ports -quiet clk_100mhz_0_p]

# 100 MHz, of DDR4 channel 1
set_property -quiet -dict {PACKAGE_PIN BH6 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_1_p]
set_property -quiet -dict {PACKAGE_PIN BJ6 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_1_n]
create_clock -quiet -name clk_100mhz_1 -period 10.000 [get_ports -quiet clk_100mhz_1_p]

# 100 MHz
set_property -quiet -dict {PACKAGE_PIN G31 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_2_p]
set_property -quiet -dict {PACKAGE_PIN F31 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_2_n]
create_clock -quiet -name clk_100mhz_2 -period 10.000 [get_ports -quiet clk_100mhz_2_p]

# PCIe: reset from the edge connector, 100 MHz reference clock
set_property -quiet -dict {PACKAGE_PIN BH26 IOSTANDARD LVCMOS18 PULLUP true} [get_ports -quiet pcie_reset_n]
set_property -quiet -dict {PACKAGE_PIN AR15} [get_ports -quiet pcie_refclk_p]
set_property -quiet -dict {PACKAGE_PIN AR14} [get_ports -quiet pcie_refclk_n]
create_clock -quiet -name pcie_refclk -period 10.000 [get_ports -quiet pcie_refclk_p]

# HBM: the line that switches the board off when the memory is too hot must not float.
set_property -quiet -dict {PACKAGE_PIN D32 IOSTANDARD LVCMOS18} [get_ports -quiet hbm_cattrip]
