/*
 * Scope-bound ownership, as systemd and crun do it.
 *
 * A local that owns something is declared with _cleanup_(destructor_p); the
 * destructor runs on every way out of the scope. TAKE(p) moves ownership out:
 * it yields the pointer and leaves NULL behind. Every destructor in this
 * project accepts NULL.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

#define TAKE(p)                      \
    ({                               \
        __typeof__(p) *_pp = &(p);   \
        __typeof__(p) _taken = *_pp; \
        *_pp = NULL;                 \
        _taken;                      \
    })

/* Defines name_p(), which destroys the pointer that a local variable holds. */
#define DEFINE_CLEANUP(type, destroy)            \
    static inline void destroy##_p(type *object) \
    {                                            \
        if (*object)                             \
            destroy(*object);                    \
    }

static inline void free_p(void *pointer)
{
    free(*(void **)pointer);
}
#define _cleanup_free_ _cleanup_(free_p)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The struct of which *pointer is that member. */
#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
