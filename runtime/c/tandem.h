/* Drives a Tandem accelerator through its registers.
 *
 * C99. No heap, no global state, and of the C library nothing but memcpy. One struct tandem is one
 * machine; a machine runs one stream at a time.
 *
 *     tandem_open      finds the machine, and checks that it is one
 *     tandem_load      places a stream's weights and instructions in memory, once
 *     tandem_put       an input of a run
 *     tandem_run       starts the machine and waits; or tandem_start, and later tandem_wait
 *     tandem_get       an output of a run
 *     tandem_flush, tandem_invalidate    of inputs and outputs that stay in the machine's memory
 *     tandem_fault     what a run that failed was stopped by
 *
 * What differs from system to system is a struct tandem_platform of seven functions.
 */
#ifndef TANDEM_H
#define TANDEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TANDEM_ALIGNMENT 4096u /* of the memory that a platform gives, in bytes */
#ifndef TANDEM_BUS_LIMIT
#define TANDEM_BUS_LIMIT 1000000u /* cycles in which a bus may stand still; 0: any number */
#endif
#ifndef TANDEM_CHECKSUM
#define TANDEM_CHECKSUM 1 /* 0: files that are as safe as the program; their bytes are not summed */
#endif
#ifndef TANDEM_PLACED
#define TANDEM_PLACED 0 /* 1: segments lie in memory already, and files end with their lists */
#endif

/* How a call ended. */
enum tandem_result {
    TANDEM_RESULT_OK = 0,
    TANDEM_RESULT_ABSENT,        /* nothing at these addresses says that it is the machine */
    TANDEM_RESULT_WRONG_VERSION, /* its register map has another major version */
    TANDEM_RESULT_WRONG_MACHINE, /* the stream was compiled for another configuration */
    TANDEM_RESULT_WRONG_FILE,    /* no stream, or of another version of the format */
    TANDEM_RESULT_DAMAGED_FILE,  /* cut off, or changed: its checksum is wrong */
    TANDEM_RESULT_NO_MEMORY,     /* the platform has none, or none that the machine can address */
    TANDEM_RESULT_BUSY,          /* a run has not ended */
    TANDEM_RESULT_LATE,          /* it did not end in time, and was stopped */
    TANDEM_RESULT_PROGRAM_FAULT, /* an instruction breaks a rule: see tandem_fault */
    TANDEM_RESULT_DEADLOCK,      /* no unit could ever proceed */
    TANDEM_RESULT_BUS_FAULT,     /* memory answered an access with an error */
    TANDEM_RESULT_BUS_TIMEOUT,   /* memory did not answer */
    TANDEM_RESULT_NEEDS_RESET    /* only ARESETn brings the machine back */
};

/* What the system around the machine does. Pointers are never kept beyond the platform's life. */
struct tandem_platform {
    void *context; /* passed to every function */
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
    /* Memory that the machine can reach, at a multiple of TANDEM_ALIGNMENT of its addresses: returns
     * where the processor sees it and sets *address to where the machine does; NULL if there is
     * none. It is never given back. */
    void *(*memory)(void *context, size_t bytes, uint64_t *address);
    /* What the processor wrote there becomes visible to the machine. */
    void (*flush)(void *context, const void *begin, size_t bytes);
    /* What the machine wrote there becomes visible to the processor. */
    void (*invalidate)(void *context, void *begin, size_t bytes);
    /* Returns when the machine's interrupt is high, or after at most so many microseconds, or
     * earlier. NULL: the runtime polls, and never enables the interrupt. */
    void (*wait)(void *context, uint32_t microseconds);
    /* Microseconds that only grow, from any beginning. */
    uint64_t (*time)(void *context);
};

/* What stopped a run. */
struct tandem_fault {
    uint32_t code;           /* register error_code */
    uint32_t instruction;    /* register error_instruction; UINT32_MAX: none */
    uint64_t address;        /* of a bus that did not answer: the oldest access */
    uint32_t instructions[3]; /* of load, compute, store: the instruction that each has */
    uint32_t waits[3];       /* and which tokens it waits for: registers load_waits and so on */
};

/* A machine. The fields are the runtime's own. */
struct tandem {
    const struct tandem_platform *platform;
    struct tandem_fault fault;
    uint32_t address_bits;
    int running;
    const struct tandem_stream *set; /* whose addresses the registers hold; NULL: nobody's */
};

/* A stream in the machine's memory. The fields may be read. */
struct tandem_stream {
    unsigned char *memory; /* where the processor sees it */
    uint64_t address;      /* where the machine does */
    uint32_t bytes;
    uint32_t program;      /* offset of the instructions */
    uint32_t count;        /* of instructions */
    const unsigned char *bases; /* offsets of base registers, in the file */
    uint32_t base_count;
};

enum tandem_result tandem_open(struct tandem *machine, const struct tandem_platform *platform);

/* `file` is what tandem export wrote; it is read here, and its list of base registers at each
 * start, so that it has to stay. */
enum tandem_result tandem_load(
    struct tandem *machine, const void *file, size_t bytes, struct tandem_stream *stream);

void tandem_put(struct tandem *machine, const struct tandem_stream *stream, uint32_t offset,
    const void *source, size_t bytes);
void tandem_get(struct tandem *machine, const struct tandem_stream *stream, uint32_t offset,
    void *target, size_t bytes);
/* The same without a copy, for what is written and read at stream->memory + offset itself: after
 * it was written and before the run, and after the run and before it is read. */
void tandem_flush(
    struct tandem *machine, const struct tandem_stream *stream, uint32_t offset, size_t bytes);
void tandem_invalidate(
    struct tandem *machine, const struct tandem_stream *stream, uint32_t offset, size_t bytes);

/* `microseconds` limits the wait; 0: without a limit. A run that is late is stopped. */
enum tandem_result tandem_start(struct tandem *machine, const struct tandem_stream *stream);
enum tandem_result tandem_wait(struct tandem *machine, uint64_t microseconds);
enum tandem_result tandem_run(
    struct tandem *machine, const struct tandem_stream *stream, uint64_t microseconds);

/* Stops what runs, and brings the machine back to idle. */
enum tandem_result tandem_stop(struct tandem *machine);

/* Of the last run that failed. */
const struct tandem_fault *tandem_fault(const struct tandem *machine);
/* The cycles of the last run. */
uint64_t tandem_cycles(struct tandem *machine);
/* A result in words. */
const char *tandem_text(enum tandem_result result);

#ifdef __cplusplus
}
#endif

#endif /* TANDEM_H */
