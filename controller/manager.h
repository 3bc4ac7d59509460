/*
 * Puts the parts together and takes them apart: the connection first, then
 * leadership, then, as the leader, what reconciles.
 *
 * manager_run() returns when `stop` fires (0), or with what went wrong. Losing
 * the Lease is such an end (ERR_FENCED): the process that starts after it
 * begins from what is stored.
 *
 * Either end is a drain. Nothing new begins; calls in flight run to their end,
 * and what became of them is stored, or, without the Lease, told (ledger.h).
 * Then the Lease is given up. If that takes longer than --drain-timeout, the
 * process ends there and then.
 */
#ifndef CONTROLLER_MANAGER_H
#define CONTROLLER_MANAGER_H

#include "controller/flags.h"
#include "engine/base/cancel.h"

int manager_run(const struct flags *flags, struct cancel *stop, struct error *error);

#endif
