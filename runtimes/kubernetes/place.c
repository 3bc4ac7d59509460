/* Where objects are, and requests for them. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/session.h"

#define SERVED_WITHIN 10000 /* ms after a definition was seen */

static struct kube_place place_in(const struct runtime_session *session,
                                  const struct kube_kind *kind, const struct object_ref *ref)
{
    struct kube_place place = {kind, NULL, ref->name};

    if (kind->namespaced)
        place.namespace_name = ref->namespace_name ? ref->namespace_name : session->spec_namespace;
    return place;
}

typedef int find_kind(struct kube_discovery *discovery, const char *group_version, const char *kind,
                      struct cancel *cancel, const struct kube_kind **ret, struct error *error);

static int place_by(find_kind *find, struct runtime_session *session,
                    const struct value *attributes, struct kube_place *ret, struct error *error)
{
    struct object_ref ref = object_ref_of(attributes);
    const struct kube_kind *kind;
    int r = find(session->runtime->config.discovery, ref.api_version, ref.kind, session->cancel,
                 &kind, error);

    if (r >= 0)
        *ret = place_in(session, kind, &ref);
    return r;
}

int kube_place_of(struct runtime_session *session, const struct value *attributes,
                  struct kube_place *ret, struct error *error)
{
    return place_by(kube_discovery_find, session, attributes, ret, error);
}

int kube_place_at_any_version(struct runtime_session *session, const struct value *attributes,
                              struct kube_place *ret, struct error *error)
{
    return place_by(kube_discovery_find_any, session, attributes, ret, error);
}

bool kube_is_in_namespace(struct runtime_session *session, const struct value *attributes,
                          const char *namespace_name)
{
    struct kube_place place;

    return kube_place_at_any_version(session, attributes, &place, NULL) >= 0 &&
           str_equal(place.namespace_name, namespace_name);
}

void session_note_definition(struct runtime_session *session, const struct value *attributes)
{
    const struct clock_source *clock = session->runtime->config.clock;
    const char *group = value_string(value_path(attributes, "spec", "group", NULL));
    const char *kind = value_string(value_path(attributes, "spec", "names", "kind", NULL));
    const struct object_ref ref = object_ref_of(attributes);
    _cleanup_free_ char *key = NULL;

    if (!object_ref_is_definition(&ref) || !group || !kind)
        return;
    key = str_printf("%s.%s", kind, group);
    pthread_mutex_lock(&session->mutex);
    if (!strmap_get(&session->defined, key))
        strmap_put(&session->defined, TAKE(key), session);
    session->definition_seen = clock->monotonic(clock);
    pthread_mutex_unlock(&session->mutex);
}

bool session_expects_kind(struct runtime_session *session, const struct value *attributes)
{
    const struct clock_source *clock = session->runtime->config.clock;
    struct object_ref ref = object_ref_of(attributes);
    size_t length = 0;
    const char *group = api_group(ref.api_version, &length);
    _cleanup_free_ char *key = str_printf("%s.%.*s", ref.kind, (int)length, group);
    bool expects;

    pthread_mutex_lock(&session->mutex);
    expects = strmap_get(&session->defined, key) &&
              clock->monotonic(clock) - session->definition_seen < SERVED_WITHIN;
    pthread_mutex_unlock(&session->mutex);
    return expects;
}

char *kube_place_path(const struct kube_place *place)
{
    return kube_path(place->kind->group_version, place->namespace_name, place->kind->plural,
                     place->name, NULL);
}

int session_do(struct runtime_session *session, const struct kube_place *place,
               struct kube_request *request, const struct value **ret, struct error *error)
{
    const struct kube_runtime_config *config = &session->runtime->config;
    struct error problem = {0};
    int r;

    request->impersonate = session->impersonate;
    request->cancel = session->cancel;
    r = kube_do(config->client, request, ret, &problem);
    if (r >= 0)
        return 0;
    /* The kind may have gone since it was discovered: who tries again asks anew. */
    if (str_equal(problem.reason, "NotServed"))
        kube_discovery_forget(config->discovery, place->kind->group_version);
    session_add_hint(session, place, &problem);
    return err_copy(error, &problem);
}
