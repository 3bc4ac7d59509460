/*
 * A store around another one: it asks the gate before each call, and says of each failure what is
 * wrong with the store (store_error.h). All of the operator but what opens the gate uses the store
 * through it.
 */
#pragma once

#include "engine/store.h"
#include "engine/store/gate.h"

/* store, gate: borrowed. place: copied, for messages ("file:/var/lib/kusion"). */
struct store *store_guarded_new(struct store *store, struct store_gate *gate, const char *place);
