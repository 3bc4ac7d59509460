/*
 * A runtime manages one kind of platform (Kubernetes, a cloud provider, a service on premises). The
 * engine calls every runtime through the same table of functions, runtime_ops.
 *
 * The calls for one resource: open() returns a session, plan() compares the resource with the live
 * object and returns a step, apply() carries the step out, read() and health() report the live
 * object afterwards. A session serves one operation of one Spec: it holds the identity to act as
 * and the Spec's settings.
 *
 * Threads: functions block. The engine calls them from several threads at once, but makes one call
 * at a time for each object, which is named by (id, deposed). apply() returns when the platform has
 * answered. Work that the platform does after its answer is followed by read() and health().
 *
 * Unknown values: inputs may contain VALUE_UNKNOWN during plan(), never during apply().
 *
 * Sensitive values: a runtime sets the sensitive bit (value.h) on values that are secret by nature,
 * such as a generated password. The engine marks every output that was computed from a sensitive
 * input. From errors, reasons, warnings and messages of health the engine removes the sensitive
 * values that it knows of the resource (redaction.h): those of its attributes, of its record except
 * `memory`, of its steps, and of its live object. Others, which only the runtime knows, the runtime
 * removes, and from all that it logs: for example, if plan() fails, those of the live object that
 * plan() read.
 *
 * Absence: a runtime answers PRESENCE_ABSENT only if the platform confirmed that this object does
 * not exist. A refusal, a timeout and an unknown kind are errors, with PRESENCE_UNKNOWN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/health.h"
#include "engine/spec/object_policy.h"
#include "engine/state/record.h"
#include "engine/store.h"
#include "engine/threads/cancel.h"
#include "engine/threads/clock.h"
#include "engine/threads/permit.h"
#include "engine/threads/slots.h"
#include "engine/value/value.h"

struct runtime {
    const struct runtime_ops *ops; /* first member of every implementation */
};

/* The one of a type; NULL: there is none. */
struct runtime *runtime_find(struct runtime *const *runtimes, size_t n, const char *type);

struct runtime_session;
struct runtime_subscription;
struct runtime_following;
struct relations;     /* engine/graph/relations.h */
struct spec_checks;   /* engine/spec/check.h */
struct secret_source; /* engine/secrets.h */

/* ---- What is asked ---- */

/* Bytes of an answer, as it is sent. A document takes up to thirty times as much in memory.
 * Hundreds of calls may have small answers at once; only a few have larger ones (slots.h). */
#define RUNTIME_SMALL_ANSWER (64u << 10)

/* Options of one call. Borrowed for the call. */
struct runtime_call {
    int64_t deadline;            /* ms, monotonic; CLOCK_FOREVER: none. A change may end a while
                                    after its deadline, if that is needed to learn the outcome. A
                                    runtime whose changes are slow may apply limits of its own
                                    instead */
    struct cancel *cancel;       /* cancels a change only before it is sent */
    const struct permit *permit; /* asked for permission before each change is sent; NULL: always
                                    allowed */
    bool is_early;               /* plan() before all that it depends on is applied: it is asked
                                    again when the change is due. So an answer that takes long is
                                    not worth waiting for */
    struct slot *large;          /* the runtime takes it before it reads an answer of more than
                                    RUNTIME_SMALL_ANSWER; the engine gives it back when it has freed
                                    what it got. NULL: not needed */
};

/* How closely prefetch() and plan() look at objects that State has as they are wanted. */
enum runtime_look {
    RUNTIME_LOOK_FIELDS,   /* each one is read: whether its fields are still ours */
    RUNTIME_LOOK_FOLLOWED, /* the same, and what is followed and was not touched is not read */
    RUNTIME_LOOK_VALUES,   /* each one is read: whether our fields have their values */
};

/* The Spec that a session works for. open() copies it. */
struct runtime_scope {
    struct spec_key key;
    const char *spec_uid;
    const struct value *identity; /* the identity to act as, {"serviceAccountName": "robot"}; NULL:
                                     the runtime's own */
    const struct value *connection; /* to a platform other than the runtime's own, in the form of
                                     the runtime; or NULL */
    const char *place;              /* as State has it (runtime_ops.place): where its objects are.
                                       NULL: on the runtime's own platform, or there are none */
    const struct value *context;    /* the Spec's `context`, with `contextFrom`; or NULL */
    struct error context_error;    /* if its code is set, `contextFrom` could not be read: a runtime
                                      that needs the context fails with this */
    struct secret_source *secrets; /* where the runtime looks up its own_secrets (secrets.h); NULL:
                                      nobody may know them. Outlives the session */
    const struct value *existing;  /* objects to take over, as runtime_foreign.find() gave them:
                                      by the ids of resources without a record; or NULL */
    struct error existing_error;   /* if its code is set, it could not be read which there are: the
                                      plan of a resource without a record fails with this */
    bool thorough;                 /* plan as exactly as possible: also dry-run creates. A step's
                                      `before` and `after` are the same either way */
    bool force;                    /* an object that cannot be changed as wanted may be replaced,
                                      unless its own settings say otherwise */
    struct object_policy objects;  /* of objects in which others have a part */
    const struct record *const *records; /* what State has of the Spec's objects as the session is
                                     opened, of all types: n_records. Borrowed for open() */
    size_t n_records;
    bool terminating;     /* the Spec's own namespace is being deleted */
    bool is_foreign;      /* the resources are not the Spec's: somebody wants to see what
                             they would do in its place, and must not learn what only the
                             Spec may have */
    bool identity_leaves; /* only resources with relations.last are left: the identity may
                             already be deleted */
    bool is_inherited;    /* State was written for an earlier Spec of this name. Delete an
                             object only if it carries our ownership mark and has the
                             recorded uid */
    enum runtime_look look;
    struct runtime_following *following; /* what this runtime follows for the Spec: from open() on
                                            it tells no drift, until it is settled. NULL: nothing
                                            is followed. Borrowed for open() */
};

/* A replacement has two objects under one resource id. This names one of them. */
enum target_part {
    TARGET_WHOLE,
    TARGET_OLD, /* the object that the replacement deletes */
    TARGET_NEW, /* the object that the replacement creates; an existing one is never imported or
                   adopted. With RUNTIME_CREATES_BLINDLY also one that is created because the
                   recorded object has gone since planning began */
};

/* One resource. Borrowed for the call. */
struct runtime_target {
    const char *id;
    enum target_part part;
    const struct value *attributes; /* references resolved; NULL: the object is to be deleted */
    const struct value *written;    /* plan(): the attributes as the Spec has them, with references,
                                       else of the same form; NULL: a deletion */
    const struct value *extensions; /* references resolved; for a deletion, as recorded in State; or
                                       NULL */
    const struct record *prior;     /* the record in State; NULL: no record, TARGET_NEW, or a record
                                       of an object that is only read. With RUNTIME_CREATES_BLINDLY,
                                       plan() is given only APPLIED and TAINTED records */
    bool was_unknown;               /* a plan was approved in which values of the attributes were
                                       unknown. `before` and `after` are to be what they would have
                                       been then with these values, though more is known now (by a
                                       dry-run, say), because the two are compared */
    bool is_too_early;              /* something that the resource depends on is still to be
                                       changed: an object that is only read cannot be read yet */
};

/* ---- What is answered ---- */

enum presence { PRESENCE_UNKNOWN, PRESENCE_ABSENT, PRESENCE_PRESENT };

/* The live object, as one read found it. */
struct observation {
    enum presence presence;
    bool terminating;           /* deletion has begun */
    char *held_by;              /* owned; if it is terminating, why it still exists, for messages:
                                   "it has the finalizer a.io/b"; NULL: not known */
    char *uid;                  /* owned; NULL: the object is absent, or its platform has no uids */
    char *fields_digest;        /* owned; a digest of the fields that we manage: it changes if
                                   another client changes a field of ours or takes it over; NULL:
                                   not supported */
    const struct value *result; /* a reference; the whole object, for references and health; NULL:
                                   the object is absent, or this is a hint of prefetch() */
    void *detail;               /* owned; private data of the runtime, which plan() gets back in its
                                   hint */
    void (*detail_free)(void *detail);
};
void observation_done(struct observation *observation);

enum certainty {
    OUTCOME_KNOWN,    /* `now` is the object after the call */
    OUTCOME_NOT_SENT, /* the change was not sent, or was refused: the object did not change */
    OUTCOME_IN_DOUBT, /* no answer: the change may have happened, or may still happen */
};

/* The outcome of a call. The caller zeroes it, and calls outcome_done() after success and after an
 * error. */
struct runtime_outcome {
    enum certainty certainty;
    int64_t until; /* an attempt was not answered: the time (ms since 1970) after which
                      it cannot have an effect any more. Of a create also if the
                      outcome is KNOWN, because a later attempt was answered. 0: there
                      is no such attempt, or (IN_DOUBT) the time is not known */
    struct observation now;
    const struct value *memory;   /* a reference; private data of the runtime: State records it, and
                                     `prior` returns it; or NULL */
    bool tainted;                 /* the object was created only in part, and has to be replaced */
    const struct value *warnings; /* a reference; as those of a step */
};
void outcome_done(struct runtime_outcome *outcome);

/*
 * The change that one resource needs. plan() makes a step, apply() carries it out.
 *
 * It is the first member of a runtime's own struct. It is immutable, and remains valid after its
 * session was closed. Any thread may free it with step_free(). The engine sets `before`, `after`,
 * `shown_before`, `shown_after` and `result` to NULL when it has compared them: apply() does not
 * use them.
 *
 * What plan() sets for each action (x: always; (x): if it is known, or if there is one; -: NULL):
 *
 *               attributes  before  after  result  uid   besides
 *   UNCHANGED       x         x       x     (x)    (x)   is_unrecorded, then memory; is_done;
 *                                                        is_only_read
 *   READ            x         -       x      x      -    is_only_read, reason
 *   CREATE          x         -       x      x      -    limit, reason
 *   ADOPT           x         x       x      x     (x)   limit, hides_before, memory
 *   UPDATE          x         x       x      x     (x)   limit, reason
 *   REPLACE         x         x       x      x     (x)   create_first, cannot_create_first, reason
 *   DELETE          -        (x)      -      -     (x)   limit
 *   FORGET          -         -       -      -     (x)   cannot_appear
 *   DEFERRED       (x)       (x)      -      -     (x)   reason
 *
 * A target with attributes is planned as any action except DELETE and FORGET, one without as
 * DELETE, FORGET or DEFERRED. `ops` is always set, `extensions` are those of the target. A REPLACE
 * describes the change as a whole: its `after` and `result` are those of the new object, and `uid`
 * is that of the old one. plan() for TARGET_OLD then gives DELETE or FORGET, plan() for TARGET_NEW
 * gives CREATE.
 *
 * An object that is only read (is_only_read) is not ours: a data source of Terraform, say. It is
 * never created, changed or deleted, and apply() never sees it. plan() reads it: UNCHANGED, with
 * what it read as `result`. If it cannot be read yet, because its attributes have something unknown
 * or the target is_too_early, the answer is READ, with VALUE_UNKNOWN where only the reading can
 * tell; it is planned again when it is due. State records that there is such a resource, and never
 * what was read. When the resource leaves, the record is dropped, without a call of the runtime.
 */
struct runtime_step {
    const struct runtime_ops *ops;
    enum plan_action action;        /* after REPLACE the engine plans TARGET_OLD and TARGET_NEW;
                                       apply() is never given a REPLACE */
    bool create_first;              /* REPLACE: the resource's extensions ask to create the new
                                       object first */
    bool cannot_create_first;       /* REPLACE: the two objects cannot exist at the same time */
    bool hides_before;              /* the object was ours once, and State has no record of it:
                                       nobody knows which values of `before` are secret, so that a
                                       diff shows none */
    bool is_unrecorded;             /* UNCHANGED: the live object is as wanted, but its record in
                                       State is missing or different */
    bool is_done;                   /* UNCHANGED: the object is absent, because it has done its work
                                       (the record's is_done). It is not read; references see
                                       `result` */
    bool is_only_read;              /* UNCHANGED, READ: the object is not ours, as said above */
    bool cannot_appear;             /* FORGET: no create can make the object any more, because its
                                       namespace is being deleted, say */
    int64_t limit;                  /* ms; the longest time that apply() takes by limits of its own;
                                       0: the call's deadline limits it */
    const char *place;              /* runtime_ops.place() of the session: the digest covers it; or
                                       NULL */
    const char *uid;                /* the live object's; NULL: there is none, or it is not known.
                                       FORGET: the uid of an object that exists but is no longer
                                       ours; NULL: the object is gone */
    const char *reason;             /* for messages, or NULL; it is not part of the digest.
                                       DEFERRED, READ, REPLACE: the cause. CREATE: why the plan is
                                       less exact than `thorough` asks for */
    const struct value *attributes; /* desired attributes, as State will record them, secrets
                                       marked; NULL: the object is to be deleted */
    const struct value *extensions; /* desired extensions; or NULL */
    const struct value *before;     /* the fields that we manage, or are about to, as they are now:
                                       for the diff and the plan's digest; NULL: the object is
                                       absent or was not read */
    const struct value *after;      /* the same fields after the change, VALUE_UNKNOWN if only the
                                       change can tell. The same whether the scope is thorough or
                                       not. NULL: the object is to be deleted */
    const struct value *shown_before, *shown_after; /* what the diff shows instead of `before` and
                                       `after`, if more is known than what the digest is made of:
                                       by a dry-run that not all plans make, say; NULL: nothing
                                       else. Of an approved CREATE shown_after is compared */
    const struct value *result;   /* the result that references see until the change is applied;
                                     NULL: read() gives it */
    const struct value *memory;   /* private data that State records. UNCHANGED with
                                     is_unrecorded: NULL: that of read(). ADOPT with
                                     RUNTIME_CREATES_BLINDLY: by which the object is found again;
                                     recorded before the change is sent */
    const struct value *warnings; /* array of strings: what the platform warns of, for people;
                                     NULL: nothing */
};

/* Drops what a step owns by this struct, for the runtime's step_free(): the values. The strings are
 * the runtime's. */
void runtime_step_done(struct runtime_step *step);

/* ---- The table ---- */

/* A target may have changed, or its subscription is active now: the receiver should read the
 * target. The callback must not block. Any thread may call it. */
typedef void runtime_on_event(void *arg);

enum {
    /* The platform cannot list the objects that are ours, so State is the authority. The engine
     * records results, and makes every outcome durable before it goes on. */
    RUNTIME_IS_RECORDED = 1 << 0,
    /* If the answer to a create is lost, its object cannot be found. The engine records each create
     * as begun before it is sent, and each object that is adopted as ours. */
    RUNTIME_CREATES_BLINDLY = 1 << 1,
};

/* Who may see a resource as a Spec has it. */
enum runtime_exposure {
    EXPOSURE_SECRET, /* who may see secrets: it may have some in clear */
    EXPOSURE_SPEC,   /* who may see the Spec */
    EXPOSURE_VIEWED, /* who may view what is in the Spec's namespace: its object is there */
};

/* What tells the documents of one world apart: who reads two of the same lineage takes the one with
 * the higher serial for the newer one. */
struct runtime_mark {
    const char *lineage;
    uint64_t serial;
};

/* The document in which other tools of a platform keep what a ledger has: objects are taken over
 * from one, and records are written as one. Pure functions; any thread. */
struct runtime_foreign {
    /* Reads a document. targets: all resources of this type, with their records if they have one.
     * *ret: by id, what the document has of those without a record, for plan()
     * (runtime_scope.existing); all of it is to be treated as secret; a reference. ERR_INVALID,
     * ERR_UNSUPPORTED, ERR_TOO_LARGE: the document cannot be read. */
    int (*find)(struct runtime *runtime, const char *text, size_t length,
                const struct runtime_target *targets, size_t n, const struct value **ret,
                struct error *error);
    /* Writes a document of the records of this type. records: all of a State: what others depend on
     * counts. ret: initialised; the text is added. The same records, under the same mark, give the
     * same bytes. ERR_INVALID: they do not fit into one document. ERR_TOO_LARGE. */
    int (*write)(struct runtime *runtime, const struct record *const *records, size_t n,
                 const struct runtime_mark *mark, struct buf *ret, struct error *error);
};

/* ---- Following ---- */

enum runtime_whole {
    FOLLOWING_WHOLE,   /* what others do to the objects is told at once */
    FOLLOWING_PENDING, /* it began a moment ago: not known yet */
    FOLLOWING_BROKEN,  /* refused, lost or too old: what others do may not be told */
};

/*
 * Tells, between the operations of a Spec, that somebody else changed or deleted an object of it.
 * One following is of one Spec and one runtime; it outlives operations. Thread-safe, and without
 * requests on the caller's thread.
 *
 * An operation reads all that was told before its session was opened, and what it changes itself
 * is never told. So a following is silent from open() on, with it in the scope, until settle().
 */
struct runtime_follow_ops {
    /* Follows nothing yet. One reference. on_drift may be called with locks held: it posts, and
     * returns. */
    struct runtime_following *(*begin)(struct runtime *runtime, const struct spec_key *spec,
                                       runtime_on_event *on_drift, void *arg);
    struct runtime_following *(*ref)(struct runtime_following *following);
    /* Accepts NULL. */
    void (*unref)(struct runtime_following *following);
    /* Nothing is followed any more; on_drift does not run after this returns. */
    void (*end)(struct runtime_following *following);
    /* An operation has done all that it was to do: from now on the objects of these records, of
     * those of this runtime's type, are followed, and no others. What is told from now on is what
     * changes from here on, and what the operation did not see any more. session: the operation's
     * last one, with the following in its scope. */
    void (*settle)(struct runtime_following *following, struct runtime_session *session,
                   const struct record *const *records, size_t n);
    /* An operation has failed. Until the next one begins, on_drift is called for one thing only:
     * a person said on an object that it is to be treated in another way, which may be what the
     * operation failed for. */
    void (*listen)(struct runtime_following *following);
    /* why: unless it is whole, what the matter is, for people; it may be NULL. */
    enum runtime_whole (*state)(struct runtime_following *following, struct error *why);
};

struct runtime_ops {
    const char *type; /* a resource's `type`: "Kubernetes" */
    unsigned flags;

    void (*free)(struct runtime *runtime);
    /* May be NULL. The process is shutting down: make calls in flight return soon. Any thread. */
    void (*drain)(struct runtime *runtime);

    /* Checks of a Spec's resources of this type, without I/O. Their arg is the runtime. NULL: no
     * checks. */
    const struct spec_checks *check;
    /* A member of the extensions in which references to secrets stay as they are written: the
     * runtime looks them up when it needs them, so that neither a step nor State has their values.
     * NULL: none. */
    const char *own_secrets;
    const struct runtime_foreign *foreign;   /* NULL: there is no such document */
    const struct runtime_follow_ops *follow; /* NULL: what others do is found by checks alone */
    /* NULL: EXPOSURE_SECRET. written: the attributes as the Spec has them, perhaps not valid, or
     * NULL. namespace_name: the Spec's. Pure. */
    enum runtime_exposure (*exposure)(const struct value *written, const char *namespace_name);
    /* May be NULL. Adds the order that follows from the kinds of resources (relations.h). No I/O.
     * */
    int (*relate)(struct runtime *runtime, const struct runtime_scope *scope,
                  const struct runtime_target *targets, size_t n, struct relations *ret,
                  struct error *error);

    int (*open)(struct runtime *runtime, const struct runtime_scope *scope,
                const struct runtime_call *call, struct runtime_session **ret, struct error *error);
    /* May be NULL: there is one platform. What tells the session's platform from others; NULL: it
     * is the runtime's own. Borrowed from the session. State records it before the first change,
     * and scope.place has it from then on: open() fails if State has objects of another platform,
     * and a platform that is found to be another one later is an error, never an absence. Only one
     * runtime has this. */
    const char *(*place)(struct runtime_session *session);
    /* Releases the engine's reference; steps and subscriptions keep what they need. Accepts NULL.
     * */
    void (*close)(struct runtime_session *session);

    /* May be NULL. Reads many objects in as few requests as possible. ret: n zeroed observations,
     * which become plan()'s hints. plan() reads a target that stays PRESENCE_UNKNOWN. */
    int (*prefetch)(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                    const struct runtime_call *call, struct observation *ret, struct error *error);

    /* May be NULL. Lists the objects that carry the mark of the session's Spec, of the kinds and in
     * the places of `ids`, an array. *ret: a reference to an array of {id, attributes, listed}: the
     * id as in `ids` where it is one of them, attributes that name the object. Where the list is
     * refused, the ids themselves, which may name nothing (listed is false). The deadline is that
     * of the first list: each that is answered may put it off. */
    int (*list_own)(struct runtime_session *session, const struct value *ids,
                    const struct runtime_call *call, const struct value **ret, struct error *error);

    /* Reads one whole object. Success is OUTCOME_KNOWN, with `now` absent or present.
     * ERR_UNSUPPORTED CannotBeFound: the target has nothing that identifies an object. */
    int (*read)(struct runtime_session *session, const struct runtime_target *target,
                const struct runtime_call *call, struct runtime_outcome *ret, struct error *error);

    /* hint: from prefetch(), or NULL. If the prior record is TAINTED, the answer is REPLACE. An
     * error concerns this resource alone: ERR_CONFLICT ConflictDetected (the object belongs to
     * another owner), ERR_FORBIDDEN … */
    int (*plan)(struct runtime_session *session, const struct runtime_target *target,
                const struct observation *hint, const struct runtime_call *call,
                struct runtime_step **ret, struct error *error);
    void (*step_free)(struct runtime_step *step);

    /*
     * Carries out CREATE, ADOPT, UPDATE or DELETE. `ret` is filled after errors, too. If a deletion
     * was accepted but is not complete, `now` is present and terminating, and read() tells when the
     * object is gone. ERR_CONFLICT: the object changed since the plan; plan again.
     */
    int (*apply)(struct runtime_step *step, const struct runtime_call *call,
                 struct runtime_outcome *ret, struct error *error);

    /* May be NULL: an object that exists is healthy. */
    int (*health)(struct runtime_session *session, const struct runtime_target *target,
                  const struct observation *seen, const struct runtime_call *call,
                  struct health *ret, struct error *error);

    /* May be NULL. Calls on_event when the target may have changed, and once when the subscription
     * becomes active, which may be before subscribe() returns. Events may be missed, so a waiting
     * caller also reads from time to time. No I/O on the caller's thread. The caller must not hold
     * a lock that on_event takes. */
    int (*subscribe)(struct runtime_session *session, const struct runtime_target *target,
                     runtime_on_event *on_event, void *arg, struct runtime_subscription **ret,
                     struct error *error);
    /* on_event does not run after this returns. */
    void (*unsubscribe)(struct runtime_subscription *subscription);
};
