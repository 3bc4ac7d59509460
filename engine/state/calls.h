/*
 * The calls in flight of one Spec: at most one for each resource.
 *
 * A call may outlive the operation that made it. The next operation waits for a short call; if the
 * call takes long, the operation leaves its resource out. Thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calls;

struct calls *calls_new(void);
void calls_free(struct calls *calls); /* when no call is in flight */

/* False: a call of this id is in flight already. now: ms, monotonic. */
bool calls_begin(struct calls *calls, const char *id, int64_t now);
void calls_end(struct calls *calls, const char *id);
/* ms, monotonic: when the call began; 0: no call is in flight. */
int64_t calls_since(struct calls *calls, const char *id);
/* How many are in flight. */
size_t calls_count(struct calls *calls);
