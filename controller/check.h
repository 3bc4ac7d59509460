/*
 * --check: whether an operator with these flags is at work. For a pipeline, and for `helm test`,
 * which has only the operator's image: it has no shell and no kubectl.
 *
 * It asks the API server, not the operator, with the same configuration and rights as the operator
 * itself: Specs and Releases can be listed, and a process renews the Lease while this one looks.
 * A leader whose watches fail gives up the Lease (--blind-timeout). Nothing is written.
 *
 * Without --leader-elect there is no Lease to look at: then it says no more than that Specs and
 * Releases can be listed.
 */
#pragma once

#include "controller/flags.h"
#include "engine/base/buf.h"
#include "engine/threads/cancel.h"

/* 0: appends one line that says so to ret_text. ERR_TIMEOUT NotLeading: nobody renewed the Lease
 * for 30 s. Waits for an API server that does not answer, as the operator does at its start. */
int check_run(const struct flags *flags, struct cancel *stop, struct buf *ret_text,
              struct error *error);
