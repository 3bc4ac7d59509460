/*
 * A permit to make changes outside the process. Runtimes and stores ask it immediately before each
 * change.
 *
 * Of several replicas, only the leader may act. A process that lost its Lease, or was frozen for
 * longer than the Lease lasts, may still receive the outcome of a call that it began before. It may
 * write that outcome to an outcome document, which no other process writes
 * (engine/state/ledger.h). It must not begin anything new.
 *
 * Thread-safe. A NULL permit allows everything.
 */
#pragma once

#include "engine/base/error.h"

enum permit_use {
    PERMIT_ACT,    /* to begin a change of an object or of State */
    PERMIT_RECORD, /* to record the outcome of a change that began earlier */
};

struct permit {
    int (*ask)(void *arg, enum permit_use use, struct error *error); /* quick, no I/O */
    void *arg;
};

/* 0, or ERR_FENCED. */
int permit_ask(const struct permit *permit, enum permit_use use, struct error *error);
