/*
 * The calls that are under way for one Spec: by resource, one at a time.
 *
 * They outlive the operations that made them. An operation that is planned
 * while one is under way waits for it if it is short, and does the rest
 * without its resource if it is long. Thread-safe.
 */
#ifndef ENGINE_STATE_CALLS_H
#define ENGINE_STATE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct calls;

struct calls *calls_new(void);
void calls_free(struct calls *calls); /* when none is under way */

/* False: there is one of this id already. now: ms, monotonic. */
bool calls_begin(struct calls *calls, const char *id, int64_t now);
void calls_end(struct calls *calls, const char *id);
/* When it began; 0: there is none. */
int64_t calls_since(struct calls *calls, const char *id);

#endif
