/* See tandem_uio.h. The buffer is opened with O_SYNC, so that the processor does not cache it: nothing
 * is to be flushed, and a barrier keeps the order. */
#define _POSIX_C_SOURCE 200809L

#include "tandem_uio.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define REGISTER_BYTES 4096

static void flush(void *context, const void *begin, size_t bytes)
{
    (void)context, (void)begin, (void)bytes;
    __sync_synchronize();
}

static void invalidate(void *context, void *begin, size_t bytes)
{
    (void)context, (void)begin, (void)bytes;
    __sync_synchronize();
}

/* The kernel masks the interrupt when it comes, until 1 is written. */
static void wait_for_interrupt(void *context, uint32_t microseconds)
{
    const struct tandem_uio *uio = context; /* which begins with the board */
    struct pollfd file = {uio->interrupts, POLLIN, 0};
    uint32_t number = 1;

    if (write(uio->interrupts, &number, sizeof number) != (ssize_t)sizeof number)
        return;
    if (poll(&file, 1, (int)(microseconds / 1000) + 1) == 1
        && read(uio->interrupts, &number, sizeof number) != (ssize_t)sizeof number)
        return;
}

static uint64_t microseconds_now(void *context)
{
    struct timespec now;

    (void)context;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* The number in a file of sysfs; 0 if there is none. */
static uint64_t number_in(const char *memory, const char *what)
{
    char path[128];
    unsigned long long found = 0;
    FILE *file;

    if (snprintf(path, sizeof path, "/sys/class/u-dma-buf/%s/%s", memory, what) >= (int)sizeof path)
        return 0;
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lli", (long long *)&found) != 1)
        found = 0;
    (void)fclose(file);
    return found;
}

const struct tandem_platform *tandem_uio(
    struct tandem_uio *uio, const char *device, const char *memory)
{
    char path[128];
    void *registers, *buffer;
    struct tandem_platform *platform = &uio->board.platform;

    uio->board.address = number_in(memory, "phys_addr");
    uio->board.bytes = (size_t)number_in(memory, "size");
    uio->interrupts = -1;
    uio->buffer = -1;
    if (uio->board.bytes == 0 || snprintf(path, sizeof path, "/dev/%s", memory) >= (int)sizeof path) {
        errno = ENODEV;
        return NULL;
    }
    uio->interrupts = open(device, O_RDWR);
    if (uio->interrupts < 0)
        return NULL;
    uio->buffer = open(path, O_RDWR | O_SYNC);
    if (uio->buffer < 0) {
        (void)close(uio->interrupts);
        return NULL;
    }
    registers = mmap(NULL, REGISTER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, uio->interrupts, 0);
    buffer = mmap(NULL, uio->board.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, uio->buffer, 0);
    if (registers == MAP_FAILED || buffer == MAP_FAILED) {
        (void)close(uio->buffer);
        (void)close(uio->interrupts);
        return NULL;
    }
    uio->board.registers = registers;
    uio->board.memory = buffer;
    uio->board.wait = NULL;
    (void)tandem_bare(&uio->board);
    platform->flush = flush;
    platform->invalidate = invalidate;
    platform->wait = wait_for_interrupt;
    platform->time = microseconds_now;
    return platform;
}
