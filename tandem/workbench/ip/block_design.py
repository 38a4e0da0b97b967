"""A script that puts the machine beside a Zynq's processor in Vivado."""

from __future__ import annotations

from typing import Final

from tandem.hw.config import HardwareConfig
from tandem.workbench.ip.names import BLOCK_DESIGN_FILE, FILE_LIST, WRAPPER, WRAPPER_FILE, XDC_FILE

PART: Final = "xc7z020clg400-1"


def block_design(config: HardwareConfig, mhz: float) -> str:
    """The text of the script, for Tcl in Vivado.

    Its design is a Zynq-7000: registers at the processor's GP0, memory through HP0, the interrupt
    at IRQ_F2P.
    """
    return f"""\
# The accelerator {config.name} beside the processor of a Zynq-7000, as a block design of Vivado:
#   vivado -mode batch -source {BLOCK_DESIGN_FILE} -tclargs PART FOLDER
# with {PART} and ./vivado unless given. Its syntax was checked, in Tcl; it was not run in Vivado.
#
# Registers are behind the processor's port GP0, memory is reached through HP0, which sees no cache
# of the processor (a driver flushes them), and the interrupt is the first one of IRQ_F2P.

set here [file dirname [file normalize [info script]]]
set part [expr {{[llength $argv] > 0 ? [lindex $argv 0] : "{PART}"}}]
set folder [expr {{[llength $argv] > 1 ? [lindex $argv 1] : "vivado"}}]

create_project tandem $folder -part $part

# The generated Verilog, and the wrapper whose attributes tell Vivado the interfaces.
set list [open [file join $here {FILE_LIST}]]
foreach name [split [string trim [read $list]] "\\n"] {{
    add_files [file join $here $name]
}}
close $list
add_files [file join $here {WRAPPER_FILE}]
add_files -fileset constrs_1 [file join $here {XDC_FILE}]
set_property USED_IN {{synthesis implementation out_of_context}} [get_files {XDC_FILE}]
update_compile_order -fileset sources_1

create_bd_design system
set machine [create_bd_cell -type module -reference {WRAPPER} tandem]
set processor [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 processor]
apply_bd_automation -rule xilinx.com:bd_rule:processing_system7 \\
    -config {{make_external "FIXED_IO, DDR" Master "Disable" Slave "Disable"}} $processor
set_property -dict {{
    CONFIG.PCW_USE_M_AXI_GP0 1
    CONFIG.PCW_USE_S_AXI_HP0 1
    CONFIG.PCW_S_AXI_HP0_DATA_WIDTH 64
    CONFIG.PCW_USE_FABRIC_INTERRUPT 1
    CONFIG.PCW_IRQ_F2P_INTR 1
    CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ {mhz:g}
}} $processor

# Interconnects change AXI4 to the processor's AXI3, and widths where they differ.
set clock [get_bd_pins processor/FCLK_CLK0]
set registers [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect registers]
set memory [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect memory]
set reset [create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset reset]
foreach cell [list $registers $memory] {{
    set_property -dict {{CONFIG.NUM_SI 1 CONFIG.NUM_MI 1}} $cell
}}
connect_bd_net $clock [get_bd_pins {{
    processor/M_AXI_GP0_ACLK processor/S_AXI_HP0_ACLK
    registers/aclk memory/aclk tandem/aclk reset/slowest_sync_clk
}}]
connect_bd_net [get_bd_pins processor/FCLK_RESET0_N] [get_bd_pins reset/ext_reset_in]
connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins {{
    registers/aresetn memory/aresetn tandem/aresetn
}}]
foreach {{from to}} {{
    processor/M_AXI_GP0 registers/S00_AXI
    registers/M00_AXI tandem/S_AXI
    tandem/M_AXI memory/S00_AXI
    memory/M00_AXI processor/S_AXI_HP0
}} {{
    connect_bd_intf_net [get_bd_intf_pins $from] [get_bd_intf_pins $to]
}}
connect_bd_net [get_bd_pins tandem/irq] [get_bd_pins processor/IRQ_F2P]

assign_bd_address
validate_bd_design
save_bd_design

make_wrapper -files [get_files system.bd] -top -import
set_property top system_wrapper [current_fileset]
update_compile_order -fileset sources_1
"""
