/*
 * What the process knows of each Spec and each Release: one entry for each, under one lock.
 *
 *   of both      what the watch shows (watch.c); whether a call landed after its operation ended;
 *                the try that is under way (controller/reconcile/attempt.h), and its operation
 *   of a Spec    what people ask for (requests.h); which documents are kept of it, and whether its
 *                history is within its limit (documents.c); its Previews that run; its Releases
 *                that have ended (finished.c); which Specs it depends on (dependencies.h)
 *   of a Release the Spec of which it asks for something; its documents; when it ended
 *
 * An entry is there as long as there is anything to know. All of it is in memory: after a restart
 * the watch shows everything again, each Release is reconciled once, and the documents are listed.
 *
 * One reconcile at a time is at a key. Everything else may come from any thread.
 *
 * Thread-safe. No request is made with the lock. Operations are cancelled with it, so it is taken
 * before an operation's. After it come the locks of the budgets and of the queue, which call
 * nobody.
 */
#pragma once

#include "controller/desk/budget.h"
#include "engine/operation/operation.h"
#include "engine/store.h"

struct metric;
struct attempt;

enum desk_kind { DESK_SPEC, DESK_RELEASE };
#define DESK_KINDS 2

struct desk;
struct desk_entry;

struct desk_config {
    /* Puts a key into the queue of its kind, and returns. Any thread, perhaps with the desk's lock,
     * or an operation's. */
    void (*enqueue)(void *arg, enum desk_kind kind, const char *key);
    void *arg;
    const struct clock_source *clock;
    size_t memory;        /* bytes, the budget of the operations of each kind; 0: without a bound */
    struct metric *specs; /* gauge by the status and reason of Ready; NULL: not counted */
};

struct desk *desk_new(const struct desk_config *config);
/* Only when no call is in flight any more, and no attempt is left (attempts_abandon()). */
void desk_free(struct desk *desk);
DEFINE_CLEANUP(struct desk *, desk_free)

/* Of the operations of a kind. */
struct budget *desk_budget(struct desk *desk, enum desk_kind kind);
/* Of the entry's. */
struct budget *desk_budget_of(struct desk_entry *entry);

/* ---- For the reconcile of a key ---- */

/* key: "namespace/name"; else NULL. *attempt: a new one, which is kept from now on; replaced by the
 * one that is kept already. */
struct desk_entry *desk_enter(struct desk *desk, enum desk_kind kind, const char *key,
                              struct attempt **attempt);
/* The attempt is not kept any more. The entry may be gone afterwards. */
void desk_leave(struct desk_entry *entry);

/* As long as the entry is there. *ret: the same, taken apart; or NULL. */
const char *desk_key(const struct desk_entry *entry, struct spec_key *ret);

/* The operation of the try. It is cancelled at once if the desk was, and when the watch shows that
 * it is outdated. The reconcile owns it, and calls desk_end_try() before it frees it. */
void desk_set_operation(struct desk_entry *entry, struct operation *operation);
/* There is no operation, and no Preview, any more, and nobody has asked for anything. */
void desk_end_try(struct desk_entry *entry);
/* Puts the key into the queue. */
void desk_wake(const struct desk_entry *entry);

const struct clock_source *desk_clock(const struct desk_entry *entry);

/* ---- What the watch shows ---- */

struct object_version {
    const char *uid; /* NULL: there is none */
    int64_t generation;
    bool is_deleting;
    /* Only of desk_observe(): */
    bool is_new;          /* the operator has not touched it yet */
    const char *version;  /* its resourceVersion; NULL: not known */
    const char *bypassed; /* uid NULL: that of a Spec that was bypassed (informer.h); or NULL */
};

/* now->uid NULL: it is not listed any more. is_asked_for: somebody requested a reconcile, though
 * nothing may have changed. */
void desk_observe(struct desk *desk, enum desk_kind kind, const char *key,
                  const struct object_version *now, bool is_asked_for);
bool desk_lists(struct desk *desk, enum desk_kind kind, const struct spec_key *object);
bool desk_lists_key(struct desk *desk, enum desk_kind kind, const char *key);
/* What the condition Ready of a listed Spec says, for the gauge. reason: in static storage. NULL,
 * NULL: nothing. */
void desk_note_ready(struct desk *desk, const struct spec_key *spec, const char *ready,
                     const char *reason);

bool desk_is_listed(struct desk_entry *entry);
/* The resourceVersion of an object that the watch had just reported as new before the reconcile
 * began; else NULL. Borrowed until the next reconcile. */
const char *desk_new_version(const struct desk_entry *entry);
/* object: as it was read now; NULL: the API server says that there is none. ERR_UNAVAILABLE, with
 * the reason StaleAnswer: the watch had shown a newer version before this reconcile, or still shows
 * the object. Then the answer comes from a cache, or the API server's data was restored from a
 * backup: after half a minute, the answer counts. */
int desk_check_answer(struct desk_entry *entry, const struct value *object, struct error *error);
/* Notes which version of the object is acted on; NULL: none any more. */
void desk_note_read(struct desk_entry *entry, const struct value *metadata);
/* Since it was read there is a newer generation, it is being deleted, or was not listed, at least
 * for a moment. */
bool desk_is_outdated(struct desk_entry *entry);
/* Outdated because it was not listed, even if the same object is listed again. */
bool desk_has_left(struct desk_entry *entry);
/* The uid of the Spec that was removed past its finalizer, as long as no other has its name, and
 * its end is not carried out; free(). NULL: there is none. */
char *desk_bypassed(struct desk_entry *entry);
void desk_end_bypassed(struct desk_entry *entry);
/* Why it is outdated, for messages; free() it. */
char *desk_outdated_by(struct desk_entry *entry);
/* "superseded by generation 5 of the Spec"; free() it. */
char *desk_superseded_by(int64_t generation);

/* ---- What is asked for ---- */

/* Somebody requests a reconcile: puts the key into the queue. If a try goes on, another one comes
 * when it has ended. */
void desk_request(struct desk *desk, enum desk_kind kind, const struct spec_key *object);
/* The same has happened since the try began. */
bool desk_is_asked_for(struct desk_entry *entry);

/* Sets on_landed() of an operation on a Spec: a call that lands after its operation has ended puts
 * the key into the queue. */
void desk_expect_landing(struct desk_entry *entry, struct operation_config *config);
/* Since then a call of an earlier operation has landed: what waited for it can be planned now. */
bool desk_has_seen_landing(struct desk_entry *entry);

/* Cancels all operations, and each one that is set later. reason: in static storage. */
void desk_cancel(struct desk *desk, const char *reason);
/* Calls fn for each attempt that was kept, and keeps it no longer. Only when no reconcile runs. */
void desk_end_all(struct desk *desk, void (*fn)(struct attempt *attempt));

/* ---- Previews ---- */

/* Previews that may run at once: they hold memory, and a tenant can create any number. */
#define PREVIEWS_OF_SPEC      2
#define PREVIEWS_OF_NAMESPACE 8

/* True: the Release may begin a Preview of that Spec, and counts as one of its Spec and its
 * namespace until desk_end_try(). False: as many run already as may. */
bool desk_reserve_preview(struct desk_entry *release, const char *spec);

/* ---- Documents ---- */

/* A DOCUMENT_PLAN or DOCUMENT_APPROVAL is there, or may be; and it is gone. */
void desk_note_document(struct desk *desk, const struct document_name *name);
void desk_forget_document(struct desk *desk, const struct document_name *name);
/* All documents of the store are noted. */
void desk_note_listed(struct desk *desk);

struct desk_document {
    enum document_kind kind;
    char *spec, *release; /* names; owned */
};
struct desk_documents {
    struct desk_document *items;
    size_t count, capacity;
};
void desk_documents_done(struct desk_documents *documents);
/* Under the name of a Release: also of another Spec, where the Release was made anew for another.
 * False: not all of the store's are noted yet. */
bool desk_documents_of(struct desk *desk, const struct spec_key *release,
                       struct desk_documents *ret);
/* The approvals of a Spec. */
struct desk_documents desk_approvals_of(struct desk *desk, const struct spec_key *spec);

/* The last recorded Spec (DOCUMENT_SPEC) that was kept has this digest, and is still there. "": the
 * Spec has none. */
bool desk_recorded_was_kept(struct desk *desk, const struct spec_key *spec, const char *digest);
/* digest: of one that was kept now; "": there are none any more; NULL: one was dropped. */
void desk_note_recorded(struct desk *desk, const struct spec_key *spec, const char *digest);
/* More than `limit` documents were made since this was true last, or one, and it was never true in
 * this process: the caller sweeps now. */
bool desk_sweep_is_due(struct desk *desk, const struct spec_key *spec, size_t limit);

/* The history of a Spec is known to be within its limit (reconcile/retention.h). */
bool desk_is_collected(struct desk *desk, const struct spec_key *spec);
void desk_set_collected(struct desk *desk, const struct spec_key *spec, bool is_collected);

/* A note on the state file that was written for a Spec last (reconcile/spec_export.h), as long as
 * it is listed. NULL: none. */
void desk_note_exported(struct desk *desk, const struct spec_key *spec, const char *note);
char *desk_exported(struct desk *desk, const struct spec_key *spec); /* a copy; free() */

/* ---- Releases of people that have ended ---- */

/* spec: "": it did not exist; all of a namespace with this name share one limit. The oldest of more
 * than `limit` is to go: it is reconciled. False: this one is to go. */
bool desk_note_finished(struct desk *desk, const struct spec_key *release, const char *spec,
                        int64_t ended_at, size_t limit);
/* A Release is gone. */
void desk_forget_finished(struct desk *desk, const struct spec_key *release);

/* A Spec is gone: forgets its history and its documents, and has its Releases reconciled, to be
 * deleted. */
void desk_forget_spec(struct desk *desk, const struct spec_key *spec);
