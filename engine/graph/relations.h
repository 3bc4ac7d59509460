/*
 * The order that a runtime knows among its resources, independent of dependsOn: an object is
 * created after another, an object lives in another, some kinds come first.
 *
 * Targets are numbers, in the order in which the engine named them to the runtime. The runtime adds
 * relations. Used by one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/base/cleanup.h"

enum relation_kind {
    RELATION_AFTER, /* the node is created after the other, and deleted before it */
    RELATION_IN,    /* the node lives in the other and is deleted with it; it is also created after
                       the other */
};

struct relation {
    uint32_t node, other;
    enum relation_kind kind;
};

struct relations {
    struct relation *items;
    size_t n_items, capacity;
    uint16_t *ranks; /* of each target: lower ranks come first, unless an edge contradicts */
    uint32_t *last;  /* of each target: 0, or its place (from 1) among the targets that are deleted
                        last, one by one, whatever they depend on. These give the rights to delete
                        the others */
    size_t n_targets;
};

#define RELATIONS_INIT {0}

/* Starts without relations, with all ranks and `last` 0. */
void relations_init(struct relations *relations, size_t n_targets);
void relations_done(struct relations *relations);

/* Relations may repeat. A node or other that is not a target aborts the process. */
void relations_add(struct relations *relations, size_t node, size_t other, enum relation_kind kind);
