/* A vector table for Cortex-M boards: switches the FPU on and starts the C library. */
#include <stdint.h>

extern unsigned char stack_top[];
extern void _start(void);

static void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* CPACR: coprocessors 10 and 11 */
    __asm__ volatile("dsb\n isb");
    _start();
}

static void fault(void)
{
    for (;;) __asm__ volatile("bkpt 0"); /* the emulator ends here */
}

__attribute__((section(".vectors"), used)) static void *const vectors[7] = {
    stack_top, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault,
};
