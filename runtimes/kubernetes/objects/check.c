#include "runtimes/kubernetes/objects/check.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/spec/moved.h"
#include "engine/spec/ref.h"
#include "engine/spec/secret_ref.h"
#include "runtimes/kubernetes/objects/common_metadata.h"
#include "runtimes/kubernetes/objects/health_script.h"
#include "runtimes/kubernetes/objects/ignore.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/objects/treatment.h"

#define NAME_MAX_BYTES 253
#define KIND_MAX_BYTES 63
#define OWN_GROUP      "api.kusion.io"

/* Extensions of Kusion that Kubernetes resources do not support yet. */
static const char *const extensions_of_later[] = {
    "kubeConfig", "provider", "providerMeta", "resourceType", "kusionstack.io/import-id",
};

/* The state that the checks of one Spec share. */
struct objects {
    struct object_ref *refs; /* one for each resource of the Spec; name NULL: it does not name a
                                valid object */
    struct strmap versions;  /* kind -> its first apiVersion */
    struct strmap scripts;   /* texts of health checks that were found to be right */
    bool several_versions;   /* some kind occurs with several apiVersions */
    bool namespace_left_out, own_namespace_written; /* some ids leave out the Spec's own namespace;
                                                       some write it */
};

/* ---- What names an object ---- */

static bool is_version(const char *s)
{
    return *s && !strpbrk(s, "/:%? ");
}

/* "v1" or "group/v1". */
static bool is_api_version(const char *s)
{
    size_t group_length;
    const char *group = api_group(s, &group_length);
    char copy[NAME_MAX_BYTES + 1];

    if (!strchr(s, '/'))
        return is_version(s);
    if (group_length > NAME_MAX_BYTES)
        return false;
    memcpy(copy, group, group_length);
    copy[group_length] = '\0';
    return str_is_dns_subdomain(copy) && is_version(s + group_length + 1);
}

static bool is_kind(const char *s)
{
    size_t length = 0;

    for (; s[length]; length++) {
        char c = s[length];

        if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
            c != '-')
            return false;
    }
    return length > 0 && length <= KIND_MAX_BYTES;
}

/* A name that is valid for any kind, as one segment of a URL path. The API server takes any text
 * for the names of RBAC objects. Here a name is one word, so that nobody reads it as the words of a
 * message. */
static bool is_name(const char *s)
{
    size_t length = strlen(s);

    if (length > NAME_MAX_BYTES || strpbrk(s, " /%\"'`\\") || !strcmp(s, ".") || !strcmp(s, ".."))
        return false;
    for (size_t at = 0, n; at < length; at += n) {
        n = utf8_char(s + at, length - at);
        if (!n || utf8_is_hidden(utf8_code_point(s + at, n)))
            return false;
    }
    return true;
}

/* Reads one part of the identity; NULL if it is not valid. */
static const char *read_part(struct check *check, const struct value *value,
                             const struct place *place, bool (*is_good)(const char *),
                             const char *what)
{
    const char *text;

    if (ref_is(value)) {
        check_problem(check, INVALID_SPEC, place,
                      "must be written out: what names an object cannot be a reference");
        return NULL;
    }
    text = check_text(check, value, place);
    if (!text || is_good(text))
        return text;
    check_problem(check, INVALID_SPEC, place, "\"%s\" is not %s", text, what);
    return NULL;
}

static const char *read_name(struct check *check, const struct value *metadata,
                             const struct place *place)
{
    const struct place at = {.above = place, .key = "name"};
    const struct place at_generated = {.above = place, .key = "generateName"};
    const struct value *name = value_get(metadata, "name");

    if (check_is_absent(name) && !check_is_absent(value_get(metadata, "generateName"))) {
        check_problem(check, INVALID_SPEC, &at_generated,
                      "cannot stand for metadata.name: an object is found again by its name");
        return NULL;
    }
    return read_part(check, name, &at, is_name,
                     "a name of an object (one word without quotes, \\, / and %, 253 bytes at "
                     "most)");
}

static bool read_object(struct check *check, const struct value *value, const struct place *place)
{
    if (check_is_absent(value) || value_is(value, VALUE_OBJECT))
        return true;
    check_problem(check, INVALID_SPEC, place, "must be an object, and is of type %s",
                  value_type_name(value));
    return false;
}

/* Checks labels and annotations here: the runtime adds its own to them, so the API server would not
 * see the mistake. */
static void check_marks(struct check *check, const struct value *metadata, const char *key,
                        const struct place *place)
{
    const struct place at = {.above = place, .key = key};
    const struct value *marks = value_get(metadata, key);

    if (marks && !ref_is(marks))
        read_object(check, marks, &at);
}

/* True if every part is valid. */
static bool read_identity(struct check *check, const struct value *attributes,
                          const struct place *place, struct object_ref *ret)
{
    const struct place at_version = {.above = place, .key = "apiVersion"};
    const struct place at_kind = {.above = place, .key = "kind"};
    const struct place at_metadata = {.above = place, .key = "metadata"};
    const struct place at_namespace = {.above = &at_metadata, .key = "namespace"};
    const struct value *metadata = value_get(attributes, "metadata");
    const struct value *namespace = value_get(metadata, "namespace");

    ret->api_version = read_part(check, value_get(attributes, "apiVersion"), &at_version,
                                 is_api_version, "an apiVersion, such as v1 or apps/v1");
    ret->kind = read_part(check, value_get(attributes, "kind"), &at_kind, is_kind, "a kind");
    if (!read_object(check, metadata, &at_metadata))
        return false;
    ret->name = read_name(check, metadata, &at_metadata);
    check_marks(check, metadata, "labels", &at_metadata);
    check_marks(check, metadata, "annotations", &at_metadata);
    ret->namespace_name = NULL;
    if (!check_is_absent(namespace)) {
        ret->namespace_name = read_part(check, namespace, &at_namespace, str_is_dns_label,
                                        "a name of a namespace (a-z, 0-9 and -, 63 at most)");
        if (!ret->namespace_name)
            return false;
    }
    return ret->api_version && ret->kind && ret->name;
}

/* ---- Ids ---- */

static bool takes(const char **text, const char *part, char end)
{
    size_t length = strlen(part);

    if (strncmp(*text, part, length) != 0 || (*text)[length] != end)
        return false;
    *text += length + (end != '\0');
    return true;
}

/* True if the id is what object_ref_id() would return, without building that string. */
static bool is_id_of(const char *id, const struct object_ref *ref, const char *namespace_name)
{
    return takes(&id, ref->api_version, ':') && takes(&id, ref->kind, ':') &&
           (!namespace_name || takes(&id, namespace_name, ':')) && takes(&id, ref->name, '\0');
}

/* If the attributes have no namespace, the id may contain the Spec's own namespace or leave it out:
 * a namespaced object goes into the Spec's namespace, a cluster-scoped one into none. */
static void check_id(struct check *check, const char *id, const struct object_ref *ref,
                     const struct place *place)
{
    const struct place at = {.above = place, .key = "id"};
    const char *own = ref->namespace_name ? NULL : check->spec->namespace_name;

    if (is_id_of(id, ref, ref->namespace_name) || (own && is_id_of(id, ref, own)))
        return;
    check_problem(check, INVALID_SPEC, &at, "does not match the attributes, which make it \"%s\"",
                  object_ref_id(&check->scratch, ref));
}

/* ---- Objects ---- */

/* The object's key: group, kind, namespace and name, each with its NUL. */
static const char *identity_key(struct arena *arena, const struct object_ref *ref,
                                const char *namespace_name, size_t *ret_length)
{
    size_t group_length;
    const char *group = api_group(ref->api_version, &group_length);
    size_t kind_size = strlen(ref->kind) + 1, namespace_size = strlen(namespace_name) + 1,
           name_size = strlen(ref->name) + 1;
    char *key, *at;

    *ret_length = group_length + 1 + kind_size + namespace_size + name_size;
    key = at = arena_alloc(arena, *ret_length);
    memcpy(at, group, group_length);
    memcpy(at += group_length + 1, ref->kind, kind_size);
    memcpy(at += kind_size, namespace_name, namespace_size);
    memcpy(at += namespace_size, ref->name, name_size);
    return key;
}

/* Reports a second id for the same object. All versions of a group show the same object, so the key
 * has no version. */
static void check_object_is_new(struct check *check, const struct resource *resource,
                                const struct object_ref *ref, struct strmap *objects)
{
    const char *own = check->spec->namespace_name ? check->spec->namespace_name : "";
    const char *namespace_name = ref->namespace_name ? ref->namespace_name : own;
    size_t length;
    const char *key = identity_key(&check->scratch, ref, namespace_name, &length);
    const struct resource *other =
        strmap_put_n(objects, key, length, (struct resource *)(uintptr_t)resource);

    if (other)
        check_problem(check, INVALID_SPEC, NULL, "names the same object as resource \"%s\"",
                      other->id);
}

static void check_objects_differ(const struct objects *objects, struct check *check)
{
    _cleanup_(strmap_done) struct strmap known = STRMAP_INIT;

    if (!objects->several_versions &&
        !(objects->namespace_left_out && objects->own_namespace_written))
        return;
    for (size_t i = 0; i < check->spec->n_resources; i++) {
        const struct resource *resource = &check->spec->resources[i];

        if (!resource->id || !objects->refs[i].name)
            continue;
        check->id = resource->id;
        check_object_is_new(check, resource, &objects->refs[i], &known);
    }
}

static void note_version(struct objects *objects, const struct object_ref *ref)
{
    const char *first = strmap_get(&objects->versions, ref->kind);

    if (!first)
        strmap_put(&objects->versions, ref->kind, (char *)(uintptr_t)ref->api_version);
    else if (strcmp(first, ref->api_version) != 0)
        objects->several_versions = true;
}

/* Notes whether two different ids can name one object at all: only if a kind occurs with several
 * versions, or if the Spec's own namespace is written in one id and left out of another. */
static void note_spelling(struct objects *objects, const struct check *check, const char *id,
                          const struct object_ref *ref)
{
    if (!ref->namespace_name && is_id_of(id, ref, NULL))
        objects->namespace_left_out = true;
    else if (!ref->namespace_name || str_equal(ref->namespace_name, check->spec->namespace_name))
        objects->own_namespace_written = true;
}

static bool is_own_spec(const struct spec *spec, const struct object_ref *ref)
{
    return object_ref_is(ref, OWN_GROUP, "Spec") && str_equal(ref->name, spec->name) &&
           (!ref->namespace_name || str_equal(ref->namespace_name, spec->namespace_name));
}

static bool is_own_namespace(const struct spec *spec, const struct object_ref *ref)
{
    return object_ref_is_namespace(ref) && str_equal(ref->name, spec->namespace_name);
}

/* The id of an object is its name: another id is another object. One whose API version changed is
 * known by its uid. */
static void check_moved(struct check *check, const struct value *extensions, const struct place *in)
{
    const struct place at = {.above = in, .key = MOVED_FROM};

    if (!check_is_absent(value_get(extensions, MOVED_FROM)))
        check_problem(check, INVALID_SPEC, &at,
                      "a Kubernetes object cannot get another name; one that has another API "
                      "version is found without this: remove it");
}

static void check_secrets(struct check *check, const struct value *extensions,
                          const struct place *in)
{
    const struct place at = {.above = in, .key = secret_ref_find_extension(extensions, NULL)};

    if (at.key)
        check_problem(check, INVALID_SPEC, &at,
                      "a reference to a secret may stand in the attributes alone: State keeps the "
                      "extensions, and would keep the value");
}

static void check_extensions(struct objects *objects, struct check *check,
                             const struct value *extensions, const struct place *place)
{
    const struct place in = {.above = place, .key = "extensions"};
    const struct place at_policy = {.above = &in, .key = "healthPolicy"};
    const struct value *policy = value_get(extensions, "healthPolicy");

    for (size_t i = 0; i < ARRAY_SIZE(extensions_of_later); i++) {
        const struct place at = {.above = &in, .key = extensions_of_later[i]};

        if (!check_is_absent(value_get(extensions, at.key)))
            check_problem(check, UNSUPPORTED, &at,
                          "is not supported for Kubernetes resources by this version");
    }
    if (!check_is_absent(policy))
        health_script_check(check, policy, &at_policy, &objects->scripts);
    check_moved(check, extensions, &in);
    check_secrets(check, extensions, &in);
}

/* ---- References into data ---- */

static bool is_core_kind(const struct value *attributes, const char *kind)
{
    return str_equal(value_get_string(attributes, "apiVersion"), "v1") &&
           str_equal(value_get_string(attributes, "kind"), kind);
}

static bool has_first_step(const char *path, const char *step)
{
    size_t length = strlen(step);

    return strncmp(path, step, length) == 0 && strchr(".[", path[length]);
}

/* True if these attributes set the data, and the data lacks the key. */
static bool lacks_key(const struct value *attributes, const char *path)
{
    size_t length = strcspn(path, ".["), reached = 0;

    return path[length] && value_count(value_get_n(attributes, path, length)) &&
           !path_find(attributes, path, &reached) && reached == length;
}

static bool is_string_data(struct check *check, const struct value *attributes, const char *path)
{
    const char *rest = path + strcspn(path, ".[");

    return path_find(attributes, arena_printf(&check->scratch, "stringData%s", rest), NULL);
}

/* Checks a reference into the data of a ConfigMap or a Secret that the Spec itself writes. Other
 * fields may be set by the cluster, and are looked up in the live object. */
static void check_reference(void *state, struct check *check, const struct resource *target,
                            const char *path, const struct place *place)
{
    const struct value *attributes = target->attributes;
    bool writes_only = has_first_step(path, "stringData"), is_secret;

    (void)state;
    if (!writes_only && !has_first_step(path, "data") && !has_first_step(path, "binaryData"))
        return;
    is_secret = is_core_kind(attributes, "Secret");
    if (is_secret && writes_only)
        check_problem(check, INVALID_SPEC, place,
                      "the stringData of \"%s\" cannot be read back: refer to its data",
                      target->id);
    else if ((is_secret || is_core_kind(attributes, "ConfigMap")) && lacks_key(attributes, path) &&
             !(is_secret && is_string_data(check, attributes, path)))
        check_problem(check, INVALID_SPEC, place, "\"%s\" has no field \"%s\"", target->id, path);
}

/* ---- All of them ---- */

static void *begin(void *arg, struct check *check)
{
    struct objects *objects = NEW(struct objects);

    (void)arg;
    objects->refs = NEW_ARRAY(struct object_ref, check->spec->n_resources + 1);
    return objects;
}

static void check_resource(void *state, struct check *check, size_t index,
                           const struct place *place)
{
    const struct place in = {.above = place, .key = "attributes"};
    const struct place at_metadata = {.above = &in, .key = "metadata"};
    const struct resource *resource = &check->spec->resources[index];
    struct objects *objects = state;
    struct object_ref ref;

    if (resource->extensions)
        check_extensions(objects, check, resource->extensions, place);
    if (!resource->attributes || !read_identity(check, resource->attributes, &in, &ref))
        return;
    treatment_check(resource->attributes, check, &at_metadata);
    note_version(objects, &ref);
    objects->refs[index] = ref;
    if (is_own_spec(check->spec, &ref))
        check_problem(check, INVALID_SPEC, &in, "is the Spec itself: a Spec cannot manage itself");
    if (is_own_namespace(check->spec, &ref))
        check_problem(check, INVALID_SPEC, &in,
                      "is the Namespace that the Spec itself lives in, which would go with it");
    if (!resource->id)
        return;
    check_id(check, resource->id, &ref, place);
    note_spelling(objects, check, resource->id, &ref);
}

/* An object that is only waited for. Its parts stand side by side, without metadata. */
static void check_health_check(struct check *check, size_t index)
{
    const struct spec_health_check *one = &check->spec->health_checks[index];
    const struct place in = {.key = "healthChecks"};
    const struct place at = {.above = &in, .index = index};
    struct check unreported = {.spec = check->spec};
    struct object_ref ref;

    if (!one->attributes)
        return;
    if (!read_identity(&unreported, one->attributes, &at, &ref))
        check_problem(check, INVALID_SPEC, &at, "\"%s\" does not name an object", one->id);
    else if (is_own_spec(check->spec, &ref))
        check_problem(check, INVALID_SPEC, &at, "is the Spec itself, which would wait for itself");
    arena_done(&unreported.scratch);
}

static void end(void *state, struct check *check)
{
    struct objects *objects = state;
    const struct object_policy *policy = &check->spec->policy.objects;
    _cleanup_(ignore_free_p) struct ignore *ignore = ignore_read(policy->ignore, check);

    for (size_t i = 0; i < check->spec->n_health_checks; i++)
        check_health_check(check, i);
    ignore_check_resources(ignore, check);
    common_metadata_check(policy->common_metadata, check);
    check_objects_differ(objects, check);
    strmap_done(&objects->versions);
    strmap_done(&objects->scripts);
    free(objects->refs);
    free(objects);
}

const struct spec_checks kube_checks = {
    .begin = begin,
    .resource = check_resource,
    .reference = check_reference,
    .end = end,
};
