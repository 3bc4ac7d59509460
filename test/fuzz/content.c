/*
 * The deletion guard, over answers of any form. The first line is the JSON of the object to delete;
 * then the answers (answers.h). If it may be deleted, and nobody turned the guard off, then all
 * that would go with it was listed, and none of what nobody marked was there.
 */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/change/guard.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/runtime.h"
#include "runtimes/kubernetes/session/session.h"
#include "test/fuzz/answers/answers.h"
#include "test/fuzz/fuzz.h"

static struct {
    bool is_absent;         /* the object itself */
    bool is_guard_disabled; /* by an annotation */
    size_t failed;          /* lists, for another reason than that the kind may be gone */
    size_t unmarked;        /* items that have a name, and nothing else */
} seen;

static bool is_guard_disabled(const struct value *object)
{
    return str_equal(value_string(value_path(object, "metadata", "annotations",
                                             KUBE_DELETION_GUARD_ANNOTATION, NULL)),
                     "disabled");
}

static bool is_furniture(const char *name)
{
    return str_equal(name, "default") || str_has_suffix(name, ".crt");
}

static void count_unmarked(const struct value *items)
{
    for (size_t i = 0; i < value_count(items); i++) {
        const struct value *metadata = value_get(value_at(items, i), "metadata");
        const char *name = value_get_string(metadata, "name");

        if (name && value_count(metadata) == 1 && !is_furniture(name) &&
            !str_has_prefix(name, "kusion:"))
            seen.unmarked++;
    }
}

static void see(const struct kube_request *request, int r, const struct value *body)
{
    const struct kube_kind *kind = request->ref.kind;

    must(str_equal(request->method, "GET"));
    if (kind && kind->plural && !request->ref.name) {
        if (str_equal(kind->kind, "CustomResourceDefinition"))
            return; /* of what is not served: who defines it */
        seen.failed += r < 0 && r != ERR_UNAVAILABLE;
        count_unmarked(value_get(body, "items"));
    } else if (kind && kind->plural) {
        seen.is_absent |= r == ERR_NOT_FOUND;
        seen.is_guard_disabled |= is_guard_disabled(body);
    }
}

static bool is_guarded(const struct value *object)
{
    const char *kind = value_get_string(object, "kind");
    const char *version = value_get_string(object, "apiVersion");

    return (str_equal(kind, "Namespace") && str_equal(version, "v1")) ||
           (str_equal(kind, "CustomResourceDefinition") &&
            str_equal(version, "apiextensions.k8s.io/v1"));
}

static void check(const struct value *attributes, struct kube_runtime_config *config)
{
    struct runtime *runtime = kube_runtime_new(config);
    const struct runtime_call call = {.deadline = CLOCK_FOREVER};
    _cleanup_value_ const struct value *identity =
        value_pack("{s:s}", "serviceAccountName", "deployer");
    const struct runtime_scope scope = {
        .key = {"team", "web"}, .spec_uid = "u", .identity = identity};
    struct runtime_session *session = NULL;
    struct error error = {0};
    int r;

    must(runtime->ops->open(runtime, &scope, &call, &session, NULL) == 0);
    r = kube_may_delete(session, attributes, &call, &error);
    must_agree(r, &error);
    if (r == 0 && is_guarded(attributes) && !seen.is_guard_disabled && !seen.is_absent)
        must(seen.unmarked == 0 && seen.failed == 0);
    session_unref(session);
    kube_runtime_free(runtime);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *line = take_line(&data, &size);
    _cleanup_value_ const struct value *attributes = NULL;
    struct kube_runtime_config config = {.clock = &answers_clock};

    if (json_read_str(line, &attributes, NULL) < 0)
        return 0;
    memset(&seen, 0, sizeof(seen));
    seen.is_guard_disabled = is_guard_disabled(attributes);
    answers_begin(data, size, see);
    config.cluster.discovery = kube_discovery_new(NULL, &answers_clock);
    check(attributes, &config);
    kube_discovery_free(config.cluster.discovery);
    return 0;
}
