/* The takeover of field managers (managers.h): foreseen in the plan, and made before the apply. */
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "engine/value/path.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/objects/managers.h"
#include "runtimes/kubernetes/objects/object.h"

/* ---- In the plan ---- */

static bool is_one_of(const char *key, const char *const *keys)
{
    while (*keys && !str_equal(key, *keys))
        keys++;
    return *keys != NULL;
}

/* value NULL: it is removed. */
static void add_operation(struct value_builder *b, const char *parent, const char *key,
                          size_t length, const struct value *value)
{
    _cleanup_buf_ struct buf path = BUF_INIT;

    buf_add_str(&path, parent);
    pointer_add(&path, key, length);
    value_begin_object(b);
    value_key(b, "op");
    value_add_string(b, value ? "add" : "remove");
    value_key(b, "path");
    value_add_string_n(b, path.data, path.length);
    if (value) {
        value_key(b, "value");
        value_add(b, value);
    }
    value_end_object(b);
}

/* Operations of a JSON patch: the members of one object become those of another. Only these keys,
 * or all but these. */
static void add_operations(struct value_builder *b, const char *parent, const struct value *from,
                           const struct value *to, const char *const *keys, bool only)
{
    for (size_t i = 0; i < value_count(to); i++) {
        size_t length;
        const char *key = value_member_key(to, i, &length);

        if (is_one_of(key, keys) == only)
            add_operation(b, parent, key, length, value_member(to, i));
    }
    for (size_t i = 0; i < value_count(from); i++) {
        size_t length;
        const char *key = value_member_key(from, i, &length);

        if (is_one_of(key, keys) == only && !value_get_n(to, key, length))
            add_operation(b, parent, key, length, NULL);
    }
}

/* No resourceVersion: the status may change meanwhile. */
static const struct value *patch_between(const struct value *live, const struct value *left)
{
    static const char *const others[] = {"apiVersion", "kind", "metadata", "status", NULL};
    static const char *const metadata[] = {"labels", "annotations", "finalizers", "ownerReferences",
                                           NULL};
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    add_operations(b, "", live, left, others, false);
    add_operations(b, "/metadata", value_get(live, "metadata"), value_get(left, "metadata"),
                   metadata, true);
    value_end_array(b);
    return value_finish(b);
}

/* The object without the fields that go, as the server would make it: with defaults, and admitted.
 * A patch needs no other right than an apply. */
static int dry_run_without(struct runtime_session *session, const struct value *identity,
                           const struct value *live, const struct value *left,
                           const struct runtime_call *call, const struct value **ret,
                           struct error *error)
{
    _cleanup_value_ const struct value *body = patch_between(live, left), *object = NULL;
    struct kube_request request = {.method = "PATCH",
                                   .content_type = KUBE_JSON_PATCH,
                                   .field_manager = session->field_manager,
                                   .dry_run = true,
                                   .body = body};
    struct kube_ref ref;
    int r = kube_ref_of(session, identity, call, &ref, error);

    if (r >= 0)
        r = session_read(session, &ref, call, &request, &object, error);
    if (r >= 0)
        *ret = kube_object_mark(object);
    return r;
}

int kube_foresee_takeover(struct runtime_session *session, const struct value *identity,
                          const struct observation *seen, const struct managers_taking *taking,
                          const struct runtime_call *call, const struct value **changed,
                          struct error *error)
{
    const struct value *taken = kube_detail_of(seen)->taken, *after;
    _cleanup_value_ const struct value *left = NULL;
    int r;

    if (taken)
        left = managers_prune(*changed, taken, session->field_manager, taking);
    if (!left)
        return 0;
    r = dry_run_without(session, identity, seen->result, left, call, &after, error);
    if (r < 0)
        return r;
    value_move(changed, after);
    return 0;
}

/* ---- Before the apply ---- */

int kube_write_managers(struct runtime_session *session, const struct value *identity,
                        const struct observation *seen, const struct value *managers,
                        const struct runtime_call *call, const struct value **ret,
                        struct runtime_outcome *ret_outcome, struct error *error)
{
    _cleanup_value_ const struct value *body =
        value_pack("{s:{s:s, s:s, s:v}}", "metadata", "uid", seen->uid, "resourceVersion",
                   kube_detail_of(seen)->version, "managedFields", managers);
    struct kube_request request = {.method = "PATCH",
                                   .content_type = KUBE_MERGE_PATCH,
                                   .field_manager = session->field_manager,
                                   .body = body};
    struct kube_ref ref;
    int r = kube_ref_of(session, identity, call, &ref, error);

    return r < 0 ? r : session_change(session, &ref, call, &request, ret, ret_outcome, error);
}

static int migrate(const struct kube_step *step, const struct observation *now,
                   const struct runtime_call *call, char **ret_version,
                   struct runtime_outcome *ret_outcome, struct error *error)
{
    _cleanup_value_ const struct value *marked =
        managers_mark(kube_detail_of(now)->taken, step->session->field_manager);
    _cleanup_value_ const struct value *object = NULL;
    int r = kube_write_managers(step->session, step->identity, now, marked, call, &object,
                                ret_outcome, error);

    if (r < 0)
        return r;
    ret_outcome->certainty = OUTCOME_NOT_SENT; /* the object itself did not change */
    *ret_version = str_new(value_string(value_path(object, "metadata", "resourceVersion", NULL)));
    return 0;
}

static int take_over_once(const struct kube_step *step, const struct runtime_call *call,
                          char **ret_version, struct runtime_outcome *ret_outcome,
                          bool *ret_is_current, struct error *error)
{
    struct managers_taking taking = {.from = step->from};
    _cleanup_(observation_done) struct observation now = {0};
    int r = kube_look(step->session, step->identity, true, call, &now, error);

    kube_find_ignored(step->session, step->identity, &taking.ignored);
    kube_observe_managers(step->session, &taking, &now);
    ignored_done(&taking.ignored);
    if (r >= 0) {
        *ret_is_current = kube_step_is_current(step, &now) && kube_detail_of(&now)->taken;
        r = *ret_is_current
                ? migrate(step, &now, call, ret_version, ret_outcome, error)
                : err_set(error, ERR_CONFLICT, "Conflict", "it changed since it was planned");
    }
    return r;
}

int kube_take_over(const struct kube_step *step, const struct runtime_call *call,
                   char **ret_version, struct runtime_outcome *ret_outcome, struct error *error)
{
    for (unsigned takes = 1;; takes++) {
        struct error problem = {0};
        bool is_current = false;
        int r = take_over_once(step, call, ret_version, ret_outcome, &is_current, &problem);

        if (r != ERR_CONFLICT || !is_current || takes == KUBE_MAX_TAKES ||
            ret_outcome->certainty != OUTCOME_NOT_SENT)
            return r < 0 ? err_copy(error, &problem) : 0;
    }
}
