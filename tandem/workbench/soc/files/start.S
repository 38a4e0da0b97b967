/* Where the processor begins: a stack, variables, and main. */
#ifdef SOC_INTERRUPTS
    .option arch, +zicsr
#endif
    .section .text.start, "ax"
    .global _start
_start:
    j reset
#ifdef SOC_INTERRUPTS
    .balign 4
trap:
    /* The cause stays until the runtime clears it: VexRiscv's mask is emptied. */
    addi sp, sp, -16
    sw t0, 0(sp)
    sw t1, 4(sp)
    csrw 0xBC0, zero
    la t0, soc_interrupted
    li t1, 1
    sw t1, 0(t0)
    lw t0, 0(sp)
    lw t1, 4(sp)
    addi sp, sp, 16
    mret
#endif
reset:
    la sp, stack_end
#ifdef SOC_INTERRUPTS
    la t0, trap
    csrw mtvec, t0
    li t0, 0x800 /* external interrupts; which of them, and when, the board says */
    csrw mie, t0
#endif
    la t0, data_begin
    la t1, data_end
    la t2, data_image
1:  bgeu t0, t1, 2f
    lw t3, 0(t2)
    sw t3, 0(t0)
    addi t0, t0, 4
    addi t2, t2, 4
    j 1b
2:  la t0, zero_begin
    la t1, zero_end
3:  bgeu t0, t1, 4f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 3b
4:  call main
5:  j 5b
