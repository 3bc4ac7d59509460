#include "engine/base/str.h"
#include "engine/value/redaction.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/import.h"
#include "runtimes/terraform/session.h"

/* What the provider says is there after an error. Nothing: what was there before is kept, because
 * providers answer so to a deletion that failed, too. */
static int judge_failure(const struct tf_step *step, const struct tf_state *now,
                         struct runtime_outcome *ret)
{
    if (tf_state_is_null(now) || step->base.action == PLAN_DELETE) {
        ret->certainty = OUTCOME_NOT_SENT;
        return 0;
    }
    ret->certainty = OUTCOME_KNOWN;
    ret->tainted = step->base.action == PLAN_CREATE;
    return 1;
}

/* What was planned is decoded again: the engine has dropped it. */
static int check_planned(const struct tf_step *step, const struct visit *visit,
                         const struct value *actual, struct error *error)
{
    const struct tf_block *block = visit->schema->block;
    const struct buf *bytes = &step->planned.value;
    _cleanup_value_ const struct value *planned = NULL;
    int r = tf_decode(bytes->data, bytes->length, block->type, TF_PLAIN, &planned, error);

    return r < 0 ? r : tf_check_applied(block, planned, actual, error);
}

static int check_result(const struct tf_step *step, const struct visit *visit,
                        struct runtime_outcome *ret, struct error *error)
{
    bool is_there = ret->now.presence == PRESENCE_PRESENT;
    int r = 0;

    if (is_there == (step->base.action == PLAN_DELETE))
        return err_set(error, ERR_INTERNAL, "ProviderFailed",
                       is_there ? "the provider says that the object still exists"
                                : "the provider made no object");
    if (value_has_unknown(ret->now.result))
        r = err_set(error, ERR_INTERNAL, "ProviderFailed",
                    "the provider left values unknown that it has to know now");
    else if (is_there && !step->is_legacy)
        r = check_planned(step, visit, ret->now.result, error);
    ret->tainted = r < 0 && step->base.action == PLAN_CREATE;
    return r;
}

/* Nobody knows whether the provider has carried out the change. What has answered sends nothing any
 * more, and neither does a process that has ended; but of that, a request may be on its way. */
static void note_doubt(const struct visit *visit, enum grpc_delivery delivery,
                       struct runtime_outcome *ret)
{
    int64_t now = system_clock.now(&system_clock);

    ret->certainty = OUTCOME_IN_DOUBT;
    if (delivery == GRPC_ANSWERED)
        ret->until = now;
    else if (plugin_has_ended(visit->instance->plugin))
        ret->until = now + EFFECT_TIME;
}

static int observe(const struct tf_step *step, const struct visit *visit,
                   const struct tf_state *now, struct runtime_outcome *ret, struct error *error)
{
    int r = visit_observe(visit, now, step->base.attributes, step->sensitive, ret, error);

    if (r < 0)
        note_doubt(visit, GRPC_ANSWERED, ret);
    return r;
}

static int carry_out(const struct tf_step *step, struct visit *visit, struct runtime_outcome *ret,
                     struct error *error)
{
    _cleanup_(tf_state_done) struct tf_state now = TF_STATE_INIT;
    enum grpc_delivery delivery;
    bool was_told;
    int r;

    if (step->is_as_wanted) {
        ret->certainty = OUTCOME_KNOWN;
        return visit_observe(visit, &step->planned, step->base.attributes, step->sensitive, ret,
                             error);
    }
    r = resource_apply(&visit->type, &step->prior, &step->planned,
                       step->config.length ? &step->config : NULL, &now, &was_told, &delivery,
                       error);

    if (r < 0 && !was_told) {
        if (delivery != GRPC_NOT_SENT)
            note_doubt(visit, delivery, ret);
        return r;
    }
    if (r < 0) {
        if (judge_failure(step, &now, ret))
            observe(step, visit, &now, ret, NULL);
        return r;
    }
    ret->certainty = OUTCOME_KNOWN;
    r = observe(step, visit, &now, ret, error);
    return r < 0 ? r : check_result(step, visit, ret, error);
}

/* What the provider says after a change. */
struct said {
    const struct tf_step *step;
    const struct runtime_outcome *outcome;
};

static void hide_secrets(const void *arg, struct error *failure)
{
    const struct said *said = arg;

    redact_error(failure, &said->outcome->now.result, 1);
    need_redact(said->step->need, failure);
}

int tf_apply(struct runtime_step *base, const struct runtime_call *call,
             struct runtime_outcome *ret, struct error *error)
{
    const struct tf_step *step = (const struct tf_step *)base;
    const struct said said = {step, ret};
    struct visit visit;
    struct error failure = {0};
    int r;

    ret->certainty = OUTCOME_NOT_SENT;
    if (base->action != PLAN_CREATE && base->action != PLAN_ADOPT && base->action != PLAN_UPDATE &&
        base->action != PLAN_DELETE)
        return err_set(error, ERR_INTERNAL, "UnexpectedAction", "\"%s\" cannot be carried out",
                       plan_action_name(base->action));
    if (value_has_unknown(base->attributes))
        return err_set(error, ERR_INTERNAL, "ProviderFailed", "a value of it is not known yet");
    r = visit_begin(&visit, step->pool, step->need, step->type, call, &failure);
    visit.call.deadline = system_clock.monotonic(&system_clock) + base->limit;
    if (r >= 0 && !str_equal(visit.instance->provider->key, step->provider))
        r = err_set(&failure, ERR_CONFLICT, "ProviderReplaced",
                    "the provider %s planned it, and %s serves now", step->provider_name,
                    visit.instance->provider->name);
    if (r >= 0)
        r = carry_out(step, &visit, ret, &failure);
    if (r < 0) {
        hide_secrets(&said, &failure);
        visit_blame(&visit, &failure);
    } else {
        ret->warnings = visit_warnings(&visit, hide_secrets, &said);
    }
    visit_end(&visit);
    return err_copy(error, &failure);
}

/* ---- Reading ---- */

/* Of an object that State does not know, the import id is asked for. */
static int load_state(const struct runtime_target *target, struct visit *visit,
                      struct tf_state *ret, struct error *error)
{
    const struct value *id = value_get(target->extensions, IMPORT_ID);
    int r;

    if (target->prior->status == RECORD_CREATING && id)
        return import_read(visit, id, ret, error);
    r = memory_load(&visit->type, target->prior->memory, ret, error);
    return r < 0 || tf_state_is_null(ret) ? r : resource_read(&visit->type, ret, error);
}

static int read_state(const struct runtime_target *target, struct visit *visit,
                      struct runtime_outcome *ret, struct error *error)
{
    _cleanup_(tf_state_done) struct tf_state state = TF_STATE_INIT;
    int r = load_state(target, visit, &state, error);

    if (r >= 0)
        r = visit_observe(visit, &state, target->prior->attributes,
                          value_get(target->prior->memory, "sensitive"), ret, error);
    if (r >= 0)
        ret->certainty = OUTCOME_KNOWN;
    return r;
}

int tf_read(struct runtime_session *session, const struct runtime_target *target,
            const struct runtime_call *call, struct runtime_outcome *ret, struct error *error)
{
    _cleanup_(source_done) struct source source = {0};
    _cleanup_(need_free_p) struct need *need = NULL;
    _cleanup_free_ char *type = NULL;
    struct visit visit;
    struct error failure = {0};
    int r;

    if (!target->prior)
        return err_set(error, ERR_UNSUPPORTED, "CannotBeFound",
                       "State has nothing by which the provider finds it");
    r = target_kind(target, &source, &type, error);
    if (r < 0)
        return r;
    need = session_need(session, &source, target->extensions);
    r = visit_begin(&visit, session->runtime->pool, need, type, call, &failure);
    if (r >= 0)
        r = read_state(target, &visit, ret, &failure);
    if (r < 0) {
        need_redact(need, &failure);
        visit_blame(&visit, &failure);
    }
    visit_end(&visit);
    return err_copy(error, &failure);
}
