/* The outcome of a run, and what it left, as text. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/operation/stage_private.h"
#include "test/unit/suite.h"

/* ---- The texts ---- */

#define TEXTS 7

static struct buf *text_at(struct stage *stage, size_t i)
{
    struct buf *const all[TEXTS] = {&stage->results, &stage->actions, &stage->planned,
                                    &stage->diffs,   &stage->reasons, &stage->causes,
                                    &stage->shown};

    return all[i];
}

void stage_texts_init(struct stage *stage)
{
    for (size_t i = 0; i < TEXTS; i++)
        buf_init(text_at(stage, i), 0);
}

void stage_texts_done(struct stage *stage)
{
    for (size_t i = 0; i < TEXTS; i++)
        buf_done(text_at(stage, i));
}

void stage_texts_reset(struct stage *stage)
{
    for (size_t i = 0; i < TEXTS; i++)
        buf_reset(text_at(stage, i));
}

/* ---- What a run left ---- */

static const char *show(struct stage *stage, char *text)
{
    buf_reset(&stage->shown);
    buf_add_str(&stage->shown, text);
    free(text);
    return stage->shown.data;
}

/* "@i3" becomes "@#d": ids are others in another life. */
static char *with_names(const struct fake_cloud *cloud, const char *text)
{
    struct buf named = BUF_INIT;

    for (size_t length; *text; text += length) {
        _cleanup_free_ char *id = NULL;
        const struct fake_thing *thing;

        length = *text == '@' ? 1 + strcspn(text + 1, " ~^!-") : 1 + strcspn(text + 1, "@");
        id = str_new_n(text + 1, length - 1);
        thing = *text == '@' ? fake_cloud_by_id(cloud, id) : NULL;
        if (thing)
            buf_printf(&named, "@#%s", thing->name);
        else
            buf_add(&named, text, length);
    }
    return buf_take(&named);
}

const char *stage_objects(struct stage *stage)
{
    _cleanup_free_ char *text = fake_objects_text(&stage->objects);

    return show(stage, with_names(&stage->cloud, text));
}

const char *stage_cloud(struct stage *stage)
{
    return show(stage, fake_cloud_text(&stage->cloud));
}

const char *stage_state(struct stage *stage)
{
    return show(stage, fake_store_text(&stage->store));
}

const char *stage_log(const struct stage *stage)
{
    return stage->world.log.data;
}

const char *stage_deeds(struct stage *stage)
{
    static const char *const of_store[] = {"save", "lose", "remove State", "tell", "untell"};
    struct buf deeds = BUF_INIT;

    for (const char *at = stage->world.log.data; *at;) {
        size_t length = strcspn(at, ";");
        bool is_deed = true;

        for (size_t i = 0; i < ARRAY_SIZE(of_store); i++)
            is_deed = is_deed && !str_has_prefix(at, of_store[i]);
        if (is_deed)
            buf_printf(&deeds, "%s%.*s", deeds.length ? "; " : "", (int)length, at);
        at += length;
        at += strspn(at, "; ");
    }
    return show(stage, buf_take(&deeds));
}

/* ---- What a run planned and did ---- */

static void separate(struct buf *text)
{
    if (text->length)
        buf_add_str(text, "; ");
}

void stage_show_plan(struct stage *stage, const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        for (size_t f = 0; change->diff && f < change->diff->n_fields; f++) {
            const struct diff_field *field = &change->diff->fields[f];

            separate(&stage->diffs);
            buf_printf(&stage->diffs, "%s: %s -> %s%s", field->path, field->from ? field->from : "",
                       field->to ? field->to : "", field->is_redacted ? " [redacted]" : "");
        }
        separate(&stage->planned);
        if (change->error)
            buf_printf(&stage->planned, "%s%s!%s", short_name(change->id),
                       change->deposed ? "'" : "", change->error->reason);
        else
            buf_printf(&stage->planned, "%s %s%s", plan_action_name(change->action),
                       short_name(change->id), change->deposed ? "'" : "");
        if (change->reason)
            buf_printf(&stage->reasons, "%s%s: %s", stage->reasons.length ? "; " : "",
                       short_name(change->id), change->reason);
    }
}

static const char *const status_names[] = {
    [RESULT_PENDING] = "pending",     [RESULT_SUCCEEDED] = "succeeded",
    [RESULT_FAILED] = "failed",       [RESULT_SKIPPED] = "skipped",
    [RESULT_CANCELLED] = "cancelled", [RESULT_TIMED_OUT] = "timed out",
    [RESULT_DEFERRED] = "deferred",
};

void stage_show_results(struct stage *stage, const struct operation_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];
        const char *name = short_name(result->change->id),
                   *mark = result->change->deposed ? "'" : "";

        separate(&stage->actions);
        buf_printf(&stage->actions, "%s %s%s", plan_action_name(result->action), name, mark);
        separate(&stage->results);
        buf_printf(&stage->results, "%s%s %s", name, mark, status_names[result->status]);
        EXPECT(!result->ended || result->started <= result->ended, "times");
        if (result->status == RESULT_SUCCEEDED)
            continue;
        separate(&stage->causes);
        buf_printf(&stage->causes, "%s%s: %s", name, mark,
                   result->error ? result->error->message : "");
    }
}
