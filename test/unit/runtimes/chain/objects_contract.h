/*
 * The contract that every table of objects keeps (runtimes/chain/objects.h), as scenarios that each
 * runs in a test of its own. Each has keys of its own, so that all may run over one medium.
 */
#pragma once

#include "runtimes/chain/objects.h"

struct objects_fixture {
    void *arg;
    /* The table, as a process has it that begins now; all over the same medium. */
    struct objects *(*attach)(void *arg);
    size_t races; /* of creates of one key at once */
};

void objects_contract_check(const struct objects_fixture *fixture);

void objects_free_p(struct objects **objects);
