/*
 * Field paths: one notation for people, one for machines.
 *
 * For people, as the API server writes them in causes:
 *   spec.containers[0].env, metadata.annotations[example.com/x]
 * For machines, JSON pointers (RFC 6901): /spec/containers/0
 */
#ifndef ENGINE_BASE_PATH_H
#define ENGINE_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buf.h"
#include "engine/base/value.h"

/* A path in the making, as a stack. */
struct path {
    struct buf text;
    size_t *marks; /* lengths of text before each step */
    size_t depth, capacity;
};

void path_init(struct path *path);
void path_done(struct path *path);
void path_push_key(struct path *path, const char *key);   /* .key, [key.with.dots], ["[any]"] */
void path_push_index(struct path *path, size_t index);    /* [3] */
void path_pop(struct path *path);
const char *path_text(const struct path *path); /* borrowed, until the next change */

/*
 * Looks up a path for people, which may also be written with .0 for [0].
 * NULL: not there. In *ret_reached (may be NULL) goes how many bytes of the
 * path were found, to say where it ended. A key that holds dots is written
 * in brackets; ["quoted"] works too.
 */
const struct value *path_find(const struct value *root, const char *path, size_t *ret_reached);

/* False, with where and why, for a path that is not well formed. */
bool path_check(const char *path, struct error *error);

/* JSON pointers. NULL: not there. */
const struct value *pointer_find(const struct value *root, const char *pointer);
void pointer_add(struct buf *to, const char *key, size_t length); /* "/" and the key, escaped */

/* root with the value at a pointer replaced (or, with NULL, removed). Where
 * the pointer leads nowhere, root comes back, referenced once more. Past a
 * bound of limits.h, and for the root removed: NULL. */
const struct value *pointer_replace(const struct value *root, const char *pointer,
                                    const struct value *with);

#endif
