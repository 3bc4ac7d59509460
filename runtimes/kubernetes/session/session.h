/*
 * Declarations that the files of this runtime share: sessions, references to objects, and requests.
 *
 * A session is reference-counted: the engine, each step and each subscription hold a reference. The
 * session has no cancel and no deadline of its own; each call brings them. Reads end at the call's
 * cancel or deadline. Changes are sent with complete_once_sent (client.h): after the request was
 * sent, the runtime waits up to a minute for its outcome.
 *
 * Thread-safe. The session's lock is not held during requests.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/strmap.h"
#include "engine/runtime.h"
#include "runtimes/kubernetes/session/cluster_cache.h"
#include "runtimes/kubernetes/session/config.h"

#define FIELD_MANAGER_SIZE 64

struct health_checks;
struct watches;
struct ignore; /* objects/ignore.h */

/* An object that State has, by which a cluster is known again. */
struct witness {
    const struct value *identity; /* a reference */
    char *uid;
};
#define WITNESSES 8
struct follows;
struct followed;

struct kube_runtime {
    struct runtime base;
    struct kube_runtime_config config;
    struct watches *watches;
    struct health_checks *checks;
    struct follows *follows;
    struct cluster_cache *own; /* of config.cluster; a reference */
    struct cluster_caches caches;
    struct clusters *clusters; /* that tenants chose */
};

struct runtime_session {
    atomic_uint references;
    struct kube_runtime *runtime;
    struct kube_cluster cluster;         /* the cluster of its objects */
    struct cluster_cache *cache;         /* of that cluster; a reference */
    struct foreign_cluster *foreign;     /* the same, if a tenant chose it; a reference, or NULL */
    char *place;                         /* of a foreign one: place.h */
    struct witness witnesses[WITNESSES]; /* of a foreign one */
    size_t n_witnesses;
    char *spec_namespace;
    char *spec; /* "namespace/name" */
    char *owner;
    char *service_account; /* NULL: the controller itself */
    char *impersonate;     /* the user name to impersonate, or NULL */
    char field_manager[FIELD_MANAGER_SIZE];
    bool thorough, force, terminating, identity_leaves, is_inherited; /* as in runtime_scope */
    struct object_policy objects;                                     /* references */
    struct ignore *ignore;                                            /* NULL: nothing is ignored */
    enum runtime_look look;                                           /* likewise */
    struct followed *followed; /* a reference; NULL: nothing is followed (following.h) */
    atomic_bool is_slow;       /* an early dry-run failed after a long time (request.c) */

    pthread_mutex_t lock;        /* of these */
    int64_t place_seen;          /* ms, monotonic: when it was asked last that it is the place */
    bool is_known_again;         /* by a witness */
    struct strmap defined;       /* "Kind.group" of the CRDs that this session applied or read */
    int64_t definition_seen;     /* ms, monotonic: when it last did so */
    struct strmap wanted;        /* "Namespace/name" and "Kind.group" that the Spec has itself */
    bool is_account_known;       /* the service account was looked up */
    struct error *account_error; /* the result of the lookup; NULL: the account exists */
    const struct value *rules;   /* of a rules review; NULL: not asked yet, or not known */
    char *asked_namespace;       /* the namespace that was last looked up; NULL: none */
    bool is_namespace_missing;   /* it does not exist */
    char *other_spec;            /* the Spec that was last found to own an object; NULL: none */
    bool is_other_gone;          /* it does not exist any more */
    unsigned n_searches;         /* kinds that were looked for in all groups */
    struct strmap causes;        /* cause.c */
    int64_t cause_asked;         /* ms, monotonic: when it was last asked for one */
};

/* ---- session.c ---- */

int kube_session_open(struct runtime *runtime, const struct runtime_scope *scope,
                      const struct runtime_call *call, struct runtime_session **ret,
                      struct error *error);
/* runtime_ops.place */
const char *kube_session_place(struct runtime_session *session);
/* A session whose objects are in that cluster. Its client and discovery outlive the session. */
struct runtime_session *session_new(struct kube_runtime *runtime,
                                    const struct kube_cluster *cluster,
                                    const struct runtime_scope *scope);
struct runtime_session *session_ref(struct runtime_session *session);
void session_unref(struct runtime_session *session);

/* Of what was just applied or read: a CRD brings a kind, which is served a moment after it is
 * established. */
void session_note_definition(struct runtime_session *session, const struct value *attributes);
/* True if the kind of these attributes belongs to such a CRD and may be served soon. */
bool session_expects_kind(struct runtime_session *session, const struct value *attributes);

/* Of a resource of the Spec: it may be a Namespace or a CRD that others wait for. */
void session_note_wanted(struct runtime_session *session, const struct value *attributes);
/* True if the Spec has the Namespace, or the CRD of the kind, of the object with these attributes.
 */
bool session_wants_namespace_of(struct runtime_session *session, const struct value *attributes);
bool session_wants_kind_of(struct runtime_session *session, const struct value *attributes);

/* ---- foreign.c ---- */

/* Opens a session with the cluster of scope->connection. */
int session_open_foreign(struct kube_runtime *runtime, const struct runtime_scope *scope,
                         const struct runtime_call *call, struct runtime_session **ret,
                         struct error *error);
/* The objects that State has are where the session looks. since: ms, monotonic; an answer to a
 * question that was asked since then counts. ERR_INVALID ClusterChanged. */
int session_confirm_place(struct runtime_session *session, int64_t since,
                          const struct runtime_call *call, struct error *error);
/* The same after an object was not found: it may be another cluster that does not have it. */
int session_confirm_absence(struct runtime_session *session, const struct runtime_call *call,
                            struct error *error);
/* State has no objects, or they are in the runtime's own cluster. */
int session_check_home(struct kube_runtime *runtime, const struct runtime_scope *scope,
                       const struct runtime_call *call, struct error *error);

/* ---- account.c ---- */

/* Whether the account that the session acts as is there (not asked of a foreign cluster, whose
 * kubeconfig may not be allowed to ask): looked up once, if at all, and for the
 * Specs of a few seconds together. ERR_INVALID ServiceAccountNotFound. */
int session_check_account(struct runtime_session *session, const struct runtime_call *call,
                          struct error *error);

/* ---- reference.c ---- */

/* The reference to an object: its kind, its namespace (by default the Spec's own), its name.
 * Borrowed from the attributes, the session and the discovery. ERR_NOT_FOUND KindNotServed. */
int kube_ref_of(struct runtime_session *session, const struct value *attributes,
                const struct runtime_call *call, struct kube_ref *ret, struct error *error);
/* The same; if its version is no longer served, through another version of its group. */
int kube_ref_at_any_version(struct runtime_session *session, const struct value *attributes,
                            const struct runtime_call *call, struct kube_ref *ret,
                            struct error *error);
/* The same, from what is known without a request. False: not known. */
bool kube_ref_if_known(struct runtime_session *session, const struct value *attributes,
                       struct kube_ref *ret);
bool kube_is_in_namespace(struct runtime_session *session, const struct value *attributes,
                          const char *namespace_name, const struct runtime_call *call);

/* ---- request.c ---- */

/*
 * A read or a dry-run of one object, as the Spec's service account. It completes `request`. An
 * error of missing rights includes a hint (hint.c). ERR_UNAVAILABLE UnexpectedAnswer: the answer is
 * not the requested object. ERR_INVALID Unsupported: objects of this kind have no UIDs.
 */
int session_read(struct runtime_session *session, const struct kube_ref *ref,
                 const struct runtime_call *call, struct kube_request *request,
                 const struct value **ret, struct error *error);
/* The same for a change. The outcome's certainty is set after errors, too: KNOWN if the change was
 * made, NOT_SENT if nothing was changed; and `until`, if an attempt was not answered. */
int session_change(struct runtime_session *session, const struct kube_ref *ref,
                   const struct runtime_call *call, struct kube_request *request,
                   const struct value **ret, struct runtime_outcome *ret_outcome,
                   struct error *error);
/* As long as the call may take. */
struct kube_wait session_wait(const struct runtime_session *session,
                              const struct runtime_call *call);
/* ms that a read may take, in *ret. ERR_TIMEOUT: none are left. */
int session_time_left(const struct runtime_session *session, const struct runtime_call *call,
                      int64_t *ret, struct error *error);

/* ---- rights.c ---- */

/* The verb that the words begin with, if the operator's requests use it; else NULL. */
const char *kube_find_verb(const char *words);
/* "get,list": the verbs that the operator's requests use and the account may not, on this kind in
 * the Spec's own namespace. object: only those that concern this one object; NULL: all. `refused`
 * is one of them. If the others are not known, or call is NULL, it is the only one. */
char *session_missing_verbs(struct runtime_session *session, const struct kube_kind *kind,
                            const char *object, const char *refused,
                            const struct runtime_call *call);
/* True if the account may know that there is no such namespace. */
bool session_lacks_namespace(struct runtime_session *session, const char *name,
                             const struct runtime_call *call);

/* ---- hint.c ---- */

/* If the error is a missing right: adds the command that grants it, or says who can grant it, and
 * sets the reason AccessDenied; or NamespaceNotFound, if the account may know that the namespace
 * does not exist. If it is a missing namespace: adds what to do. call NULL:
 * no request is sent for that. */
void session_add_hint(struct runtime_session *session, const struct kube_ref *ref,
                      const struct runtime_call *call, struct error *error);
/* The command that allows to list these kinds ("pods,events") in a namespace; free(). NULL: it is
 * not the Spec's author's to ask for. */
char *session_list_command(const struct runtime_session *session, const char *in,
                           const char *resources);
/* Adds to the line of the message. The API server's text before it is cut rather than the words. */
void kube_add_words(struct error *error, const char *words);
/* The name of roles and bindings in the commands of hints. All names of one service account begin
 * with the name for which = "". */
char *session_rights_name(const struct runtime_session *session, const char *which);
/* "widgets.example.com": a kind as kubectl names it. */
char *kube_kind_resource(const struct kube_kind *kind);

/* kube_reconcile_command() of the session's Spec; free(). NULL: a Preview, or a Spec whose plans
 * need an approval. */
char *session_reconcile_command(const struct runtime_session *session);

/* Letters, digits, dots and dashes: no shell and no kubectl takes it for anything but a name. */
bool kube_is_plain(const char *name);
/* A namespace of the control plane: a right to write in it amounts to full control of the cluster.
 */
bool kube_is_system(const char *namespace_name);

/* ---- owner.c ---- */

/* The owner of an object, by its labels and annotations. */
enum kube_owner {
    OWNER_NONE,  /* no owner */
    OWNER_SELF,  /* this Spec's */
    OWNER_SPEC,  /* another Spec's */
    OWNER_OTHER, /* another tool's */
};
enum kube_owner kube_owner_of(const struct runtime_session *session, const struct value *object);

/* The marks of another owner on an object; NULL: it has no other owner. */
struct kube_marks *kube_marks_of(const struct runtime_session *session, const struct value *object);
void kube_marks_free(struct kube_marks *found);

/* ERR_CONFLICT ConflictDetected: says whose the object is, and what hands it over. It may look the
 * other Spec up. attributes: of the target. */
int kube_refuse_foreign(struct runtime_session *session, const struct value *attributes,
                        const struct kube_marks *found, const struct runtime_call *call,
                        struct error *error);

/* ---- definition.c ---- */

/*
 * For a kind that is not served. 1: the kind is not defined, so it has no objects. 0: it is, or may
 * be, defined: an aggregated API whose server is down, or a version that is not served. Negative:
 * the lookup failed. The requests are made as the controller.
 */
int kube_is_undefined(struct runtime_session *session, const struct value *attributes,
                      const struct runtime_call *call, struct error *error);
/* An object of these attributes was applied: if a definition brings its kind, that may be newer
 * than the last list of them, which does not tell any more what is not defined. */
void kube_note_applied(struct runtime_session *session, const struct value *attributes);

/* ---- unserved.c ---- */

/* Of a kind that is not served, ERR_INVALID KindNotFound: says which kind or version was probably
 * meant. It asks the API server for that. */
void kube_explain_unserved(struct runtime_session *session, const struct value *attributes,
                           const struct runtime_call *call, struct error *error);

/* ---- cause.c ---- */

/* runtime_ops.health. To what is not healthy it adds why that is so: what the Pods and the Events
 * of the object say, read as the Spec's account. Not at each look, and with bounded requests. A
 * failed request changes nothing but what the message says. */
int kube_judge_health(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *seen, const struct runtime_call *call,
                      struct health *ret, struct error *error);
void kube_forget_causes(struct runtime_session *session);
