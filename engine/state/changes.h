/*
 * A list of record changes, in order. Unsaved changes, the entries of a journal and outcome
 * documents all consist of such a list.
 *
 * The list owns a reference to each record that it puts, and a copy of each name that it drops.
 */
#pragma once

#include "engine/state/state.h"

/* One change of State: adds or replaces the record `put`; with put NULL, drops the record that id
 * and deposed name. */
struct ledger_change {
    const struct record *put; /* borrowed */
    const char *id, *deposed;
};

struct changes {
    struct ledger_change *items;
    size_t count, capacity;
};

#define CHANGES_INIT \
    {                \
        0            \
    }
void changes_done(struct changes *changes);     /* leaves an empty list */
void change_done(struct ledger_change *change); /* that was added to a list */

void changes_add(struct changes *changes, const struct ledger_change *change);

/* The name of the record that a change puts or drops; borrowed from the change. */
const char *change_id(const struct ledger_change *change);
const char *change_deposed(const struct ledger_change *change);

void change_apply(const struct ledger_change *change, struct state *state);

/* [{put: …}, {drop: {id, deposed}}, …]. A reference; NULL: past a bound of limits.h. */
const struct value *changes_to_value(const struct changes *changes);
/* *ret: initialised; changes are added. ERR_CORRUPT. */
int changes_from_value(const struct value *value, struct changes *ret, struct error *error);
