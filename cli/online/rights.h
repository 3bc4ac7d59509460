/*
 * The rights that the operator says a Spec's ServiceAccount lacks: read from the commands that its
 * messages offer ("to allow it: kubectl create role … && kubectl create rolebinding …"). Pure.
 */
#pragma once

#include "cli/online/objects.h"

/* One grant: a role and its binding. */
struct grant {
    char *command;                      /* as it is offered */
    const struct value *role, *binding; /* references; NULL: the command is of another form */
    const char *what;                   /* borrowed from command: "secrets" */
};

struct grants {
    struct grant *items;
    size_t count, capacity;
};
void grants_done(struct grants *grants);

/* Adds what the messages of a Release's results and conditions offer, each once. */
void grants_find(const struct value *release, struct grants *ret);
