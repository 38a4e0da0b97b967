/* The platform of a Linux program: registers and interrupt by UIO, memory by u-dma-buf. */
#ifndef TANDEM_UIO_H
#define TANDEM_UIO_H

#include "tandem.h"

struct tandem_uio {
    volatile uint32_t *registers;
    unsigned char *memory;
    uint64_t address;
    size_t bytes;
    size_t used;
    int interrupts; /* file of the UIO device */
    int buffer;     /* file of the memory */
    struct tandem_platform platform;
};

/* Opens a UIO device such as "/dev/uio0", whose first map has the registers, and memory such as
 * "udmabuf0", whose size and address stand in /sys/class/u-dma-buf. Returns NULL, with errno set, if
 * one of them cannot be used. The platform stays open as long as the program runs. */
const struct tandem_platform *tandem_uio(
    struct tandem_uio *uio, const char *device, const char *memory);

#endif /* TANDEM_UIO_H */
