/*
 * A runtime: one of the worlds that resources live in (Kubernetes, a
 * provider, a service on premises), behind one table of functions. Whatever
 * it is made of, the engine asks it the same: how is it now, what would have
 * to be done, do it, is it well, tell me when it changes.
 *
 * The way of one resource: open() gives a session, plan() a step, apply()
 * carries the step out, read() and health() tell how it goes on. A session
 * serves one operation of one Spec: on whose behalf, with which settings.
 *
 * Functions block, and are called from several threads at once, but never
 * twice at once for the same object (id, deposed). They do not wait for the world to come
 * round: an apply ends when the other side has answered, and what goes on
 * there after that is a matter of read() and health().
 *
 * Values that come in may hold VALUE_UNKNOWN while planning, never in apply().
 * Values that go out carry the sensitive bit (value.h) on all that is secret
 * by its own nature; where a secret went in, the engine marks what comes out.
 *
 * Absence is a finding, not the lack of one: PRESENCE_ABSENT only where the
 * other side said so of this very object. A refusal, a time-out, an unknown
 * kind is an error, and PRESENCE_UNKNOWN.
 */
#ifndef ENGINE_RUNTIME_H
#define ENGINE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/cancel.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/permit.h"
#include "engine/base/value.h"
#include "engine/health.h"
#include "engine/state/record.h"
#include "engine/store.h"

struct runtime {
    const struct runtime_ops *ops; /* first member of every implementation */
};

struct runtime_session;
struct runtime_subscription;
struct relations;   /* engine/graph/relations.h */
struct spec_checks; /* engine/spec/check.h */

/* ---- What is asked ---- */

/* How one call is to be made. Borrowed for the call. */
struct runtime_call {
    int64_t deadline;            /* ms, monotonic; CLOCK_FOREVER: none. Of a change: the runtime ends
                                    it in the way that still tells the outcome, perhaps a while later;
                                    where changes take long by nature, its own bounds count instead */
    struct cancel *cancel;       /* of a change: acts before it is sent, never after */
    const struct permit *permit; /* asked before each change is sent; NULL: allowed */
};

/* For whom a session is. Copied by open(). */
struct runtime_scope {
    struct spec_key key;
    const char *spec_uid;
    const struct value *identity; /* on whose behalf ({"serviceAccountName": "robot"}); NULL: the runtime's own */
    const struct value *context;  /* the Spec's `context`, or NULL */
    bool thorough;                /* plans show all that can be known: dry-runs of creates, too */
    bool terminating;             /* the Spec's own surroundings are being deleted */
    bool identity_leaves;         /* nothing is left but what goes last (relations.h): the identity may be gone */
    bool is_inherited;            /* State was made for an earlier Spec of this name: nothing is deleted
                                     but what carries our mark and has the recorded identity as well */
};

/* Which object of a resource is meant. */
enum target_part {
    TARGET_WHOLE,
    TARGET_OLD, /* the one that a replacement takes away */
    TARGET_NEW, /* the one that it makes: nothing is looked for, imported or adopted */
};

/* One resource. Borrowed for the call. */
struct runtime_target {
    const char *id;
    enum target_part part;
    const struct value *attributes; /* references resolved; NULL: the object is to go */
    const struct value *extensions; /* likewise; of one that is to go, as recorded; or NULL */
    const struct record *prior;     /* what State has of it; NULL: nothing, or TARGET_NEW. Of a runtime
                                       that creates blindly, plan() sees APPLIED and TAINTED ones alone */
};

/* ---- What is answered ---- */

enum presence { PRESENCE_UNKNOWN, PRESENCE_ABSENT, PRESENCE_PRESENT };

/* One look at a resource. */
struct observation {
    enum presence presence;
    bool terminating;           /* its deletion has begun */
    char *uid;                  /* owned; NULL: absent, or the runtime knows of none */
    char *footprint;            /* owned: a digest of what is ours of it, the same until someone
                                   takes or changes a field of ours; NULL: the runtime has none */
    const struct value *result; /* a reference: the whole, as references and health see it; NULL:
                                   absent, or only a hint was asked for */
    void *detail;               /* owned, the runtime's own; given back in plan()'s hint */
    void (*detail_free)(void *detail);
};
void observation_done(struct observation *observation);

enum certainty {
    OUTCOME_KNOWN,    /* `now` is what became of it */
    OUTCOME_NOT_SENT, /* not sent, or refused: nothing was changed */
    OUTCOME_IN_DOUBT, /* it may have been changed, or may be yet */
};

/* What a call did. The caller zeroes it and calls outcome_done(), error or not. */
struct runtime_outcome {
    enum certainty certainty;
    int64_t until;              /* IN_DOUBT: ms since 1970; the runtime does nothing more for it after
                                   that; 0: not known */
    struct observation now;
    const struct value *memory; /* a reference: what the runtime wants to have back in `prior`; or NULL */
    bool tainted;               /* of a CREATE: it was made, but not to its end; it has to be replaced */
};
void outcome_done(struct runtime_outcome *outcome);

/*
 * What is to be done to one resource: made by plan(), carried out by apply().
 * First member of the runtime's own. Immutable; holds all it needs, also after
 * the session was closed. Freed by step_free(), from any thread.
 */
struct runtime_step {
    const struct runtime_ops *ops;
    enum plan_action action;        /* REPLACE is an answer only: then TARGET_OLD and TARGET_NEW are planned */
    bool create_first;              /* of REPLACE: its extensions ask that the new one is made first */
    bool cannot_create_first;       /* of REPLACE: there cannot be two at once */
    bool is_unrecorded;             /* of UNCHANGED: as wanted, and State does not say so yet, or not any more */
    int64_t limit;                  /* ms: apply() has ended by then, by bounds of its own; 0: the deadline's */
    const char *uid;                /* of the object in the world; NULL: none, or not known. Of FORGET:
                                       of one that is there, and is not ours any more; NULL: gone */
    const char *reason;             /* of DEFERRED, REPLACE: why, for people; or NULL */
    const struct value *attributes; /* as asked for, secrets marked: what State records; NULL: it goes */
    const struct value *extensions; /* likewise; or NULL */
    const struct value *before;     /* ours of it as it is: shown, and digested; NULL: absent, or not looked at */
    const struct value *after;      /* as it will be, VALUE_UNKNOWN where only the change can tell; NULL: it goes */
    const struct value *result;     /* what references see while planning, and what is recorded where
                                       State is the authority; NULL: read() tells */
    const struct value *memory;     /* of UNCHANGED that is_unrecorded: recorded with `result`; or NULL */
};

/* ---- The table ---- */

/* Something happened to a target, or it is in force now: the target should be looked at. Posts and
 * returns; any thread. */
typedef void runtime_on_event(void *arg);

enum {
    /* State is the authority: the other side cannot be asked what is ours. Results are recorded,
     * and every landing is durable before anything goes on. */
    RUNTIME_IS_RECORDED = 1 << 0,
    /* A create whose answer is lost cannot be found again: each is marked before it begins. */
    RUNTIME_CREATES_BLINDLY = 1 << 1,
};

struct runtime_ops {
    const char *type; /* "Kubernetes": as resources name it */
    unsigned flags;

    void (*free)(struct runtime *runtime);
    /* May be NULL. The process ends: calls in flight are to come to an end soon. Any thread. */
    void (*drain)(struct runtime *runtime);

    /* What can be told of a Spec's resources of this type by themselves; the runtime is the checks'
     * arg. No I/O. NULL: nothing. */
    const struct spec_checks *check;
    /* May be NULL: no relations. What comes before what, by the nature of the resources
     * (relations.h). No I/O. */
    int (*relate)(struct runtime *runtime, const struct runtime_scope *scope,
                  const struct runtime_target *targets, size_t n, struct relations *ret,
                  struct error *error);

    int (*open)(struct runtime *runtime, const struct runtime_scope *scope,
                const struct runtime_call *call, struct runtime_session **ret,
                struct error *error);
    /* Gives the engine's hold back; steps and subscriptions keep what they need. NULL: nothing. */
    void (*close)(struct runtime_session *session);

    /* May be NULL. A look at many in as few requests as possible, as hints for plan(). ret: n of
     * them, zeroed; those that stay UNKNOWN are looked at by plan(). */
    int (*prefetch)(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                    const struct runtime_call *call, struct observation *ret, struct error *error);

    /* A look at one, whole. KNOWN with `now` absent or present; else the error says why it cannot
     * be seen. ERR_UNSUPPORTED CannotBeFound: there is nothing to find it by. */
    int (*read)(struct runtime_session *session, const struct runtime_target *target,
                const struct runtime_call *call, struct runtime_outcome *ret, struct error *error);

    /* hint: of prefetch(); or NULL. A TAINTED prior is answered with REPLACE. An error is this resource's own: ERR_CONFLICT ConflictDetected
     * (it is not ours to take), ERR_FORBIDDEN … */
    int (*plan)(struct runtime_session *session, const struct runtime_target *target,
                const struct observation *hint, const struct runtime_call *call,
                struct runtime_step **ret, struct error *error);
    void (*step_free)(struct runtime_step *step);

    /*
     * Carries out CREATE, ADOPT, UPDATE or DELETE. `ret` is filled on errors, too. A DELETE that was
     * accepted and goes on answers PRESENT and terminating: read() tells when it is gone.
     * ERR_CONFLICT: what is there is not as it was planned for; plan again.
     */
    int (*apply)(struct runtime_step *step, const struct runtime_call *call,
                 struct runtime_outcome *ret, struct error *error);

    /* May be NULL: what is there is well. */
    int (*health)(struct runtime_session *session, const struct runtime_target *target,
                  const struct observation *seen, const struct runtime_call *call,
                  struct health *ret, struct error *error);

    /* May be NULL. Hints that a target may have changed, and one when the subscription is in force,
     * which may come before this returns. Some may be missed, so whoever waits also looks now and
     * then. No I/O on the caller's thread; no lock that on_event takes may be held. */
    int (*subscribe)(struct runtime_session *session, const struct runtime_target *target,
                     runtime_on_event *on_event, void *arg, struct runtime_subscription **ret,
                     struct error *error);
    /* on_event does not run after it returns. */
    void (*unsubscribe)(struct runtime_subscription *subscription);
};

#endif
