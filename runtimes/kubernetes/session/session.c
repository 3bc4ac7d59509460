/* Sessions: the identity of requests, and answers that later requests use again. */
#include <stdio.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/name.h"
#include "engine/threads/locked.h"
#include "runtimes/kubernetes/follow/follow.h"
#include "runtimes/kubernetes/objects/access.h"
#include "runtimes/kubernetes/objects/ignore.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/health_checks.h"
#include "runtimes/kubernetes/session/session.h"

#define SERVED_WITHIN 10000 /* ms: a kind is served at most this long after its CRD was seen */

/* ---- Lifetime ---- */

/* Sets the owner label and the field manager of the Spec. */
static void name_owner(struct runtime_session *session, const struct spec_key *key)
{
    char owner[SPEC_HASH_NAME_SIZE];

    spec_hash_name(key->namespace_name, key->name, owner);
    session->owner = str_new(owner);
    snprintf(session->field_manager, sizeof(session->field_manager), "kusion-operator-%.16s",
             owner + strlen(SPEC_HASH_NAME_PREFIX));
}

struct runtime_session *session_new(struct kube_runtime *runtime,
                                    const struct kube_cluster *cluster,
                                    const struct runtime_scope *scope)
{
    struct runtime_session *session = NEW(struct runtime_session);
    const struct spec_key *key = &scope->key;
    struct check unreported = {0}; /* it was checked when the Spec was read */

    *session = (struct runtime_session){
        .references = 1,
        .runtime = runtime,
        .cluster = *cluster,
        .cache = cluster_cache_get(&runtime->caches, cluster),
        .spec_namespace = str_new(key->namespace_name),
        .spec = str_printf("%s/%s", key->namespace_name, key->name),
        .service_account = str_new(kube_service_account(scope->identity)),
        .thorough = scope->thorough,
        .force = scope->force,
        .terminating = scope->terminating,
        .identity_leaves = scope->identity_leaves,
        .is_inherited = scope->is_inherited,
        .objects = scope->objects,
        .ignore = ignore_read(scope->objects.ignore, &unreported),
        .look = scope->look,
    };
    object_policy_ref(&session->objects);
    if (session->service_account)
        session->impersonate = str_printf("system:serviceaccount:%s:%s", key->namespace_name,
                                          session->service_account);
    name_owner(session, key);
    pthread_mutex_init(&session->lock, NULL);
    strmap_init(&session->defined);
    strmap_init(&session->wanted);
    strmap_init(&session->causes);
    return session;
}

/* The Spec's following is silent from now on. */
static void follow(struct runtime_session *session, const struct runtime_scope *scope)
{
    session->followed = followed_ref((struct followed *)scope->following);
    if (session->followed)
        followed_hold(session->followed);
}

static int open_foreign(struct kube_runtime *kube, const struct runtime_scope *scope,
                        const struct runtime_call *call, struct runtime_session **ret,
                        struct error *error)
{
    int r = session_open_foreign(kube, scope, call, ret, error);

    if (r >= 0)
        follow(*ret, scope);
    return r;
}

int kube_session_open(struct runtime *runtime, const struct runtime_scope *scope,
                      const struct runtime_call *call, struct runtime_session **ret,
                      struct error *error)
{
    struct kube_runtime *kube = (struct kube_runtime *)runtime;

    int r;

    clusters_tidy(kube->clusters);
    if (!kube_service_account(scope->identity) && !kube->config.act_as_controller)
        return err_set(error, ERR_FORBIDDEN, "AccessDenied", "no service account to act as");
    health_checks_begin(kube->checks);
    if (scope->connection)
        return open_foreign(kube, scope, call, ret, error);
    r = session_check_home(kube, scope, call, error);
    if (r < 0)
        return r;
    *ret = session_new(kube, &kube->config.cluster, scope);
    follow(*ret, scope);
    return 0;
}

const char *kube_session_place(struct runtime_session *session)
{
    return session->place;
}

struct runtime_session *session_ref(struct runtime_session *session)
{
    atomic_fetch_add(&session->references, 1);
    return session;
}

static void free_keys(struct strmap *map)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(map, e));)
        free((char *)(uintptr_t)e->key);
    strmap_done(map);
}

void session_unref(struct runtime_session *session)
{
    if (!session || atomic_fetch_sub(&session->references, 1) > 1)
        return;
    followed_unref(session->followed);
    free(session->spec_namespace);
    free(session->spec);
    free(session->owner);
    free(session->service_account);
    free(session->impersonate);
    free(session->account_error);
    free(session->other_spec);
    free(session->asked_namespace);
    object_policy_done(&session->objects);
    ignore_free(session->ignore);
    value_unref(session->rules);
    free_keys(&session->defined);
    free_keys(&session->wanted);
    kube_forget_causes(session);
    for (size_t i = 0; i < session->n_witnesses; i++) {
        value_unref(session->witnesses[i].identity);
        free(session->witnesses[i].uid);
    }
    free(session->place);
    cluster_cache_unref(session->cache);
    foreign_cluster_unref(session->foreign);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

/* ---- Definitions that were seen ---- */

/* "Kind.group" of what a CRD defines, to free(); NULL: it is no CRD. */
static char *defined_by(const struct value *attributes)
{
    const char *group = value_string(value_path(attributes, "spec", "group", NULL));
    const char *kind = value_string(value_path(attributes, "spec", "names", "kind", NULL));
    const struct object_ref ref = object_ref_of(attributes);

    return object_ref_is_definition(&ref) && group && kind ? str_printf("%s.%s", kind, group)
                                                           : NULL;
}

/* "Kind.group" of the object's own kind, to free(). */
static char *kind_of(const struct value *attributes)
{
    struct object_ref ref = object_ref_of(attributes);
    size_t length = 0;
    const char *group = api_group(ref.api_version, &length);

    return str_printf("%s.%.*s", ref.kind, (int)length, group);
}

void session_note_definition(struct runtime_session *session, const struct value *attributes)
{
    const struct clock_source *clock = session->runtime->config.clock;
    _cleanup_free_ char *key = defined_by(attributes);

    if (!key)
        return;
    LOCKED(&session->lock);
    if (!strmap_get(&session->defined, key))
        strmap_put(&session->defined, TAKE(key), session);
    session->definition_seen = clock->monotonic(clock);
}

bool session_expects_kind(struct runtime_session *session, const struct value *attributes)
{
    const struct clock_source *clock = session->runtime->config.clock;
    _cleanup_free_ char *key = kind_of(attributes);
    LOCKED(&session->lock);

    return strmap_get(&session->defined, key) &&
           clock->monotonic(clock) - session->definition_seen < SERVED_WITHIN;
}

/* ---- What the Spec has itself ---- */

static char *namespace_key(const char *name)
{
    return str_printf("Namespace/%s", name ? name : "");
}

void session_note_wanted(struct runtime_session *session, const struct value *attributes)
{
    const struct object_ref ref = object_ref_of(attributes);
    _cleanup_free_ char *key =
        object_ref_is_namespace(&ref) ? namespace_key(ref.name) : defined_by(attributes);

    if (!key)
        return;
    LOCKED(&session->lock);
    if (!strmap_get(&session->wanted, key))
        strmap_put(&session->wanted, TAKE(key), session);
}

static bool wants(struct runtime_session *session, const char *key)
{
    LOCKED(&session->lock);

    return strmap_get(&session->wanted, key) != NULL;
}

bool session_wants_namespace_of(struct runtime_session *session, const struct value *attributes)
{
    _cleanup_free_ char *key = namespace_key(object_ref_of(attributes).namespace_name);

    return wants(session, key);
}

bool session_wants_kind_of(struct runtime_session *session, const struct value *attributes)
{
    _cleanup_free_ char *key = kind_of(attributes);

    return wants(session, key);
}
