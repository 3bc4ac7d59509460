/*
 * Puts the parts together and takes them apart: clients and loops first, then
 * leadership, then, as the leader, the reconcilers.
 *
 * manager_run() returns when `stop` fires (0), or with what went wrong. Losing the
 * Lease is such an end: the process that starts after it begins from what is stored.
 */
#ifndef CONTROLLER_MANAGER_H
#define CONTROLLER_MANAGER_H

#include "controller/flags.h"
#include "engine/base/cancel.h"

int manager_run(const struct flags *flags, struct cancel *stop, struct error *error);

#endif
