/* Registers of the Tandem accelerator. Generated; do not edit. */
#ifndef TANDEM_REGISTERS_H
#define TANDEM_REGISTERS_H

#define TANDEM_MAGIC_VALUE                    0x544E444Du /* what register magic reads as */
#define TANDEM_VERSION_VALUE                  0x00010002u /* version of this map */
#define TANDEM_NO_INSTRUCTION                 0xFFFFFFFFu /* index of no instruction */

/* Offsets of the registers, in bytes, and their fields.
 * ro: read only; rw: read and write; w1: each one written acts. */

/* ro: reads as ASCII TNDM */
#define TANDEM_MAGIC                          0x000u
/* ro: version of this map */
#define TANDEM_VERSION                        0x004u
/* additions that old drivers need not know */
#define TANDEM_VERSION_MINOR_SHIFT            0u
#define TANDEM_VERSION_MINOR_MASK             0xFFFFu
#define TANDEM_VERSION_MAJOR_SHIFT            16u      /* changes that old drivers cannot use */
#define TANDEM_VERSION_MAJOR_MASK             0xFFFF0000u
/* w1: actions; a 1 triggers one */
#define TANDEM_CONTROL                        0x008u
#define TANDEM_CONTROL_LAUNCH_SHIFT           0u
#define TANDEM_CONTROL_LAUNCH_MASK            0x1u
#define TANDEM_CONTROL_SOFT_RESET_SHIFT       1u
#define TANDEM_CONTROL_SOFT_RESET_MASK        0x2u
#define TANDEM_CONTROL_SNAPSHOT_SHIFT         2u
#define TANDEM_CONTROL_SNAPSHOT_MASK          0x4u
/* ro: what the machine does */
#define TANDEM_STATUS                         0x00Cu
#define TANDEM_STATUS_RUNNING_SHIFT           0u
#define TANDEM_STATUS_RUNNING_MASK            0x1u
#define TANDEM_STATUS_DONE_SHIFT              1u
#define TANDEM_STATUS_DONE_MASK               0x2u
#define TANDEM_STATUS_ERROR_SHIFT             2u
#define TANDEM_STATUS_ERROR_MASK              0x4u
#define TANDEM_STATUS_DRAINING_SHIFT          3u
#define TANDEM_STATUS_DRAINING_MASK           0x8u
#define TANDEM_STATUS_FENCED_SHIFT            4u
#define TANDEM_STATUS_FENCED_MASK             0x10u
/* rw: causes that raise the interrupt */
#define TANDEM_IRQ_ENABLE                     0x010u
#define TANDEM_IRQ_ENABLE_DONE_SHIFT          0u
#define TANDEM_IRQ_ENABLE_DONE_MASK           0x1u
#define TANDEM_IRQ_ENABLE_ERROR_SHIFT         1u
#define TANDEM_IRQ_ENABLE_ERROR_MASK          0x2u
/* w1: pending causes; write one to clear */
#define TANDEM_IRQ_STATUS                     0x014u
#define TANDEM_IRQ_STATUS_DONE_SHIFT          0u
#define TANDEM_IRQ_STATUS_DONE_MASK           0x1u
#define TANDEM_IRQ_STATUS_ERROR_SHIFT         1u
#define TANDEM_IRQ_STATUS_ERROR_MASK          0x2u
/* ro: why the last launch stopped: one of FAULT */
#define TANDEM_ERROR_CODE                     0x018u
/* ro: index of the instruction at fault */
#define TANDEM_ERROR_INSTRUCTION              0x01Cu
/* ro: shape of the GEMM array */
#define TANDEM_SHAPE                          0x020u
#define TANDEM_SHAPE_LOG_BATCH_SHIFT          0u       /* log2 of the rows of its input */
#define TANDEM_SHAPE_LOG_BATCH_MASK           0xFFu
#define TANDEM_SHAPE_LOG_BLOCK_IN_SHIFT       8u       /* log2 of its input channels */
#define TANDEM_SHAPE_LOG_BLOCK_IN_MASK        0xFF00u
#define TANDEM_SHAPE_LOG_BLOCK_OUT_SHIFT      16u      /* log2 of its output channels */
#define TANDEM_SHAPE_LOG_BLOCK_OUT_MASK       0xFF0000u
/* ro: sizes of the on-chip memories */
#define TANDEM_BUFFERS                        0x024u
#define TANDEM_BUFFERS_LOG_UOP_SHIFT          0u       /* log2 of the bytes of UOP */
#define TANDEM_BUFFERS_LOG_UOP_MASK           0xFFu
#define TANDEM_BUFFERS_LOG_INP_SHIFT          8u       /* log2 of the bytes of INP */
#define TANDEM_BUFFERS_LOG_INP_MASK           0xFF00u
#define TANDEM_BUFFERS_LOG_WGT_SHIFT          16u      /* log2 of the bytes of WGT */
#define TANDEM_BUFFERS_LOG_WGT_MASK           0xFF0000u
#define TANDEM_BUFFERS_LOG_ACC_SHIFT          24u      /* log2 of the bytes of ACC */
#define TANDEM_BUFFERS_LOG_ACC_MASK           0xFF000000u
/* ro: widths of the AXI4 master */
#define TANDEM_BUS                            0x028u
#define TANDEM_BUS_DATA_BITS_SHIFT            0u       /* bits of a beat */
#define TANDEM_BUS_DATA_BITS_MASK             0xFFFFu
#define TANDEM_BUS_ADDRESS_BITS_SHIFT         16u      /* bits of an address */
#define TANDEM_BUS_ADDRESS_BITS_MASK          0xFF0000u
#define TANDEM_BUS_LONGEST_SHIFT              24u      /* beats of the longest burst, less one */
#define TANDEM_BUS_LONGEST_MASK               0xFF000000u
/* ro: extensions of the instruction set that are present */
#define TANDEM_FEATURES                       0x02Cu
#define TANDEM_FEATURES_OVERWRITE_SHIFT       0u
#define TANDEM_FEATURES_OVERWRITE_MASK        0x1u
#define TANDEM_FEATURES_REQUANTISE_SHIFT      1u
#define TANDEM_FEATURES_REQUANTISE_MASK       0x2u
#define TANDEM_FEATURES_INPUT_OPERANDS_SHIFT  2u
#define TANDEM_FEATURES_INPUT_OPERANDS_MASK   0x4u
#define TANDEM_FEATURES_COMPRESSED_WEIGHTS_SHIFT 3u
#define TANDEM_FEATURES_COMPRESSED_WEIGHTS_MASK 0x8u
/* rw: address of the program, 16-byte aligned */
#define TANDEM_INSTRUCTION_ADDRESS            0x030u
#define TANDEM_INSTRUCTION_ADDRESS_HIGH       0x034u
/* rw: instructions in the program */
#define TANDEM_INSTRUCTION_COUNT              0x038u
/* rw: when a bus that does not answer is a fault */
#define TANDEM_BUS_TIMEOUT                    0x03Cu
/* cycles in a row in which the bus owes something and nothing moves; 0: never */
#define TANDEM_BUS_TIMEOUT_LIMIT_SHIFT        0u
#define TANDEM_BUS_TIMEOUT_LIMIT_MASK         0xFFFFFFu
/* rw: DRAM address of UOP element 0 */
#define TANDEM_BASE_UOP                       0x040u
#define TANDEM_BASE_UOP_HIGH                  0x044u
/* rw: DRAM address of WGT element 0 */
#define TANDEM_BASE_WGT                       0x048u
#define TANDEM_BASE_WGT_HIGH                  0x04Cu
/* rw: DRAM address of INP element 0 */
#define TANDEM_BASE_INP                       0x050u
#define TANDEM_BASE_INP_HIGH                  0x054u
/* rw: DRAM address of ACC element 0 */
#define TANDEM_BASE_ACC                       0x058u
#define TANDEM_BASE_ACC_HIGH                  0x05Cu
/* rw: DRAM address of OUT element 0 */
#define TANDEM_BASE_OUT                       0x060u
#define TANDEM_BASE_OUT_HIGH                  0x064u
/* rw: DRAM address of ACC_8BIT element 0 */
#define TANDEM_BASE_ACC_8BIT                  0x068u
#define TANDEM_BASE_ACC_8BIT_HIGH             0x06Cu
/* ro: of BUS_TIMEOUT: the address of the oldest burst that is outstanding */
#define TANDEM_ERROR_ADDRESS                  0x080u
#define TANDEM_ERROR_ADDRESS_HIGH             0x084u
/* ro: cycles from launch to done (snapshot) */
#define TANDEM_CYCLES                         0x100u
#define TANDEM_CYCLES_HIGH                    0x104u
/* ro: cycles in which load was busy (snapshot) */
#define TANDEM_LOAD_BUSY                      0x108u
#define TANDEM_LOAD_BUSY_HIGH                 0x10Cu
/* ro: cycles in which load waited for a token (snapshot) */
#define TANDEM_LOAD_TOKEN                     0x110u
#define TANDEM_LOAD_TOKEN_HIGH                0x114u
/* ro: cycles in which load waited for memory (snapshot) */
#define TANDEM_LOAD_MEMORY                    0x118u
#define TANDEM_LOAD_MEMORY_HIGH               0x11Cu
/* ro: cycles in which compute was busy (snapshot) */
#define TANDEM_COMPUTE_BUSY                   0x120u
#define TANDEM_COMPUTE_BUSY_HIGH              0x124u
/* ro: cycles in which compute waited for a token (snapshot) */
#define TANDEM_COMPUTE_TOKEN                  0x128u
#define TANDEM_COMPUTE_TOKEN_HIGH             0x12Cu
/* ro: cycles in which compute waited for memory (snapshot) */
#define TANDEM_COMPUTE_MEMORY                 0x130u
#define TANDEM_COMPUTE_MEMORY_HIGH            0x134u
/* ro: cycles in which store was busy (snapshot) */
#define TANDEM_STORE_BUSY                     0x138u
#define TANDEM_STORE_BUSY_HIGH                0x13Cu
/* ro: cycles in which store waited for a token (snapshot) */
#define TANDEM_STORE_TOKEN                    0x140u
#define TANDEM_STORE_TOKEN_HIGH               0x144u
/* ro: cycles in which store waited for memory (snapshot) */
#define TANDEM_STORE_MEMORY                   0x148u
#define TANDEM_STORE_MEMORY_HIGH              0x14Cu
/* ro: index of load's instruction */
#define TANDEM_LOAD_INSTRUCTION               0x180u
/* ro: what load waits for */
#define TANDEM_LOAD_WAITS                     0x184u
#define TANDEM_LOAD_WAITS_PREV_SHIFT          0u
#define TANDEM_LOAD_WAITS_PREV_MASK           0x1u
#define TANDEM_LOAD_WAITS_NEXT_SHIFT          1u
#define TANDEM_LOAD_WAITS_NEXT_MASK           0x2u
#define TANDEM_LOAD_WAITS_ACTIVE_SHIFT        8u
#define TANDEM_LOAD_WAITS_ACTIVE_MASK         0x100u
/* ro: index of compute's instruction */
#define TANDEM_COMPUTE_INSTRUCTION            0x188u
/* ro: what compute waits for */
#define TANDEM_COMPUTE_WAITS                  0x18Cu
#define TANDEM_COMPUTE_WAITS_PREV_SHIFT       0u
#define TANDEM_COMPUTE_WAITS_PREV_MASK        0x1u
#define TANDEM_COMPUTE_WAITS_NEXT_SHIFT       1u
#define TANDEM_COMPUTE_WAITS_NEXT_MASK        0x2u
#define TANDEM_COMPUTE_WAITS_ACTIVE_SHIFT     8u
#define TANDEM_COMPUTE_WAITS_ACTIVE_MASK      0x100u
/* ro: index of store's instruction */
#define TANDEM_STORE_INSTRUCTION              0x190u
/* ro: what store waits for */
#define TANDEM_STORE_WAITS                    0x194u
#define TANDEM_STORE_WAITS_PREV_SHIFT         0u
#define TANDEM_STORE_WAITS_PREV_MASK          0x1u
#define TANDEM_STORE_WAITS_NEXT_SHIFT         1u
#define TANDEM_STORE_WAITS_NEXT_MASK          0x2u
#define TANDEM_STORE_WAITS_ACTIVE_SHIFT       8u
#define TANDEM_STORE_WAITS_ACTIVE_MASK        0x100u

/* Bits of control */
/* start the program; refused while one runs or drains */
#define TANDEM_CONTROL_LAUNCH                 1u
/* stop issuing, drain outstanding bus transactions, then reset everything but the memories;
 * while it drains: give the transactions up */
#define TANDEM_CONTROL_SOFT_RESET             2u
/* copy all performance counters to their registers, as every end of a launch does */
#define TANDEM_CONTROL_SNAPSHOT               4u

/* Bits of status */
#define TANDEM_STATUS_RUNNING                 1u       /* a program runs */
/* the last launch ended without a fault; cleared by the next launch */
#define TANDEM_STATUS_DONE                    2u
/* the last launch ended with a fault; cleared by the next launch */
#define TANDEM_STATUS_ERROR                   4u
/* a stop waits for outstanding bus transactions; until then launches are refused */
#define TANDEM_STATUS_DRAINING                8u
/* bus transactions of the last launch were given up; cleared by the next launch, which is
 * refused until ARESETn if it happened for the fourth time */
#define TANDEM_STATUS_FENCED                  16u

/* Bits of irq_enable and irq_status */
#define TANDEM_INTERRUPT_DONE                 1u       /* a launch ended without a fault */
#define TANDEM_INTERRUPT_ERROR                2u       /* a launch ended with a fault */

/* Bits of load_waits, compute_waits and store_waits */
/* it waits for a token from the unit before it, in the order load, compute, store */
#define TANDEM_WAITS_PREV                     1u
/* it waits for a token from the unit after it */
#define TANDEM_WAITS_NEXT                     2u
#define TANDEM_WAITS_ACTIVE                   256u     /* it has an instruction */

/* Bits of features: extensions of the instruction set */
/* GEMM has a bit `overwrite`: products replace the accumulators instead of adding to them */
#define TANDEM_FEATURE_OVERWRITE              1u
/* results are requantised on their way to OUT, as REQUANTISE and the memory PAR say */
#define TANDEM_FEATURE_REQUANTISE             2u
/* the second operand of ALU can come from INP; and an operation MOVE */
#define TANDEM_FEATURE_INPUT_OPERANDS         4u
/* LOADs of WGT_CODES widen codes of 1, 2 or 4 bits to int8, by the table that TABLE sets */
#define TANDEM_FEATURE_COMPRESSED_WEIGHTS     8u

/* Values of error_code */
#define TANDEM_FAULT_NONE                     0u       /* no fault */
/* an opcode that this configuration does not have */
#define TANDEM_FAULT_OPCODE                   1u
/* a memory id that this configuration does not have */
#define TANDEM_FAULT_MEMORY_ID                2u
#define TANDEM_FAULT_LOAD_OUT                 3u       /* LOAD of OUT, which is store only */
#define TANDEM_FAULT_STORE_MEMORY             4u       /* STORE of anything but OUT */
#define TANDEM_FAULT_STORE_PAD                5u       /* padding on a STORE */
#define TANDEM_FAULT_NO_ROWS                  6u       /* y_size 0 with x_size above 0 */
#define TANDEM_FAULT_LOOP_COUNT               7u       /* a loop count of 0 */
/* uop_end not above uop_bgn, or beyond the micro-op memory */
#define TANDEM_FAULT_UOP_RANGE                8u
/* a shift by more than `MAX_SHIFT`: an immediate, or an element of a tensor operand */
#define TANDEM_FAULT_SHIFT                    9u
/* a LOAD or STORE that reaches beyond its memory */
#define TANDEM_FAULT_SRAM_RANGE               10u
/* a dependence flag for which the instruction's unit has no token queue */
#define TANDEM_FAULT_TOKEN_FLAG               11u
/* an instruction, or a bit of one, of an extension that this configuration does not have */
#define TANDEM_FAULT_FEATURE                  12u
/* a micro-op's index, with its loop offsets, beyond its memory */
#define TANDEM_FAULT_SRAM_INDEX               16u
#define TANDEM_FAULT_TOKEN_OVERFLOW           17u      /* a token counter passed `MAX_TOKENS` */
#define TANDEM_FAULT_BUS_READ                 18u      /* memory answered a read with an error */
#define TANDEM_FAULT_BUS_WRITE                19u      /* memory answered a write with an error */
/* memory did not answer within `bus_timeout` cycles */
#define TANDEM_FAULT_BUS_TIMEOUT              20u
#define TANDEM_FAULT_AFTER_FINISH             24u      /* an instruction after FINISH */
#define TANDEM_FAULT_NO_FINISH                25u      /* a program without FINISH */
#define TANDEM_FAULT_TOKENS_LEFT              26u      /* a token counter is not zero at the end */
#define TANDEM_FAULT_DEADLOCK                 27u      /* no unit can ever proceed */

/* This configuration */
#define TANDEM_CONFIGURATION                  "pynq"
#define TANDEM_BATCH                          1u       /* rows of the array's input */
#define TANDEM_BLOCK_IN                       16u      /* input channels of a micro-op */
#define TANDEM_BLOCK_OUT                      16u      /* output channels of a micro-op */
#define TANDEM_BUS_BYTES                      8u       /* bytes in a beat of the bus */
#define TANDEM_UOP_ELEMENT_BYTES              4u
#define TANDEM_UOP_DEPTH                      8192u    /* elements */
#define TANDEM_WGT_ELEMENT_BYTES              256u
#define TANDEM_WGT_DEPTH                      1024u    /* elements */
#define TANDEM_INP_ELEMENT_BYTES              16u
#define TANDEM_INP_DEPTH                      2048u    /* elements */
#define TANDEM_ACC_ELEMENT_BYTES              64u
#define TANDEM_ACC_DEPTH                      2048u    /* elements */
#define TANDEM_OUT_ELEMENT_BYTES              16u
#define TANDEM_OUT_DEPTH                      2048u    /* elements */
#define TANDEM_ACC_8BIT_ELEMENT_BYTES         16u
#define TANDEM_ACC_8BIT_DEPTH                 2048u    /* elements */

#endif /* TANDEM_REGISTERS_H */
