# Alveo U50, part xcu50-fsvh2104-2-e.
#
# For a wrapper with these port names; without one, none of the ports exists and nothing is set.
# Pins as in the public constraint files of the vendor and of the Corundum project. Memory, network
# and the lanes of PCIe are left to the constraints that the vendor's IP brings with it.

# 100 MHz
set_property -quiet -dict {PACKAGE_PIN G17 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_0_p]
set_property -quiet -dict {PACKAGE_PIN G16 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_0_n]
create_clock -quiet -name clk_100mhz_0 -period 10.000 [get_ports -quiet clk_100mhz_0_p]

# 100 MHz
set_property -quiet -dict {PACKAGE_PIN BB18 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_1_p]
set_property -quiet -dict {PACKAGE_PIN BC18 IOSTANDARD LVDS} [get_ports -quiet clk_100mhz_1_n]
create_clock -quiet -name clk_100mhz_1 -period 10.000 [get_ports -quiet clk_100mhz_1_p]

# PCIe: reset from the edge connector, 100 MHz reference clock
set_property -quiet -dict {PACKAGE_PIN AW27 IOSTANDARD LVCMOS18 PULLUP true} [get_ports -quiet pcie_reset_n]
set_property -quiet -dict {PACKAGE_PIN AF9} [get_ports -quiet pcie_refclk_p]
set_property -quiet -dict {PACKAGE_PIN AF8} [get_ports -quiet pcie_refclk_n]
create_clock -quiet -name pcie_refclk -period 10.000 [get_ports -quiet pcie_refclk_p]

# HBM: the line that switches the board off when the memory is too hot must not float.
set_property -quiet -dict {PACKAGE_PIN J18 IOSTANDARD LVCMOS18} [get_ports -quiet hbm_cattrip]
