/* From a Spec to what other tools read, and what is lost on the way. */

#include "cli/convert/candidate.h"
#include "engine/base/str.h"
#include "engine/spec/moved.h"
#include "engine/spec/not_created.h"
#include "engine/spec/ref.h"

#define DEPENDS_ON "config.kubernetes.io/depends-on"

/* ---- Kusion ---- */

static void tell_lost_fields(const struct value *spec, const struct place_in *place,
                             struct findings *findings)
{
    const struct value *fields = value_get(spec, "spec");

    for (size_t i = 0; i < value_count(fields); i++) {
        const char *key = value_member_key(fields, i, NULL);
        _cleanup_free_ char *path = str_printf("spec.%s", key);
        const struct place_in at = {place ? place->document : NULL, path};

        if (!str_equal(key, "resources") && !str_equal(key, "secretStore") &&
            !str_equal(key, "context"))
            findings_add(findings, SEVERITY_WARNING, "Lost", &at, NULL,
                         "spec.%s is lost: Kusion has no such field", key);
    }
}

static void tell_lost_metadata(const struct value *spec, const struct place_in *place,
                               struct findings *findings)
{
    static const char *const members[] = {"labels", "annotations"};

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        _cleanup_free_ char *path = str_printf("metadata.%s", members[i]);
        const struct place_in at = {place ? place->document : NULL, path};

        if (value_count(value_path(spec, "metadata", members[i], NULL)))
            findings_add(findings, SEVERITY_WARNING, "Lost", &at, NULL,
                         "metadata.%s is lost: a Kusion spec has no metadata", members[i]);
    }
}

static void tell_lost_of_resource(const struct value *resource, struct findings *findings)
{
    static const char *const ours[] = {MOVED_FROM, NOT_CREATED, "lifecycle"};
    const struct value *extensions = value_get(resource, "extensions");
    const char *id = value_get_string(resource, "id"), *type = value_get_string(resource, "type");

    if (type && !str_equal(type, "Kubernetes") && !str_equal(type, "Terraform"))
        findings_add(findings, SEVERITY_WARNING, "Lost", NULL, id, "%s means nothing to Kusion",
                     type);
    for (size_t k = 0; k < ARRAY_SIZE(ours); k++)
        if (value_get(extensions, ours[k]))
            findings_add(findings, SEVERITY_WARNING, "Lost", NULL, id,
                         "extensions[%s] means nothing to Kusion", ours[k]);
    if (value_path(extensions, "healthPolicy", "health.lua", NULL))
        findings_add(findings, SEVERITY_WARNING, "Lost", NULL, id,
                     "extensions.healthPolicy[health.lua] means nothing to Kusion, whose checks "
                     "are KCL (health.kcl)");
}

const struct value *convert_to_kusion(const struct value *spec, const struct place_in *place,
                                      struct findings *findings)
{
    const struct value *fields = value_get(spec, "spec");

    tell_lost_fields(spec, place, findings);
    tell_lost_metadata(spec, place, findings);
    for (size_t i = 0; i < value_count(value_get(fields, "resources")); i++)
        tell_lost_of_resource(value_at(value_get(fields, "resources"), i), findings);
    return value_pack("{s:v, s:v?, s:v?}", "resources", value_get(fields, "resources"),
                      "secretStore", value_get(fields, "secretStore"), "context",
                      value_get(fields, "context"));
}

/* ---- Manifests ---- */

struct writer {
    const struct conversion *conversion;
    struct findings *findings;
    struct strmap by_id; /* -> const struct value *: the entry */
    struct arena arena;
};

static int count_reference(void *arg, const char *text, struct error *error)
{
    (void)text, (void)error;
    ++*(size_t *)arg;
    return 0;
}

/* As cli-utils writes the reference to an object. NULL: it is none. */
static const char *reference_to(struct writer *writer, const struct value *entry)
{
    const struct object_ref ref = object_ref_of(value_get(entry, "attributes"));
    size_t length;
    const char *group = api_group(ref.api_version, &length);

    if (!str_equal(value_get_string(entry, "type"), "Kubernetes") || !ref.kind || !ref.name)
        return NULL;
    return ref.namespace_name
               ? arena_printf(&writer->arena, "%.*s/namespaces/%s/%s/%s", (int)length, group,
                              ref.namespace_name, ref.kind, ref.name)
               : arena_printf(&writer->arena, "%.*s/%s/%s", (int)length, group, ref.kind, ref.name);
}

/* "a,b" of what it depends on; empty: nothing. */
static void add_dependencies(struct writer *writer, const struct value *entry,
                             const struct place_in *place, struct buf *to)
{
    const struct value *list = value_get(entry, "dependsOn");

    for (size_t i = 0; i < value_count(list); i++) {
        const char *id = value_string(value_at(list, i));
        const struct value *on = id ? strmap_get(&writer->by_id, id) : NULL;
        const char *reference = on ? reference_to(writer, on) : NULL;

        if (reference)
            buf_printf(to, "%s%s", to->length ? "," : "", reference);
        else
            findings_add(
                writer->findings, SEVERITY_WARNING, "Lost", place, value_get_string(entry, "id"),
                "its dependency on \"%s\" is lost: that is no Kubernetes object", id ? id : "");
    }
}

static void write_one(struct writer *writer, struct value_builder *b, size_t index)
{
    static const char *const path[] = {"metadata", "annotations", DEPENDS_ON};
    const struct value *entry =
        value_at(value_path(writer->conversion->spec, "spec", "resources", NULL), index);
    const struct place_in *place = &writer->conversion->places[index];
    const struct value *attributes = value_get(entry, "attributes");
    const char *id = value_get_string(entry, "id");
    _cleanup_buf_ struct buf list = BUF_INIT;
    size_t references = 0;

    if (!str_equal(value_get_string(entry, "type"), "Kubernetes")) {
        findings_add(writer->findings, SEVERITY_WARNING, "Lost", place, id,
                     "is left out: it is no Kubernetes object");
        return;
    }
    ref_each(attributes, count_reference, &references, NULL);
    if (references)
        findings_add(writer->findings, SEVERITY_WARNING, "Lost", place, id,
                     "has references (" REF_PREFIX
                     "), %zu of them: nothing but the operator replaces them",
                     references);
    add_dependencies(writer, entry, place, &list);
    if (!list.length) {
        value_add(b, attributes);
        return;
    }
    _cleanup_value_ const struct value *text = value_pack("s", list.data);
    _cleanup_value_ const struct value *made = value_with_path(attributes, path, 3, text);
    value_add(b, made);
}

const struct value *convert_to_manifests(const struct conversion *conversion,
                                         struct findings *findings)
{
    const struct value *resources = value_path(conversion->spec, "spec", "resources", NULL);
    struct writer writer = {.conversion = conversion, .findings = findings};
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    for (size_t i = 0; i < value_count(resources); i++)
        strmap_put(&writer.by_id, value_get_string(value_at(resources, i), "id"),
                   (void *)(uintptr_t)value_at(resources, i));
    value_begin_array(b);
    for (size_t i = 0; i < value_count(resources); i++)
        write_one(&writer, b, i);
    value_end_array(b);
    strmap_done(&writer.by_id);
    arena_done(&writer.arena);
    return value_finish(b);
}
