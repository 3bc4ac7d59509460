/*
 * Which objects a watch has shown: their names and UIDs and nothing more, so
 * that a new list can tell which are gone. Not thread-safe.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_KNOWN_H
#define RUNTIMES_KUBERNETES_CLIENT_KNOWN_H

#include "engine/base/strmap.h"
#include "engine/base/value.h"

struct known {
    struct strmap objects;
    unsigned generation; /* of the list that is being read */
};

typedef void known_on_gone(void *arg, const struct value *metadata_only);

void known_init(struct known *known);
void known_done(struct known *known);

/* Remembers an object. If another of its name was there before, that is given to on_gone. */
void known_put(struct known *known, const struct value *object, known_on_gone *on_gone, void *arg);
void known_remove(struct known *known, const struct value *object);

/* A list begins, or begins again; when it is complete, what was not put since is given to on_gone
 * and forgotten. */
void known_begin_list(struct known *known);
void known_end_list(struct known *known, known_on_gone *on_gone, void *arg);

#endif
