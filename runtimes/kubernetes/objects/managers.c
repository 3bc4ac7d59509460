#include "runtimes/kubernetes/objects/managers.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/objects/fields.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/objects/treatment.h"

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

/* ---- What people and tools have ---- */

static bool is_of_people(const struct value *entry)
{
    const char *manager = value_get_string(entry, "manager");

    if (manager && str_has_prefix(manager, "kubectl"))
        return !str_equal(manager, "kubectl-rollout");
    return str_equal(manager, "before-first-apply") && !is_apply(entry);
}

/* The tools that apply objects, and the end of the groups of kinds that are their own: in these
 * they have more than what they applied. */
static const struct {
    const char *manager, *own;
} tools[] = {
    {"helm", NULL},
    {"helm-controller", "toolkit.fluxcd.io"},
    {"kustomize-controller", "toolkit.fluxcd.io"},
    {"argocd-controller", "argoproj.io"},
    {"argocd-application-controller", "argoproj.io"},
    {"kusion", NULL},
    {"kapp", NULL},
    {"kapp-server", NULL},
    {"Terraform", NULL},
    {"HashiCorp", NULL},
};

static bool is_tool(const char *manager, const char *api_version)
{
    size_t length = 0;
    const char *group = api_version ? api_group(api_version, &length) : "";
    _cleanup_free_ char *whole = str_new_n(group, length);

    if (str_has_prefix(manager, "pulumi-kubernetes"))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
        if (str_equal(manager, tools[i].manager))
            return !tools[i].own || !str_has_suffix(whole, tools[i].own);
    return false;
}

static bool is_of_tool(const struct value *entry)
{
    const char *manager = value_get_string(entry, "manager");

    return manager && is_tool(manager, value_get_string(entry, "apiVersion"));
}

/* Some of its fields may stay theirs. */
static bool is_of_others(const struct value *entry)
{
    return is_of_people(entry) || is_of_tool(entry);
}

/* Whose a field of people becomes, by its key and the depth that it is at. */
enum part { PART_TAKEN, PART_LEFT, PART_BOTH };

/* What a tool applied of annotations goes with the tool: they keep an object on its way from there,
 * and would keep it for ever. */
static bool stays_theirs(const char *annotation, bool is_of_tools)
{
    return is_of_tools ? str_has_prefix(annotation, "api.kusion.io/") : treatment_reads(annotation);
}

static enum part part_of(unsigned depth, const char *key, bool is_of_tools)
{
    if (depth == 0 && str_equal(key, "f:metadata"))
        return PART_BOTH;
    if (depth == 1 && str_equal(key, "f:annotations"))
        return PART_BOTH;
    if ((depth == 1 && str_equal(key, "f:finalizers")) ||
        (depth == 2 && str_has_prefix(key, "f:") && stays_theirs(key + strlen("f:"), is_of_tools)))
        return PART_LEFT;
    return PART_TAKEN;
}

/* This part of a set of theirs. A reference; NULL: nothing. */
static const struct value *fields_part(const struct value *set, enum part part, bool is_of_tools,
                                       unsigned depth)
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
        enum part is = part_of(depth, key, is_of_tools);
        _cleanup_value_ const struct value *inner =
            is == PART_BOTH ? fields_part(value_member(set, i), part, is_of_tools, depth + 1)
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

static const struct value *without_ignored(const struct value *fields,
                                           const struct managers_taking *taking)
{
    return fields ? ignored_leave_out_fields(&taking->ignored, fields) : NULL;
}

/* What stays theirs. A reference; NULL: nothing. */
static const struct value *left_of(const struct value *entry, const struct managers_taking *taking)
{
    const struct value *fields = value_get(entry, "fieldsV1");
    _cleanup_value_ const struct value *part = NULL, *ignored = NULL;

    if (!is_of_others(entry))
        return NULL;
    part = fields_part(fields, PART_LEFT, is_of_tool(entry), 0);
    ignored = ignored_keep_fields(&taking->ignored, fields);
    if (part && ignored)
        return fields_union(part, ignored);
    return part ? TAKE(part) : TAKE(ignored);
}

/* What becomes ours. A reference; NULL: nothing. */
static const struct value *taken_of(const struct value *entry, const struct managers_taking *taking)
{
    _cleanup_value_ const struct value *left = left_of(entry, taking);
    _cleanup_value_ const struct value *fields =
        without_ignored(value_get(entry, "fieldsV1"), taking);

    return left && fields ? fields_part(fields, PART_TAKEN, is_of_tool(entry), 0) : TAKE(fields);
}

/* ---- Taken or not ---- */

/* It has fields to take, or none at all. */
static bool has_more_than_left(const struct value *entry, const struct managers_taking *taking)
{
    _cleanup_value_ const struct value *left = left_of(entry, taking);
    _cleanup_value_ const struct value *taken = taken_of(entry, taking);

    return !left || taken;
}

/* One whose fields become ours, whatever its version. */
static bool is_taken(const struct value *entry, const char *ours,
                     const struct managers_taking *taking)
{
    const char *manager = value_get_string(entry, "manager");

    if (!manager || value_get(entry, "subresource"))
        return false;
    if (is_of_people(entry))
        return taking->from >= MANAGERS_PEOPLE && has_more_than_left(entry, taking);
    if (is_of_tool(entry))
        return taking->from >= MANAGERS_TOOLS && has_more_than_left(entry, taking);
    if (is_apply(entry))
        return !str_equal(manager, ours) && is_of_a_spec(manager);
    return str_equal(manager, ours);
}

bool managers_takes(const char *manager, const char *ours, const struct managers_taking *taking)
{
    if (str_has_prefix(manager, "kubectl") || str_equal(manager, "before-first-apply"))
        return taking->from >= MANAGERS_PEOPLE && !str_equal(manager, "kubectl-rollout");
    if (is_tool(manager, NULL))
        return taking->from >= MANAGERS_TOOLS;
    return str_equal(manager, ours) || is_of_a_spec(manager);
}

/* ---- All entries ---- */

/* The entry that takes the others up: ours, or the first that is taken. NULL: there is neither. */
static const struct value *base_of(const struct value *entries, const char *ours,
                                   const struct managers_taking *taking)
{
    const struct value *first = NULL;

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);

        if (is_ours(entry, ours))
            return entry;
        if (!first && is_taken(entry, ours, taking))
            first = entry;
    }
    return first;
}

static bool is_taken_with(const struct value *entry, const struct value *base, const char *ours,
                          const struct managers_taking *taking)
{
    return is_taken(entry, ours, taking) &&
           str_equal(value_get_string(entry, "apiVersion"), value_get_string(base, "apiVersion"));
}

static size_t count_taken(const struct value *entries, const struct value *base, const char *ours,
                          const struct managers_taking *taking)
{
    size_t n = 0;

    for (size_t i = 0; i < value_count(entries); i++)
        n += is_taken_with(value_at(entries, i), base, ours, taking);
    return n;
}

/* The same for all plans of the object, whatever they take: of people's changes each is looked at.
 */
char *managers_digest(const struct value *entries, const char *ours)
{
    static const struct managers_taking people = {.from = MANAGERS_PEOPLE};
    const struct value *base = base_of(entries, ours, &people);
    _cleanup_buf_ struct buf text = BUF_INIT;
    char hex[HASH_HEX_SIZE];

    if (!base)
        return NULL;
    if (is_ours(base, ours))
        json_write(&text, value_get(base, "fieldsV1"), JSON_CANONICAL);
    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);

        _cleanup_value_ const struct value *taken = NULL;

        if (!is_taken_with(entry, base, ours, &people))
            continue;
        taken = taken_of(entry, &people);
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

/* The base as an entry of ours, with the fields of all that are taken, and without what is ignored.
 */
static const struct value *united(const struct value *entries, const struct value *base,
                                  const char *ours, const struct managers_taking *taking)
{
    _cleanup_value_ const struct value *name = value_pack("s", ours), *apply = NULL;
    _cleanup_value_ const struct value *renamed = value_with(base, "manager", name), *made = NULL;
    _cleanup_value_ const struct value *fields =
        is_ours(base, ours) ? without_ignored(value_get(base, "fieldsV1"), taking)
                            : taken_of(base, taking);

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);
        _cleanup_value_ const struct value *taken = NULL;

        if (entry == base || !is_taken_with(entry, base, ours, taking))
            continue;
        taken = taken_of(entry, taking);
        value_move(&fields, fields_union(fields, taken));
    }
    if (!fields)
        fields = value_pack("{}");
    apply = value_pack("s", "Apply");
    made = value_with(renamed, "operation", apply);
    return value_with(made, "fieldsV1", fields);
}

/* The entry with what stays its own. */
static void add_left(struct value_builder *b, const struct value *entry,
                     const struct managers_taking *taking)
{
    _cleanup_value_ const struct value *left = left_of(entry, taking), *rest = NULL;

    if (!left)
        return;
    rest = value_with(entry, "fieldsV1", left);
    value_add(b, rest);
}

/* Our entry has fields that are ignored. */
static bool has_ignored(const struct value *base, const char *ours,
                        const struct managers_taking *taking)
{
    _cleanup_value_ const struct value *ignored =
        is_ours(base, ours) ? ignored_keep_fields(&taking->ignored, value_get(base, "fieldsV1"))
                            : NULL;

    return ignored != NULL;
}

const struct value *managers_take(const struct value *entries, const char *ours,
                                  const struct managers_taking *taking)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    _cleanup_value_ const struct value *entry = NULL;
    const struct value *base = base_of(entries, ours, taking);

    if (!base ||
        (count_taken(entries, base, ours, taking) == 0 && !has_ignored(base, ours, taking)))
        return NULL;
    entry = united(entries, base, ours, taking);
    b = value_builder_new();
    value_begin_array(b);
    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *at = value_at(entries, i);

        if (at == base)
            value_add(b, entry);
        if (is_taken_with(at, base, ours, taking))
            add_left(b, at, taking);
        else if (at != base)
            value_add(b, at);
    }
    value_end_array(b);
    return value_finish(b);
}

const struct value *managers_mark(const struct value *taken, const char *ours)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *mark =
        value_pack("{s:{s:{s:{}}}}", "f:metadata", "f:annotations", "f:api.kusion.io/taken-over");

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
    return value_finish(b);
}

/* ---- What goes ---- */

/* What all managers have once the others are taken and ours has what it applies. */
static const struct value *kept(const struct value *entries, const struct value *given_up,
                                const char *ours, const struct managers_taking *taking)
{
    const struct value *all = value_pack("{}");

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);
        _cleanup_value_ const struct value *left = is_taken_with(entry, given_up, ours, taking)
                                                       ? left_of(entry, taking)
                                                       : value_ref(value_get(entry, "fieldsV1"));

        value_move(&all, fields_union(all, left));
    }
    return all;
}

const struct value *managers_prune(const struct value *applied, const struct value *taken,
                                   const char *ours, const struct managers_taking *taking)
{
    const struct value *given_up = base_of(taken, ours, taking), *left;
    _cleanup_value_ const struct value *keep =
        kept(value_path(applied, "metadata", "managedFields", NULL), given_up, ours, taking);

    left = fields_prune(applied, value_get(given_up, "fieldsV1"), keep);
    if (left && !value_equal(left, applied))
        return left;
    value_unref(left);
    return NULL;
}
