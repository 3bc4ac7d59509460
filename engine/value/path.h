/*
 * Field paths in two notations. For people, as in the API server's messages:
 *   spec.containers[0].env, metadata.annotations[example.com/x]
 * For machines, JSON pointers (RFC 6901):
 *   /spec/containers/0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buf.h"
#include "engine/value/value.h"

/* A path under construction, as a stack of steps. */
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
 * Looks up a path in the notation for people; a list index may also be written .0. NULL: not found.
 * *ret_reached (may be NULL): how many bytes of the path were found. A key that contains dots is
 * written in brackets; ["quoted"] works too.
 */
const struct value *path_find(const struct value *root, const char *path, size_t *ret_reached);

/* False if the path is malformed; the error says where and why. */
bool path_check(const char *path, struct error *error);
/* The end of the step that begins at `at` in the path, and the step as text: a key without
 * brackets, quotes and escapes, or an index. NULL: the path ends there, or is malformed. */
const char *path_step(const char *path, const char *at, struct buf *ret_step);

/* JSON pointers. NULL: not there. */
const struct value *pointer_find(const struct value *root, const char *pointer);
void pointer_add(struct buf *to, const char *key, size_t length); /* "/" and the key, escaped */

/* A copy of root with the value at a pointer replaced or (with NULL) removed. If the pointer leads
 * nowhere: a reference to root. NULL: past a bound of limits.h, or the root was removed. */
const struct value *pointer_replace(const struct value *root, const char *pointer,
                                    const struct value *with);
