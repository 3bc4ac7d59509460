/*
 * What a runtime knows of the order among its resources, whatever a Spec writes: that one is made
 * after another, or lives in it, and which kinds come first.
 *
 * Targets are numbers, in the order in which the runtime was asked about them. The runtime adds what
 * it knows. Used by one thread.
 */
#ifndef ENGINE_GRAPH_RELATIONS_H
#define ENGINE_GRAPH_RELATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/cleanup.h"

enum relation_kind {
    RELATION_AFTER, /* the node is made after the other, and goes before it */
    RELATION_IN,    /* the node is in the other, and goes with it; it is made after it, too */
};

struct relation {
    uint32_t node, other;
    enum relation_kind kind;
};

struct relations {
    struct relation *items;
    size_t n_items, capacity;
    uint16_t *ranks; /* of each target: lower ones first, where no edge says otherwise */
    uint32_t *last;  /* of each target: 0; or its place, from 1, among those that go after everything
                        else, one by one, whatever they depend on: what gives the rights to delete
                        the rest */
    size_t n_targets;
};

#define RELATIONS_INIT {0}

/* No relations, ranks of 0, nothing is last. */
void relations_init(struct relations *relations, size_t n_targets);
void relations_done(struct relations *relations);

/* Relations may repeat. A node or other that is no target aborts. */
void relations_add(struct relations *relations, size_t node, size_t other, enum relation_kind kind);

#endif
