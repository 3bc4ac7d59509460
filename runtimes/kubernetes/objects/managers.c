#include "runtimes/kubernetes/objects/managers.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/fields.h"

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

/* ---- What people have ---- */

static bool is_of_people(const struct value *entry)
{
    const char *manager = value_get_string(entry, "manager");

    if (manager && str_has_prefix(manager, "kubectl"))
        return !str_equal(manager, "kubectl-rollout");
    return str_equal(manager, "before-first-apply") && !is_apply(entry);
}

/* Whose a field of people becomes, by its key and the depth that it is at. */
enum part { PART_TAKEN, PART_LEFT, PART_BOTH };

static enum part part_of(unsigned depth, const char *key)
{
    if (depth == 0 && str_equal(key, "f:metadata"))
        return PART_BOTH;
    if (depth == 1 && str_equal(key, "f:annotations"))
        return PART_BOTH;
    if ((depth == 1 && str_equal(key, "f:finalizers")) ||
        (depth == 2 && str_has_prefix(key, "f:api.kusion.io/")))
        return PART_LEFT;
    return PART_TAKEN;
}

/* This part of a set of theirs. A reference; NULL: nothing. */
static const struct value *fields_part(const struct value *set, enum part part, unsigned depth)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *made = NULL;
    size_t n = 0;

    if (value_count(set) == 0)
        return part == PART_TAKEN ? value_ref(set) : NULL;
    value_begin_object(b);
    for (size_t i = 0; i < value_count(set); i++) {
        size_t length;
        const char *key = value_member_key(set, i, &length);
        enum part is = part_of(depth, key);
        _cleanup_value_ const struct value *inner =
            is == PART_BOTH ? fields_part(value_member(set, i), part, depth + 1)
            : is == part    ? value_ref(value_member(set, i))
                            : NULL;

        if (!inner)
            continue;
        value_key_n(b, key, length);
        value_add(b, inner);
        n += !str_equal(key, ".");
    }
    value_end_object(b);
    value_builder_finish(b, &made, NULL);
    return n > 0 ? TAKE(made) : NULL;
}

/* What stays theirs. A reference; NULL: nothing. */
static const struct value *left_of(const struct value *entry)
{
    return is_of_people(entry) ? fields_part(value_get(entry, "fieldsV1"), PART_LEFT, 0) : NULL;
}

/* What becomes ours. A reference; NULL: nothing. */
static const struct value *taken_of(const struct value *entry)
{
    _cleanup_value_ const struct value *left = left_of(entry);
    const struct value *fields = value_get(entry, "fieldsV1");

    return left ? fields_part(fields, PART_TAKEN, 0) : value_ref(fields);
}

/* ---- Taken or not ---- */

/* It has fields to take, or none at all. */
static bool has_more_than_left(const struct value *entry)
{
    _cleanup_value_ const struct value *left = left_of(entry), *taken = taken_of(entry);

    return !left || taken;
}

/* One whose fields become ours, whatever its version. */
static bool is_taken(const struct value *entry, const char *ours)
{
    const char *manager = value_get_string(entry, "manager");

    if (!manager || value_get(entry, "subresource"))
        return false;
    if (is_of_people(entry))
        return has_more_than_left(entry);
    if (is_apply(entry))
        return !str_equal(manager, ours) && is_of_a_spec(manager);
    return str_equal(manager, ours);
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

        _cleanup_value_ const struct value *taken = NULL;

        if (!is_taken_with(entry, base, ours))
            continue;
        taken = taken_of(entry);
        buf_printf(&text, "\n%s %s ", value_get_string(entry, "manager"),
                   is_apply(entry) ? "Apply" : "Update");
        json_write(&text, taken, JSON_CANONICAL);
    }
    hash_hex(text.data, text.length, hex);
    return str_new(hex);
}

const struct value *managers_rival(const struct value *entries, const char *ours,
                                   const struct value *own)
{
    const struct value *now = managers_own(entries, ours);

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);

        if (!is_ours(entry, ours) && value_get_string(entry, "manager") &&
            fields_were_taken(own, now, value_get(entry, "fieldsV1")))
            return entry;
    }
    return NULL;
}

/* The base as an entry of ours, with the fields of all that are taken. */
static const struct value *united(const struct value *entries, const struct value *base,
                                  const char *ours)
{
    _cleanup_value_ const struct value *name = value_pack("s", ours), *apply = NULL;
    _cleanup_value_ const struct value *renamed = value_with(base, "manager", name), *made = NULL;
    _cleanup_value_ const struct value *fields = taken_of(base);

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i), *all;
        _cleanup_value_ const struct value *taken = NULL;

        if (entry == base || !is_taken_with(entry, base, ours))
            continue;
        taken = taken_of(entry);
        all = fields_union(fields, taken);
        value_unref(fields);
        fields = all;
    }
    apply = value_pack("s", "Apply");
    made = value_with(renamed, "operation", apply);
    return value_with(made, "fieldsV1", fields);
}

/* The entry with what stays its own. */
static void add_left(struct value_builder *b, const struct value *entry)
{
    _cleanup_value_ const struct value *left = left_of(entry), *rest = NULL;

    if (!left)
        return;
    rest = value_with(entry, "fieldsV1", left);
    value_add(b, rest);
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
        const struct value *at = value_at(entries, i);

        if (at == base)
            value_add(b, entry);
        if (is_taken_with(at, base, ours))
            add_left(b, at);
        else if (at != base)
            value_add(b, at);
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
        _cleanup_value_ const struct value *left = is_taken_with(entry, given_up, ours)
                                                       ? left_of(entry)
                                                       : value_ref(value_get(entry, "fieldsV1"));

        more = fields_union(all, left);
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
