/*
 * A runtime: one of the worlds that resources live in (Kubernetes, Terraform, a
 * service on premises), behind one table of functions. Whatever it is made of,
 * the engine asks it the same: how is it now, how would it be, make it so,
 * take it away, tell me when it changes, is it well.
 *
 * A session serves one operation of one Spec: on whose behalf (identity), for
 * which owner, cancelled by which token. Its functions block, and are called
 * from several threads at once, never twice at once for the same resource.
 *
 * Absence is a finding, not the lack of one: PRESENCE_ABSENT only where the
 * runtime was told so by who knows; a refusal, a time-out, an unknown kind is
 * PRESENCE_UNKNOWN, with the error that says why.
 */
#ifndef ENGINE_RUNTIME_H
#define ENGINE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/cancel.h"
#include "engine/base/error.h"
#include "engine/base/value.h"
#include "engine/health/health.h"

enum presence { PRESENCE_UNKNOWN, PRESENCE_ABSENT, PRESENCE_PRESENT };

/* Whose an object is, by what it carries. An index, never authority. */
enum owner_kind {
    OWNER_NONE,  /* nobody's that we know of */
    OWNER_SELF,  /* this Spec's */
    OWNER_SPEC,  /* another Spec's */
    OWNER_OTHER, /* Helm's, Flux's, Argo CD's, an applyset's */
};

/* What one look at a resource showed. */
struct observation {
    enum presence presence;
    enum owner_kind owner;
    bool terminating;
    char *uid;                  /* owned; NULL unless present */
    char *version;              /* owned: opaque, another after any change; NULL where only
                                   metadata was read, or the runtime knows of none */
    char *footprint;            /* owned: a digest of what is ours of it, the same until someone
                                   takes or changes a field of ours; NULL: nothing is ours */
    const struct value *object; /* a reference: the whole; NULL where only its metadata was read */
    struct error error;         /* why it is UNKNOWN */
};

void observation_done(struct observation *observation);

/* One resource, as asked of a runtime. Borrowed for the call. */
struct runtime_target {
    const char *id;
    const struct value *attributes; /* references resolved; identity at least */
    const char *uid;                /* the one that was recorded; NULL: none */
    const char *version; /* apply only to what is as it was seen then, else ERR_CONFLICT; NULL: to
                            whatever is there */
};

struct runtime_session;

struct runtime_scope {
    const char *spec_namespace, *spec_name, *spec_uid;
    const char *owner;           /* the owner label's value: a hash of namespace and name */
    const char *service_account; /* in the Spec's namespace; NULL: the runtime's own identity */
    bool spec_namespace_terminating; /* the service account may be gone already: not looked up */
    bool service_account_leaves;     /* it is to be deleted, too: the same */
    struct cancel *cancel;
};

enum apply_mode {
    APPLY_CREATE, /* believed absent: fails with ERR_CONFLICT where there is an object */
    APPLY_TAKE,   /* update, or (of a version) adopt: contested fields become ours */
};

struct runtime_watch;
typedef void runtime_on_change(void *arg, size_t target); /* index; any thread; quick */

struct runtime {
    const struct runtime_ops *ops; /* first member of every implementation */
};

struct runtime_ops {
    const char *type; /* "Kubernetes" */

    /* ERR_INVALID ServiceAccountNotFound, ERR_FORBIDDEN … */
    int (*open)(struct runtime *runtime, const struct runtime_scope *scope,
                struct runtime_session **ret, struct error *error);
    void (*close)(struct runtime_session *session); /* NULL: nothing */

    /* A look at many, metadata only, in as few requests as it can. ret: n of them, zeroed. An
     * error only where the whole failed (cancelled); each target's own is in its observation. */
    int (*observe)(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                   struct observation *ret, struct error *error);

    /* A look at one, whole. 0 for absent and present; else UNKNOWN, and the error. */
    int (*read)(struct runtime_session *session, const struct runtime_target *target,
                struct observation *ret, struct error *error);

    /* How it would be after apply: a dry-run. ret: the object, with what only the server can
     * know in a real run unknown. */
    int (*preview)(struct runtime_session *session, const struct runtime_target *target,
                   enum apply_mode mode, const struct value **ret, struct error *error);

    /* Makes it so. ret: as it is now, whole. Repeating it is harmless. */
    int (*apply)(struct runtime_session *session, const struct runtime_target *target,
                 enum apply_mode mode, struct observation *ret, struct error *error);

    /* Asked once, right before remove is, whoever wants it (prune, destroy). ERR_CONFLICT
     * DeletionGuardTripped: what would go with it is not all the Spec's, or is not known; the
     * message names some of it, and the way out. NULL: nothing goes with anything. */
    int (*may_delete)(struct runtime_session *session, const struct runtime_target *target,
                      struct error *error);

    /* Whether an object of these attributes is in the namespace, and so goes with it; false where
     * that is not known. */
    bool (*is_in_namespace)(struct runtime_session *session, const struct value *attributes,
                            const char *namespace_name);

    /* Begins to delete the object of target->uid, and only that. 1: it is gone, and need not be
     * looked at to know; 0: begun, or already gone. ERR_CONFLICT: another object has its name
     * now. */
    int (*remove)(struct runtime_session *session, const struct runtime_target *target,
                  struct error *error);

    /* on_change(arg, i) when target i may have changed. Hints: some may be missed, so who waits
     * also looks again now and then. May answer ERR_UNSUPPORTED. */
    int (*watch)(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                 runtime_on_change *on_change, void *arg, struct runtime_watch **ret,
                 struct error *error);
    void (*unwatch)(struct runtime_session *session, struct runtime_watch *watch);

    void (*health)(const struct value *object, struct health *ret);

    /* The same attributes, or a whole object of that shape, with what is secret by their kind
     * made sensitive (a Secret's data). A reference; NULL stays NULL. */
    const struct value *(*mark)(const struct value *attributes);
};

#endif
