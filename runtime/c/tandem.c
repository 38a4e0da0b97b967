/* See tandem.h. The registers are those of tandem_registers.h, which is made with the machine. */
#include "tandem.h"

#include "tandem_registers.h"

/* Compilers for machines without a system may come without <string.h>. */
void *memcpy(void *target, const void *source, size_t bytes);

/* A file: words of 32 bits, little-endian. Behind the head lie the checks, each a register and
 * what it has to read; the offsets of the base registers; the segments, each a place in memory and
 * a size; and the bytes of the segments, one behind the other. Other memory is zero. */
enum head {
    HEAD_MAGIC,
    HEAD_VERSION,
    HEAD_BYTES,    /* of the file */
    HEAD_CHECKSUM, /* of what follows */
    HEAD_MEMORY,   /* bytes of memory */
    HEAD_PROGRAM,  /* where in memory the instructions begin */
    HEAD_COUNT,    /* of instructions */
    HEAD_CHECKS,
    HEAD_BASES,
    HEAD_SEGMENTS,
    HEAD_WORDS
};
#define FILE_MAGIC 0x534E4454u /* ASCII TDNS */
#define FILE_VERSION 1u
#define POLL_MICROSECONDS 1000u
#define RESET_MICROSECONDS 1000000u

static uint32_t word(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t read_register(const struct tandem *machine, uint32_t offset)
{
    return machine->platform->read(machine->platform->context, offset);
}

static void write_register(const struct tandem *machine, uint32_t offset, uint32_t value)
{
    machine->platform->write(machine->platform->context, offset, value);
}

/* Registers of 64 bits are two, the low half first. */
static uint64_t read_long(const struct tandem *machine, uint32_t offset)
{
    uint64_t low = read_register(machine, offset);

    return low | (uint64_t)read_register(machine, offset + 4) << 32;
}

static void write_long(const struct tandem *machine, uint32_t offset, uint64_t value)
{
    write_register(machine, offset, (uint32_t)(value & 0xFFFFFFFFu));
    write_register(machine, offset + 4, (uint32_t)(value >> 32));
}

#if TANDEM_CHECKSUM && !TANDEM_PLACED
/* CRC-32 as of Ethernet and zlib, four bits at a time. */
static uint32_t checksum(const unsigned char *bytes, size_t count)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
        0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
        0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    uint32_t found = 0xFFFFFFFFu;
    size_t i;

    for (i = 0; i < count; i++) {
        found ^= bytes[i];
        found = table[found & 15u] ^ found >> 4;
        found = table[found & 15u] ^ found >> 4;
    }
    return ~found;
}
#endif

enum tandem_result tandem_open(struct tandem *machine, const struct tandem_platform *platform)
{
    static const struct tandem_fault none = {0, TANDEM_NO_INSTRUCTION, 0, {0, 0, 0}, {0, 0, 0}};

    machine->platform = platform;
    machine->fault = none;
    machine->running = 0;
    machine->set = NULL;
    if (read_register(machine, TANDEM_MAGIC) != TANDEM_MAGIC_VALUE)
        return TANDEM_RESULT_ABSENT;
    if ((read_register(machine, TANDEM_VERSION) & TANDEM_VERSION_MAJOR_MASK)
        != (TANDEM_VERSION_VALUE & TANDEM_VERSION_MAJOR_MASK))
        return TANDEM_RESULT_WRONG_VERSION;
    machine->address_bits = (read_register(machine, TANDEM_BUS) & TANDEM_BUS_ADDRESS_BITS_MASK)
        >> TANDEM_BUS_ADDRESS_BITS_SHIFT;
    /* What an earlier program left running is stopped. */
    return tandem_stop(machine);
}

static enum tandem_result check_file(const unsigned char *file, size_t bytes)
{
    uint64_t lists, end, placed = 0;
    uint32_t i, segments;

    if (bytes < 4 * HEAD_WORDS)
        return TANDEM_RESULT_DAMAGED_FILE;
    if (word(file + 4 * HEAD_MAGIC) != FILE_MAGIC || word(file + 4 * HEAD_VERSION) != FILE_VERSION)
        return TANDEM_RESULT_WRONG_FILE;
    if (word(file + 4 * HEAD_BYTES) != bytes)
        return TANDEM_RESULT_DAMAGED_FILE;
#if TANDEM_CHECKSUM && !TANDEM_PLACED
    if (checksum(file + 4 * HEAD_MEMORY, bytes - 4 * HEAD_MEMORY)
        != word(file + 4 * HEAD_CHECKSUM))
        return TANDEM_RESULT_DAMAGED_FILE;
#endif
    segments = word(file + 4 * HEAD_SEGMENTS);
    lists = (uint64_t)8 * word(file + 4 * HEAD_CHECKS) + (uint64_t)4 * word(file + 4 * HEAD_BASES);
    end = 4 * HEAD_WORDS + lists + (uint64_t)8 * segments;
    if (end > bytes)
        return TANDEM_RESULT_DAMAGED_FILE;
    for (i = 0; i < segments; i++) {
        const unsigned char *segment = file + (4 * HEAD_WORDS + lists + (uint64_t)8 * i);
        uint64_t size = word(segment + 4);

        end += size;
        if (word(segment) < placed || word(segment) + size > word(file + 4 * HEAD_MEMORY)
            || end > bytes)
            return TANDEM_RESULT_DAMAGED_FILE;
        placed = word(segment) + size;
    }
    return TANDEM_RESULT_OK;
}

static void clear(unsigned char *at, size_t bytes)
{
    static const unsigned char zeros[64];
    size_t part;

    for (; bytes != 0; bytes -= part, at += part) {
        part = bytes < sizeof zeros ? bytes : sizeof zeros;
        (void)memcpy(at, zeros, part);
    }
}

enum tandem_result tandem_load(
    struct tandem *machine, const void *file, size_t bytes, struct tandem_stream *stream)
{
    const struct tandem_platform *platform = machine->platform;
    const unsigned char *head = file, *at;
    enum tandem_result result = check_file(head, bytes);
    uint32_t i, segments, filled = 0;

    if (result != TANDEM_RESULT_OK)
        return result;
    machine->set = NULL;
    at = head + 4 * HEAD_WORDS;
    for (i = 0; i < word(head + 4 * HEAD_CHECKS); i++, at += 8)
        if (read_register(machine, word(at)) != word(at + 4))
            return TANDEM_RESULT_WRONG_MACHINE;
    stream->bases = at;
    stream->base_count = word(head + 4 * HEAD_BASES);
    stream->bytes = word(head + 4 * HEAD_MEMORY);
    stream->program = word(head + 4 * HEAD_PROGRAM);
    stream->count = word(head + 4 * HEAD_COUNT);
    stream->memory = platform->memory(platform->context, stream->bytes, &stream->address);
    if (stream->memory == NULL || stream->address % TANDEM_ALIGNMENT != 0
        || (machine->address_bits < 64
            && (stream->address + stream->bytes - 1) >> machine->address_bits != 0))
        return TANDEM_RESULT_NO_MEMORY;
    at += (size_t)4 * stream->base_count;
    segments = word(head + 4 * HEAD_SEGMENTS);
#if !TANDEM_PLACED
    const unsigned char *content = at + (size_t)8 * segments;
#endif
    for (i = 0; i < segments; i++, at += 8) {
        uint32_t begin = word(at), size = word(at + 4);

        clear(stream->memory + filled, begin - filled);
#if !TANDEM_PLACED
        (void)memcpy(stream->memory + begin, content, size);
        content += size;
#endif
        filled = begin + size;
    }
    clear(stream->memory + filled, stream->bytes - filled);
    platform->flush(platform->context, stream->memory, stream->bytes);
    return TANDEM_RESULT_OK;
}

void tandem_flush(
    struct tandem *machine, const struct tandem_stream *stream, uint32_t offset, size_t bytes)
{
    const struct tandem_platform *platform = machine->platform;

    platform->flush(platform->context, stream->memory + offset, bytes);
}

void tandem_invalidate(
    struct tandem *machine, const struct tandem_stream *stream, uint32_t offset, size_t bytes)
{
    const struct tandem_platform *platform = machine->platform;

    platform->invalidate(platform->context, stream->memory + offset, bytes);
}

void tandem_put(struct tandem *machine, const struct tandem_stream *stream, uint32_t offset,
    const void *source, size_t bytes)
{
    (void)memcpy(stream->memory + offset, source, bytes);
    tandem_flush(machine, stream, offset, bytes);
}

void tandem_get(struct tandem *machine, const struct tandem_stream *stream, uint32_t offset,
    void *target, size_t bytes)
{
    tandem_invalidate(machine, stream, offset, bytes);
    (void)memcpy(target, stream->memory + offset, bytes);
}

/* What stays in the registers from run to run. */
static void set_registers(struct tandem *machine, const struct tandem_stream *stream)
{
    uint32_t i;

    write_long(machine, TANDEM_INSTRUCTION_ADDRESS, stream->address + stream->program);
    write_register(machine, TANDEM_INSTRUCTION_COUNT, stream->count);
    for (i = 0; i < stream->base_count; i++)
        write_long(machine, word(stream->bases + (size_t)4 * i), stream->address);
    write_register(machine, TANDEM_BUS_TIMEOUT, TANDEM_BUS_LIMIT);
    write_register(machine, TANDEM_IRQ_ENABLE,
        machine->platform->wait == NULL ? 0 : TANDEM_INTERRUPT_DONE | TANDEM_INTERRUPT_ERROR);
    machine->set = stream;
}

enum tandem_result tandem_start(struct tandem *machine, const struct tandem_stream *stream)
{
    uint32_t status = read_register(machine, TANDEM_STATUS);

    if (machine->running || (status & (TANDEM_STATUS_RUNNING | TANDEM_STATUS_DRAINING)) != 0)
        return TANDEM_RESULT_BUSY;
    write_register(machine, TANDEM_IRQ_STATUS, TANDEM_INTERRUPT_DONE | TANDEM_INTERRUPT_ERROR);
    if (machine->set != stream)
        set_registers(machine, stream);
    write_register(machine, TANDEM_CONTROL, TANDEM_CONTROL_LAUNCH);
    machine->running = 1;
    if ((status & TANDEM_STATUS_FENCED) != 0
        && (read_register(machine, TANDEM_STATUS) & TANDEM_STATUS_FENCED) != 0) {
        machine->running = 0; /* refused: each ID of the bus has been given up once */
        machine->set = NULL;
        return TANDEM_RESULT_NEEDS_RESET;
    }
    return TANDEM_RESULT_OK;
}

static enum tandem_result fault_result(uint32_t code)
{
    switch (code) {
    case TANDEM_FAULT_DEADLOCK: return TANDEM_RESULT_DEADLOCK;
    case TANDEM_FAULT_BUS_READ:
    case TANDEM_FAULT_BUS_WRITE: return TANDEM_RESULT_BUS_FAULT;
    case TANDEM_FAULT_BUS_TIMEOUT: return TANDEM_RESULT_BUS_TIMEOUT;
    default: return TANDEM_RESULT_PROGRAM_FAULT;
    }
}

static enum tandem_result read_fault(struct tandem *machine)
{
    struct tandem_fault *fault = &machine->fault;
    uint32_t unit;

    fault->code = read_register(machine, TANDEM_ERROR_CODE);
    fault->instruction = read_register(machine, TANDEM_ERROR_INSTRUCTION);
    fault->address = read_long(machine, TANDEM_ERROR_ADDRESS);
    for (unit = 0; unit < 3; unit++) {
        uint32_t offset = unit * (TANDEM_COMPUTE_INSTRUCTION - TANDEM_LOAD_INSTRUCTION);

        fault->instructions[unit] = read_register(machine, TANDEM_LOAD_INSTRUCTION + offset);
        fault->waits[unit] = read_register(machine, TANDEM_LOAD_WAITS + offset);
    }
    return fault_result(fault->code);
}

enum tandem_result tandem_wait(struct tandem *machine, uint64_t microseconds)
{
    const struct tandem_platform *platform = machine->platform;
    uint64_t begin = microseconds == 0 ? 0 : platform->time(platform->context);

    if (!machine->running)
        return TANDEM_RESULT_OK;
    for (;;) {
        uint32_t status = read_register(machine, TANDEM_STATUS);
        uint64_t passed;

        if ((status & (TANDEM_STATUS_DONE | TANDEM_STATUS_ERROR)) != 0
            && (status & (TANDEM_STATUS_RUNNING | TANDEM_STATUS_DRAINING)) == 0) {
            machine->running = 0;
            write_register(
                machine, TANDEM_IRQ_STATUS, TANDEM_INTERRUPT_DONE | TANDEM_INTERRUPT_ERROR);
            if ((status & TANDEM_STATUS_DONE) != 0)
                return TANDEM_RESULT_OK;
            machine->set = NULL;
            return read_fault(machine);
        }
        passed = microseconds == 0 ? 0 : platform->time(platform->context) - begin;
        if (microseconds != 0 && passed >= microseconds) {
            enum tandem_result result = tandem_stop(machine);

            return result == TANDEM_RESULT_OK ? TANDEM_RESULT_LATE : result;
        }
        if (platform->wait != NULL) {
            uint64_t left = microseconds == 0 ? POLL_MICROSECONDS : microseconds - passed;

            platform->wait(platform->context,
                left < POLL_MICROSECONDS ? (uint32_t)left : POLL_MICROSECONDS);
        }
    }
}

enum tandem_result tandem_run(
    struct tandem *machine, const struct tandem_stream *stream, uint64_t microseconds)
{
    enum tandem_result result = tandem_start(machine, stream);

    return result == TANDEM_RESULT_OK ? tandem_wait(machine, microseconds) : result;
}

enum tandem_result tandem_stop(struct tandem *machine)
{
    const struct tandem_platform *platform = machine->platform;
    int round;

    machine->running = 0;
    machine->set = NULL;
    if ((read_register(machine, TANDEM_STATUS) & (TANDEM_STATUS_RUNNING | TANDEM_STATUS_DRAINING))
        == 0)
        return TANDEM_RESULT_OK;
    /* The second reset gives up what memory owes. */
    for (round = 0; round < 2; round++) {
        uint64_t begin = platform->time(platform->context);

        write_register(machine, TANDEM_CONTROL, TANDEM_CONTROL_SOFT_RESET);
        while (platform->time(platform->context) - begin < RESET_MICROSECONDS) {
            uint32_t status = read_register(machine, TANDEM_STATUS);

            if ((status & (TANDEM_STATUS_RUNNING | TANDEM_STATUS_DRAINING)) == 0) {
                write_register(
                    machine, TANDEM_IRQ_STATUS, TANDEM_INTERRUPT_DONE | TANDEM_INTERRUPT_ERROR);
                return TANDEM_RESULT_OK;
            }
        }
    }
    return TANDEM_RESULT_NEEDS_RESET;
}

const struct tandem_fault *tandem_fault(const struct tandem *machine)
{
    return &machine->fault;
}

uint64_t tandem_cycles(struct tandem *machine)
{
    return read_long(machine, TANDEM_CYCLES);
}

const char *tandem_text(enum tandem_result result)
{
    switch (result) {
    case TANDEM_RESULT_OK: return "as it should be";
    case TANDEM_RESULT_ABSENT: return "no machine at these addresses";
    case TANDEM_RESULT_WRONG_VERSION: return "the machine's register map has another version";
    case TANDEM_RESULT_WRONG_MACHINE: return "compiled for a machine of another configuration";
    case TANDEM_RESULT_WRONG_FILE: return "no stream of this version";
    case TANDEM_RESULT_DAMAGED_FILE: return "the stream is cut off or damaged";
    case TANDEM_RESULT_NO_MEMORY: return "no memory that the machine can address";
    case TANDEM_RESULT_BUSY: return "a run has not ended";
    case TANDEM_RESULT_LATE: return "the run did not end in time, and was stopped";
    case TANDEM_RESULT_PROGRAM_FAULT: return "an instruction breaks a rule";
    case TANDEM_RESULT_DEADLOCK: return "no unit can ever proceed";
    case TANDEM_RESULT_BUS_FAULT: return "memory answered an access with an error";
    case TANDEM_RESULT_BUS_TIMEOUT: return "memory did not answer";
    case TANDEM_RESULT_NEEDS_RESET: return "only ARESETn brings the machine back";
    }
    return "an unknown result";
}
