/*
 * An arena: memory that is freed all at once. Operations use an arena for scratch memory, and every
 * document (value.h) lives in one. Blocks double from 1 KiB (many documents are small) to 64 KiB; a
 * larger allocation gets a block of its own.
 *
 * Threads: only one thread may allocate at a time. Reading allocated memory needs no lock.
 */
#pragma once

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
