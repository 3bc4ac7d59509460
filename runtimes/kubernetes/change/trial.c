/*
 * A trial: whether an object that exists could be created as it is wanted now, and what it would
 * be. It is created by a dry-run, under another name, because its own is in use.
 *
 * What only one object can have, and the object that exists has, is left out of the trial: node
 * ports, and being the default among the PriorityClasses. If another object has it, the create
 * would be refused, and so is the trial.
 *
 * An apply tells best, because the object is applied later. It needs the right to patch that name,
 * and an account may have this right for the object's own name alone. Then a create is tried, which
 * needs no more than the right to create.
 */
#include <stdio.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "runtimes/kubernetes/change/prepare.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/object_ref.h"

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

static const char *const ports_of[] = {"spec", "ports"};

static const struct {
    const char *group, *kind, *keys[2];
    size_t n_keys;
} unique[] = {
    {"", "Service", {"spec", "healthCheckNodePort"}, 2},
    {"scheduling.k8s.io", "PriorityClass", {"globalDefault"}, 1},
};

static const struct value *member_of(const struct value *object, size_t u)
{
    const struct value *found = value_get(object, unique[u].keys[0]);

    return unique[u].n_keys == 2 ? value_get(found, unique[u].keys[1]) : found;
}

/* live: NULL: it has them all. */
static bool has_node_port(const struct value *live, const struct value *number)
{
    const struct value *ports = value_path(live, "spec", "ports", NULL);

    for (size_t i = 0; i < value_count(ports); i++)
        if (value_equal(value_get(value_at(ports, i), "nodePort"), number))
            return true;
    return !live;
}

/* A port of a Service as it is tried, or (from: NULL) as it was. */
static const struct value *change_port(const struct value *port, const struct value *live,
                                       const struct value *from)
{
    const struct value *number = value_get(from ? from : port, "nodePort");

    if (!number)
        return value_ref(port);
    if (from)
        return value_with(port, "nodePort", number);
    return has_node_port(live, number) ? value_without(port, "nodePort") : value_ref(port);
}

/* from: the list of ports whose node ports are put back; NULL: those that live has are left out.
 * Frees `taken`. */
static const struct value *change_ports(const struct value *taken, const struct value *live,
                                        const struct value *from)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    const struct value *ports = value_path(taken, "spec", "ports", NULL);
    _cleanup_value_ const struct value *list = NULL;

    if (!value_is(ports, VALUE_ARRAY) || (from && value_count(from) != value_count(ports)))
        return taken;
    b = value_builder_new();
    value_begin_array(b);
    for (size_t i = 0; i < value_count(ports); i++) {
        _cleanup_value_ const struct value *port =
            change_port(value_at(ports, i), live, from ? value_at(from, i) : NULL);

        value_add(b, port);
    }
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    value_move(&taken, value_with_path(taken, ports_of, ARRAY_SIZE(ports_of), list));
    return taken;
}

static bool is_unique(const struct object_ref *ref, size_t u)
{
    return object_ref_is(ref, unique[u].group, unique[u].kind);
}

/* Without what live has; NULL: all. Frees `taken`. */
static const struct value *leave_out(const struct value *taken, const struct value *live)
{
    const struct object_ref ref = object_ref_of(taken);

    for (size_t u = 0; u < ARRAY_SIZE(unique); u++) {
        const struct value *member = is_unique(&ref, u) ? member_of(taken, u) : NULL;

        if (member && (!live || value_equal(member, member_of(live, u))))
            value_move(&taken, value_without_path(taken, unique[u].keys, unique[u].n_keys));
    }
    return object_ref_is(&ref, "", "Service") ? change_ports(taken, live, NULL) : taken;
}

/* Puts back what was left out. Frees `taken`. */
static const struct value *put_back(const struct value *taken, const struct value *attributes)
{
    const struct object_ref ref = object_ref_of(attributes);
    const struct value *ports = value_path(attributes, "spec", "ports", NULL);

    for (size_t u = 0; u < ARRAY_SIZE(unique); u++) {
        const struct value *member = is_unique(&ref, u) ? member_of(attributes, u) : NULL;

        if (member)
            value_move(&taken, value_with_path(taken, unique[u].keys, unique[u].n_keys, member));
    }
    return object_ref_is(&ref, "", "Service") && ports ? change_ports(taken, NULL, ports) : taken;
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
        value_key_like(b, value, i);
        add_renamed(b, value_child(value, i), from, to);
    }
    value_end(b);
}

static const struct value *rename_all(const struct value *value, const char *from, const char *to)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    add_renamed(b, value, from, to);
    return value_finish(b);
}

/* ---- The trial ---- */

static const struct value *trial_of(const struct value *attributes, const char *name,
                                    const struct value *live)
{
    static const char *const keys[] = {"metadata", "name"};
    _cleanup_value_ const struct value *value = value_pack("s", name);

    return leave_out(value_with_path(attributes, keys, ARRAY_SIZE(keys), value), live);
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

int kube_try_anew(struct runtime_session *session, const struct runtime_target *target,
                  const struct value *live, const struct runtime_call *call,
                  const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *trial = NULL, *made = NULL;
    const char *name = object_ref_of(target->attributes).name;
    char trial_name[TRIAL_NAME_SIZE];
    struct error problem = {0};
    int r;

    if (!name || kube_is_named_by_content(target->attributes))
        return 0;
    name_trial(session, target->id, trial_name);
    trial = trial_of(target->attributes, trial_name, live);
    r = kube_dry_run(session, trial, KUBE_APPLY_CREATE, call, &made, NULL, &problem);
    if (r == ERR_FORBIDDEN)
        r = try_create(session, trial, call, &made, error);
    else if (r < 0)
        err_copy(error, &problem);
    if (r >= 0)
        *ret = put_back(rename_all(made, trial_name, name), target->attributes);
    return r < 0 ? r : 0;
}
