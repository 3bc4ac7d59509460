/*
 * The Secrets that a Spec's `terraformState` names, in its namespace. They are read and written
 * with the rights of the Spec's ServiceAccount.
 */
#pragma once

#include "controller/reconcile/run/run.h"

struct spec_secret {
    const char *name, *key; /* borrowed from the Spec; name NULL: there is none */
};

/* direction: "from" or "to". */
struct spec_secret spec_secret_of(const struct run *run, const char *direction);
/* The runtime whose resources the files have; NULL: this operator has none. */
struct runtime *spec_secret_runtime(const struct run *run);
