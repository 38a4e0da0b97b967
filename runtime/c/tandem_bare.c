/* See tandem_bare.h. */
#include "tandem_bare.h"

static uint32_t read_register(void *context, uint32_t offset)
{
    const struct tandem_bare *board = context;

    return board->registers[offset / 4];
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    const struct tandem_bare *board = context;

    board->registers[offset / 4] = value;
}

static void *take(void *context, size_t bytes, uint64_t *address)
{
    struct tandem_bare *board = context;
    size_t begin = board->used;

    if (bytes > board->bytes - begin)
        return NULL;
    bytes = (bytes + TANDEM_ALIGNMENT - 1) / TANDEM_ALIGNMENT * TANDEM_ALIGNMENT;
    board->used = bytes > board->bytes - begin ? board->bytes : begin + bytes;
    *address = board->address + begin;
    return board->memory + begin;
}

static void flush(void *context, const void *begin, size_t bytes)
{
    const struct tandem_bare *board = context;

    if (board->flush != NULL)
        board->flush(begin, bytes);
}

static void invalidate(void *context, void *begin, size_t bytes)
{
    const struct tandem_bare *board = context;

    if (board->invalidate != NULL)
        board->invalidate(begin, bytes);
}

static void wait_for_interrupt(void *context, uint32_t microseconds)
{
    const struct tandem_bare *board = context;

    board->wait(microseconds);
}

static uint64_t microseconds_now(void *context)
{
    const struct tandem_bare *board = context;

    return board->time == NULL ? 0 : board->time();
}

const struct tandem_platform *tandem_bare(struct tandem_bare *board)
{
    board->used = 0;
    board->platform.context = board;
    board->platform.read = read_register;
    board->platform.write = write_register;
    board->platform.memory = take;
    board->platform.flush = flush;
    board->platform.invalidate = invalidate;
    board->platform.wait = board->wait == NULL ? NULL : wait_for_interrupt;
    board->platform.time = microseconds_now;
    return &board->platform;
}
