#include "cli/online/hidden.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "engine/spec/secret_ref.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/client/group.h"

#define KEY "resources.json"

/* Those that are, or are not, to be hidden. A reference. */
static const struct value *pick(const struct value *resources, bool hidden)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *attributes = value_get(value_at(resources, i), "attributes");
        bool is_clear = secret_ref_is_clear(attributes, "data") ||
                        secret_ref_is_clear(attributes, "stringData");

        if (is_clear == hidden)
            value_add(b, value_at(resources, i));
    }
    value_end_array(b);
    return value_finish(b);
}

/* The sources, and the Secret after them. A reference. */
static const struct value *with_source(const struct value *sources, const struct value *secret)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *last =
        value_pack("{s:s, s:s, s:s}", "kind", "Secret", "name", object_name(secret), "key", KEY);

    value_begin_array(b);
    for (size_t i = 0; i < value_count(sources); i++)
        value_add(b, value_at(sources, i));
    value_add(b, last);
    value_end_array(b);
    return value_finish(b);
}

static int create(struct session *session, const struct target *target,
                  const struct value *resources, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *list = value_pack("{s:v}", "resources", resources);
    _cleanup_free_ char *prefix = str_printf("%.200s-preview-", target->name);
    _cleanup_free_ char *json = json_to_str(list);
    _cleanup_buf_ struct buf data = BUF_INIT;
    _cleanup_value_ const struct value *body = NULL;
    int r;

    base64_encode(&data, json, strlen(json));
    body = value_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:s}}", "apiVersion", "v1", "kind",
                      "Secret", "metadata", "generateName", prefix, "namespace",
                      target->namespace_name, "labels", HIDDEN_LABEL, HIDDEN_BY, "data", KEY,
                      data.data);
    r = session_do(session,
                   &(struct kube_request){
                       .method = "POST",
                       .ref = {&kube_secrets, target->namespace_name, NULL, NULL},
                       .body = body,
                       .field_manager = "kubectl-kusion",
                   },
                   ret, error);
    if (r < 0) {
        err_wrap(error, "the preview takes a Secret that keeps the values of Secrets out of it");
        err_hint(error, "kubectl auth can-i create secrets -n %s", target->namespace_name);
    }
    return r;
}

int hidden_make(struct session *session, const struct target *target, const struct value *fields,
                struct hidden *ret, struct error *error)
{
    const struct value *sources = value_get(fields, "resourcesFrom");
    const struct value *resources = value_get(fields, "resources");
    _cleanup_value_ const struct value *secrets = pick(resources, true), *made = NULL;
    int r = 0;

    *ret = (struct hidden){0};
    if (value_count(secrets))
        r = create(session, target, secrets, &made, error);
    if (r < 0)
        return r;
    ret->resources = resources && made ? pick(resources, false) : value_ref(resources);
    ret->sources = made ? with_source(sources, made) : value_ref(sources);
    ret->secret = TAKE(made);
    return 0;
}

void hidden_belongs_to(struct session *session, const struct hidden *hidden,
                       const struct value *release)
{
    _cleanup_value_ const struct value *body =
        value_pack("{s:{s:[{s:s, s:s, s:s, s:v}]}}", "metadata", "ownerReferences", "apiVersion",
                   API_GROUP_VERSION, "kind", "Release", "name", object_name(release), "uid",
                   value_path(release, "metadata", "uid", NULL));
    struct error ignored = {0};

    if (!hidden->secret)
        return;
    object_patch(session,
                 (struct kube_ref){&kube_secrets, object_namespace(hidden->secret),
                                   object_name(hidden->secret), NULL},
                 body, NULL, &ignored);
}

void hidden_drop(struct session *session, struct hidden *hidden)
{
    struct error ignored = {0};

    if (hidden->secret)
        session_do(session,
                   &(struct kube_request){
                       .method = "DELETE",
                       .ref = {&kube_secrets, object_namespace(hidden->secret),
                               object_name(hidden->secret), NULL},
                       .idempotent = true,
                   },
                   NULL, &ignored);
    value_unref(hidden->resources);
    value_unref(hidden->sources);
    value_unref(hidden->secret);
    *hidden = (struct hidden){0};
}
