/* The platform of a Linux program: registers and interrupt by UIO, memory by u-dma-buf. */
#ifndef TANDEM_UIO_H
#define TANDEM_UIO_H

#include "tandem_bare.h"

/* The fields are the platform's own. */
struct tandem_uio {
    struct tandem_bare board; /* first: functions of the platform get its address */
    int interrupts;           /* file of the UIO device */
    int buffer;               /* file of the memory */
};

/* Opens a UIO device such as "/dev/uio0", whose first map has the registers, and memory such as
 * "udmabuf0", whose size and address stand in /sys/class/u-dma-buf. Returns NULL, with errno set, if
 * one of them cannot be used. The platform stays open as long as the program runs. */
const struct tandem_platform *tandem_uio(
    struct tandem_uio *uio, const char *device, const char *memory);

#endif /* TANDEM_UIO_H */
