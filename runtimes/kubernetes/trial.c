/*
 * A trial: whether an object that exists could be created as it is wanted now, and what it would
 * be. It is created by a dry-run, under another name, because its own is in use.
 *
 * What only one object can have is left out of the trial, since the object that exists has it: node
 * ports, and being the default among the PriorityClasses.
 *
 * An apply tells best, because the object is applied later. It needs the right to patch that name,
 * and an account may have this right for the object's own name alone. Then a create is tried, which
 * needs no more than the right to create.
 */
#include <stdio.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/step.h"

#define TRIAL_NAME_SIZE 32

/* The same at each plan of the resource. It is valid for every kind whose names are free. */
static void name_trial(const struct runtime_session *session, const char *id,
                       char ret[TRIAL_NAME_SIZE])
{
    _cleanup_free_ char *whole = str_printf("%s/%s", session->spec, id);
    char hex[HASH_HEX_SIZE];

    hash_hex(whole, strlen(whole), hex);
    snprintf(ret, TRIAL_NAME_SIZE, "kusion-trial-%.16s", hex);
}

/* ---- What only one object can have ---- */

static const struct value *at(const struct value *object, const char *const keys[2])
{
    const struct value *found = value_get(object, keys[0]);

    return keys[1] ? value_get(found, keys[1]) : found;
}

/* Gives an object the member that another one has, or takes it from it; frees `taken`. */
static const struct value *with_member_of(const struct value *taken, const struct value *other,
                                          const char *const keys[2])
{
    const struct value *member = at(other, keys), *next;
    size_t n = keys[1] ? 2 : 1;

    if (!member && !at(taken, keys))
        return taken;
    next = member ? value_with_path(taken, keys, n, member) : value_without_path(taken, keys, n);
    value_unref(taken);
    return next;
}

/* The ports of a Service, each with the node port of the one in its place, or with none. */
static const struct value *with_node_ports(const struct value *ports, const struct value *others)
{
    static const char *const keys[2] = {"nodePort"};
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *list = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < value_count(ports); i++) {
        _cleanup_value_ const struct value *port =
            with_member_of(value_ref(value_at(ports, i)), value_at(others, i), keys);

        value_add(b, port);
    }
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    return list;
}

/* The object with what only one can have as `other` has it; NULL: without. Frees `taken`. */
static const struct value *with_unique_of(const struct value *taken, const struct value *other)
{
    static const char *const health[2] = {"spec", "healthCheckNodePort"};
    static const char *const ports[2] = {"spec", "ports"}, *const preferred[2] = {"globalDefault"};
    const struct object_ref ref = object_ref_of(taken);
    const struct value *listed = at(taken, ports), *next = taken;

    if (object_ref_is(&ref, "scheduling.k8s.io", "PriorityClass"))
        return with_member_of(taken, other, preferred);
    if (!object_ref_is(&ref, "", "Service"))
        return taken;
    if (value_is(listed, VALUE_ARRAY)) {
        _cleanup_value_ const struct value *changed = with_node_ports(listed, at(other, ports));

        next = value_with_path(taken, ports, 2, changed);
        value_unref(taken);
    }
    return with_member_of(next, other, health);
}

/* ---- Its name ---- */

static const char *find_name(const struct value *value, const char *name)
{
    size_t length = 0;
    const char *text = value_string_n(value, &length);

    return text ? memmem(text, length, name, strlen(name)) : NULL;
}

static void add_renamed_text(struct value_builder *b, const struct value *value, const char *from,
                             const char *to)
{
    _cleanup_value_ const struct value *renamed = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    size_t length = 0, skipped = strlen(from);
    const char *rest = value_string_n(value, &length), *end = rest + length, *found;

    while ((found = memmem(rest, (size_t)(end - rest), from, skipped))) {
        buf_add(&text, rest, (size_t)(found - rest));
        buf_add_str(&text, to);
        rest = found + skipped;
    }
    buf_add(&text, rest, (size_t)(end - rest));
    renamed = value_pack("s", text.data);
    if (value_is_sensitive(value))
        value_add_sensitive(b, renamed);
    else
        value_add(b, renamed);
}

/* The API server and admission webhooks repeat the name in labels and elsewhere. Recursion: bounded
 * by LIMIT_DEPTH. */
static void add_renamed(struct value_builder *b, const struct value *value, const char *from,
                        const char *to)
{
    if (!value_is(value, VALUE_ARRAY) && !value_is(value, VALUE_OBJECT)) {
        if (find_name(value, from))
            add_renamed_text(b, value, from, to);
        else
            value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length = 0;
        const char *key =
            value_is(value, VALUE_OBJECT) ? value_member_key(value, i, &length) : NULL;

        if (key)
            value_key_n(b, key, length);
        add_renamed(b, value_child(value, i), from, to);
    }
    value_end(b);
}

static const struct value *rename_all(const struct value *value, const char *from, const char *to)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *renamed = NULL;

    add_renamed(b, value, from, to);
    value_builder_finish(b, &renamed, NULL);
    return renamed;
}

/* ---- The trial ---- */

static const struct value *trial_of(const struct value *attributes, const char *name)
{
    static const char *const keys[] = {"metadata", "name"};
    _cleanup_value_ const struct value *value = value_pack("s", name);

    return with_unique_of(value_with_path(attributes, keys, ARRAY_SIZE(keys), value), NULL);
}

static int try_create(struct runtime_session *session, const struct value *trial,
                      const struct runtime_call *call, const struct value **ret,
                      struct error *error)
{
    static const struct kube_expected any = {NULL, NULL};
    _cleanup_value_ const struct value *body = NULL, *object = NULL;
    struct kube_request request = {
        .method = "POST", .field_manager = session->field_manager, .strict = true, .dry_run = true};
    struct kube_ref ref;
    int r = kube_ref_of(session, trial, call, &ref, error);

    if (r < 0)
        return r;
    ref.name = NULL;
    body = kube_object_prepare(session, &ref, trial, &any);
    request.body = body;
    r = session_read(session, &ref, call, &request, &object, error);
    if (r >= 0)
        *ret = kube_object_mark(object);
    return r;
}

static int try_once(struct runtime_session *session, const struct value *trial,
                    const struct runtime_call *call, const struct value **ret, struct error *error)
{
    struct error problem = {0};
    int r = kube_dry_run(session, trial, KUBE_APPLY_CREATE, call, ret, &problem);

    if (r != ERR_FORBIDDEN)
        return r < 0 ? err_copy(error, &problem) : 0;
    return try_create(session, trial, call, ret, error);
}

int kube_try_anew(struct runtime_session *session, const struct runtime_target *target,
                  const struct runtime_call *call, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *trial = NULL, *made = NULL, *again = NULL, *both = NULL;
    const char *name = object_ref_of(target->attributes).name;
    char trial_name[TRIAL_NAME_SIZE];
    int r;

    if (!name || kube_is_named_by_content(target->attributes))
        return 0;
    name_trial(session, target->id, trial_name);
    trial = trial_of(target->attributes, trial_name);
    r = try_once(session, trial, call, &made, error);
    if (r >= 0)
        r = try_once(session, trial, call, &again, error);
    if (r < 0)
        return r;
    both = kube_common(made, again);
    *ret = with_unique_of(rename_all(both, trial_name, name), target->attributes);
    return 0;
}
