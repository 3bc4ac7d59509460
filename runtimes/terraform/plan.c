
#include "engine/base/duration.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "engine/value/json.h"
#include "engine/value/redaction.h"
#include "runtimes/terraform/data.h"
#include "runtimes/terraform/import.h"
#include "runtimes/terraform/lifecycle.h"
#include "runtimes/terraform/replace.h"
#include "runtimes/terraform/session.h"
#include "runtimes/terraform/takeover.h"
#include "runtimes/terraform/values/msgpack.h"

/* ms: how long an apply takes by the limits of most providers; at most; and until its answer. */
#define PROVIDER_TIMEOUT (INT64_C(20) * 60 * 1000)
#define LONGEST_TIMEOUT  (INT64_C(24) * 3600 * 1000)
#define TIMEOUT_MARGIN   (INT64_C(5) * 60 * 1000)

/* What one plan works with. */
struct planning {
    const struct runtime_session *session;
    const struct runtime_target *target;
    struct tf_typing typing;   /* of references in the target's attributes */
    const struct value *found; /* of the target in Terraform's state (takeover.h); or NULL */
    struct visit visit;
    struct tf_step *step;
    struct tf_state live;       /* null: there is no object */
    const struct value *before; /* live, decoded; a reference, or NULL */
    const struct value *wanted; /* the attributes, with all members; a reference, or NULL */
    const struct value *config; /* the same without ignored changes; a reference, or NULL */
    struct tf_plan plan;
    const struct value *after; /* planned, decoded; a reference, or NULL */
};

static void planning_done(struct planning *planning)
{
    tf_state_done(&planning->live);
    tf_plan_done(&planning->plan);
    value_unref(planning->before);
    value_unref(planning->wanted);
    value_unref(planning->config);
    value_unref(planning->after);
    visit_end(&planning->visit);
    if (planning->step)
        tf_step_free(&planning->step->base);
}

/* ---- What there is ---- */

static int read_live(struct planning *planning, const struct value *id, struct error *error)
{
    const struct resource_type *type = &planning->visit.type;
    int r;

    if (id)
        return import_read(&planning->visit, id, &planning->live, error);
    if (planning->found)
        return takeover_read(&planning->visit, planning->found, &planning->live, error);
    r = memory_load(type, planning->target->prior->memory, &planning->live, error);
    return r < 0 || tf_state_is_null(&planning->live) ? r
                                                      : resource_read(type, &planning->live, error);
}

static int mark_found(struct planning *planning, struct error *error)
{
    const struct value *marked = takeover_mark(planning->found, planning->before);

    if (!marked && planning->before)
        return err_set(error, ERR_TOO_LARGE, NULL, "the resource's state is too large");
    value_move(&planning->before, marked);
    return 0;
}

/* The object as it is now: that of State, or one that is to be taken over. A TARGET_NEW has none.
 */
static int look(struct planning *planning, struct error *error)
{
    const struct record *prior = planning->target->prior;
    const struct value *id = import_id(planning->target);
    const struct value *like = prior ? prior->attributes : planning->target->attributes;
    int r;

    tf_state_set_null(&planning->live);
    if (!prior && !id && !planning->found)
        return 0;
    buf_reset(&planning->live.value);
    r = read_live(planning, id, error);
    if (r >= 0)
        r = tf_reorder(&planning->live.value, planning->visit.schema->block->type, error);
    if (r >= 0)
        r = visit_decode(&planning->visit, &planning->live.value, like, &planning->before, error);
    if (r >= 0 && planning->found)
        r = mark_found(planning, error);
    if (r >= 0 && !planning->before)
        tf_state_set_null(&planning->live);
    return r;
}

/* ---- What is wanted ---- */

/* before: the object that stays, or NULL for a new one. */
static int encode_config(struct planning *planning, const struct value *before, struct error *error)
{
    const struct value *extensions = planning->target->extensions;

    value_move(&planning->config, lifecycle_ignore(extensions, planning->visit.schema->block,
                                                   planning->wanted, before));
    if (!planning->config)
        return err_set(error, ERR_TOO_LARGE, NULL, "the resource's configuration is too large");
    buf_reset(&planning->step->config);
    return tf_encode_typed(&planning->step->config, planning->config,
                           planning->visit.schema->block->type, planning->target->written,
                           &planning->typing, error);
}

/* The same package of the provider accepted these attributes before, and made the object of them.
 * What it says of them cannot change: it is asked without its configuration, and offline. Where a
 * person reads the plan it is asked again, for what it warns of. */
static bool is_accepted(const struct planning *planning)
{
    const struct record *prior = planning->target->prior;

    return !planning->session->is_thorough && prior && prior->status == RECORD_APPLIED &&
           memory_is_of(&planning->visit.type, prior->memory) &&
           value_equal(prior->attributes, planning->step->base.attributes);
}

static int configure(struct planning *planning, struct error *error)
{
    const struct tf_block *block = planning->visit.schema->block;
    const struct runtime_target *target = planning->target;
    struct path path;
    int r;

    path_init(&path);
    path_push_key(&path, "attributes");
    r = tf_configure(block, target->attributes, &path, &planning->wanted, error);
    if (r >= 0)
        r = referred_check(planning->typing.arg, block, target->written, target->attributes, &path,
                           error);
    path_done(&path);
    if (r >= 0)
        r = encode_config(planning, NULL, error);
    if (r < 0 || is_accepted(planning))
        return r;
    return resource_validate(&planning->visit.type, &planning->step->config, error);
}

/* What is wrong with the arguments and with what is to be ignored of them, both at once. */
static int check_written(struct planning *planning, struct error *error)
{
    struct error of_arguments = {0}, of_paths = {0};
    int r = configure(planning, &of_arguments);

    if (lifecycle_check_paths(planning->target->extensions, planning->visit.schema->block,
                              &of_paths) < 0)
        return of_arguments.code ? err_set(error, of_arguments.code, of_arguments.reason, "%s; %s",
                                           of_arguments.message, of_paths.message)
                                 : err_copy(error, &of_paths);
    return r < 0 ? err_copy(error, &of_arguments) : 0;
}

/* What is ignored is not changed by what a legacy provider makes of the configuration, either. */
static int revert(struct planning *planning, const struct value *before, struct error *error)
{
    const struct tf_block *block = planning->visit.schema->block;
    const struct value *after =
        lifecycle_revert(planning->target->extensions, block, planning->after, before);
    struct buf *bytes = &planning->plan.planned.value;
    bool is_same = after == planning->after;

    value_move(&planning->after, after);
    if (is_same)
        return 0;
    if (!after)
        return err_set(error, ERR_TOO_LARGE, NULL, "what the provider planned is too large");
    buf_reset(bytes);
    return tf_encode(bytes, after, block->type, error);
}

/* Asks the provider for its plan; prior: the live object, or null for a new one. */
static int ask(struct planning *planning, const struct tf_state *prior, const struct value *before,
               struct error *error)
{
    const struct tf_block *block = planning->visit.schema->block;
    _cleanup_value_ const struct value *proposed = NULL;
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    int r = encode_config(planning, before, error);

    if (r >= 0) {
        proposed = tf_propose(block, before, planning->config);
        r = tf_encode_typed(&bytes, proposed, block->type, planning->target->written,
                            &planning->typing, error);
    }
    tf_plan_done(&planning->plan);
    planning->plan = (struct tf_plan)TF_PLAN_INIT;
    if (r >= 0)
        r = resource_plan(&planning->visit.type, prior, &bytes, &planning->step->config,
                          &planning->plan, error);
    value_assign(&planning->after, NULL);
    /* Elements of a set that the provider's defaults have made equal are one. */
    if (r >= 0)
        r = tf_reorder(&planning->plan.planned.value, block->type, error);
    if (r >= 0)
        r = visit_decode(&planning->visit, &planning->plan.planned.value,
                         planning->step->base.attributes, &planning->after, error);
    if (r >= 0 && !planning->after)
        r = err_set(error, ERR_INTERNAL, "ProviderFailed",
                    "the provider planned no object for these attributes");
    if (r < 0)
        return r;
    if (planning->plan.answer->legacy_type_system)
        return revert(planning, before, error);
    return tf_check_planned(block, before, planning->config, planning->after, error);
}

static int ask_for_new(struct planning *planning, struct error *error)
{
    _cleanup_(tf_state_done) struct tf_state nothing = TF_STATE_INIT;

    tf_state_set_null(&nothing);
    return ask(planning, &nothing, NULL, error);
}

/* ---- The step ---- */

static bool is_recorded(const struct planning *planning)
{
    const struct record *prior = planning->target->prior;
    const struct runtime_step *step = &planning->step->base;

    return prior && prior->status == RECORD_APPLIED && prior->result &&
           value_equal(prior->result, step->result) &&
           value_equal(prior->attributes, step->attributes) &&
           value_equal(prior->memory, step->memory);
}

static int fill_unchanged(struct planning *planning, struct error *error)
{
    struct runtime_step *step = &planning->step->base;
    int r = memory_make(&planning->visit.type, &planning->live, planning->step->sensitive,
                        &step->memory, error);

    if (r < 0)
        return r;
    step->action = PLAN_UNCHANGED;
    step->after = value_ref(planning->before);
    step->result = value_ref(planning->before);
    step->is_unrecorded = !is_recorded(planning);
    if (!step->is_unrecorded)
        value_assign(&step->memory, NULL);
    return 0;
}

static void fill_changed(struct planning *planning, enum plan_action action)
{
    struct tf_step *step = planning->step;

    step->base.action = action;
    step->base.after = value_ref(planning->after);
    step->base.result = value_ref(planning->after);
    buf_add(&step->prior, planning->live.value.data, planning->live.value.length);
    tf_state_copy(&step->planned, &planning->plan.planned);
    step->is_legacy = planning->plan.answer->legacy_type_system;
}

static int destroy_prevented(const char *reason, struct error *error)
{
    return err_set(error, ERR_FORBIDDEN, "PreventDestroy",
                   "extensions.lifecycle.preventDestroy forbids to delete it%s%s",
                   reason ? ", and it would have to be replaced: " : "", reason ? reason : "");
}

static int fill_replace(struct planning *planning, char *reason, struct error *error)
{
    const struct value *extensions = planning->target->extensions;
    int r;

    planning->step->base.reason = reason;
    planning->step->base.create_first = lifecycle_creates_first(extensions);
    if (lifecycle_prevents_destroy(extensions))
        return destroy_prevented(reason, error);
    r = ask_for_new(planning, error);
    if (r >= 0)
        fill_changed(planning, PLAN_REPLACE);
    return r;
}

/* An object that somebody else made is not deleted because it is taken over. */
static int refuse_import(const struct planning *planning, const char *reason, struct error *error)
{
    if (planning->found)
        return err_set(error, ERR_INVALID, "TakeoverFailed",
                       "%s of Terraform's state differs in what cannot be changed, and is not "
                       "replaced when it is taken over: %s",
                       value_get_string(planning->found, "address"), reason);
    return err_set(error, ERR_INVALID, "ImportFailed",
                   "extensions[" IMPORT_ID
                   "]: the object differs in what cannot be changed, and is "
                   "not replaced when it is taken over: %s",
                   reason);
}

/* Whoever approves it sees which object it is, also where nothing of it changes: the resource's
 * name is the author's choice. The import id is not shown, because for some types it is a secret;
 * what the provider calls the object's `id` is, unless one of the two is sensitive: often they are
 * the same. */
static char *describe_adoption(const struct planning *planning)
{
    const struct value *id = value_get(planning->before, "id");
    struct buf text = BUF_INIT;

    buf_add_str(&text, "takes over ");
    if (planning->found)
        buf_printf(&text, "%s of Terraform's state", value_get_string(planning->found, "address"));
    else
        buf_add_str(&text, "an existing object");
    if (value_string(id) && !value_is_sensitive(id) &&
        !value_has_sensitive(import_id(planning->target))) {
        buf_add_str(&text, ", id ");
        json_write(&text, id, JSON_VISIBLE);
    }
    return buf_take(&text);
}

/* What is recorded before the change is sent finds the object. Without a change, what was planned
 * is the object as it is. */
static int fill_adopt(struct planning *planning, struct error *error)
{
    struct runtime_step *step = &planning->step->base;
    bool is_changed = !value_equal(planning->before, planning->after);
    int r = memory_make(&planning->visit.type, &planning->live, planning->step->sensitive,
                        &step->memory, error);

    if (r < 0)
        return r;
    fill_changed(planning, PLAN_ADOPT);
    step->reason = describe_adoption(planning);
    planning->step->is_as_wanted = !is_changed;
    if (is_changed)
        return 0;
    tf_state_copy(&planning->step->planned, &planning->live);
    return 0;
}

static int plan_import(struct planning *planning, struct error *error)
{
    _cleanup_free_ char *reason = NULL;
    int r = ask(planning, &planning->live, planning->before, error);

    if (r < 0)
        return r;
    reason = replace_reason(planning->visit.schema->block, planning->plan.answer, planning->before,
                            planning->after);
    return reason ? refuse_import(planning, reason, error) : fill_adopt(planning, error);
}

static int plan_existing(struct planning *planning, struct error *error)
{
    char *reason;
    int r;

    if (!planning->target->prior)
        return plan_import(planning, error);
    if (planning->target->prior->status == RECORD_TAINTED)
        return fill_replace(planning, str_new("its creation did not complete"), error);
    r = ask(planning, &planning->live, planning->before, error);
    if (r < 0)
        return r;
    reason = replace_reason(planning->visit.schema->block, planning->plan.answer, planning->before,
                            planning->after);
    if (reason)
        return fill_replace(planning, reason, error);
    if (value_equal(planning->before, planning->after))
        return fill_unchanged(planning, error);
    fill_changed(planning, PLAN_UPDATE);
    return 0;
}

static int plan_object(struct planning *planning, struct error *error)
{
    struct runtime_step *step = &planning->step->base;
    int r;

    step->attributes = tf_mark(planning->visit.schema->block, planning->target->attributes);
    planning->step->sensitive =
        tf_sensitive_paths(planning->visit.schema->block, planning->target->attributes);
    r = check_written(planning, error);
    if (r < 0)
        return r;
    step->before = value_ref(planning->before);
    if (planning->before) {
        r = plan_existing(planning, error);
    } else {
        r = ask_for_new(planning, error);
        if (r >= 0)
            fill_changed(planning, PLAN_CREATE);
    }
    /* The change is made by the configuration as it is written: what may only be written is in no
     * state, and would be lost if its changes were ignored here, too. */
    return r < 0 ? r : encode_config(planning, NULL, error);
}

/* No object, with what the provider keeps beside one. */
static void copy_beside(struct tf_state *to, const struct tf_state *from)
{
    tf_state_copy(to, from);
    buf_reset(&to->value);
    msgpack_add_nil(&to->value);
}

/* A provider may refuse a deletion, and may need what it planned for it. */
static int plan_removal(struct planning *planning, struct error *error)
{
    struct tf_step *step = planning->step;
    int r;

    if (!planning->before) {
        step->base.action = PLAN_FORGET;
        return 0;
    }
    if (planning->target->part == TARGET_WHOLE &&
        lifecycle_prevents_destroy(planning->target->extensions))
        return destroy_prevented(NULL, error);
    step->base.action = PLAN_DELETE;
    step->base.before = value_ref(planning->before);
    buf_add(&step->prior, planning->live.value.data, planning->live.value.length);
    if (!provider_plans_destroy(planning->visit.instance->provider)) {
        copy_beside(&step->planned, &planning->live);
        return 0;
    }
    r = resource_plan(&planning->visit.type, &planning->live, NULL, NULL, &planning->plan, error);
    if (r < 0)
        return r;
    if (!tf_state_is_null(&planning->plan.planned))
        return err_set(error, ERR_INTERNAL, "ProviderFailed",
                       "the provider planned an object instead of a deletion");
    copy_beside(&step->planned, &planning->plan.planned);
    return 0;
}

/* ms. The operation's deadline does not end an apply: to hang up would stop the provider halfway,
 * and lose what it has made. Providers have limits of their own, which `timeouts` sets. */
static int64_t longest_apply(const struct value *attributes)
{
    const struct value *timeouts = value_get(attributes, "timeouts");
    int64_t longest = PROVIDER_TIMEOUT;

    for (size_t i = 0; i < value_count(timeouts); i++) {
        const char *text = value_string(value_child(timeouts, i));
        int64_t timeout = text ? duration_parse(text) : -1;

        if (timeout > longest)
            longest = timeout < LONGEST_TIMEOUT ? timeout : LONGEST_TIMEOUT;
    }
    return longest + TIMEOUT_MARGIN;
}

struct tf_step *tf_step_new(struct runtime_session *session, const struct runtime_target *target)
{
    struct tf_step *step = NEW(struct tf_step);

    step->base.ops = &tf_runtime_ops;
    step->base.extensions = import_strip(target->extensions);
    step->base.limit = longest_apply(target->attributes);
    step->pool = session->runtime->pool;
    buf_init(&step->prior, 0);
    buf_init(&step->config, 0);
    buf_init(&step->planned.value, 0);
    buf_init(&step->planned.private, 0);
    buf_init(&step->planned.identity, 0);
    return step;
}

static int begin(struct runtime_session *session, struct planning *planning,
                 const struct runtime_call *call, struct error *error)
{
    const struct runtime_target *target = planning->target;
    _cleanup_(source_done) struct source source = {0};
    struct tf_step *step = planning->step = tf_step_new(session, target);
    int r = target_kind(target, &source, &step->type, error);

    if (r < 0)
        return r;
    step->need = session_need(session, &source, target->extensions);
    r = visit_begin(&planning->visit, step->pool, step->need, step->type, call, error);
    if (r >= 0 && target->attributes)
        referred_note(&session->referred, target->id, planning->visit.schema);
    return r;
}

/* Why nothing can be asked before another resource is made; NULL: it can. */
static const char *deferral(const struct runtime_target *target)
{
    _cleanup_value_ const struct value *others = import_strip(target->extensions);

    if (value_has_unknown(others))
        return "its provider's configuration is not known yet";
    return value_has_unknown(import_id(target)) ? "its import id is not known yet" : NULL;
}

static struct runtime_step *deferred(const struct runtime_target *target, const char *reason)
{
    struct tf_step *step = NEW(struct tf_step);

    step->base.ops = &tf_runtime_ops;
    step->base.action = PLAN_DEFERRED;
    step->base.extensions = import_strip(target->extensions);
    step->base.reason = str_new(reason);
    return &step->base;
}

/* The engine does not know what was read and planned; and what the schema calls sensitive is known
 * here alone as long as there is no plan. */
static void hide_secrets(const void *arg, struct error *failure)
{
    const struct planning *planning = arg;
    const struct tf_schema *schema = planning->visit.schema;
    _cleanup_value_ const struct value *wanted =
        schema && planning->wanted ? tf_mark(schema->block, planning->wanted) : NULL;
    const struct value *const secrets[] = {planning->before, planning->after, wanted,
                                           planning->step->base.attributes};

    redact_error(failure, secrets, ARRAY_SIZE(secrets));
    need_redact(planning->step->need, failure);
    import_redact(import_id(planning->target), failure);
    if (planning->found)
        takeover_redact(&planning->visit, planning->found, failure);
    visit_blame(&planning->visit, failure);
}

/* The provider refused what it was told without a type: values of a dynamic attribute that are not
 * known yet. It may accept them. */
static bool may_be_accepted_later(const struct planning *planning, const struct error *failure)
{
    return str_equal(failure->reason, "ProviderError") && planning->wanted &&
           tf_type_is_open(planning->visit.schema->block->type, planning->wanted,
                           planning->target->written, &planning->typing);
}

int tf_plan(struct runtime_session *session, const struct runtime_target *target,
            const struct observation *hint, const struct runtime_call *call,
            struct runtime_step **ret, struct error *error)
{
    _cleanup_(planning_done) struct planning planning = {
        .session = session,
        .target = target,
        .typing = {referred_find, &session->referred},
        .live = TF_STATE_INIT,
        .plan = TF_PLAN_INIT};
    const char *reason = deferral(target);
    struct error failure = {0};
    int r;

    (void)hint;
    if (reason) {
        *ret = deferred(target, reason);
        return 0;
    }
    if (data_is_of(target->id, target->extensions))
        return data_plan(session, target, call, ret, error);
    r = takeover_find(session, target, &planning.found, error);
    if (r < 0)
        return r;
    r = begin(session, &planning, call, &failure);
    if (r >= 0)
        r = look(&planning, &failure);
    if (r >= 0)
        r = target->attributes ? plan_object(&planning, &failure)
                               : plan_removal(&planning, &failure);
    if (r < 0) {
        hide_secrets(&planning, &failure);
        if (!may_be_accepted_later(&planning, &failure))
            return err_copy(error, &failure);
        err_wrap(&failure, "it cannot be planned before all its values are known");
        *ret = deferred(target, failure.message);
        return 0;
    }
    planning.step->provider = str_new(planning.visit.instance->provider->key);
    planning.step->provider_name = str_new(planning.visit.instance->provider->name);
    visit_note_warnings(&planning.visit, session, planning.step->base.action);
    planning.step->base.warnings = visit_warnings(&planning.visit, hide_secrets, &planning);
    *ret = &planning.step->base;
    planning.step = NULL;
    return 0;
}

void tf_step_free(struct runtime_step *base)
{
    struct tf_step *step = (struct tf_step *)base;

    if (!step)
        return;
    runtime_step_done(base);
    free((void *)(uintptr_t)base->reason);
    need_free(step->need);
    free(step->provider);
    free(step->provider_name);
    free(step->type);
    value_unref(step->sensitive);
    buf_done(&step->prior);
    buf_done(&step->config);
    tf_state_done(&step->planned);
    free(step);
}
