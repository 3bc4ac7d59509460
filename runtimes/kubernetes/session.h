/* What the files of the runtime share. */
#ifndef RUNTIMES_KUBERNETES_SESSION_H
#define RUNTIMES_KUBERNETES_SESSION_H

#include <pthread.h>

#include "engine/base/strmap.h"
#include "runtimes/kubernetes/runtime.h"

#define FIELD_MANAGER_SIZE 64

struct kube_runtime {
    struct runtime base;
    struct kube_runtime_config config;
};

struct runtime_session {
    struct kube_runtime *runtime;
    char *spec_namespace;
    char *spec; /* "namespace/name" */
    char *owner;
    char *service_account; /* NULL: the controller itself */
    char *impersonate;     /* a user name, or NULL */
    char field_manager[FIELD_MANAGER_SIZE];
    struct cancel *cancel;

    pthread_mutex_t mutex;   /* of these */
    struct strmap defined;   /* "Kind.group" of the CRDs that it applied or read */
    int64_t definition_seen; /* ms, monotonic: when, the last time */
};

/* The service account that a scope's identity names; NULL: none. Borrowed from it. */
const char *kube_service_account(const struct value *identity);

/* Where a target is: its kind, and its namespace (the Spec's own where it names none). */
struct kube_place {
    const struct kube_kind *kind;
    const char *namespace_name; /* NULL: of the cluster */
    const char *name;
};

/* ERR_NOT_FOUND KindNotServed: no such kind. */
int kube_place_of(struct runtime_session *session, const struct value *attributes,
                  struct kube_place *ret, struct error *error);
/* The same object, where its version is not served any more, through another of its group. */
int kube_place_at_any_version(struct runtime_session *session, const struct value *attributes,
                              struct kube_place *ret, struct error *error);
bool kube_is_in_namespace(struct runtime_session *session, const struct value *attributes,
                          const char *namespace_name);
char *kube_place_path(const struct kube_place *place);

/* Of what was just applied or read: a CRD brings a kind, which is served a moment after it is
 * established. */
void session_note_definition(struct runtime_session *session, const struct value *attributes);
/* The kind of these attributes is one of those, and may be served any moment. */
bool session_expects_kind(struct runtime_session *session, const struct value *attributes);

/* A request as the Spec's service account. Errors of missing rights say what would mend them. */
int session_do(struct runtime_session *session, const struct kube_place *place,
               struct kube_request *request, const struct value **ret, struct error *error);

/* Adds to an error of a right that is missing what would give it, ready to be typed; the reason is
 * AccessDenied then. */
void session_add_hint(const struct runtime_session *session, const struct kube_place *place,
                      struct error *error);
/* Makes a role that allows the verbs on the resources ("pods,roles.rbac.authorization.k8s.io"), and
 * binds it to the service account; in the whole cluster where there is no namespace. */
char *session_role_command(const struct runtime_session *session, const char *which,
                           const char *verbs, const char *resources, const char *namespace_name);
/* What roles and bindings are called that commands of hints make. All names of one service account
 * begin with that for "". */
char *session_rights_name(const struct runtime_session *session, const char *which);
/* "widgets.example.com", as kubectl calls a kind. */
char *kube_kind_resource(const struct kube_kind *kind);

/* The object to send: attributes, namespace, owner's marks, without what the server fills in.
 * version: that it has to have; NULL: any. */
const struct value *kube_object_prepare(const struct runtime_session *session,
                                        const struct kube_place *place,
                                        const struct value *attributes, const char *version);

/* runtime_ops.project: without status, what the server fills in, and kubectl's copy of what it
 * applied last, secrets too. */
const struct value *kube_object_project(const struct value *object);

/* From an object or its metadata. `whole`: keep it. */
void kube_observe_object(const struct runtime_session *session, const struct value *object,
                         bool whole, struct observation *ret);

int kube_observe(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                 struct observation *ret, struct error *error);
int kube_read(struct runtime_session *session, const struct runtime_target *target,
              struct observation *ret, struct error *error);
int kube_preview(struct runtime_session *session, const struct runtime_target *target,
                 enum apply_mode mode, const struct value **ret, struct error *error);
int kube_apply(struct runtime_session *session, const struct runtime_target *target,
               enum apply_mode mode, struct observation *ret, struct error *error);
int kube_may_delete(struct runtime_session *session, const struct runtime_target *target,
                    struct error *error);
int kube_remove(struct runtime_session *session, const struct runtime_target *target,
                struct error *error);
int kube_watch_targets(struct runtime_session *session, const struct runtime_target *targets,
                       size_t n, runtime_on_change *on_change, void *arg,
                       struct runtime_watch **ret, struct error *error);
void kube_await(struct runtime_watch *watch, size_t target);
void kube_unwatch(struct runtime_session *session, struct runtime_watch *watch);

#endif
