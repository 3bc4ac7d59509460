/*
 * The names of a store's documents, in memory of their own.
 */
#pragma once

#include "engine/base/arena.h"
#include "engine/base/strmap.h"
#include "engine/store.h"

struct names {
    struct arena arena;
    struct document_name *items;
    size_t count, capacity;
    struct strmap index; /* text of each -> its item's name; borrowed from the arena */
};

#define NAMES_INIT                                \
    {                                             \
        .arena = ARENA_INIT, .index = STRMAP_INIT \
    }
void names_done(struct names *names);

/* Adds all of a kind; of one Spec. */
int names_list(struct names *names, struct store *store, enum document_kind kind,
               const struct store_call *call, struct error *error);
int names_list_of(struct names *names, struct store *store, enum document_kind kind,
                  const struct spec_key *spec, const struct store_call *call, struct error *error);
bool names_has(const struct names *names, const struct document_name *name);

/* "state team/web", "plan team/web web-3"; free(). */
char *name_text(const struct document_name *name);
