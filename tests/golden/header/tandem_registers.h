/* Registers of the Tandem accelerator. Generated; do not edit. */
#ifndef TANDEM_REGISTERS_H
#define TANDEM_REGISTERS_H

#define TANDEM_MAGIC_VALUE                  0x544E444Du /* what register magic reads as */
#define TANDEM_VERSION_VALUE                0x00010001u /* version of this map */

/* Offsets of the registers, in bytes.
 * ro: read only; rw: read and write; w1: each one written acts. */

/* ro: reads as ASCII TNDM */
#define TANDEM_MAGIC                        0x000u
/* ro: version of this map, major.minor as 16.16 bits */
#define TANDEM_VERSION                      0x004u
/* w1: bit 0 launch, 1 soft reset, 2 snapshot */
#define TANDEM_CONTROL                      0x008u
/* ro: bit 0 running, 1 done, 2 error, 3 draining */
#define TANDEM_STATUS                       0x00Cu
/* rw: bit 0 done, 1 error */
#define TANDEM_IRQ_ENABLE                   0x010u
/* w1: bit 0 done, 1 error; write one to clear */
#define TANDEM_IRQ_STATUS                   0x014u
/* ro: why the last launch stopped: one of FAULT */
#define TANDEM_ERROR_CODE                   0x018u
/* ro: index of the instruction at fault */
#define TANDEM_ERROR_INSTRUCTION            0x01Cu
/* ro: from bit 0 up, 8 bits each: log2 of batch, block_in, block_out */
#define TANDEM_SHAPE                        0x020u
/* ro: from bit 0 up, 8 bits each: log2 of the bytes of UOP, INP, WGT, ACC */
#define TANDEM_BUFFERS                      0x024u
/* ro: from bit 0 up: data bits (16), address bits (8), longest burst less one (8) */
#define TANDEM_BUS                          0x028u
/* ro: extensions present, a bit each */
#define TANDEM_FEATURES                     0x02Cu
/* rw: address of the program, 16-byte aligned */
#define TANDEM_INSTRUCTION_ADDRESS          0x030u
#define TANDEM_INSTRUCTION_ADDRESS_HIGH     0x034u
/* rw: instructions in the program */
#define TANDEM_INSTRUCTION_COUNT            0x038u
/* rw: DRAM address of UOP element 0 */
#define TANDEM_BASE_UOP                     0x040u
#define TANDEM_BASE_UOP_HIGH                0x044u
/* rw: DRAM address of WGT element 0 */
#define TANDEM_BASE_WGT                     0x048u
#define TANDEM_BASE_WGT_HIGH                0x04Cu
/* rw: DRAM address of INP element 0 */
#define TANDEM_BASE_INP                     0x050u
#define TANDEM_BASE_INP_HIGH                0x054u
/* rw: DRAM address of ACC element 0 */
#define TANDEM_BASE_ACC                     0x058u
#define TANDEM_BASE_ACC_HIGH                0x05Cu
/* rw: DRAM address of OUT element 0 */
#define TANDEM_BASE_OUT                     0x060u
#define TANDEM_BASE_OUT_HIGH                0x064u
/* rw: DRAM address of ACC_8BIT element 0 */
#define TANDEM_BASE_ACC_8BIT                0x068u
#define TANDEM_BASE_ACC_8BIT_HIGH           0x06Cu
/* ro: cycles from launch to done (snapshot) */
#define TANDEM_CYCLES                       0x100u
#define TANDEM_CYCLES_HIGH                  0x104u
/* ro: cycles in which load was busy (snapshot) */
#define TANDEM_LOAD_BUSY                    0x108u
#define TANDEM_LOAD_BUSY_HIGH               0x10Cu
/* ro: cycles in which load waited for a token (snapshot) */
#define TANDEM_LOAD_TOKEN                   0x110u
#define TANDEM_LOAD_TOKEN_HIGH              0x114u
/* ro: cycles in which load waited for memory (snapshot) */
#define TANDEM_LOAD_MEMORY                  0x118u
#define TANDEM_LOAD_MEMORY_HIGH             0x11Cu
/* ro: cycles in which compute was busy (snapshot) */
#define TANDEM_COMPUTE_BUSY                 0x120u
#define TANDEM_COMPUTE_BUSY_HIGH            0x124u
/* ro: cycles in which compute waited for a token (snapshot) */
#define TANDEM_COMPUTE_TOKEN                0x128u
#define TANDEM_COMPUTE_TOKEN_HIGH           0x12Cu
/* ro: cycles in which compute waited for memory (snapshot) */
#define TANDEM_COMPUTE_MEMORY               0x130u
#define TANDEM_COMPUTE_MEMORY_HIGH          0x134u
/* ro: cycles in which store was busy (snapshot) */
#define TANDEM_STORE_BUSY                   0x138u
#define TANDEM_STORE_BUSY_HIGH              0x13Cu
/* ro: cycles in which store waited for a token (snapshot) */
#define TANDEM_STORE_TOKEN                  0x140u
#define TANDEM_STORE_TOKEN_HIGH             0x144u
/* ro: cycles in which store waited for memory (snapshot) */
#define TANDEM_STORE_MEMORY                 0x148u
#define TANDEM_STORE_MEMORY_HIGH            0x14Cu
/* ro: index of load's instruction */
#define TANDEM_LOAD_INSTRUCTION             0x180u
/* ro: bit 0: for pop_prev, 1: for pop_next, 8: active */
#define TANDEM_LOAD_WAITS                   0x184u
/* ro: index of compute's instruction */
#define TANDEM_COMPUTE_INSTRUCTION          0x188u
/* ro: bit 0: for pop_prev, 1: for pop_next, 8: active */
#define TANDEM_COMPUTE_WAITS                0x18Cu
/* ro: index of store's instruction */
#define TANDEM_STORE_INSTRUCTION            0x190u
/* ro: bit 0: for pop_prev, 1: for pop_next, 8: active */
#define TANDEM_STORE_WAITS                  0x194u

/* Bits of control */
#define TANDEM_CONTROL_LAUNCH               1u
#define TANDEM_CONTROL_SOFT_RESET           2u
#define TANDEM_CONTROL_SNAPSHOT             4u

/* Bits of status */
#define TANDEM_STATUS_RUNNING               1u
#define TANDEM_STATUS_DONE                  2u
#define TANDEM_STATUS_ERROR                 4u
#define TANDEM_STATUS_DRAINING              8u

/* Values of error_code */
#define TANDEM_FAULT_NONE                   0u
#define TANDEM_FAULT_OPCODE                 1u
#define TANDEM_FAULT_MEMORY_ID              2u
#define TANDEM_FAULT_LOAD_OUT               3u
#define TANDEM_FAULT_STORE_MEMORY           4u
#define TANDEM_FAULT_STORE_PAD              5u
#define TANDEM_FAULT_NO_ROWS                6u
#define TANDEM_FAULT_LOOP_COUNT             7u
#define TANDEM_FAULT_UOP_RANGE              8u
#define TANDEM_FAULT_SHIFT                  9u
#define TANDEM_FAULT_SRAM_RANGE             10u
#define TANDEM_FAULT_TOKEN_FLAG             11u
#define TANDEM_FAULT_FEATURE                12u
#define TANDEM_FAULT_SRAM_INDEX             16u
#define TANDEM_FAULT_TOKEN_OVERFLOW         17u
#define TANDEM_FAULT_BUS_READ               18u
#define TANDEM_FAULT_BUS_WRITE              19u
#define TANDEM_FAULT_AFTER_FINISH           24u
#define TANDEM_FAULT_NO_FINISH              25u
#define TANDEM_FAULT_TOKENS_LEFT            26u
#define TANDEM_FAULT_DEADLOCK               27u

/* This configuration */
#define TANDEM_CONFIGURATION                "pynq"
#define TANDEM_BATCH                        1u       /* rows of the array's input */
#define TANDEM_BLOCK_IN                     16u      /* input channels of a micro-op */
#define TANDEM_BLOCK_OUT                    16u      /* output channels of a micro-op */
#define TANDEM_BUS_BYTES                    8u       /* bytes in a beat of the bus */
#define TANDEM_UOP_ELEMENT_BYTES            4u
#define TANDEM_UOP_DEPTH                    8192u    /* elements */
#define TANDEM_WGT_ELEMENT_BYTES            256u
#define TANDEM_WGT_DEPTH                    1024u    /* elements */
#define TANDEM_INP_ELEMENT_BYTES            16u
#define TANDEM_INP_DEPTH                    2048u    /* elements */
#define TANDEM_ACC_ELEMENT_BYTES            64u
#define TANDEM_ACC_DEPTH                    2048u    /* elements */
#define TANDEM_OUT_ELEMENT_BYTES            16u
#define TANDEM_OUT_DEPTH                    2048u    /* elements */
#define TANDEM_ACC_8BIT_ELEMENT_BYTES       16u
#define TANDEM_ACC_8BIT_DEPTH               2048u    /* elements */

#endif /* TANDEM_REGISTERS_H */
