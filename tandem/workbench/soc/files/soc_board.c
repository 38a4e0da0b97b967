/* See soc_board.h. Addresses are those of soc.h, which is made with the system. */
#include "soc_board.h"

#include "soc.h"
#include "tandem_bare.h"

#define END_OF_TRANSMISSION 4u

static volatile uint32_t *register_at(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

uint64_t soc_cycles(void)
{
    return *register_at(SOC_CLOCK_CYCLES);
}

static void put(uint32_t byte)
{
    while (*register_at(SOC_UART_TXFULL) != 0) {}
    *register_at(SOC_UART_RXTX) = byte;
}

void soc_text(const char *text)
{
    for (; *text != '\0'; text++)
        put((unsigned char)*text);
}

void soc_number(uint32_t number)
{
    char digits[11];
    int at = sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    soc_text(digits + at);
}

void soc_end(int status)
{
    put(END_OF_TRANSMISSION);
    put((uint32_t)status);
    for (;;) {}
}

static uint64_t microseconds(void)
{
    return *register_at(SOC_CLOCK_MICROSECONDS);
}

#ifdef SOC_DATA_CACHE
/* What was invalidated last: outputs. */
static const volatile unsigned char *outputs;
static size_t output_bytes;

/* VexRiscv's data cache writes through, so that what the processor writes is in memory at once; and
 * it has an instruction that empties it, and none for a range. SOC_NO_INVALIDATE is for tests. */
static void empty_cache(void *begin, size_t bytes)
{
    outputs = begin;
    output_bytes = bytes;
#ifndef SOC_NO_INVALIDATE
    __asm__ volatile(".word 0x500F" ::: "memory");
#endif
}
#define INVALIDATE empty_cache
#else
#define INVALIDATE NULL
#endif

#ifdef SOC_INTERRUPTS
extern volatile int soc_interrupted;
volatile int soc_interrupted; /* start.S sets it at each interrupt */
#endif

#if defined SOC_INTERRUPTS && !defined SOC_POLL
/* VexRiscv's array of external interrupts: a CSR masks them. */
#define CSR(instruction) \
    ".option push\n.option arch, +zicsr\n" instruction "\n.option pop"
#define MASK "0xBC0"
static void wait_for_interrupt(uint32_t limit)
{
    uint64_t begin = microseconds();

#ifdef SOC_LOOK
    /* For tests: the outputs of the run before are in the cache when the machine writes new ones. */
    for (size_t i = 0; i < output_bytes; i++)
        (void)outputs[i];
#endif
    soc_interrupted = 0;
    __asm__ volatile(CSR("csrw " MASK ", %0") ::"r"(1u << SOC_TANDEM_INTERRUPT));
    __asm__ volatile(CSR("csrsi mstatus, 8") ::: "memory");
    while (!soc_interrupted && microseconds() - begin < limit) {}
    __asm__ volatile(CSR("csrci mstatus, 8") ::: "memory");
    __asm__ volatile(CSR("csrw " MASK ", zero"));
}
#define WAIT wait_for_interrupt
#else
#define WAIT NULL
#endif

const struct tandem_platform *board_platform(void)
{
    static struct tandem_bare board;

    board.registers = register_at(SOC_TANDEM);
    board.memory = (unsigned char *)(uintptr_t)SOC_MAIN_RAM;
    board.address = SOC_MAIN_RAM;
    board.bytes = SOC_MAIN_RAM_BYTES;
    board.flush = NULL;
    board.invalidate = INVALIDATE;
    board.wait = WAIT;
    board.time = microseconds;
    return tandem_bare(&board);
}
