/*
 * Whether the store may be used: it is the one that the operator knows (identity.h), and may be
 * read. Until somebody says so, the gate is shut.
 *
 * Thread-safe.
 */
#pragma once

#include "engine/base/error.h"

struct store_gate;

/* Shut, because nobody has looked yet. */
struct store_gate *store_gate_new(void);
void store_gate_free(struct store_gate *gate);
DEFINE_CLEANUP(struct store_gate *, store_gate_free)

/* True: it was not so before. */
bool store_gate_open(struct store_gate *gate);
bool store_gate_shut(struct store_gate *gate, const struct error *why);

/* 0, or the code of what is wrong. gate NULL: 0. */
int store_gate_ask(struct store_gate *gate, struct error *error);

/* What store_gate_confirm() asks: it looks at the store, and opens or shuts the gate. */
void store_gate_on_confirm(struct store_gate *gate, void (*look)(void *arg), void *arg);
/* Looks at the store now, and then as store_gate_ask(). For who misses something in the store that
 * was there. */
int store_gate_confirm(struct store_gate *gate, struct error *error);
