/*
 * A permit to change things outside of the process: asked at the last moment
 * before each change, whatever runtime or store it goes to.
 *
 * With several replicas only the leader may act. A process that lost its
 * Lease, or was frozen past it, may still hold the outcome of a call that it
 * began before: that it may tell, to a document which nobody else writes
 * (engine/state/ledger.h), but it begins nothing new.
 *
 * Thread-safe. A NULL permit allows everything.
 */
#ifndef ENGINE_BASE_PERMIT_H
#define ENGINE_BASE_PERMIT_H

#include "engine/base/error.h"

enum permit_use {
    PERMIT_ACT,  /* to begin a change: of an object, or of State */
    PERMIT_TELL, /* to record what a change that was begun before came to */
};

struct permit {
    int (*ask)(void *arg, enum permit_use use, struct error *error); /* quick, no I/O */
    void *arg;
};

/* 0, or ERR_FENCED. */
int permit_ask(const struct permit *permit, enum permit_use use, struct error *error);

#endif
