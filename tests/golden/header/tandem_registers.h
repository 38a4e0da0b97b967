/* Registers of the Tandem accelerator. Generated; do not edit. */
#ifndef TANDEM_REGISTERS_H
#define TANDEM_REGISTERS_H

#define TANDEM_MAGIC_VALUE                  0x544E444Du /* what register magic reads as */
#define TANDEM_VERSION_VALUE                0x00010000u /* version of this map */

/* Offsets of the registers, in bytes */
#define TANDEM_MAGIC                        0x000u   /* ro: reads as ASCII TNDM */
#define TANDEM_VERSION                      0x004u   /* ro: version of this map, major.minor as 16.16 bits */
#define TANDEM_CONTROL                      0x008u   /* w1: bit 0 launch, 1 soft reset, 2 snapshot */
#define TANDEM_STATUS                       0x00Cu   /* ro: bit 0 running, 1 done, 2 error, 3 draining */
#define TANDEM_IRQ_ENABLE                   0x010u   /* rw: bit 0 done, 1 error */
#define TANDEM_IRQ_STATUS                   0x014u   /* w1: bit 0 done, 1 error; write one to clear */
#define TANDEM_ERROR_CODE                   0x018u   /* ro: why the last launch stopped: a Fault */
#define TANDEM_ERROR_INSTRUCTION            0x01Cu   /* ro: index of the instruction at fault */
#define TANDEM_SHAPE                        0x020u   /* ro: log2 of batch, block_in, block_out; 8 bits each */
#define TANDEM_BUFFERS                      0x024u   /* ro: log2 of the bytes of UOP, INP, WGT, ACC; 8 bits each */
#define TANDEM_BUS                          0x028u   /* ro: data bits (16), address bits (8), longest burst less one (8) */
#define TANDEM_FEATURES                     0x02Cu   /* ro: extensions present, a bit each */
#define TANDEM_INSTRUCTION_ADDRESS          0x030u   /* rw: address of the program, 16-byte aligned */
#define TANDEM_INSTRUCTION_ADDRESS_HIGH     0x034u
#define TANDEM_INSTRUCTION_COUNT            0x038u   /* rw: instructions in the program */
#define TANDEM_BASE_UOP                     0x040u   /* rw: DRAM address of UOP element 0 */
#define TANDEM_BASE_UOP_HIGH                0x044u
#define TANDEM_BASE_WGT                     0x048u   /* rw: DRAM address of WGT element 0 */
#define TANDEM_BASE_WGT_HIGH                0x04Cu
#define TANDEM_BASE_INP                     0x050u   /* rw: DRAM address of INP element 0 */
#define TANDEM_BASE_INP_HIGH                0x054u
#define TANDEM_BASE_ACC                     0x058u   /* rw: DRAM address of ACC element 0 */
#define TANDEM_BASE_ACC_HIGH                0x05Cu
#define TANDEM_BASE_OUT                     0x060u   /* rw: DRAM address of OUT element 0 */
#define TANDEM_BASE_OUT_HIGH                0x064u
#define TANDEM_BASE_ACC_8BIT                0x068u   /* rw: DRAM address of ACC_8BIT element 0 */
#define TANDEM_BASE_ACC_8BIT_HIGH           0x06Cu
#define TANDEM_CYCLES                       0x100u   /* ro: cycles from launch to done (snapshot) */
#define TANDEM_CYCLES_HIGH                  0x104u
#define TANDEM_LOAD_BUSY                    0x108u   /* ro: cycles that load was busy (snapshot) */
#define TANDEM_LOAD_BUSY_HIGH               0x10Cu
#define TANDEM_LOAD_TOKEN                   0x110u   /* ro: cycles that load was token (snapshot) */
#define TANDEM_LOAD_TOKEN_HIGH              0x114u
#define TANDEM_LOAD_MEMORY                  0x118u   /* ro: cycles that load was memory (snapshot) */
#define TANDEM_LOAD_MEMORY_HIGH             0x11Cu
#define TANDEM_COMPUTE_BUSY                 0x120u   /* ro: cycles that compute was busy (snapshot) */
#define TANDEM_COMPUTE_BUSY_HIGH            0x124u
#define TANDEM_COMPUTE_TOKEN                0x128u   /* ro: cycles that compute was token (snapshot) */
#define TANDEM_COMPUTE_TOKEN_HIGH           0x12Cu
#define TANDEM_COMPUTE_MEMORY               0x130u   /* ro: cycles that compute was memory (snapshot) */
#define TANDEM_COMPUTE_MEMORY_HIGH          0x134u
#define TANDEM_STORE_BUSY                   0x138u   /* ro: cycles that store was busy (snapshot) */
#define TANDEM_STORE_BUSY_HIGH              0x13Cu
#define TANDEM_STORE_TOKEN                  0x140u   /* ro: cycles that store was token (snapshot) */
#define TANDEM_STORE_TOKEN_HIGH             0x144u
#define TANDEM_STORE_MEMORY                 0x148u   /* ro: cycles that store was memory (snapshot) */
#define TANDEM_STORE_MEMORY_HIGH            0x14Cu
#define TANDEM_LOAD_INSTRUCTION             0x180u   /* ro: index of load's instruction */
#define TANDEM_LOAD_WAITS                   0x184u   /* ro: bit 0: for pop_prev, 1: for pop_next, 8: active */
#define TANDEM_COMPUTE_INSTRUCTION          0x188u   /* ro: index of compute's instruction */
#define TANDEM_COMPUTE_WAITS                0x18Cu   /* ro: bit 0: for pop_prev, 1: for pop_next, 8: active */
#define TANDEM_STORE_INSTRUCTION            0x190u   /* ro: index of store's instruction */
#define TANDEM_STORE_WAITS                  0x194u   /* ro: bit 0: for pop_prev, 1: for pop_next, 8: active */

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
