/*
 * Memory that is freed all at once: a scratch arena per operation, and the
 * ground under every document (value.h). Blocks double from 1 KiB (a
 * document is often small) to 64 KiB; what is larger gets a block of its own.
 *
 * Not for sharing between threads while allocating; reading what was
 * allocated needs no lock.
 */
#ifndef ENGINE_BASE_ARENA_H
#define ENGINE_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "engine/base/cleanup.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    char *next, *end;
    size_t block_size;
    size_t used; /* bytes handed out */
};

#define ARENA_INIT {0}

void arena_init(struct arena *arena);
void arena_done(struct arena *arena); /* accepts an arena that is all zeroes */

/* Zeroed, aligned for any type; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_alloc_array(struct arena *arena, size_t count, size_t size);

char *arena_str(struct arena *arena, const char *s); /* NULL stays NULL */
char *arena_str_n(struct arena *arena, const char *s, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) \
    ((type *)arena_alloc_array((arena), (count), sizeof(type)))

#endif
