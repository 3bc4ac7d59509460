/*
 * The contract that every store keeps (engine/store.h), as scenarios that each store runs in a
 * test of its own:
 *
 *     static void keeps_the_contract(void) { store_contract_check(&fixture); }
 *
 * Each scenario has a Spec of its own, so that all may run over one medium.
 */
#pragma once

#include "engine/store.h"

enum damage_part { DAMAGE_HEAD, DAMAGE_OPEN, DAMAGE_SECRET, DAMAGE_ENTRIES };
enum damage_how { DAMAGE_CHANGED, DAMAGE_MISSING };

struct store_fixture {
    void *arg;
    /* The store, as a process has it that begins now; all over the same medium. */
    struct store *(*attach)(void *arg);
    /* Damages a document: true, and a text that the error's message must have in *ret (free());
     * false: this store keeps no such thing (the open part in an object of its own, say). */
    bool (*damage)(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret);
    /* Whoever has it open to write loses the lock and does not know; NULL: no locks. */
    void (*break_lock)(void *arg, const struct document_name *name);
};

void store_contract_check(const struct store_fixture *fixture);
