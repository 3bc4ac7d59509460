/*
 * The contract that every history of releases keeps (engine/release/history.h), as scenarios that
 * each history runs in a test of its own:
 *
 *     static void keeps_the_contract(void) { history_contract_check(&fixture); }
 *
 * Each scenario has a Spec of its own, so that all may run over one medium.
 */
#pragma once

#include "engine/release/history.h"

struct history_fixture {
    void *arg;
    const char *namespace_name; /* of the Specs; it is there */
    /* The history, as a process has it that begins now; all over the same medium. */
    struct release_history *(*attach)(void *arg);
    /* The next change gets no answer: it happens (is_after), or not. NULL: that cannot be had. */
    void (*lose_answer)(void *arg, bool is_after);
};

void history_contract_check(const struct history_fixture *fixture);

/* The same of a history of documents in this store. */
void history_contract_check_store(struct store *store);
