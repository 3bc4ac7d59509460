/* What a plan shows of its changes, and how much of it. */
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/redaction.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define MANY "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1"

/* A thorough plan of the Spec, with the list as data.list of each object. */
static void plan_lists(struct stage *stage, struct run *run, const char *text,
                       const struct value *list)
{
    static const char *const place[] = {"data", "list"};
    struct spec *spec = stage_spec(text);
    const struct value *attributes[16];
    size_t n = spec->n_resources;

    for (size_t i = 0; i < n; i++) {
        attributes[i] = value_with_path(spec->resources[i].attributes, place, 2, list);
        spec->resources[i].attributes = attributes[i];
    }
    stage->thorough = true;
    run_begin(run, stage);
    operation_plan(run->operation, spec);
    operation_wait(run->operation);
    for (size_t i = 0; i < n; i++)
        value_unref(attributes[i]);
}

static const struct value *list_of(size_t n, const char *text)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *list = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < n; i++)
        value_add_string(b, text);
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    return list;
}

struct shown {
    size_t fields, total, bytes;
};

static struct shown count_shown(const struct plan *plan)
{
    struct shown shown = {0};

    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct diff *diff = plan->changes[i].diff;

        shown.fields += diff ? diff->n_fields : 0;
        shown.total += diff ? diff->total : 0;
        shown.bytes += diff ? diff->arena.used : 0;
    }
    return shown;
}

/* However many visits there are at once, and whatever it is that there is much of. */
static void shows_as_much_as_there_is_room_for(void)
{
    static const struct {
        const char *note;
        size_t items, text; /* of each of 8 changes; bytes of an item */
        size_t least;       /* fields that are shown */
        unsigned threads;
    } rows[] = {
        {"all", 100, 10, 800, 1},
        {"many fields", 10000, 0, LIMIT_DIFF_PLAN_FIELDS, 1},
        {"many fields at once", 10000, 0, LIMIT_DIFF_PLAN_FIELDS, 8},
        {"long ones", 3, 500000, 7, 1},
        {"long ones at once", 3, 500000, 7, 8},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = NEW_ARRAY(char, rows[i].text + 1);
        _cleanup_value_ const struct value *list = NULL;
        _cleanup_stage_ struct stage stage;
        struct shown shown;
        struct run run;

        memset(text, 'x', rows[i].text);
        list = list_of(rows[i].items, text);
        stage_init(&stage);
        if (rows[i].threads > 1)
            stage_use_threads(&stage, rows[i].threads);
        stage_begin_process(&stage);
        plan_lists(&stage, &run, MANY, list);
        EXPECT_INT(operation_error(run.operation, &stage.error), 0, stage.error.message);
        shown = count_shown(operation_get_plan(run.operation));
        EXPECT(shown.total >= 8 * rows[i].items, "all are counted");
        EXPECT(shown.fields >= rows[i].least, rows[i].note);
        EXPECT(shown.fields <= LIMIT_DIFF_PLAN_FIELDS, rows[i].note);
        EXPECT(shown.bytes <= LIMIT_DIFF_PLAN + 3 * shown.fields, rows[i].note);
        EXPECT(operation_memory(run.operation) >=
                   shown.bytes + shown.fields * sizeof(struct diff_field),
               "they are counted in its memory");
        run_end(&run);
        stage_end_process(&stage);
    }
}

/* All of its secrets are looked for in 32 KiB at a time, and that so often and no more. */
static void hides_what_it_does_not_search(void)
{
    _cleanup_free_ char *text = str_printf("%0*d", 20 << 10, 0);
    _cleanup_value_ const struct value *list = list_of(40, text);
    _cleanup_stage_ struct stage stage;
    size_t n_hidden = 0, n_seen = 0;
    const struct diff *diff;
    struct run run;

    stage_init(&stage);
    stage_begin_process(&stage);
    plan_lists(&stage, &run, "a=1@s.data.x Secret/s=hunter2", list);
    EXPECT_INT(operation_error(run.operation, &stage.error), 0, stage.error.message);
    diff = operation_get_plan(run.operation)->changes[0].diff;
    CU_ASSERT_PTR_NOT_NULL_FATAL(diff);
    for (size_t i = 0; i < diff->n_fields; i++) {
        const struct diff_field *field = &diff->fields[i];

        n_hidden += field->is_redacted && str_equal(field->to, REDACTED);
        n_seen += strstr(field->to, text) != NULL;
    }
    EXPECT_INT((long long)n_seen, 16, "what was searched");
    EXPECT(n_hidden >= 40 - 16, "the rest is hidden, and counted as such");
    run_end(&run);
    stage_end_process(&stage);
}

SUITE(operation_planning, TEST(shows_as_much_as_there_is_room_for),
      TEST(hides_what_it_does_not_search))
