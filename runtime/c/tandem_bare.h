/* The platform of a processor without a system, which sees registers and memory at addresses. */
#ifndef TANDEM_BARE_H
#define TANDEM_BARE_H

#include "tandem.h"

/* What a board is. Functions that it does not need are NULL. */
struct tandem_bare {
    volatile uint32_t *registers;
    unsigned char *memory; /* for the machine alone, at a multiple of TANDEM_ALIGNMENT */
    uint64_t address;      /* where the machine sees that memory */
    size_t bytes;
    void (*flush)(const void *begin, size_t bytes);  /* writes the data cache back */
    void (*invalidate)(void *begin, size_t bytes);   /* drops what the data cache has */
    void (*wait)(uint32_t microseconds);             /* until the machine's interrupt */
    uint64_t (*time)(void);                          /* microseconds */
    /* The runtime's own. */
    size_t used;
    struct tandem_platform platform;
};

/* The platform of a board, which has to stay where it is. */
const struct tandem_platform *tandem_bare(struct tandem_bare *board);

#endif /* TANDEM_BARE_H */
