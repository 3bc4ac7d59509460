#include "cli/online/objects.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/client/list.h"

void objects_done(struct objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        value_unref(objects->items[i]);
    free(objects->items);
    *objects = (struct objects){0};
}

void objects_add(struct objects *objects, const struct value *object)
{
    objects->items =
        mem_grow(objects->items, objects->count, &objects->capacity, sizeof(*objects->items));
    objects->items[objects->count++] = value_ref(object);
}

/* ---- What a person names ---- */

void target_done(struct target *target)
{
    free(target->namespace_name);
    free(target->name);
    *target = (struct target){0};
}

/* As kubectl takes it, and as `-o name` prints it. */
static const char *without_kind(const char *text)
{
    static const char *const kinds[] = {"spec.api.kusion.io/",
                                        "release.api.kusion.io/",
                                        "spec/",
                                        "specs/",
                                        "release/",
                                        "releases/"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (str_has_prefix(text, kinds[i]))
            return text + strlen(kinds[i]);
    return text;
}

int target_parse(const struct session *session, const char *text, struct target *ret,
                 struct error *error)
{
    const char *bare = without_kind(text);
    const char *slash = strchr(bare, '/'), *name = slash ? slash + 1 : bare;
    const char *at = strchr(name, '@');
    size_t length = at ? (size_t)(at - name) : strlen(name);

    *ret = (struct target){0};
    ret->namespace_name =
        slash ? str_new_n(bare, (size_t)(slash - bare)) : str_new(session->namespace_name);
    ret->name = str_new_n(name, length);
    if (str_is_dns_subdomain(ret->name) && str_is_dns_label(ret->namespace_name) &&
        (!at || (str_to_int64(at + 1, &ret->revision) && ret->revision > 0)))
        return 0;
    target_done(ret);
    return err_set(error, ERR_INVALID, "InvalidArgument",
                   "\"%s\" is no Spec: NAME, NAMESPACE/NAME or, for a revision, NAME@7", text);
}

static int get(struct session *session, const struct kube_kind *kind, const char *namespace_name,
               const char *name, const struct value **ret, struct error *error)
{
    struct kube_request request = {.method = "GET", .ref = {kind, namespace_name, name, NULL}};

    return session_do(session, &request, ret, error);
}

int release_get(struct session *session, const char *namespace_name, const char *name,
                const struct value **ret, struct error *error)
{
    return get(session, &kube_releases, namespace_name, name, ret, error);
}

/* NotServed: the CRDs are missing. */
static int explain(int r, struct error *error)
{
    if (r < 0 && error && str_equal(error->reason, "NotServed")) {
        err_wrap(error, "this cluster does not have the Kusion operator's kinds");
        err_hint(error, "kubectl kusion doctor");
    }
    return r;
}

int spec_get(struct session *session, const struct target *target, const struct value **ret,
             struct error *error)
{
    return explain(get(session, &kube_specs, target->namespace_name, target->name, ret, error),
                   error);
}

int spec_find(struct session *session, struct target *target, const struct value **ret,
              const struct value **ret_release, struct error *error)
{
    _cleanup_value_ const struct value *release = NULL;
    const char *spec_name;
    int r = get(session, &kube_specs, target->namespace_name, target->name, ret, error);

    if (r != ERR_NOT_FOUND)
        return explain(r, error);
    if (release_get(session, target->namespace_name, target->name, &release, NULL) < 0) {
        err_clear(error);
        err_set(error, ERR_NOT_FOUND, "NotFound", "there is no Spec \"%s\" in the namespace %s",
                target->name, target->namespace_name);
        if (access(target->name, F_OK) == 0)
            err_hint(error, "kubectl kusion … -f %s, if that file is meant", target->name);
        err_hint(error, "kubectl kusion status -A");
        return ERR_NOT_FOUND;
    }
    err_clear(error);
    spec_name = object_text(release, "", "spec", "specRef", "name", NULL);
    free(target->name);
    target->name = str_new(spec_name);
    if (!target->revision)
        target->revision = object_int(release, 0, "status", "revision", NULL);
    r = get(session, &kube_specs, target->namespace_name, target->name, ret, error);
    if (r >= 0 && ret_release)
        *ret_release = value_ref(release);
    return r;
}

int spec_open(struct cli *cli, struct session *session, struct target *target,
              const struct value **ret, struct error *error)
{
    int r = session_open(cli, session, error);

    if (r == 0)
        r = target_parse(session, cli->arguments[0], target, error);
    return r == 0 ? spec_find(session, target, ret, NULL, error) : r;
}

int object_patch(struct session *session, struct kube_ref ref, const struct value *body,
                 const struct value **ret, struct error *error)
{
    return session_do(session,
                      &(struct kube_request){
                          .method = "PATCH",
                          .ref = ref,
                          .body = body,
                          .content_type = KUBE_MERGE_PATCH,
                          .field_manager = "kubectl-kusion",
                          .idempotent = true,
                      },
                      ret, error);
}

/* ---- Lists ---- */

static int add_item(void *arg, const struct value *value, struct error *error)
{
    (void)error;
    objects_add(arg, value);
    return 0;
}

int object_list(struct session *session, struct kube_ref collection, struct kube_selector selector,
                struct objects *ret, struct error *error)
{
    struct kube_list list = {
        .ref = collection, .selector = selector, .on_item = add_item, .arg = ret};
    struct error why = {0};
    int r = kube_list(session->client, &list, NULL, &why);

    if (r == ERR_UNAUTHENTICATED && session_renew(session, &why) == 0) {
        objects_done(ret);
        err_clear(&why);
        r = kube_list(session->client, &list, NULL, &why);
    }
    if (r < 0)
        err_copy(error, &why);
    return explain(r, error);
}

int spec_list(struct session *session, const char *namespace_name, const char *labels,
              struct objects *ret, struct error *error)
{
    return object_list(session, (struct kube_ref){&kube_specs, namespace_name, NULL, NULL},
                       (struct kube_selector){.labels = labels}, ret, error);
}

static int compare_age(const void *a, const void *b)
{
    const struct value *first = *(const struct value *const *)a;
    const struct value *second = *(const struct value *const *)b;
    int order = strcmp(object_text(first, "", "metadata", "creationTimestamp", NULL),
                       object_text(second, "", "metadata", "creationTimestamp", NULL));
    int64_t first_revision = object_int(first, 0, "status", "revision", NULL);
    int64_t second_revision = object_int(second, 0, "status", "revision", NULL);

    if (order)
        return order;
    if (first_revision != second_revision)
        return first_revision < second_revision ? -1 : 1;
    return strcmp(object_name(first), object_name(second));
}

void objects_sort_by_age(struct objects *objects)
{
    if (objects->count)
        qsort(objects->items, objects->count, sizeof(*objects->items), compare_age);
}

int release_list(struct session *session, const struct target *target, struct objects *ret,
                 struct error *error)
{
    _cleanup_free_ char *fields = str_printf("spec.specRef.name=%s", target->name);
    int r =
        object_list(session, (struct kube_ref){&kube_releases, target->namespace_name, NULL, NULL},
                    (struct kube_selector){.fields = fields}, ret, error);

    if (r >= 0)
        objects_sort_by_age(ret);
    return r;
}

/* ---- Reading ---- */

static const struct value *walk(const struct value *object, va_list keys)
{
    const char *key;

    while ((key = va_arg(keys, const char *)))
        object = value_get(object, key);
    return object;
}

const char *object_text(const struct value *object, const char *fallback, ...)
{
    const char *text;
    va_list keys;

    va_start(keys, fallback);
    text = value_string(walk(object, keys));
    va_end(keys);
    return text ? text : fallback;
}

int64_t object_int(const struct value *object, int64_t fallback, ...)
{
    int64_t number;
    va_list keys;

    va_start(keys, fallback);
    number = value_int(walk(object, keys), fallback);
    va_end(keys);
    return number;
}

const char *object_name(const struct value *object)
{
    return object_text(object, "", "metadata", "name", NULL);
}

const char *object_namespace(const struct value *object)
{
    return object_text(object, "", "metadata", "namespace", NULL);
}

const struct value *condition_of(const struct value *object, const char *type)
{
    const struct value *conditions = value_path(object, "status", "conditions", NULL);

    for (size_t i = 0; i < value_count(conditions); i++)
        if (str_equal(value_get_string(value_at(conditions, i), "type"), type))
            return value_at(conditions, i);
    return NULL;
}

bool condition_is(const struct value *object, const char *type, const char *status)
{
    return str_equal(value_get_string(condition_of(object, type), "status"), status);
}

bool release_is_record(const struct value *release)
{
    return str_equal(object_text(release, "", "metadata", "labels", LABEL_GENERATED, NULL), "true");
}

bool release_has_ended(const struct value *release)
{
    static const char *const final[] = {"succeeded", "failed", "cancelled"};
    const char *phase = object_text(release, "", "status", "phase", NULL);

    for (size_t i = 0; i < ARRAY_SIZE(final); i++)
        if (str_equal(phase, final[i]))
            return true;
    return false;
}
