#include "cli/convert/parts.h"

#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/spec/preview_policies.h"
#include "engine/spec/ref.h"
#include "engine/value/json.h"

struct parts {
    const struct value *spec, *resources;
    size_t n;
    size_t *part_of;     /* each resource's part */
    struct strmap by_id; /* to &part_of[…] */
};

static size_t choose_part(const char *id, size_t n)
{
    unsigned char digest[HASH_SIZE];
    struct hash *hash = hash_new();
    uint64_t number = 0;

    hash_add(hash, id, strlen(id));
    hash_finish(hash, digest);
    hash_free(hash);
    for (size_t i = 0; i < sizeof(number); i++)
        number = number << 8 | digest[i];
    return number % n;
}

static size_t size_of(const struct value *value)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    size_t length;

    json_write(&text, value, JSON_COMPACT);
    length = text.length;
    return length;
}

/* ---- What may not be cut ---- */

struct looking {
    const struct parts *parts;
    size_t part;
};

static int fail_cut(const char *id, const char *other, struct error *error)
{
    return err_set(error, ERR_INVALID, "InvalidInput",
                   "%s depends on %s, which is in another part: dependencies between Specs are not "
                   "supported",
                   id, other);
}

static int look_at_reference(void *arg, const char *text, struct error *error)
{
    const struct looking *looking = arg;
    struct ref ref;

    if (ref_parse(text, &looking->parts->by_id, &ref, NULL) < 0)
        return 0;
    return *(size_t *)ref.target == looking->part ? 0 : fail_cut("", ref.id, error);
}

static int check_resource(const struct parts *parts, size_t index, struct error *error)
{
    const struct value *resource = value_at(parts->resources, index);
    const struct value *list = value_get(resource, "dependsOn");
    const char *id = value_get_string(resource, "id");
    struct looking looking = {parts, parts->part_of[index]};
    struct error cut = {0};

    for (size_t i = 0; i < value_count(list); i++) {
        const char *other = value_string(value_at(list, i));
        const size_t *part = other ? strmap_get(&parts->by_id, other) : NULL;

        if (part && *part != looking.part)
            return fail_cut(id, other, error);
    }
    if (ref_each(value_get(resource, "attributes"), look_at_reference, &looking, &cut) == 0)
        return 0;
    return err_set(error, ERR_INVALID, "InvalidInput", "%s%s", id, cut.message);
}

/* ---- Parts ---- */

static const struct value *make_part(const struct parts *parts, size_t part)
{
    const struct value *metadata = value_get(parts->spec, "metadata");
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *resources = NULL, *fields = NULL, *name = NULL,
                                       *named = NULL;
    _cleanup_free_ char *text =
        parts->n > 1 ? str_printf("%s-%zu", value_get_string(metadata, "name"), part + 1)
                     : str_new(value_get_string(metadata, "name"));

    value_begin_array(b);
    for (size_t i = 0; i < value_count(parts->resources); i++)
        if (parts->part_of[i] == part)
            value_add(b, value_at(parts->resources, i));
    value_end_array(b);
    if (value_builder_finish(b, &resources, NULL) < 0)
        return NULL;
    fields = value_with(value_get(parts->spec, "spec"), "resources", resources);
    name = value_pack("s", text);
    named = value_with(metadata, "name", name);
    return value_pack("{s:s, s:s, s:v, s:v}", "apiVersion", "api.kusion.io/v1", "kind", "Spec",
                      "metadata", named, "spec", fields);
}

/* No part holds it. */
static int check_sizes(const struct parts *parts, struct error *error)
{
    for (size_t i = 0; i < value_count(parts->resources); i++) {
        const struct value *resource = value_at(parts->resources, i);
        size_t size = size_of(resource);

        if (size > LIMIT_SPEC_BYTES)
            return err_set(error, ERR_TOO_LARGE, "TooLarge",
                           "%s alone is %.2f MiB as JSON, and the limit of a Spec is %.2f MiB",
                           value_get_string(resource, "id"), (double)size / (1 << 20),
                           (double)LIMIT_SPEC_BYTES / (1 << 20));
    }
    return 0;
}

static int check_size(const struct parts *parts, const struct value *made, size_t part,
                      struct error *error)
{
    size_t size = size_of(value_get(made, "spec")), enough = parts->n;
    char which[64] = "the Spec";

    if (size <= LIMIT_SPEC_BYTES)
        return 0;
    if (check_sizes(parts, error) < 0)
        return ERR_TOO_LARGE;
    if (parts->n > 1)
        snprintf(which, sizeof(which), "part %zu of %zu", part + 1, parts->n);
    if (size_of(parts->resources) / LIMIT_SPEC_BYTES > enough)
        enough = size_of(parts->resources) / LIMIT_SPEC_BYTES;
    return err_set(error, ERR_TOO_LARGE, "TooLarge",
                   "%s is %.2f MiB as JSON, and the limit is %.2f MiB: give a Spec to each part of "
                   "the manifests, or use --split %zu",
                   which, (double)size / (1 << 20), (double)LIMIT_SPEC_BYTES / (1 << 20),
                   enough + 1);
}

static int make_all(const struct parts *parts, const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    int r = 0;

    value_begin_array(b);
    for (size_t part = 0; r == 0 && part < parts->n; part++) {
        _cleanup_value_ const struct value *made = make_part(parts, part);

        r = check_size(parts, made, part, error);
        value_add(b, made);
    }
    for (size_t i = 0; r == 0 && i < value_count(parts->resources); i++)
        r = check_resource(parts, i, error);
    value_end_array(b);
    return r < 0 ? r : value_builder_finish(b, ret, error);
}

int parts_make(const struct value *spec, size_t n, const struct value **ret, struct error *error)
{
    struct parts parts = {
        .spec = spec, .resources = value_path(spec, "spec", "resources", NULL), .n = n ? n : 1};
    size_t count = value_count(parts.resources);
    int r;

    parts.part_of = NEW_ARRAY(size_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *id = value_get_string(value_at(parts.resources, i), "id");

        parts.part_of[i] = choose_part(id, parts.n);
        strmap_put(&parts.by_id, id, &parts.part_of[i]);
    }
    r = make_all(&parts, ret, error);
    free(parts.part_of);
    strmap_done(&parts.by_id);
    return r;
}

const struct value *parts_preview(const struct value *spec)
{
    const struct value *metadata = value_get(spec, "metadata"), *fields = value_get(spec, "spec");
    _cleanup_free_ char *name = str_printf("%s-preview-", value_get_string(metadata, "name"));
    _cleanup_value_ const struct value *policies = preview_policies(fields);

    return value_pack(
        "{s:s, s:s, s:{s:s, s:v?}, s:{s:{s:v}, s:s, s:v, s:v?, s:v?, s:v?}}", "apiVersion",
        "api.kusion.io/v1", "kind", "Release", "metadata", "generateName", name, "namespace",
        value_get(metadata, "namespace"), "spec", "specRef", "name", value_get(metadata, "name"),
        "operation", "Preview", "policies", policies, "serviceAccountName",
        value_get(fields, "serviceAccountName"), "resources", value_get(fields, "resources"),
        "resourcesFrom", value_get(fields, "resourcesFrom"));
}
