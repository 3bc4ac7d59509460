#include "engine/base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define FIRST_BLOCK ((size_t)1 << 8)
#define LAST_BLOCK  ((size_t)64 << 10)

/* Block sizes, including the header, are sizes that malloc() serves without waste. */
struct arena_block {
    struct arena_block *next;
    alignas(max_align_t) char data[];
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena)ARENA_INIT;
}

void arena_done(struct arena *arena)
{
    struct arena_block *block = arena->blocks;

    while (block) {
        struct arena_block *next = block->next;

        free(block);
        block = next;
    }
    arena_init(arena);
}

static struct arena_block *add_block(struct arena *arena, size_t size)
{
    struct arena_block *block;

    if (size > SIZE_MAX / 2)
        abort();
    block = mem_resize(NULL, sizeof(*block) + size, 1);
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

static char *take_from_new_block(struct arena *arena, size_t size)
{
    struct arena_block *block;

    if (size > LAST_BLOCK / 4)
        return add_block(arena, size)->data;
    if (!arena->block_size)
        arena->block_size = FIRST_BLOCK;
    while (arena->block_size - sizeof(*block) < size)
        arena->block_size *= 2;
    block = add_block(arena, arena->block_size - sizeof(*block));
    arena->next = block->data + size;
    arena->end = block->data + arena->block_size - sizeof(*block);
    if (arena->block_size < LAST_BLOCK)
        arena->block_size *= 2;
    return block->data;
}

static inline char *take(struct arena *arena, size_t size, size_t alignment)
{
    size_t gap = -(uintptr_t)arena->next & (alignment - 1);
    size_t room = (size_t)(arena->end - arena->next);
    char *start;

    arena->used += size;
    if (gap > room || size > room - gap)
        return take_from_new_block(arena, size);
    start = arena->next + gap;
    arena->next = start + size;
    return start;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    return memset(take(arena, size ? size : 1, alignof(max_align_t)), 0, size);
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        fprintf(stderr, "out of memory: %zu x %zu bytes\n", count, size);
        abort();
    }
    return arena_alloc(arena, bytes);
}

char *arena_str(struct arena *arena, const char *s)
{
    return s ? arena_str_n(arena, s, strlen(s)) : NULL;
}

char *arena_str_n(struct arena *arena, const char *s, size_t length)
{
    char *copy = take(arena, length + 1, 1);

    if (length)
        memcpy(copy, s, length);
    copy[length] = '\0';
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    int length;
    char *text;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        abort();
    text = take(arena, (size_t)length + 1, 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
