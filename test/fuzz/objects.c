/*
 * Live objects, of any form: their health, what is observed and kept of them, what is sent of them
 * when they are a Spec's, and what is made of one that is a Release. The input is the object.
 */
#include "controller/reconcile/records/releases.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/change/observe.h"
#include "runtimes/kubernetes/change/prepare.h"
#include "runtimes/kubernetes/objects/health.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/session.h"
#include "test/fuzz/fuzz.h"

static const struct kube_kind kind = {"v1", "Kind", "kinds", true};
static struct runtime_session session;

static void check_health(const struct value *object)
{
    const struct object_ref ref = object_ref_of(object);
    struct health health = {0};
    size_t length;

    kube_health(object, &health);
    length = strnlen(health.message, sizeof(health.message));
    must(length && length < sizeof(health.message));
    must(utf8_valid(health.message, length) == length);
    must(health.status <= HEALTH_TERMINATING);
    must((health.status == HEALTH_UNKNOWN) == !value_is(object, VALUE_OBJECT));
    must(health.dependents_must_wait ==
         (object_ref_is_definition(&ref) && health.status != HEALTH_CURRENT));
    must(!value_path(object, "metadata", "deletionTimestamp", NULL) ||
         health.status == HEALTH_TERMINATING);
}

static bool is_secret(const struct value *object)
{
    return str_equal(value_get_string(object, "kind"), "Secret") &&
           str_equal(value_get_string(object, "apiVersion"), "v1");
}

static void check_result(const struct value *object, const struct value *result)
{
    const struct value *data = value_get(result, "data");

    must(result && !value_path(result, "metadata", "managedFields", NULL));
    must(!is_secret(object) || !data || value_is_sensitive(data));
    must(!is_secret(object) || !value_get(result, "stringData") ||
         value_is_sensitive(value_get(result, "stringData")));
    must(!value_get(object, "spec") ||
         value_equal(value_get(object, "spec"), value_get(result, "spec")));
}

/* A change of status alone is not one of ours. */
static void check_observation(const struct value *object)
{
    struct observation whole = {0}, head = {0};
    _cleanup_value_ const struct value *status = value_pack("{s:i}", "replicas", 3);
    _cleanup_value_ const struct value *other = value_with(object, "status", status);

    kube_observe_object(&session, object, true, &whole);
    kube_observe_object(&session, other, false, &head);
    must(whole.presence == PRESENCE_PRESENT && !head.result);
    must(str_equal(whole.fields_digest, head.fields_digest) && str_equal(whole.uid, head.uid));
    must(whole.terminating == head.terminating);
    must(kube_detail_of(&whole)->owner == kube_detail_of(&head)->owner);
    check_result(object, whole.result);
    observation_done(&whole);
    observation_done(&head);
}

static const char *meta(const struct value *object, const char *part, const char *key)
{
    return value_string(value_path(object, "metadata", part, key, NULL));
}

static void check_prepared(const struct value *object)
{
    const struct kube_ref ref = {&kind, "team", "a", NULL};
    const struct kube_expected expected = {.uid = "u"};
    _cleanup_value_ const struct value *sent =
        kube_object_prepare(&session, &ref, object, &expected);
    _cleanup_value_ const struct value *again = NULL;
    const struct value *metadata = value_get(sent, "metadata");
    struct observation seen = {0};

    if (!sent) /* past a bound */
        return;
    must(str_equal(value_get_string(metadata, "namespace"), "team"));
    must(str_equal(value_get_string(metadata, "uid"), "u"));
    must(str_equal(meta(sent, "labels", KUBE_OWNER_LABEL), session.owner));
    must(str_equal(meta(sent, "annotations", KUBE_SPEC_ANNOTATION), session.spec));
    must(!value_get(sent, "status") && !value_get(metadata, "managedFields") &&
         !value_get(metadata, "resourceVersion"));
    again = kube_object_prepare(&session, &ref, sent, &expected);
    must(again && value_equal(sent, again));
    kube_observe_object(&session, sent, false, &seen);
    must(kube_detail_of(&seen)->owner == OWNER_SELF);
    observation_done(&seen);
}

static void check_release(const struct value *object)
{
    _cleanup_(release_free_p) struct release *release = release_of(object);

    must(!release == !value_string(value_path(object, "metadata", "name", NULL)));
    if (!release)
        return;
    must(!release->revision && !release->version && release->own_generation >= INT64_MIN);
    must(*release_operation_name(release->operation));
    must(release->phase == release_status_phase(value_get(object, "status")));
}

static void check_id(const struct value *object)
{
    struct arena arena = ARENA_INIT;
    const struct object_ref ref = object_ref_of(object);
    const char *id = object_ref_id(&arena, &ref);

    must(id && strchr(id, ':'));
    arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_value_ const struct value *object = NULL;

    session = (struct runtime_session){.spec_namespace = (char[]){"team"},
                                       .spec = (char[]){"team/web"},
                                       .owner = (char[]){"kusion-1"},
                                       .field_manager = "kusion-operator-1"};
    if (json_read((const char *)data, size, &object, NULL) < 0)
        return 0;
    check_health(object);
    check_id(object);
    if (!value_is(object, VALUE_OBJECT))
        return 0;
    check_observation(object);
    check_prepared(object);
    check_release(object);
    return 0;
}
