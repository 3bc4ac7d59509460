/*
 * A history keeps the Releases of Specs: one record for each operation, for people and for the next
 * operation. All histories share one table of functions. There are two: Release objects of the
 * Kubernetes API (runtimes/kubernetes/history/history.h), and documents in a store
 * (document_history.h) where there are no custom resources.
 *
 * A record is created with its head alone. Afterwards only its status changes. The phase is the
 * status's member "phase".
 *
 * Every history keeps this contract (test/unit/engine/history_contract.h checks it):
 *
 *   - A revision is used once: create returns ERR_EXISTS if the Spec has a record of the
 *     revision, whatever its content.
 *   - update is a compare-and-swap: it replaces the status if the record still has `*version`
 *     (from the last create, load or update), else it returns ERR_CONFLICT. A record in a
 *     terminal phase never changes: update returns ERR_CONFLICT ReleaseEnded for every version.
 *   - A create or update that returned 0 is durable, and the next load sees it.
 *   - After ERR_UNAVAILABLE or ERR_TIMEOUT the change may have happened: load tells.
 *   - If somebody removed the record, update returns ERR_NOT_FOUND and creates nothing.
 *   - remove with RELEASE_IF_ENDED removes only a record in a terminal phase; for any other, it
 *     returns ERR_CONFLICT ReleaseNotEnded. A damaged record counts as ended.
 *   - For a revision outside 1 to RELEASE_REVISION_MAX, create returns ERR_INVALID; for all
 *     other calls no such record exists.
 *
 * Every change asks the call's permit. Thread-safe for different Specs.
 */
#pragma once

#include "engine/release/release.h"
#include "engine/store.h"
#include "engine/value/value.h"

/* The part of a record that a list returns. */
struct release_head {
    struct spec_key spec;
    int64_t revision;   /* from 1 */
    int64_t generation; /* the Spec's generation */
    enum release_operation operation;
    enum release_phase phase;
    /* The Spec's uid; NULL: not known. A Spec that was deleted and created again has another one.
     * Set by load, not by list. */
    const char *spec_uid;
    int64_t to_revision;     /* of a Rollback: the revision that is applied again; else 0. Set by
                                load */
    /* The digest of the Spec that the operation applies, if it was recorded; NULL: it was not. A
     * list leaves it out where the record has the resources itself, so that in a list it names a
     * document beside the history. */
    const char *spec_digest;
    /* The resources that the operation applies, if the record has them itself; a reference, or
     * NULL. Set by load, not by list. */
    const struct value *resources;
};

/* What a person approved. All strings are owned. */
struct release_approval {
    char *plan;     /* the plan's digest; NULL: no plan is approved */
    char *approver; /* who: what `approvedBy` says, else the manager; NULL: not known */
    char *manager;  /* the field manager that wrote it; NULL: not known */
    char *time;     /* when, RFC 3339; NULL: not known */
    bool covers_unseen; /* also what the record does not show of the plan */
};
void release_approval_done(struct release_approval *approval);
/* *to: another one before, or zeros. */
void release_approval_copy(struct release_approval *to, const struct release_approval *from);

/* That a person rejected the plan. */
struct release_rejection {
    bool is_rejected;
    char *reason;   /* owned; NULL: none is given */
    char *approver; /* owned; who, as of an approval; NULL: not known */
};
void release_rejection_done(struct release_rejection *rejection);

struct release_record {
    struct release_head head;
    /* The generation of the record itself, from 1: it rises when a person changes the record, to
     * approve it, say. Set by load. */
    int64_t own_generation;
    struct release_approval approval; /* in the record itself; set by load */
    struct release_rejection rejection; /* likewise */
    const struct value *status; /* a reference; redacted, for people; NULL: none yet */
};
/* A record that owns the strings of its head, as load returns it. */
struct release_record *release_record_new(const struct spec_key *spec, int64_t revision);
void release_record_set_spec_uid(struct release_record *record, const char *uid); /* copied */
void release_record_set_spec_digest(struct release_record *record, const char *digest); /* copied */
void release_record_free(struct release_record *record);
DEFINE_CLEANUP(struct release_record *, release_record_free)

/* PHASE_NONE: the status has no phase, or an unknown one. */
enum release_phase release_status_phase(const struct value *status);

struct release_history {
    const struct release_history_ops *ops; /* first member of every implementation */
};

/* head: borrowed for the call. A nonzero result ends the list, which returns it. */
typedef int release_on_head(void *arg, const struct release_head *head, struct error *error);

enum release_removal {
    RELEASE_ANYWAY,
    RELEASE_IF_ENDED,
};

struct release_history_ops {
    const char *type; /* "kubernetes", "documents" */
    /* The platform removes a Spec's records when the Spec is gone. False: the history's user does.
     */
    bool goes_with_spec;
    /* The records are objects of the API, `Release`, in which people can approve a plan. False:
     * only the history's user sees them. */
    bool is_in_api;

    void (*free)(struct release_history *history);
    /* *ret_version: opaque; free(). ERR_CONFLICT ReleaseNameTaken: another object has the record's
     * name. */
    int (*create)(struct release_history *history, const struct release_head *head,
                  const struct store_call *call, char **ret_version, struct error *error);
    /* Uses the record's key, revision and status alone. Replaces *version with the new version. */
    int (*update)(struct release_history *history, const struct release_record *record,
                  const struct store_call *call, char **version, struct error *error);
    /* revision 0: loads the newest. ERR_NOT_FOUND. */
    int (*load)(struct release_history *history, const struct spec_key *spec, int64_t revision,
                const struct store_call *call, struct release_record **ret, char **ret_version,
                struct error *error);
    /* Newest first. A head's phase is PHASE_NONE if the list does not contain phases. */
    int (*list)(struct release_history *history, const struct spec_key *spec, release_on_head *fn,
                void *arg, const struct store_call *call, struct error *error);
    /* Returns 0 if there is no such record, too. ERR_CONFLICT: the record changed meanwhile, or has
     * not ended. */
    int (*remove)(struct release_history *history, const struct spec_key *spec, int64_t revision,
                  enum release_removal how, const struct store_call *call, struct error *error);
};
