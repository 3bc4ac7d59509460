/*
 * What the files of the runtime share: its sessions, where objects are, and
 * requests for them.
 *
 * A session is counted: the engine's hold, each step and each subscription
 * keep it. It has no cancel and no deadline of its own; each call brings
 * them. Reads end with the call's cancel and deadline. A change is sent with
 * complete_once_sent (client.h): once it is on its way its outcome is waited
 * for, a minute at most.
 *
 * Thread-safe. The session's lock is never held while a server is asked.
 */
#ifndef RUNTIMES_KUBERNETES_SESSION_H
#define RUNTIMES_KUBERNETES_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/strmap.h"
#include "runtimes/kubernetes/runtime.h"

#define FIELD_MANAGER_SIZE 64

struct watches;
struct definitions;

struct kube_runtime {
    struct runtime base;
    struct kube_runtime_config config;
    struct watches *watches;

    pthread_mutex_t lock;            /* of these */
    struct strmap undefined;         /* of a kind: no definition brings it; keys are owned */
    struct strmap searches;          /* by namespace of Specs: searches for definitions; owned */
    int64_t undefined_before;        /* ms, monotonic: what is in there was seen since then */
    struct definitions *definitions; /* as they were listed last; NULL: not yet */
    int64_t applied_at;              /* ms, monotonic: kube_note_applied() */
    struct strmap accounts;          /* user names of service accounts that are there; keys are owned */
    int64_t accounts_since;          /* ms, monotonic: seen since then */
};

struct runtime_session {
    atomic_uint references;
    struct kube_runtime *runtime;
    struct kube_cluster cluster; /* where its objects are */
    char *spec_namespace;
    char *spec; /* "namespace/name" */
    char *owner;
    char *service_account; /* NULL: the controller itself */
    char *impersonate;     /* a user name, or NULL */
    char field_manager[FIELD_MANAGER_SIZE];
    bool thorough, terminating, identity_leaves, is_inherited; /* runtime_scope */

    pthread_mutex_t lock;        /* of these */
    struct strmap defined;       /* "Kind.group" of the CRDs that it applied or read */
    int64_t definition_seen;     /* ms, monotonic: when, the last time */
    bool is_account_known;       /* it was looked up */
    struct error *account_error; /* what that gave; NULL: it is there */
};

/* ---- session.c ---- */

int session_open(struct runtime *runtime, const struct runtime_scope *scope,
                 const struct runtime_call *call, struct runtime_session **ret,
                 struct error *error);
struct runtime_session *session_ref(struct runtime_session *session);
void session_unref(struct runtime_session *session);

/* The service account that a scope's identity names; NULL: none. Borrowed from it. */
const char *kube_service_account(const struct value *identity);

/* Of what was just applied or read: a CRD brings a kind, which is served a moment after it is
 * established. */
void session_note_definition(struct runtime_session *session, const struct value *attributes);
/* The kind of these attributes is one of those, and may be served any moment. */
bool session_expects_kind(struct runtime_session *session, const struct value *attributes);

/* ---- account.c ---- */

/* Whether the account that the session acts as is there: looked up once, if at all, and for the
 * Specs of a few seconds together. ERR_INVALID ServiceAccountNotFound. */
int session_check_account(struct runtime_session *session, const struct runtime_call *call,
                          struct error *error);
void kube_forget_accounts(struct kube_runtime *runtime);

/* ---- place.c ---- */

/* The attributes that name a target's object: as asked for, or as recorded. NULL: there are none.
 */
const struct value *target_identity(const struct runtime_target *target);

/* Where a target is: its kind, and its namespace (the Spec's own where it names none). Borrowed
 * from the attributes, the session and the discovery. ERR_NOT_FOUND KindNotServed: no such kind. */
int kube_place_of(struct runtime_session *session, const struct value *attributes,
                  const struct runtime_call *call, struct kube_ref *ret, struct error *error);
/* The same object, where its version is not served any more, through another of its group. */
int kube_place_at_any_version(struct runtime_session *session, const struct value *attributes,
                              const struct runtime_call *call, struct kube_ref *ret,
                              struct error *error);
/* The same without asking the server. False: not known. */
bool kube_place_if_known(struct runtime_session *session, const struct value *attributes,
                         struct kube_ref *ret);
bool kube_is_in_namespace(struct runtime_session *session, const struct value *attributes,
                          const char *namespace_name, const struct runtime_call *call);

/*
 * A read of one object, or a dry-run, as the Spec's service account: the rest of the request is set
 * here. Errors of missing rights say
 * what would mend them. ERR_UNAVAILABLE UnexpectedAnswer: what was answered is not the object of
 * that place.
 */
int session_read(struct runtime_session *session, const struct kube_ref *place,
                 const struct runtime_call *call, struct kube_request *request,
                 const struct value **ret, struct error *error);
/* The same of a change. *ret_certainty is set on errors, too: KNOWN where it was done, NOT_SENT
 * where nothing was changed. */
int session_change(struct runtime_session *session, const struct kube_ref *place,
                   const struct runtime_call *call, struct kube_request *request,
                   const struct value **ret, enum certainty *ret_certainty, struct error *error);
/* As long as the call may take. */
struct kube_wait session_wait(const struct runtime_session *session,
                              const struct runtime_call *call);
/* ms that a read may take, in *ret. ERR_TIMEOUT: none are left. */
int session_time_left(const struct runtime_session *session, const struct runtime_call *call,
                      int64_t *ret, struct error *error);

/* ---- hint.c ---- */

/* Adds to an error of a right that is missing what would give it, ready to be typed, or whose it is
 * to give; the reason is AccessDenied then. */
void session_add_hint(const struct runtime_session *session, const struct kube_ref *place,
                      struct error *error);
/* What roles and bindings are called that commands of hints make. All names of one service account
 * begin with that for "". */
char *session_rights_name(const struct runtime_session *session, const char *which);
/* "widgets.example.com", as kubectl calls a kind. */
char *kube_kind_resource(const struct kube_kind *kind);

/* ---- object.c ---- */

/* What an object that is sent names beyond its attributes, so that it meets that object alone. */
struct kube_expected {
    const char *uid;     /* NULL: any */
    const char *version; /* NULL: any */
};

/* The object to send: attributes, namespace, owner's marks, without what the server fills in. */
const struct value *kube_object_prepare(const struct runtime_session *session,
                                        const struct kube_ref *place,
                                        const struct value *attributes,
                                        const struct kube_expected *expected);

/* Without status, what the server fills in, and kubectl's copy of what it applied last, secrets
 * too. */
const struct value *kube_object_project(const struct value *object);

/* What is secret by its nature made sensitive: of a Secret its content, and kubectl's copy of that.
 * A reference; NULL stays NULL. */
const struct value *kube_object_mark(const struct value *object);

/* Whose an object is, by its marks. */
enum kube_owner {
    OWNER_NONE,  /* nobody's */
    OWNER_SELF,  /* this Spec's */
    OWNER_SPEC,  /* another Spec's */
    OWNER_OTHER, /* another tool's */
};

/* The `detail` of an observation of what is there: what plan() has to know of it. */
struct kube_detail {
    enum kube_owner owner;
    char *version; /* resourceVersion */
};

/* Of what is there; else NULL. */
const struct kube_detail *kube_detail_of(const struct observation *observation);

/* From an object or its metadata. `whole`: keep it, marked. */
void kube_observe_object(const struct runtime_session *session, const struct value *object,
                         bool whole, struct observation *ret);

/* ---- observe.c ---- */

/* A look at the object of these attributes: present or absent; else the error says why it cannot
 * be seen. */
int kube_look(struct runtime_session *session, const struct value *attributes, bool whole,
              const struct runtime_call *call, struct observation *ret, struct error *error);

int kube_prefetch(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                  const struct runtime_call *call, struct observation *ret, struct error *error);
int kube_read(struct runtime_session *session, const struct runtime_target *target,
              const struct runtime_call *call, struct runtime_outcome *ret, struct error *error);

/* ---- definition.c ---- */

/*
 * Of a kind that is not served: 1: nothing defines it, and so it has no objects; 0: something does,
 * or may: an aggregated API whose server is away, a version that is not served. Asked as the
 * controller. Negative: not to be known.
 */
int kube_is_undefined(struct runtime_session *session, const struct value *attributes,
                      const struct runtime_call *call, struct error *error);
/* An object of these attributes was applied: if a definition brings its kind, that may be newer than
 * the last list of them, which does not tell any more what is not defined. */
void kube_note_applied(struct runtime_session *session, const struct value *attributes);
/* Frees what is known of definitions, at the runtime's end. */
void kube_free_definitions(struct kube_runtime *runtime);

/* ---- guard.c ---- */

/* Whether an object may be deleted: nothing that is not this Spec's would go with it. */
int kube_may_delete(struct runtime_session *session, const struct value *attributes,
                    const struct runtime_call *call, struct error *error);

/* ---- step.h has plan() and apply() ---- */

#endif
