/*
 * The history of releases: one record for each operation of a Spec, kept
 * where people and the next operation find it, behind one table of functions.
 * There are two: Release objects of the API (runtimes/kubernetes/history.h),
 * and documents in a store (document_history.h), where there are no custom
 * resources.
 *
 * The contract that every history keeps (test/unit/engine/history_contract.h
 * checks it):
 *   - A revision of a Spec is taken once: create of one that there is already
 *     is ERR_EXISTS, whatever it says.
 *   - update replaces a record only if it is still as `*version` says (as
 *     created, loaded or updated last), else ERR_CONFLICT; a phase that is
 *     terminal is never left, whoever tries: ERR_CONFLICT as well.
 *   - What was created or updated is there for the next load, durably.
 *   - After ERR_UNAVAILABLE or ERR_TIMEOUT a change may have happened: load tells.
 *   - A record that somebody removed is ERR_NOT_FOUND to update; nothing is made
 *     again.
 * Every change asks the call's permit. Thread-safe for different Specs.
 */
#ifndef ENGINE_RELEASE_HISTORY_H
#define ENGINE_RELEASE_HISTORY_H

#include "engine/base/value.h"
#include "engine/release/release.h"
#include "engine/store.h"

/* What lists show, and decisions go by. */
struct release_head {
    struct spec_key spec;
    int64_t revision; /* from 1 */
    int64_t generation; /* of the Spec */
    enum release_operation operation;
    enum release_phase phase;
};

struct release_record {
    struct release_head head;
    const struct value *status; /* as people read it, redacted; NULL: none yet. A reference */
};
void release_record_free(struct release_record *record);
DEFINE_CLEANUP(struct release_record *, release_record_free)

struct release_history {
    const struct release_history_ops *ops; /* first member of every implementation */
};

/* head: borrowed for the call. Nonzero ends the list, and is returned. */
typedef int release_on_head(void *arg, const struct release_head *head, struct error *error);

struct release_history_ops {
    const char *type; /* "kubernetes", "documents" */

    void (*free)(struct release_history *history);
    /* *ret_version: opaque; free(). */
    int (*create)(struct release_history *history, const struct release_record *record,
                  const struct store_call *call, char **ret_version, struct error *error);
    /* *version is replaced by the new one. */
    int (*update)(struct release_history *history, const struct release_record *record,
                  const struct store_call *call, char **version, struct error *error);
    /* revision 0: the newest. ERR_NOT_FOUND. */
    int (*load)(struct release_history *history, const struct spec_key *spec, int64_t revision,
                const struct store_call *call, struct release_record **ret, char **ret_version,
                struct error *error);
    /* Newest first. A head's phase is PHASE_NONE where the list does not know it. */
    int (*list)(struct release_history *history, const struct spec_key *spec, release_on_head *fn,
                void *arg, const struct store_call *call, struct error *error);
    /* 0 also where there is none. */
    int (*remove)(struct release_history *history, const struct spec_key *spec, int64_t revision,
                  const struct store_call *call, struct error *error);
};

#endif
