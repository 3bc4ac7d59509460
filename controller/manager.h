/*
 * Starts the parts of the process in order, and stops them in reverse order: the connection, the
 * leadership, and, as the leader, the controllers.
 *
 * manager_run() returns 0 when `stop` fires, else an error. A lost Lease is an error, too
 * (ERR_FENCED): the next process continues from the stored State.
 *
 * Either way the process drains first. Nothing new begins. Calls in flight run to their end, and
 * their outcomes are saved in State, or, without the Lease, as outcome documents
 * (engine/state/ledger.h). Then the Lease is released. If that takes longer than --drain-timeout,
 * the process ends at once.
 */
#pragma once

#include "controller/flags.h"
#include "engine/threads/cancel.h"

int manager_run(const struct flags *flags, struct cancel *stop, struct error *error);
