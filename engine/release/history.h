/*
 * The history of releases: one record for each operation of a Spec, kept
 * where people and the next operation find it, behind one table of functions.
 * There are two: Release objects of the API (runtimes/kubernetes/history.h),
 * and documents in a store (document_history.h), where there are no custom
 * resources.
 *
 * A record is created with its head alone. From then on only its status
 * changes, and the phase is what the status says under "phase".
 *
 * The contract that every history keeps (test/unit/engine/history_contract.h
 * checks it):
 *   - A revision of a Spec is taken once: create of one that there is already
 *     is ERR_EXISTS, whatever it says.
 *   - update replaces the status only if the record is still as `*version` says
 *     (as created, loaded or updated last), else ERR_CONFLICT. A record whose
 *     phase is terminal is not changed any more, whoever tries: ERR_CONFLICT
 *     as well.
 *   - What was created or updated is there for the next load, durably.
 *   - After ERR_UNAVAILABLE or ERR_TIMEOUT a change may have happened: load tells.
 *   - A record that somebody removed is ERR_NOT_FOUND to update; nothing is made
 *     again.
 *   - Revisions outside of 1 to RELEASE_REVISION_MAX are ERR_INVALID to create, and
 *     are not there for all else.
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
    int64_t revision;   /* from 1 */
    int64_t generation; /* of the Spec */
    enum release_operation operation;
    enum release_phase phase;
};

struct release_record {
    struct release_head head;
    /* Of the record itself, from 1: how often people changed it (approved it, say). Of load. */
    int64_t own_generation;
    const struct value *status; /* as people read it, redacted; NULL: none yet. A reference */
};
/* One that load gives, with the strings of its key. */
struct release_record *release_record_new(const struct spec_key *spec, int64_t revision);
void release_record_free(struct release_record *record);
DEFINE_CLEANUP(struct release_record *, release_record_free)

/* NONE: it says none, or one that is not known. */
enum release_phase release_status_phase(const struct value *status);

struct release_history {
    const struct release_history_ops *ops; /* first member of every implementation */
};

/* head: borrowed for the call. Nonzero ends the list, and is returned. */
typedef int release_on_head(void *arg, const struct release_head *head, struct error *error);

struct release_history_ops {
    const char *type; /* "kubernetes", "documents" */

    void (*free)(struct release_history *history);
    /* *ret_version: opaque; free(). ERR_CONFLICT ReleaseNameTaken: something else is in its place.
     */
    int (*create)(struct release_history *history, const struct release_head *head,
                  const struct store_call *call, char **ret_version, struct error *error);
    /* Only the record's key, revision and status are looked at. *version is replaced by the new
     * one. */
    int (*update)(struct release_history *history, const struct release_record *record,
                  const struct store_call *call, char **version, struct error *error);
    /* revision 0: the newest. ERR_NOT_FOUND. */
    int (*load)(struct release_history *history, const struct spec_key *spec, int64_t revision,
                const struct store_call *call, struct release_record **ret, char **ret_version,
                struct error *error);
    /* Newest first. A head's phase is PHASE_NONE where the list does not know it. */
    int (*list)(struct release_history *history, const struct spec_key *spec, release_on_head *fn,
                void *arg, const struct store_call *call, struct error *error);
    /* 0 also where there is none. ERR_CONFLICT: it was changed meanwhile. */
    int (*remove)(struct release_history *history, const struct spec_key *spec, int64_t revision,
                  const struct store_call *call, struct error *error);
};

#endif
