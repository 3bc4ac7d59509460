#include "runtimes/kubernetes/managers.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/fields.h"

/* ---- One entry ---- */

static bool is_apply(const struct value *entry)
{
    return str_equal(value_get_string(entry, "operation"), "Apply");
}

static bool is_ours(const struct value *entry, const char *ours)
{
    return str_equal(value_get_string(entry, "manager"), ours) && is_apply(entry) &&
           !value_get(entry, "subresource");
}

/* The manager of some Spec (session.c). The controller's own manager, which sets finalizers on
 * Specs, has the name without the digits. */
static bool is_of_a_spec(const char *manager)
{
    static const char prefix[] = "kusion-operator-";

    return str_has_prefix(manager, prefix) &&
           strspn(manager + strlen(prefix), "0123456789abcdef") == 16 &&
           strlen(manager) == strlen(prefix) + 16;
}

const struct value *managers_own(const struct value *entries, const char *ours)
{
    for (size_t i = 0; i < value_count(entries); i++)
        if (is_ours(value_at(entries, i), ours))
            return value_get(value_at(entries, i), "fieldsV1");
    return NULL;
}

/* One whose fields become ours, whatever its version. */
static bool is_taken(const struct value *entry, const char *ours)
{
    const char *manager = value_get_string(entry, "manager");

    if (!manager || value_get(entry, "subresource"))
        return false;
    if (str_has_prefix(manager, "kubectl"))
        return !str_equal(manager, "kubectl-rollout");
    if (is_apply(entry))
        return !str_equal(manager, ours) && is_of_a_spec(manager);
    return str_equal(manager, "before-first-apply") || str_equal(manager, ours);
}

/* ---- All entries ---- */

/* The entry that takes the others up: ours, or the first that is taken. NULL: there is neither. */
static const struct value *base_of(const struct value *entries, const char *ours)
{
    const struct value *first = NULL;

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);

        if (is_ours(entry, ours))
            return entry;
        if (!first && is_taken(entry, ours))
            first = entry;
    }
    return first;
}

static bool is_taken_with(const struct value *entry, const struct value *base, const char *ours)
{
    return is_taken(entry, ours) &&
           str_equal(value_get_string(entry, "apiVersion"), value_get_string(base, "apiVersion"));
}

static size_t count_taken(const struct value *entries, const struct value *base, const char *ours)
{
    size_t n = 0;

    for (size_t i = 0; i < value_count(entries); i++)
        n += is_taken_with(value_at(entries, i), base, ours);
    return n;
}

char *managers_digest(const struct value *entries, const char *ours)
{
    const struct value *base = base_of(entries, ours);
    _cleanup_buf_ struct buf text = BUF_INIT;
    char hex[HASH_HEX_SIZE];

    if (!base)
        return NULL;
    if (is_ours(base, ours))
        json_write(&text, value_get(base, "fieldsV1"), JSON_CANONICAL);
    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);

        if (!is_taken_with(entry, base, ours))
            continue;
        buf_printf(&text, "\n%s %s ", value_get_string(entry, "manager"),
                   is_apply(entry) ? "Apply" : "Update");
        json_write(&text, value_get(entry, "fieldsV1"), JSON_CANONICAL);
    }
    hash_hex(text.data, text.length, hex);
    return str_new(hex);
}

/* The base as an entry of ours, with the fields of all that are taken. */
static const struct value *united(const struct value *entries, const struct value *base,
                                  const char *ours)
{
    _cleanup_value_ const struct value *name = value_pack("s", ours), *apply = NULL;
    _cleanup_value_ const struct value *renamed = value_with(base, "manager", name), *made = NULL;
    _cleanup_value_ const struct value *fields = value_ref(value_get(base, "fieldsV1"));

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i), *all;

        if (entry == base || !is_taken_with(entry, base, ours))
            continue;
        all = fields_union(fields, value_get(entry, "fieldsV1"));
        value_unref(fields);
        fields = all;
    }
    apply = value_pack("s", "Apply");
    made = value_with(renamed, "operation", apply);
    return value_with(made, "fieldsV1", fields);
}

const struct value *managers_take(const struct value *entries, const char *ours)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    _cleanup_value_ const struct value *entry = NULL;
    const struct value *base = base_of(entries, ours), *result = NULL;

    if (!base || count_taken(entries, base, ours) == 0)
        return NULL;
    entry = united(entries, base, ours);
    b = value_builder_new();
    value_begin_array(b);
    for (size_t i = 0; i < value_count(entries); i++) {
        if (value_at(entries, i) == base)
            value_add(b, entry);
        else if (!is_taken_with(value_at(entries, i), base, ours))
            value_add(b, value_at(entries, i));
    }
    value_end_array(b);
    value_builder_finish(b, &result, NULL);
    return result;
}

const struct value *managers_mark(const struct value *taken, const char *ours)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *mark =
        value_pack("{s:{s:{s:{}}}}", "f:metadata", "f:annotations", "f:api.kusion.io/taken-over");
    const struct value *result = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < value_count(taken); i++) {
        const struct value *entry = value_at(taken, i);
        _cleanup_value_ const struct value *fields = NULL, *marked = NULL;

        if (!is_ours(entry, ours)) {
            value_add(b, entry);
            continue;
        }
        fields = fields_union(value_get(entry, "fieldsV1"), mark);
        marked = value_with(entry, "fieldsV1", fields);
        value_add(b, marked);
    }
    value_end_array(b);
    value_builder_finish(b, &result, NULL);
    return result;
}

/* ---- What goes ---- */

/* What all managers have once the others are taken and ours has what it applies. */
static const struct value *kept(const struct value *entries, const struct value *given_up,
                                const char *ours)
{
    const struct value *all = value_pack("{}");

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i), *more;

        if (is_taken_with(entry, given_up, ours))
            continue;
        more = fields_union(all, value_get(entry, "fieldsV1"));
        value_unref(all);
        all = more;
    }
    return all;
}

const struct value *managers_prune(const struct value *applied, const struct value *taken,
                                   const char *ours)
{
    const struct value *given_up = base_of(taken, ours), *left;
    _cleanup_value_ const struct value *keep =
        kept(value_path(applied, "metadata", "managedFields", NULL), given_up, ours);

    left = fields_prune(applied, value_get(given_up, "fieldsV1"), keep);
    if (left && !value_equal(left, applied))
        return left;
    value_unref(left);
    return NULL;
}
