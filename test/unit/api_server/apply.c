/* Server-side apply: whose which field is, what is merged, what is in conflict. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "test/unit/api_server/private.h"

#include <sys/time.h>

#define MAX_MANAGERS 16

/* One entry of managedFields. */
struct manager {
    const char *name, *operation, *subresource; /* borrowed of the call, or of the object */
    struct fields fields;
    const struct value *entry; /* as it was; NULL: it is new */
    bool is_changed;
};

struct managers {
    struct manager items[MAX_MANAGERS];
    size_t count;
};

static void managers_read(struct managers *to, const struct value *object)
{
    const struct value *entries = value_path(object, "metadata", "managedFields", NULL);

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);
        struct manager *manager = &to->items[to->count++];

        if (to->count == MAX_MANAGERS)
            abort();
        *manager = (struct manager){.name = value_get_string(entry, "manager"),
                                    .operation = value_get_string(entry, "operation"),
                                    .subresource = value_get_string(entry, "subresource"),
                                    .entry = entry};
        api_fields_of_v1(&manager->fields, value_get(entry, "fieldsV1"));
    }
}

static void managers_done(struct managers *managers)
{
    for (size_t i = 0; i < managers->count; i++)
        api_fields_done(&managers->items[i].fields);
}

static struct manager *manager_of(struct managers *managers, const char *name,
                                  const char *operation, const char *subresource)
{
    struct manager *manager;

    for (size_t i = 0; i < managers->count; i++) {
        manager = &managers->items[i];
        if (str_equal(manager->name, name) && str_equal(manager->operation, operation) &&
            str_equal(manager->subresource, subresource))
            return manager;
    }
    if (managers->count + 1 == MAX_MANAGERS)
        abort();
    manager = &managers->items[managers->count++];
    *manager = (struct manager){.name = name, .operation = operation, .subresource = subresource};
    return manager;
}

static const struct value *entry_of(const struct manager *manager, const char *api_version)
{
    struct timeval time;
    char text[TIMESTAMP_SIZE];

    if (manager->entry && !manager->is_changed)
        return value_ref(manager->entry);
    gettimeofday(&time, NULL);
    timestamp_format((int64_t)time.tv_sec * 1000, text);
    return value_pack("{s:s, s:s, s:s, s:s, s:s, s:V, s:s?}", "manager", manager->name, "operation",
                      manager->operation, "apiVersion", api_version, "time", text, "fieldsType",
                      "FieldsV1", "fieldsV1", api_fields_to_v1(&manager->fields), "subresource",
                      manager->subresource);
}

static const struct value *with_managers(const struct value *object,
                                         const struct managers *managers, const char *api_version)
{
    static const char *const path[] = {"metadata", "managedFields"};
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *list = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < managers->count; i++) {
        _cleanup_value_ const struct value *entry = NULL;

        if (managers->items[i].fields.count == 0)
            continue;
        entry = entry_of(&managers->items[i], api_version);
        value_add(b, entry);
    }
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    return value_with_path(object, path, ARRAY_SIZE(path), list);
}

static void give_up(struct manager *manager, const char *path)
{
    if (!api_fields_have(&manager->fields, path))
        return;
    api_fields_remove(&manager->fields, path);
    manager->is_changed = true;
}

/* ---- Writes that are no apply ---- */

static char *manager_name(const struct call *call)
{
    const char *asked = api_call_param(call, "fieldManager");

    if (asked)
        return str_new(asked);
    return call->agent ? str_new_n(call->agent, strcspn(call->agent, "/")) : str_new("unknown");
}

/* A write may set the managers itself; what it changes besides is its own then. */
static const struct value *base_of(const struct value *before, const struct value *after)
{
    const struct value *set = value_path(after, "metadata", "managedFields", NULL);

    return value_count(set) ? after : before;
}

const struct value *api_apply_track(struct call *call, const struct value *before,
                                    const struct value *after)
{
    _cleanup_free_ char *name = manager_name(call),
                        *api_version = api_kind_api_version(call->route.kind);
    struct managers managers = {0};
    struct fields old = {0}, now = {0};
    struct manager *writer;
    const struct value *tracked;

    managers_read(&managers, base_of(before, after));
    writer = manager_of(&managers, name, "Update",
                        str_equal(call->route.subresource, "status") ? "status" : NULL);
    api_fields_of_object(&old, before);
    api_fields_of_object(&now, after);
    for (size_t i = 0; i < now.count; i++) {
        const char *path = now.paths[i];

        if (api_fields_have(&old, path) &&
            value_equal(api_fields_value(before, path), api_fields_value(after, path)))
            continue;
        for (size_t k = 0; k < managers.count; k++)
            if (&managers.items[k] != writer)
                give_up(&managers.items[k], path);
        if (!api_fields_have(&writer->fields, path))
            api_fields_add(&writer->fields, path);
        writer->is_changed = true;
    }
    for (size_t i = 0; i < old.count; i++)
        for (size_t k = 0; k < managers.count && !api_fields_have(&now, old.paths[i]); k++)
            give_up(&managers.items[k], old.paths[i]);
    tracked = with_managers(after, &managers, api_version);
    api_fields_done(&old);
    api_fields_done(&now);
    managers_done(&managers);
    return tracked;
}

/* ---- Apply ---- */

/* Fields of the config that others have with another value. */
static void find_conflicts(const struct managers *managers, const struct manager *ours,
                           const struct fields *wanted, const struct value *live,
                           const struct value *config, struct value_builder *causes,
                           struct buf *text)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const char *path = wanted->paths[i];

        for (size_t k = 0; k < managers->count; k++) {
            const struct manager *other = &managers->items[k];
            _cleanup_free_ char *field = NULL;

            if (other == ours || !api_fields_have(&other->fields, path) ||
                value_equal(api_fields_value(live, path), api_fields_value(config, path)))
                continue;
            field = api_fields_text(path);
            buf_printf(text, "%s\"%s\": %s", text->length ? ", " : "", other->name, field);
            value_begin_object(causes);
            value_key(causes, "reason");
            value_add_string(causes, "FieldManagerConflict");
            value_key(causes, "message");
            value_add_printf(causes, "conflict with \"%s\"", other->name);
            value_key(causes, "field");
            value_add_string(causes, field);
            value_end_object(causes);
        }
    }
}

static bool is_free_of_conflicts(struct call *call, const struct managers *managers,
                                 const struct manager *ours, const struct fields *wanted,
                                 const struct value *live, const struct value *config)
{
    static const char *const path[] = {"details", "causes"};
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *causes = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;

    value_begin_array(b);
    if (!str_equal(api_call_param(call, "force"), "true"))
        find_conflicts(managers, ours, wanted, live, config, b, &text);
    value_end_array(b);
    value_builder_finish(b, &causes, NULL);
    if (!text.length)
        return true;
    api_call_refuse(call, 409, "Conflict", "Apply failed with %zu conflicts: conflicts with %s",
                    value_count(causes), text.data);
    api_call_answer(call, 409, value_with_path(call->answer, path, ARRAY_SIZE(path), causes));
    return false;
}

static const struct value *union_of(const struct value *a, const struct value *b)
{
    _cleanup_(value_builder_free_p) struct value_builder *builder = value_builder_new();
    const struct value *result = NULL;

    value_begin_array(builder);
    for (size_t i = 0; i < value_count(a); i++)
        value_add(builder, value_at(a, i));
    for (size_t i = 0; i < value_count(b); i++) {
        bool is_there = false;

        for (size_t k = 0; k < value_count(a); k++)
            is_there = is_there || value_equal(value_at(a, k), value_at(b, i));
        if (!is_there)
            value_add(builder, value_at(b, i));
    }
    value_end_array(builder);
    value_builder_finish(builder, &result, NULL);
    return result;
}

static const struct value *merge(const struct value *live, const struct value *config,
                                 const char *key)
{
    const struct value *merged;

    if (str_equal(key, "finalizers") && value_is(live, VALUE_ARRAY))
        return union_of(live, config);
    if (!value_is(live, VALUE_OBJECT) || !value_is(config, VALUE_OBJECT))
        return value_ref(config);
    merged = value_ref(live);
    for (size_t i = 0; i < value_count(config); i++) {
        const char *name = value_member_key(config, i, NULL);
        _cleanup_value_ const struct value *member =
            merge(value_get(live, name), value_member(config, i), name);
        const struct value *next = value_with(merged, name, member);

        value_unref(merged);
        merged = next;
    }
    return merged;
}

/* What we had and want no more goes, unless others have it, too. */
static const struct value *without_dropped(const struct value *object,
                                           const struct managers *managers,
                                           const struct manager *ours, const struct fields *wanted)
{
    const struct value *left = value_ref(object);

    for (size_t i = 0; i < ours->fields.count; i++) {
        const char *path = ours->fields.paths[i];
        bool is_kept = api_fields_have(wanted, path);
        const struct value *next;

        for (size_t k = 0; k < managers->count; k++)
            is_kept = is_kept || (&managers->items[k] != ours &&
                                  api_fields_have(&managers->items[k].fields, path));
        if (is_kept)
            continue;
        next = api_fields_without(left, path);
        value_unref(left);
        left = next;
    }
    return left;
}

static bool is_same_set(const struct fields *a, const struct fields *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!str_equal(a->paths[i], b->paths[i]))
            return false;
    return true;
}

/* Ours are those that are wanted; what we force a value upon is nobody else's any more. */
static void settle(struct managers *managers, struct manager *ours, struct fields *wanted,
                   const struct value *live, const struct value *config)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const char *path = wanted->paths[i];

        if (value_equal(api_fields_value(live, path), api_fields_value(config, path)))
            continue;
        for (size_t k = 0; k < managers->count; k++)
            if (&managers->items[k] != ours)
                give_up(&managers->items[k], path);
    }
    ours->is_changed = ours->is_changed || !is_same_set(&ours->fields, wanted);
    api_fields_done(&ours->fields);
    ours->fields = *wanted;
    *wanted = (struct fields){0};
}

const struct value *api_apply_merge(struct call *call, const struct value *live,
                                    const struct value *config)
{
    _cleanup_free_ char *api_version = api_kind_api_version(call->route.kind);
    _cleanup_value_ const struct value *merged = NULL, *left = NULL;
    const struct value *result = NULL;
    struct managers managers = {0};
    struct fields wanted = {0};
    struct manager *ours;

    managers_read(&managers, live);
    ours = manager_of(&managers, api_call_param(call, "fieldManager"), "Apply",
                      str_equal(call->route.subresource, "status") ? "status" : NULL);
    api_fields_of_object(&wanted, config);
    if (is_free_of_conflicts(call, &managers, ours, &wanted, live, config)) {
        merged = merge(live, config, "");
        left = without_dropped(merged, &managers, ours, &wanted);
        settle(&managers, ours, &wanted, live, config);
        result = with_managers(left, &managers, api_version);
    }
    api_fields_done(&wanted);
    managers_done(&managers);
    return result;
}
