/*
 * Health checks that users write in Lua, as Argo CD has them: the script sees the object as `obj`,
 * and returns a table with `status` and `message`.
 *
 *     hs = {}
 *     if obj.status ~= nil and obj.status.phase == "Running" then
 *       hs.status = "Healthy"
 *       hs.message = "it runs"
 *       return hs
 *     end
 *     hs.status = "Progressing"
 *     return hs
 *
 * A script computes, and nothing else: what it may call is in library.h. It is a tenant's, so each
 * run has bounds, and ends with an error at one. The same script gives the same answer for the same
 * object, in each run. Secret values of the object are replaced by a text that says so.
 *
 * Pure, but for a thread: a run needs more stack than the threads of calls have. Thread-safe: each
 * run has a state of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"
#include "engine/value/value.h"

#define SCRIPT_BYTES        (64u << 10) /* of a script */
#define SCRIPT_STEPS        500000      /* instructions, or as much other work (machine.h) */
#define SCRIPT_MEMORY       (1u << 20)  /* bytes of a run, beside the object */
#define SCRIPT_OBJECT_BYTES (32u << 20) /* of the object in Lua's memory, with Lua's library */
#define SCRIPT_CPU_MS       100         /* of CPU time; the only bound that may differ each time */
#define SCRIPT_MESSAGE      1024 /* bytes of the message that it returns; a longer one is cut */

enum script_status {
    SCRIPT_NO_OPINION, /* it returned nothing, or an empty table */
    SCRIPT_HEALTHY,
    SCRIPT_PROGRESSING,
    SCRIPT_DEGRADED,
    SCRIPT_SUSPENDED,
    SCRIPT_MISSING,
    SCRIPT_UNKNOWN,
};

struct script_verdict {
    enum script_status status;
    char message[SCRIPT_MESSAGE + 1]; /* one line of UTF-8 without hidden characters; or "" */
};

/* The name that scripts use: "Healthy"; of no opinion "". */
const char *script_status_name(enum script_status status);

/* Compiles it. ERR_INVALID InvalidSpec: "health.lua:3: unexpected symbol near 'end'". */
int script_check(const char *text, size_t length, struct error *error);

/* Runs it. cpu: ms of CPU time of the calling thread; NULL: that has no bound. ERR_INVALID
 * InvalidSpec, or HealthCheckFailed: it raised an error, passed a bound, or returned something
 * else. ERR_UNAVAILABLE: there is no thread for it. */
int script_judge(const char *text, size_t length, const struct value *object, int64_t (*cpu)(void),
                 struct script_verdict *ret, struct error *error);
