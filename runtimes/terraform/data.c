#include "runtimes/terraform/data.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/value/redaction.h"
#include "engine/value/value_mark.h"

bool data_is(const char *type)
{
    return str_has_prefix(type, DATA_PREFIX);
}

bool data_is_of(const char *id, const struct value *extensions)
{
    _cleanup_free_ char *type = NULL;

    return target_type(id, extensions, &type, NULL) >= 0 && data_is(type);
}

/* What one plan works with. */
struct reading {
    const struct runtime_target *target;
    struct tf_typing typing; /* of references in the target's attributes */
    struct visit visit;
    struct tf_step *step;
    struct buf config;
    const struct value *wanted; /* the arguments, with all members; a reference, or NULL */
};

static void reading_done(struct reading *reading)
{
    buf_done(&reading->config);
    value_unref(reading->wanted);
    visit_end(&reading->visit);
    if (reading->step)
        tf_step_free(&reading->step->base);
}

static int begin(struct runtime_session *session, struct reading *reading,
                 const struct runtime_call *call, struct error *error)
{
    const struct runtime_target *target = reading->target;
    _cleanup_(source_done) struct source source = {0};
    struct tf_step *step = reading->step = tf_step_new(session, target);
    int r = target_kind(target, &source, &step->type, error);

    if (r < 0)
        return r;
    step->base.is_only_read = true;
    step->need = session_need(session, &source, target->extensions);
    r = visit_begin(&reading->visit, step->pool, step->need, step->type, call, error);
    reading->visit.type.name = step->type + strlen(DATA_PREFIX);
    if (r >= 0)
        referred_note(&session->referred, target->id, reading->visit.schema);
    return r;
}

static int configure(struct reading *reading, struct error *error)
{
    const struct tf_block *block = reading->visit.schema->block;
    const struct runtime_target *target = reading->target;
    struct error refusal = {0};
    struct path path;
    int r;

    reading->step->base.attributes = tf_mark(block, reading->target->attributes);
    path_init(&path);
    path_push_key(&path, "attributes");
    r = tf_configure(block, target->attributes, &path, &reading->wanted, error);
    if (r >= 0)
        r = referred_check(reading->typing.arg, block, target->written, target->attributes, &path,
                           error);
    path_done(&path);
    if (r >= 0)
        r = tf_encode_typed(&reading->config, reading->wanted, block->type, target->written,
                            &reading->typing, error);
    if (r < 0)
        return r;
    r = data_validate(&reading->visit.type, &reading->config, &refusal);
    /* What is not known yet may have no type yet: it is asked again when it is read. */
    return r == ERR_INVALID &&
                   tf_type_is_open(block->type, reading->wanted, target->written, &reading->typing)
               ? 0
               : err_copy(error, &refusal);
}

/* ---- Reading ---- */

static int read_now(struct reading *reading, struct error *error)
{
    const struct visit *visit = &reading->visit;
    struct runtime_step *step = &reading->step->base;
    _cleanup_buf_ struct buf state = BUF_INIT;
    int r = data_read(&visit->type, &reading->config, &state, error);

    if (r >= 0)
        r = tf_reorder(&state, visit->schema->block->type, error);
    if (r >= 0)
        r = visit_decode(visit, &state, step->attributes, &step->result, error);
    if (r < 0)
        return r;
    if (!step->result)
        return err_set(error, ERR_INTERNAL, "ProviderFailed",
                       "the provider answered without an error, and without having read anything");
    if (value_has_unknown(step->result))
        return err_set(error, ERR_INTERNAL, "ProviderFailed",
                       "the provider left values unknown that it has to have read");
    step->action = PLAN_UNCHANGED;
    step->before = value_ref(step->result);
    step->after = value_ref(step->result);
    return 0;
}

/* Everything is unknown that the provider computes. */
static int expect(struct reading *reading, const char *reason, struct error *error)
{
    const struct tf_block *block = reading->visit.schema->block;
    _cleanup_value_ const struct value *unknown = value_pack("u");
    _cleanup_value_ const struct value *expected = tf_propose(block, unknown, reading->wanted);
    _cleanup_value_ const struct value *marked = tf_mark(block, expected);
    struct runtime_step *step = &reading->step->base;

    step->after = value_mark_like(marked, step->attributes);
    if (!step->after)
        return err_set(error, ERR_TOO_LARGE, NULL, "its attributes are too large");
    step->action = PLAN_READ;
    step->result = value_ref(step->after);
    step->reason = str_new(reason);
    return 0;
}

static int plan(struct reading *reading, struct error *error)
{
    int r = configure(reading, error);

    if (r < 0)
        return r;
    if (value_has_unknown(reading->wanted))
        return expect(reading, "it is read when its attributes are known", error);
    return reading->target->is_too_early
               ? expect(reading, "it is read when what it depends on is applied", error)
               : read_now(reading, error);
}

/* What the schema calls sensitive is known here alone. */
static void hide_secrets(const void *arg, struct error *failure)
{
    const struct reading *reading = arg;
    const struct runtime_step *step = &reading->step->base;

    redact_error(failure, (const struct value *const[]){step->result, step->attributes}, 2);
    need_redact(reading->step->need, failure);
}

int data_plan(struct runtime_session *session, const struct runtime_target *target,
              const struct runtime_call *call, struct runtime_step **ret, struct error *error)
{
    _cleanup_(reading_done) struct reading reading = {
        .target = target, .typing = {referred_find, &session->referred}, .config = BUF_INIT};
    struct error failure = {0};
    int r = begin(session, &reading, call, &failure);

    if (r >= 0)
        r = plan(&reading, &failure);
    if (r < 0) {
        hide_secrets(&reading, &failure);
        visit_blame(&reading.visit, &failure);
        return err_copy(error, &failure);
    }
    visit_note_warnings(&reading.visit, session, reading.step->base.action);
    reading.step->base.warnings = visit_warnings(&reading.visit, hide_secrets, &reading);
    *ret = &reading.step->base;
    reading.step = NULL;
    return 0;
}
