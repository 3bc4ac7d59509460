/*
 * The names and UIDs of the objects that a watch has shown. When the watch has
 * to list again, they tell which objects are gone. Not thread-safe.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/strmap.h"
#include "engine/value/value.h"

struct known {
    struct strmap objects;
    unsigned generation; /* of the list that is being read */
    size_t bytes;        /* that the objects take */
    bool is_bounded;     /* a tenant chooses how many there are: at most KNOWN_BYTES. Of more, it is
                            not told that they are gone */
};
#define KNOWN_BYTES (512u << 10)

typedef void known_on_gone(void *arg, const struct value *metadata_only);

void known_init(struct known *known);
void known_done(struct known *known);

/* Remembers an object. If an object of that name and another UID was known, that one is gone. */
void known_put(struct known *known, const struct value *object, known_on_gone *on_gone, void *arg);
void known_remove(struct known *known, const struct value *object);

/* A list begins, or begins again. When it is complete, objects that were not put since it began are
 * given to on_gone and forgotten. */
void known_begin_list(struct known *known);
void known_end_list(struct known *known, known_on_gone *on_gone, void *arg);
