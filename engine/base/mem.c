#include "engine/base/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define FIRST_CAPACITY 8

static _Noreturn void out_of_memory(size_t count, size_t size)
{
    fprintf(stderr, "out of memory: %zu x %zu bytes\n", count, size);
    abort();
}

void *mem_new(size_t size)
{
    return mem_new_array(1, size);
}

void *mem_new_array(size_t count, size_t size)
{
    void *pointer = calloc(count ? count : 1, size ? size : 1);

    if (!pointer)
        out_of_memory(count, size);
    return pointer;
}

void *mem_resize(void *pointer, size_t count, size_t size)
{
    void *moved;

    if (!count || !size) {
        count = 1;
        size = 1;
    }
    moved = reallocarray(pointer, count, size);
    if (!moved)
        out_of_memory(count, size);
    return moved;
}

void *mem_grow(void *array, size_t count, size_t *capacity, size_t size)
{
    size_t larger;

    if (count < *capacity)
        return array;
    larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    if (larger <= count)
        out_of_memory(count, size);
    array = mem_resize(array, larger, size);
    *capacity = larger;
    return array;
}
