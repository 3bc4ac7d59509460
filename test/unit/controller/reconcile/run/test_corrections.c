/* Which corrections repeat, and what is kept of them. */
#include "controller/reconcile/run/corrections.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

/* A plan with one change; fields: paths, each with a space after it. */
static struct plan *plan_of(const char *id, enum plan_action action, const char *fields)
{
    struct plan *plan = plan_new(1, 0);
    struct plan_change *change = &plan->changes[0];
    _cleanup_value_ const struct value *from = NULL, *to = value_pack("{}");

    change->id = arena_str(&plan->arena, id);
    change->action = action;
    from = value_ref(to);
    for (const char *at = fields; *at; at = strchr(at, ' ') + 1) {
        _cleanup_free_ char *path = str_new_n(at, strcspn(at, " "));
        _cleanup_value_ const struct value *one = value_pack("i", 1);
        const struct value *next = value_with(from, path, one);

        value_unref(from);
        from = next;
    }
    change->diff = NEW(struct diff);
    diff_values(from, to, &diff_brief, change->diff);
    return plan;
}

static void tells_what_repeats(void)
{
    static const char recorded[] =
        "{\"count\":3,\"changes\":[{\"id\":\"a\",\"action\":\"update\",\"fields\":[\"x\",\"y\"]},"
        "{\"id\":\"b\",\"action\":\"create\"}]}";
    static const struct {
        const char *id;
        enum plan_action action;
        const char *fields;
        bool repeats;
    } rows[] = {
        {"a", PLAN_UPDATE, "x ", true},     {"a", PLAN_UPDATE, "y x ", true},
        {"a", PLAN_UPDATE, "x z ", false},  {"b", PLAN_UPDATE, "x ", false},
        {"a", PLAN_CREATE, "", false},      {"b", PLAN_CREATE, "", true},
        {"b", PLAN_CREATE, "x y z ", true}, {"c", PLAN_CREATE, "", false},
        {"a", PLAN_UNCHANGED, "", false},   {"b", PLAN_DELETE, "", false},
        {"b", PLAN_ADOPT, "", false},       {"b", PLAN_REPLACE, "", false},
        {"b", PLAN_DEFERRED, "", false},
    };
    const struct value *status = NULL;

    EXPECT_INT(json_read_str(recorded, &status, NULL), 0, "read");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(plan_free_p) struct plan *plan =
            plan_of(rows[i].id, rows[i].action, rows[i].fields);
        _cleanup_free_ char *note = str_printf("row %zu", i);

        EXPECT_INT(corrections_repeat(status, plan), rows[i].repeats, note);
        EXPECT(!corrections_repeat(NULL, plan), "the first time");
    }
    value_unref(status);
}

static void add(const struct value **status, const char *id, enum plan_action action,
                const char *fields)
{
    _cleanup_(plan_free_p) struct plan *plan = plan_of(id, action, fields);
    const struct value *next = corrections_add(*status, plan, "done", 0);

    value_unref(*status);
    *status = next;
}

static void keeps_each_change_once(void)
{
    _cleanup_free_ char *text = NULL;
    const struct value *status = NULL;

    add(&status, "a", PLAN_UPDATE, "x ");
    add(&status, "b", PLAN_CREATE, "");
    add(&status, "a", PLAN_UPDATE, "x y ");
    text = json_to_str(status);
    EXPECT_STR(text,
               "{\"count\":3,\"lastTime\":\"1970-01-01T00:00:00Z\",\"message\":\"done\","
               "\"changes\":[{\"id\":\"a\",\"action\":\"update\",\"fields\":[\"x\",\"y\"],"
               "\"lastTimes\":[\"1970-01-01T00:00:00Z\",\"1970-01-01T00:00:00Z\"]},"
               "{\"id\":\"b\",\"action\":\"create\"}]}",
               "as it is in the status");
    value_unref(status);
}

static void is_bounded(void)
{
    struct buf many = BUF_INIT;
    const struct value *status = NULL;

    for (int i = 0; i < CORRECTIONS_FIELDS + 1; i++)
        buf_printf(&many, "f%d ", i);
    add(&status, "a", PLAN_UPDATE, many.data);
    EXPECT_INT(value_count(value_get(status, "changes")), 0, "too many fields");
    for (int i = 0; i < CORRECTIONS_CHANGES + 5; i++) {
        _cleanup_free_ char *id = str_printf("r%d", i);

        add(&status, id, PLAN_CREATE, "");
    }
    EXPECT_INT(value_count(value_get(status, "changes")), CORRECTIONS_CHANGES, "no more than that");
    EXPECT_INT(value_int(value_get(status, "count"), 0), CORRECTIONS_CHANGES + 6, "all counted");
    value_unref(status);
    buf_done(&many);
}

/* A correction at that second, by a plan that knows who changed it. */
static void correct_at(const struct value **status, int64_t second, const char *who)
{
    _cleanup_(plan_free_p) struct plan *plan = plan_of("a", PLAN_UPDATE, "replicas ");
    const struct value *next;

    plan->changes[0].reason = who;
    next = corrections_add(*status, plan, "done", second * 1000);
    value_unref(*status);
    *status = next;
}

static void tells_who_fights_for_a_field(void)
{
#define FIGHT                                                                           \
    "corrected at each check: a: replicas, changed by hpa (scale). Leave these fields " \
    "out of the Spec, or keep the other from writing them"
    static const struct {
        const char *note;
        int64_t times[4], now; /* seconds; 0: no more. The interval is ten. */
        const char *expected;
    } rows[] = {
        {"once", {100}, 100, NULL},
        {"twice", {100, 110}, 110, NULL},
        {"three times in a row", {100, 110, 120}, 120, FIGHT},
        {"and at the next check", {100, 110, 120}, 130, FIGHT},
        {"a minute later, since it rests", {100, 110, 120}, 180, FIGHT},
        {"not any more", {100, 110, 120}, 241, NULL},
        {"with pauses", {100, 120, 140}, 140, FIGHT},
        {"now and then", {100, 300, 500}, 500, NULL},
        {"the last three count", {10, 100, 110, 120}, 120, FIGHT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct value *status = NULL;
        _cleanup_free_ char *said = NULL;

        for (size_t k = 0; k < 4 && rows[i].times[k]; k++)
            correct_at(&status, rows[i].times[k], k ? "changed by hpa (scale)" : NULL);
        said = corrections_fight(status, 10000, rows[i].now * 1000);
        EXPECT_INT(said != NULL, rows[i].expected != NULL, rows[i].note);
        EXPECT(!said || str_equal(said, rows[i].expected), said);
        value_unref(status);
    }
    EXPECT(!corrections_fight(NULL, 10000, 0), "none");
}

static void fields_that_are_fought_for_rest(void)
{
    static const struct {
        const char *note;
        int64_t times[4], now; /* seconds; 0: no more */
        const char *fields;
        int64_t rest; /* seconds */
    } rows[] = {
        {"the first time", {0}, 100, "replicas ", 0},
        {"twice", {100, 110}, 110, "replicas ", 0},
        {"three times", {100, 110, 120}, 130, "replicas ", 50},
        {"a minute is over", {100, 110, 120}, 180, "replicas ", 0},
        {"and again each minute", {120, 180, 240}, 250, "replicas ", 50},
        {"now and then", {100, 180, 300}, 310, "replicas ", 0},
        {"another field", {100, 110, 120}, 130, "image ", 0},
        {"another field besides", {100, 110, 120}, 130, "replicas image ", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(plan_free_p) struct plan *plan = plan_of("a", PLAN_UPDATE, rows[i].fields);
        const struct value *status = NULL;

        for (size_t k = 0; k < 4 && rows[i].times[k]; k++)
            correct_at(&status, rows[i].times[k], "changed by hpa");
        EXPECT_INT(corrections_rest(status, plan, rows[i].now * 1000), rows[i].rest * 1000,
                   rows[i].note);
        value_unref(status);
    }
}

/* The name of a field is a tenant's; a new line would begin what looks like a hint. */
static void tells_of_fields_in_one_line(void)
{
    const char *times =
        "\"2025-01-01T00:00:00Z\",\"2025-01-01T00:00:10Z\",\"2025-01-01T00:00:20Z\"";
    _cleanup_free_ char *text =
        str_printf("{\"changes\":[{\"id\":\"a\",\"fields\":[\"data.b\\nkubectl delete\"],"
                   "\"lastTimes\":[%s]}]}",
                   times);
    _cleanup_value_ const struct value *status = NULL;
    _cleanup_free_ char *said = NULL;

    CU_ASSERT_FATAL(json_read_str(text, &status, NULL) == 0);
    said = corrections_fight(status, 10000, timestamp_parse("2025-01-01T00:00:20Z"));
    CU_ASSERT_FATAL(said != NULL);
    EXPECT(strstr(said, "data.b") && !strchr(said, '\n'), said);
}

static void counts_no_plan_that_corrects_nothing(void)
{
    _cleanup_(plan_free_p) struct plan *plan = plan_of("a", PLAN_UNCHANGED, "");

    EXPECT(!corrections_add(NULL, plan, "nothing to do", 0), "nothing");
}

SUITE(corrections, TEST(tells_what_repeats), TEST(keeps_each_change_once), TEST(is_bounded),
      TEST(tells_who_fights_for_a_field), TEST(fields_that_are_fought_for_rest),
      TEST(tells_of_fields_in_one_line), TEST(counts_no_plan_that_corrects_nothing))
