#include "test/unit/engine/operation/stage.h"

#include <unistd.h>

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/plan/approved_value.h"
#include "test/unit/suite.h"

#define PATIENCE 20000 /* ms, real */
#define THREADS  4
#define PLAN_KEY "a key"

/* ---- Whatever happens, and whenever: what we made is found in State ---- */

static bool names_object(struct state *state, const struct fake_object *object)
{
    for (size_t i = 0; state && i < state_count(state); i++)
        if (str_equal(short_name(state_at(state, i)->id), object->name))
            return true;
    return false;
}

static bool names_thing(struct state *state, const struct fake_thing *thing)
{
    for (size_t i = 0; state && i < state_count(state); i++)
        if (str_equal(fake_cloud_id(state_at(state, i)), thing->id))
            return true;
    return false;
}

/* A create that was begun covers one thing whose id is not known yet. */
static size_t count_begun(struct state *state, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; state && i < state_count(state); i++)
        count += state_at(state, i)->status == RECORD_CREATING &&
                 str_equal(short_name(state_at(state, i)->id), name);
    return count;
}

static size_t count_unnamed(const struct stage *stage, struct state *state, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < stage->cloud.n_things; i++)
        count += str_equal(stage->cloud.things[i].name, name) &&
                 !names_thing(state, &stage->cloud.things[i]);
    return count;
}

static void check_truth(void *arg)
{
    struct stage *stage = arg;
    _cleanup_(state_free_p) struct state *state = NULL;

    if (stage->may_forget)
        return;
    state = fake_store_state(&stage->store);
    for (size_t i = 0; i < stage->objects.n_objects; i++) {
        const struct fake_object *object = &stage->objects.objects[i];

        if (object->made && !names_object(state, object))
            fake_world_lie(&stage->world, "State does not name %s, after: %s", object->name,
                           stage->world.log.data);
    }
    for (size_t i = 0; i < stage->cloud.n_things; i++) {
        const char *name = stage->cloud.things[i].name;

        if (count_unnamed(stage, state, name) > count_begun(state, name))
            fake_world_lie(&stage->world, "State does not name a %s of the cloud, after: %s", name,
                           stage->world.log.data);
    }
}

static void on_interrupt(void *arg, const char *reason)
{
    struct stage *stage = arg;
    struct operation *operation = stage->running;

    if (operation)
        operation_cancel(operation, reason);
}

/* ---- The stage ---- */

static struct buf *const *texts_of(struct stage *stage, struct buf *ret[7])
{
    struct buf *const all[] = {&stage->results, &stage->actions, &stage->planned, &stage->diffs,
                               &stage->reasons, &stage->causes,  &stage->shown};

    memcpy(ret, all, sizeof(all));
    return ret;
}

void stage_init(struct stage *stage)
{
    struct buf *texts[7];

    *stage = (struct stage){.parallelism = 1, .spec_uid = "spec-1", .epoch = 1};
    fake_world_init(&stage->world);
    fake_objects_init(&stage->objects, &stage->world);
    fake_cloud_init(&stage->cloud, &stage->world);
    fake_store_init(&stage->store, &stage->world);
    stage->world.after_step = check_truth;
    stage->world.on_interrupt = on_interrupt;
    stage->world.arg = stage;
    texts_of(stage, texts);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        buf_init(texts[i], 0);
}

void stage_done(struct stage *stage)
{
    struct buf *texts[7];

    if (stage->executor)
        stage_end_process(stage);
    value_unref(stage->approved);
    fake_store_done(&stage->store);
    fake_objects_done(&stage->objects);
    fake_cloud_done(&stage->cloud);
    EXPECT_STR(stage->world.lies.data, "", "what must never happen");
    texts_of(stage, texts);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        buf_done(texts[i]);
    fake_world_done(&stage->world);
}

void stage_use_threads(struct stage *stage, unsigned parallelism)
{
    stage->parallelism = parallelism;
    stage->world.pace = parallelism == 1 ? FAKE_CLOCK_JUMPS : FAKE_CLOCK_PACES;
}

void stage_calm(struct stage *stage)
{
    stage->world.kill_at = stage->world.cancel_at = stage->evict_at = 0;
    stage->store.conflict_at = stage->store.fail_at = stage->store.lose_at = 0;
    stage->store.is_down = false;
}

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

/* ---- Processes ---- */

void stage_begin_process(struct stage *stage)
{
    unsigned threads = stage->parallelism == 1 ? 1 : THREADS;

    fake_world_start(&stage->world);
    stage->ledgers = ledgers_new(&(struct ledgers_config){
        .store = fake_store_attach(&stage->store),
        .clock = &stage->world.clock,
        .permit = &stage->world.permit,
    });
    stage->executor = executor_new(&(struct executor_config){
        .clock = &stage->world.clock,
        .threads = threads,
        .max_threads = stage->world.pace == FAKE_CLOCK_JUMPS ? threads : 0,
    });
}

bool stage_await_idle(struct stage *stage)
{
    struct executor_stats stats;

    for (unsigned waited = 0; waited < PATIENCE; waited++) {
        executor_stats(stage->executor, &stats);
        if (!stats.running && !stats.ready)
            return true;
        usleep(1000);
    }
    return false;
}

void stage_end_process(struct stage *stage)
{
    EXPECT(stage_await_idle(stage), "calls in flight come to an end");
    executor_free(stage->executor);
    ledgers_free(stage->ledgers);
    fake_store_detach(&stage->store);
    stage->executor = NULL;
    stage->ledgers = NULL;
}

/* ---- What came of it, as text ---- */

static void separate(struct buf *text)
{
    if (text->length)
        buf_add_str(text, "; ");
}

static void show_plan(struct stage *stage, const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        for (size_t f = 0; change->diff && f < change->diff->n_fields; f++) {
            const struct diff_field *field = &change->diff->fields[f];

            separate(&stage->diffs);
            buf_printf(&stage->diffs, "%s: %s -> %s", field->path, field->from ? field->from : "",
                       field->to ? field->to : "");
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

static void show_results(struct stage *stage, const struct operation_results *results)
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

/* ---- Runs ---- */

static void on_change(void *arg)
{
    struct stage *stage = arg;

    stage->changes++;
}

/* Nothing happens before the eviction. */
static void on_park(void *arg, size_t bytes)
{
    struct stage *stage = arg;

    stage->memory = bytes;
    if (bytes && ++stage->parked == stage->evict_at)
        stage->world.pace = FAKE_CLOCK_STANDS;
}

static void on_landed(void *arg, const struct spec_key *key)
{
    struct stage *stage = arg;

    stage->landed += str_equal(key->namespace_name, "team") && str_equal(key->name, "s");
}

static void forget_texts(struct stage *stage)
{
    struct buf *texts[7];

    texts_of(stage, texts);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        buf_reset(texts[i]);
    err_clear(&stage->error);
}

void run_begin(struct run *run, struct stage *stage)
{
    _cleanup_value_ const struct value *identity =
        value_pack("{s:s}", "serviceAccountName", "robot");
    struct runtime *const runtimes[] = {&stage->objects.base, &stage->cloud.base};
    struct operation_config config = {
        .clock = &stage->world.clock,
        .executor = stage->executor,
        .ledgers = stage->ledgers,
        .runtimes = runtimes,
        .n_runtimes = ARRAY_SIZE(runtimes),
        .permit = &stage->world.permit,
        .scope = {.key = {"team", "s"},
                  .spec_uid = stage->spec_uid,
                  .identity = identity,
                  .thorough = stage->thorough,
                  .terminating = stage->namespace_terminating},
        .epoch = stage->epoch,
        .parallelism = stage->parallelism,
        .timeout = STAGE_TIMEOUT,
        .on_change = on_change,
        .on_park = on_park,
        .arg = stage,
        .on_landed = on_landed,
        .landed_arg = stage,
    };

    _cleanup_(approved_plan_unref_p) struct approved_plan *approved = NULL;

    *run = (struct run){.stage = stage};
    forget_texts(stage);
    if (stage->approved)
        EXPECT_INT(approved_plan_from_value(stage->approved, PLAN_KEY, strlen(PLAN_KEY),
                                            value_get_string(stage->approved, "digest"), &approved,
                                            NULL),
                   0, "the approved plan is read again");
    config.approved = approved;
    run->code = operation_new(&config, &run->operation, &stage->error);
    if (run->code < 0)
        return;
    stage->inherited = ledger_is_inherited(operation_ledger(run->operation));
    stage->running = run->operation;
}

void run_plan(struct run *run, const char *spec)
{
    if (run->code < 0)
        return;
    operation_plan(run->operation, spec ? stage_spec(spec) : NULL);
    operation_wait(run->operation);
    run->code = operation_error(run->operation, &run->stage->error);
    if (operation_get_plan(run->operation))
        show_plan(run->stage, operation_get_plan(run->operation));
}

void run_apply(struct run *run)
{
    const struct operation_apply how = {++run->stage->revision, run->stage->verify};

    if (run->code == 0)
        operation_apply(run->operation, &how);
}

enum operation_phase run_wait(struct run *run)
{
    if (run->code < 0)
        return OPERATION_ENDED;
    return operation_wait(run->operation);
}

bool run_await(struct run *run, enum operation_phase phase)
{
    for (unsigned waited = 0; run->code == 0 && waited < PATIENCE; waited++) {
        if (operation_phase(run->operation) == phase)
            return true;
        usleep(1000);
    }
    return false;
}

void run_cancel(struct run *run, const char *reason)
{
    if (run->operation)
        operation_cancel(run->operation, reason);
}

static void count_results(const struct run *run, size_t *ret_ended, size_t *ret_waiting)
{
    struct operation_results results;

    *ret_ended = *ret_waiting = 0;
    operation_results(run->operation, &results);
    for (size_t i = 0; i < results.count; i++) {
        *ret_ended += results.items[i].status != RESULT_PENDING;
        *ret_waiting += results.items[i].is_waiting;
    }
    operation_results_done(&results);
}

size_t run_count_ended(const struct run *run)
{
    size_t ended, waiting;

    count_results(run, &ended, &waiting);
    return ended;
}

size_t run_count_waiting(const struct run *run)
{
    size_t ended, waiting;

    count_results(run, &ended, &waiting);
    return waiting;
}

void run_evict(struct run *run)
{
    struct stage *stage = run->stage;
    struct ledger *ledger = ledger_ref(operation_ledger(run->operation));

    stage->running = NULL;
    operation_free(run->operation);
    stage->memory = 0;
    if (stage->evict_at) /* the clock stood until now; a store that is down is waited for */
        stage_use_threads(stage, stage->parallelism);
    ledger_flush(ledger, NULL);
    ledger_unref(ledger);
    stage->revision--;
    *run = (struct run){.stage = stage};
}

int run_end(struct run *run)
{
    struct stage *stage = run->stage;
    struct operation_results results;

    if (run->operation) {
        err_clear(&stage->error);
        run->code = operation_error(run->operation, &stage->error);
        operation_results(run->operation, &results);
        show_results(stage, &results);
        operation_results_done(&results);
        stage->running = NULL;
        operation_free(run->operation);
        run->operation = NULL;
    }
    EXPECT_INT(stage->error.code, run->code, "the error is the code's");
    return run->code;
}

/* True: it is parked, and stays so. */
static bool is_to_be_evicted(struct run *run)
{
    struct stage *stage = run->stage;

    while (run->code == 0 && stage->evict_at) {
        if (stage->parked >= stage->evict_at)
            return true;
        if (operation_phase(run->operation) == OPERATION_ENDED)
            return false;
        usleep(50);
    }
    return false;
}

/* Once. */
static void evict(struct run *run, const char *spec)
{
    struct stage *stage = run->stage;
    bool verified = stage->verify;

    run_evict(run);
    stage->evict_at = 0;
    stage->evictions++;
    run_begin(run, stage);
    run_plan(run, spec);
    stage->verify = true; /* what landed may not be ready yet */
    run_apply(run);
    stage->verify = verified;
}

enum deed { DEED_PLAN, DEED_APPLY };

static int do_it(struct stage *stage, const char *spec, enum deed deed)
{
    bool is_own = !stage->executor;
    struct run run;
    int r;

    if (is_own)
        stage_begin_process(stage);
    run_begin(&run, stage);
    run_plan(&run, spec);
    if (deed == DEED_APPLY) {
        stage->parked = 0;
        run_apply(&run);
        if (is_to_be_evicted(&run))
            evict(&run, spec);
        run_wait(&run);
    }
    r = run_end(&run);
    if (is_own)
        stage_end_process(stage);
    return r;
}

void stage_automate(struct stage *stage)
{
    value_assign(&stage->approved, NULL);
}

/* As text, and without anything of this process: as a store would keep it. */
static const struct value *store_approved(const struct plan *plan)
{
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved =
        approved_plan_new(plan, PLAN_KEY, strlen(PLAN_KEY));
    _cleanup_value_ const struct value *value = approved_plan_to_value(approved);
    _cleanup_free_ char *text = json_to_str(value);
    const struct value *stored = NULL;

    EXPECT_INT(json_read_str(text, &stored, NULL), 0, "a text");
    return stored;
}

void stage_approve(struct stage *stage, const char *spec)
{
    struct run run;

    stage_automate(stage);
    stage_begin_process(stage);
    run_begin(&run, stage);
    run_plan(&run, spec);
    EXPECT_INT(run.code, 0, stage->error.message);
    stage->approved = store_approved(operation_get_plan(run.operation));
    operation_cancel(run.operation, "Approving");
    err_clear(&stage->error);
    stage->running = NULL;
    operation_free(run.operation);
    stage_end_process(stage);
}

int stage_plan(struct stage *stage, const char *spec)
{
    return do_it(stage, spec, DEED_PLAN);
}

int stage_apply(struct stage *stage, const char *spec)
{
    return do_it(stage, spec, DEED_APPLY);
}

int stage_destroy(struct stage *stage)
{
    return do_it(stage, NULL, DEED_APPLY);
}

int stage_orphan(struct stage *stage)
{
    const struct ledger_opening opening = {
        .key = {"team", "s"}, .spec_uid = stage->spec_uid, .epoch = stage->epoch};
    struct ledger *ledger = NULL;
    int r;

    forget_texts(stage);
    stage_begin_process(stage);
    r = ledger_open(stage->ledgers, &opening, &ledger, &stage->error);
    if (r >= 0)
        r = ledger_remove(ledger, &stage->error);
    ledger_unref(ledger);
    stage_end_process(stage);
    return r;
}
