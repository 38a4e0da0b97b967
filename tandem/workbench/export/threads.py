"""Threads of a library: POSIX's, in C99, beside the library itself, which needs none."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Final

_HEADER: Final = Template("""\
/* Threads for $name: those of POSIX. Made by Tandem. */
#ifndef ${upper}_THREADS_H
#define ${upper}_THREADS_H

#include <pthread.h>

#include "$name.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pool of threads, in memory of the program's. Its members are the pool's own. */
struct ${name}_pool {
    struct ${name}_launcher launcher;
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    pthread_t helpers[${upper}_THREADS];
    int started, active, busy, stopping;
    unsigned long round;
    ${name}_task *task;
    void *closure;
    int64_t next, count, chunk;
};

/* Starts the threads beside the calling one, fewer where the system has no more, and returns
 * what ${name}_run takes. While a run has the pool, other runs do their work alone. */
struct ${name}_launcher *${name}_pool_start(struct ${name}_pool *pool);

/* Ends the threads. */
void ${name}_pool_stop(struct ${name}_pool *pool);

#ifdef __cplusplus
}
#endif

#endif /* ${upper}_THREADS_H */
""")
_SOURCE: Final = Template("""\
/* Threads for $name: see ${name}_threads.h. Made by Tandem. */
#define _POSIX_C_SOURCE 200809L

#include "${name}_threads.h"

#include <stddef.h>

/* Chunks that a thread takes of a loop, if all take as many. */
enum { CHUNKS = 4 };

/* Runs chunks of the loop until there are no more; holds the lock, but for the work. */
static void work(struct ${name}_pool *pool, int64_t worker)
{
    while (pool->next < pool->count) {
        int64_t begin = pool->next;
        int64_t end = pool->count - begin > pool->chunk ? begin + pool->chunk : pool->count;

        pool->next = end;
        pthread_mutex_unlock(&pool->lock);
        pool->task(pool->closure, begin, end, worker);
        pthread_mutex_lock(&pool->lock);
    }
}

static void launch(struct ${name}_launcher *self, ${name}_task *task, void *closure, int64_t count)
{
    struct ${name}_pool *pool = (struct ${name}_pool *)(void *)self;

    pthread_mutex_lock(&pool->lock);
    if (pool->busy || count < 2) {
        pthread_mutex_unlock(&pool->lock);
        task(closure, 0, count, 0);
        return;
    }
    pool->busy = 1;
    pool->task = task;
    pool->closure = closure;
    pool->next = 0;
    pool->count = count;
    pool->chunk = count / ((pool->started + 1) * CHUNKS);
    if (pool->chunk < 1) pool->chunk = 1;
    pool->round++;
    pthread_cond_broadcast(&pool->begun);
    work(pool, 0);
    while (pool->active) pthread_cond_wait(&pool->ended, &pool->lock);
    pool->busy = 0;
    pthread_mutex_unlock(&pool->lock);
}

static void *help(void *argument)
{
    struct ${name}_pool *pool = argument;
    unsigned long seen;
    int worker;

    pthread_mutex_lock(&pool->lock);
    worker = ++pool->started;
    seen = pool->round;
    pthread_cond_signal(&pool->ended);
    while (!pool->stopping) {
        if (pool->round == seen) {
            pthread_cond_wait(&pool->begun, &pool->lock);
            continue;
        }
        seen = pool->round;
        pool->active++;
        work(pool, worker);
        if (--pool->active == 0) pthread_cond_signal(&pool->ended);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct ${name}_launcher *${name}_pool_start(struct ${name}_pool *pool)
{
    int made = 0;

    pool->launcher.launch = launch;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->begun, NULL);
    pthread_cond_init(&pool->ended, NULL);
    pool->started = pool->active = pool->busy = pool->stopping = 0;
    pool->round = 0;
    pool->next = pool->count = 0;
    while (made + 1 < ${upper}_THREADS
        && pthread_create(&pool->helpers[made], NULL, help, pool) == 0)
        made++;
    pthread_mutex_lock(&pool->lock);
    while (pool->started < made) pthread_cond_wait(&pool->ended, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return &pool->launcher;
}

void ${name}_pool_stop(struct ${name}_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stopping = 1;
    pthread_cond_broadcast(&pool->begun);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->helpers[i], NULL);
    pthread_cond_destroy(&pool->begun);
    pthread_cond_destroy(&pool->ended);
    pthread_mutex_destroy(&pool->lock);
}
""")


def thread_files(name: str) -> Mapping[str, str]:
    """The files by name: a pool of threads that runs of a library can take."""
    names = {"name": name, "upper": name.upper()}
    return {
        f"{name}_threads.h": _HEADER.substitute(names),
        f"{name}_threads.c": _SOURCE.substitute(names),
    }
