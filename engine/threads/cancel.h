/*
 * Cancellation: a token that callers pass down. It fires once, and everybody who holds it sees
 * that.
 *
 * A token may have a parent; if the parent fires, the token fires, too. Listeners are called once,
 * on the thread that fires, without the token's lock. They must be quick and must not wait (they
 * wake a condition or a loop). All functions are thread-safe. A NULL token never fires.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/cleanup.h"

struct cancel;

struct cancel *cancel_new(struct cancel *parent); /* parent: NULL, or outlives the child */
void cancel_free(struct cancel *cancel);          /* after its listeners and children are gone */
DEFINE_CLEANUP(struct cancel *, cancel_free)

/* reason: a word for messages ("Superseded", "Shutdown"), in static storage. The first reason
 * stays. */
void cancel_fire(struct cancel *cancel, const char *reason);
bool cancel_fired(const struct cancel *cancel);
const char *cancel_reason(const struct cancel *cancel); /* NULL: not fired */

struct cancel_listener;

/* Calls fn(arg) when fired; at once if it already was. */
struct cancel_listener *cancel_listen(struct cancel *cancel, void (*fn)(void *arg), void *arg);
/* After this returns, fn neither runs nor will. NULL is accepted. Must not be
 * called from fn. */
void cancel_unlisten(struct cancel *cancel, struct cancel_listener *listener);
