/*
 * A Spec as it was read, and what its status says: what the steps of its
 * reconciles share.
 *
 * The status is written only where it changes. run->object follows what was
 * written, so that later steps compare with it.
 */
#pragma once

#include "controller/reconcile/records/releases.h"
#include "controller/reconcile/run/hold.h"
#include "controller/reconcile/status/outcome.h"
#include "engine/operation/operation.h"
#include "engine/spec/spec.h"

/* What came of the last try to write the state file of Terraform (spec_export.h). */
struct run_written {
    bool is_tried;
    const char *status; /* "True", "False" */
    char reason[ERROR_REASON_SIZE];
    char *message;       /* owned */
    int64_t retry_after; /* ms; 0: not before the next check */
};

/* What the log has of the operation (operation_log.h). */
struct run_log {
    enum release_operation operation;
    int64_t started;   /* ms, monotonic */
    char release[254]; /* its name; "": none */
    int64_t revision;  /* 0: none */
    bool is_begun;     /* its first line was written, at info */
    bool is_ended;     /* its last was written */
};

struct run {
    const struct reconcile_context *context;
    struct cancel *cancel;          /* of the reconcile that is at it */
    struct release_subject subject; /* its key and generation; strings are borrowed */
    const struct value *object;     /* the custom resource; a reference, or NULL */
    bool is_unreadable;             /* object is its metadata alone */
    bool is_bypassed;               /* the Spec was removed past its finalizer: object is made up */
    struct hold hold;               /* in force; its operation is that of the run. RELEASE_APPLY:
                                       the Spec itself is in force */
    const struct value *source;     /* what is applied in place of `object`; NULL: `object` */
    const struct value *sources; /* of `resourcesFrom`, as a Release has it; a reference, or NULL */
    char sources_digest[HASH_HEX_SIZE]; /* of their contents (sources.h); "": there are none, or
                                           they could not be read */
    size_t source_memory;               /* bytes of documents that `source` shares */
    char spec_digest[HASH_HEX_SIZE];  /* of what is applied (recorded.h); "": nothing is recorded */
    char *uid;                        /* of the object; or NULL */
    char *trigger;                    /* informer_trigger() of the object as it was read; or NULL */
    struct release_approval approval; /* in the object as it was read */
    char *changed_at;                 /* when its spec was written last, RFC 3339; or NULL */
    bool has_own_resources; /* a Preview: `object` has the resources, or sources, of the Release */
    bool looks_up_nothing;  /* a Preview: it looks up no secrets (spec_secrets.h) */
    bool is_namespace_terminating;
    struct spec_policy policy;
    unsigned char plan_key[HASH_SIZE]; /* of digests of plans: the context's, for run_account(). So
                                          a plan that is approved for one account is none for
                                          another. Set with the policy */
    struct run_log log;
    struct run_written written;
    bool knows_drift; /* a plan has told of drift by now; else the status says the same as before */
    char *drifted;    /* what drift is left as it is; owned. NULL: none is */
    char *unfollowed; /* why drift is found by checks alone; owned. NULL: it is found at once */
};

void run_done(struct run *run);

/* Removes metadata.managedFields from run->object. They can be larger than the rest, an operation
 * keeps the object until it ends, and only run_note_managers() needs them. */
void run_drop_managed_fields(struct run *run);
/* After a write: run->object gets the metadata of the answer, without managedFields. */
void run_set_metadata(struct run *run, const struct value *metadata);

/* The policy of run->object, within the context's limits: at most max_timeout, at least
 * min_interval and min_retry_interval. */
void run_read_policy(struct run *run);
/* Notes which request for a reconcile run->object carries. A later one is for another run. */
void run_note_trigger(struct run *run);

/* Notes what the managed fields of run->object tell, before they are dropped: which plan it
 * approves, and when it was changed. */
void run_note_managers(struct run *run);

/* Adds the finalizer, where it is not there. ERR_NOT_FOUND: the Spec is gone. */
int run_add_finalizer(struct run *run, struct error *error);

/* Writes the status where it differs, with an event where Ready's reason or message do. Under a
 * hold that was carried out, the Spec is not Ready, and says what is in force. It is no error if
 * the Spec is gone, or so large that there is no room beside it. The event alone says so where the
 * status is refused. */
int run_write_status(struct run *run, const struct outcome *outcome, struct error *error);

/* The condition TerraformStateWritten says so already. */
bool run_says_written(const struct run *run);

/* An attempt ended, and the status stays as it is, but for TerraformStateWritten: writes that the
 * request for a reconcile is handled, if there was one. */
int run_acknowledge(struct run *run, struct error *error);

/* ms that a failure of this generation still has to heal by waiting: `timeout`, counted from the
 * first failure. 0: none. */
int64_t run_patience(const struct run *run);

/* ms between two tries at most, for what takes little to look at again: a missing service account,
 * and a resource that is deferred, because its Job has to end first, say. 0: no such failure. */
int64_t run_retry_within(const struct run *run, const struct error *failure);
/* Adds a hint: when the next try is, and the command that has it now. None where nothing but a
 * change of the Spec helps. A bound, not a time: it is the same for all tries, so that the status
 * is not written again. */
void run_say_retry(const struct run *run, struct error *failure);
/* The verdict about a failure. is_spent: its operation has waited for `timeout` already. */
struct verdict run_judge(const struct run *run, const struct error *failure, bool is_spent);

/* Ready says already that this generation fails, and in these words. */
bool run_says_already(const struct run *run, const struct error *failure);
/* What the conditions say last, of whichever generation. Strings are borrowed from run->object, and
 * NULL if there is no such condition. */
struct run_last {
    const char *ready, *reason, *message; /* Ready's */
    const char *healthy;
    bool is_stalled;
};
struct run_last run_last(const struct run *run);

/* Counts the Spec by what Ready says last (desk_note_ready()). run_write_status() does so, too. */
void run_note_ready(const struct run *run);

/* The last operation succeeded, of this generation and under the hold that is in force: Ready is
 * True, or the reason is the hold's. */
bool run_is_settled(const struct run *run);
/* What Ready says of this generation. reason: NULL for any. */
bool run_says(const struct run *run, const char *ready, const char *reason);
/* Somebody requested a reconcile, and the status does not say yet that it is handled. */
bool run_has_request(const struct run *run);
/* status.driftCorrections, or NULL; borrowed from run->object. */
const struct value *run_corrections(const struct run *run);
/* status.failures: operations of this generation that failed, one after another. */
int64_t run_failures(const struct run *run);
/* status.lastAppliedRevision, .lastAttemptedRevision; 0: none. */
int64_t run_last_applied(const struct run *run);
int64_t run_last_attempted(const struct run *run);
/* status.unfinishedRevision: one that was being applied, or rolled back to; 0: none. */
int64_t run_unfinished(const struct run *run);

/* The generation of a Spec that has become ready, and is not held by a Rollback or a Destroy; 0:
 * none. What comes later in the same generation does not change it. */
int64_t run_ready_generation_of(const struct value *object);

/* The custom resource whose resources are applied; borrowed. */
const struct value *run_source(const struct run *run);
/* Parses run_source() as a Spec of the types that the context's runtimes have. */
int run_parse(const struct run *run, struct spec **ret, struct error *error);

/* The ServiceAccount whose rights are used; borrowed. NULL: the rights of the operator itself. */
const char *run_account(const struct run *run);
/* The user that requests with these rights impersonate; free(). NULL: the operator itself. */
char *run_user(const struct run *run);
/* What was read with them failed in a way that may pass: the whole run is to be tried again. */
bool run_may_pass(int r);

/* Reads an object of the Spec's namespace with these rights. request: its kind and name, and how it
 * is read. */
int run_read(const struct run *run, struct kube_request request, const struct value **ret,
             struct error *error);

/* Opens State for an operation of this Spec. */
int run_open_state(const struct run *run, struct ledger **ret, struct error *error);
/* The numbers in the head of State; its texts are gone. */
struct state_head run_state_numbers(struct ledger *ledger);

/* What operations on the Spec's behalf are made of, the table's own parts aside. */
struct run_operation {
    struct operation_config config;
    const struct value *identity, *connection, *extensions; /* which it borrows; references, or
                                                               NULL */
};
/* With the Spec's own `context`: what `contextFrom` names comes later (errand.h). */
void run_operation_init(struct run_operation *operation, const struct run *run);
void run_operation_done(struct run_operation *operation);

/* Sets the Release to `cancelled`, with the reason Superseded and `why` as its message. Does
 * nothing if it is NULL or has ended. */
int run_cancel_release(const struct run *run, struct release *release, const char *why,
                       struct error *error);
/* The same with another reason. */
int run_cancel_release_as(const struct run *run, struct release *release, const char *reason,
                          const char *why, struct error *error);
/* The same as run_cancel_release() for the Spec's newest Release. */
int run_cancel_latest(const struct run *run, const char *why, struct error *error);
/* The same for a Release (NULL: the newest) of an earlier generation than the Spec has now. */
int run_supersede(const struct run *run, struct release *release, struct error *error);

/* An event about the Spec; none in a namespace that is being deleted. */
void run_event(const struct run *run, const char *type, const char *reason, const char *message);
