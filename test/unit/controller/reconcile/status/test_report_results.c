/* What a Release tells of each resource where it is more than its action. */
#include "controller/reconcile/status/report.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

/* One resource, "a", as planned and as it went. */
struct one {
    struct diff_field fields[2];
    struct diff diff;
    struct plan_change change;
    struct operation_result result;
    struct operation_results results;
};

static void one_init(struct one *one, enum plan_action planned, enum plan_action done)
{
    *one = (struct one){.fields = {{"data.a", "1", "2", false}, {"data.b", NULL, "3", false}}};
    one->diff = (struct diff){.fields = one->fields, .n_fields = 2, .total = 2};
    one->change = (struct plan_change){.id = "a", .action = planned};
    one->result = (struct operation_result){
        .change = &one->change, .action = done, .status = RESULT_SUCCEEDED};
    one->results = (struct operation_results){.items = &one->result, .count = 1};
}

static void expect_shown(const struct one *one, const char *earlier, const char *expected,
                         const char *note)
{
    _cleanup_value_ const struct value *before = NULL, *shown = NULL;
    struct report_source source = {.results = &one->results};
    _cleanup_free_ char *text = NULL;
    struct error error = {0};
    size_t omitted;

    if (earlier)
        EXPECT_INT(json_read_str(earlier, &before, &error), 0, error.message);
    source.earlier = before;
    shown = report_results(&source, &omitted);
    text = json_to_str(value_at(shown, 0));
    EXPECT_STR(text, expected, note);
}

static void counts_the_fields_that_were_not_kept(void)
{
    struct one one;

    one_init(&one, PLAN_UPDATE, PLAN_UPDATE);
    one.change.diff = &one.diff;
    one.diff.n_fields = 1;
    one.diff.total = 300;
    expect_shown(&one, NULL,
                 "{\"id\":\"a\",\"action\":\"update\",\"outcome\":\"succeeded\",\"fields\":["
                 "{\"path\":\"data.a\",\"from\":\"1\",\"to\":\"2\"}],\"omittedFields\":299}",
                 "one of 300");
}

/* After a restart the plan says that nothing is to be done to what is done. */
static void takes_fields_from_before_a_restart(void)
{
    static const char fields[] = "[{\"id\":\"b\",\"action\":\"update\"},{\"id\":\"a\",\"action\":"
                                 "\"update\",\"fields\":[{\"path\":\"p\"}],\"omittedFields\":2}]";
    struct one one;

    one_init(&one, PLAN_UNCHANGED, PLAN_UPDATE);
    expect_shown(&one, fields,
                 "{\"id\":\"a\",\"action\":\"update\",\"outcome\":\"succeeded\",\"fields\":["
                 "{\"path\":\"p\"}],\"omittedFields\":2}",
                 "as they were planned");
    expect_shown(&one, NULL,
                 "{\"id\":\"a\",\"action\":\"update\",\"outcome\":\"succeeded\",\"message\":\"done "
                 "before the operator was restarted; its fields were not recorded\"}",
                 "they were not written");
    one.result.action = PLAN_ADOPT;
    expect_shown(&one, fields,
                 "{\"id\":\"a\",\"action\":\"adopt\",\"outcome\":\"succeeded\",\"message\":\"done "
                 "before the operator was restarted; its fields were not recorded\"}",
                 "they are of something else");
    one.result.action = PLAN_CREATE;
    expect_shown(&one, NULL, "{\"id\":\"a\",\"action\":\"create\",\"outcome\":\"succeeded\"}",
                 "a create has none");
    one_init(&one, PLAN_UNCHANGED, PLAN_UNCHANGED);
    expect_shown(&one, fields, "{\"id\":\"a\",\"action\":\"unchanged\",\"outcome\":\"succeeded\"}",
                 "unchanged");
}

static void says_whether_a_forgotten_object_stays(void)
{
    struct one one;
    _cleanup_free_ char *gone = NULL, *stays = NULL;

    one_init(&one, PLAN_DELETE, PLAN_FORGET);
    expect_shown(&one, NULL,
                 "{\"id\":\"a\",\"action\":\"forget\",\"outcome\":\"succeeded\",\"message\":"
                 "\"it is gone already\"}",
                 "gone");
    gone = report_summary(&one.results);
    EXPECT_STR(gone, "1 already gone", "gone");
    one_init(&one, PLAN_FORGET, PLAN_FORGET);
    one.change.stays = true;
    one.change.reason = "why";
    expect_shown(&one, NULL,
                 "{\"id\":\"a\",\"action\":\"forget\",\"outcome\":\"succeeded\",\"message\":"
                 "\"why\"}",
                 "stays");
    stays = report_summary(&one.results);
    EXPECT_STR(stays, "1 left in place", "stays");
}

static void tells_outcomes(void)
{
    static const char *const names[] = {
        [RESULT_PENDING] = "pending",     [RESULT_SUCCEEDED] = "succeeded",
        [RESULT_FAILED] = "failed",       [RESULT_SKIPPED] = "skipped",
        [RESULT_CANCELLED] = "cancelled", [RESULT_TIMED_OUT] = "timedOut",
        [RESULT_DEFERRED] = "deferred",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_value_ const struct value *shown = NULL;
        struct report_source source = {0};
        bool was_begun = i != RESULT_SKIPPED && i != RESULT_DEFERRED;
        const char *duration, *start;
        struct one one;
        size_t omitted;

        one_init(&one, PLAN_CREATE, PLAN_CREATE);
        one.result.status = (enum result_status)i;
        one.result.started = one.result.ended = 5;
        one.change.reason = "not tried";
        source.results = &one.results;
        source.epoch = 1700000000000;
        shown = report_results(&source, &omitted);
        EXPECT_STR(value_get_string(value_at(shown, 0), "outcome"), names[i], names[i]);
        duration = value_get_string(value_at(shown, 0), "duration");
        EXPECT_INT(duration != NULL, was_begun, names[i]);
        start = value_get_string(value_at(shown, 0), "startedAt");
        EXPECT_STR(start, was_begun ? "2023-11-14T22:13:20Z" : NULL, names[i]);
        EXPECT_INT(value_get(value_at(shown, 0), "message") == NULL, i == RESULT_SUCCEEDED,
                   "that a create was not tried is of no interest once it was made");
    }
}

static void tells_what_each_waits_for(void)
{
    static const struct {
        enum operation_wait by;
        const char *shown;
    } rows[] = {
        {WAIT_DEPENDS_ON, "dependsOn"},
        {WAIT_REFERENCE, "reference"},
        {WAIT_KIND, "kind"},
        {WAIT_DELETION, "deletion"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text =
            str_printf("{\"id\":\"a\",\"action\":\"create\",\"outcome\":\"pending\","
                       "\"waitsFor\":{\"id\":\"b\",\"by\":\"%s\"}}",
                       rows[i].shown);
        struct one one;

        one_init(&one, PLAN_CREATE, PLAN_CREATE);
        one.result.status = RESULT_PENDING;
        one.result.waits_for = "b";
        one.result.waits_by = rows[i].by;
        expect_shown(&one, NULL, text, rows[i].shown);
    }
}

/* All ids, and the fields of as many as there is room for. */
static void fields_give_way_to_ids(void)
{
    enum { N = REPORT_RESULTS, BYTES = 400 };

    struct operation_results results = {.items = NEW_ARRAY(struct operation_result, N), .count = N};
    _cleanup_value_ const struct value *shown = NULL, *all = NULL;
    struct report_source source = {.results = &results};
    _cleanup_free_ char *text = NULL;
    size_t omitted, n_fields = 0, n_omitted = 0;
    struct one one;
    char long_text[BYTES + 1];

    memset(long_text, 'x', BYTES);
    long_text[BYTES] = '\0';
    one_init(&one, PLAN_UPDATE, PLAN_UPDATE);
    one.change.diff = &one.diff;
    one.fields[0].to = long_text;
    for (size_t i = 0; i < N; i++)
        results.items[i] = one.result;
    shown = report_results(&source, &omitted);
    EXPECT_INT(omitted, 0, "each is named");
    for (size_t i = 0; i < N; i++) {
        n_fields += value_count(value_get(value_at(shown, i), "fields"));
        n_omitted += (size_t)value_int(value_get(value_at(shown, i), "omittedFields"), 0);
    }
    EXPECT_INT(n_fields + n_omitted, (size_t)2 * N, "each field is counted");
    EXPECT(n_fields > 1000, "as many as fit");
    text = json_to_str(shown);
    EXPECT(strlen(text) <= REPORT_BYTES + N * sizeof("\"fields\":\"omittedFields\":1,"), "bounded");
    all = report_all_results(&source);
    EXPECT_INT(value_count(value_get(value_at(all, N - 1), "fields")), 2, "in full");
    free(results.items);
}

/* The API server stores some characters in six bytes: etcd would refuse what fits as it is sent. */
static void counts_bytes_as_they_are_stored(void)
{
    static const char *const rows[] = {"<", ">", "&", "\u2028", "\u2029"};
    enum { N = 150, REPEATED = 1000 };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct operation_results results = {.items = NEW_ARRAY(struct operation_result, N),
                                            .count = N};
        struct report_source source = {.results = &results};
        _cleanup_value_ const struct value *shown = NULL;
        _cleanup_buf_ struct buf text = BUF_INIT;
        size_t omitted, n_shown = 0;
        struct one one;

        for (size_t n = 0; n < REPEATED; n++)
            buf_add_str(&text, rows[i]);
        one_init(&one, PLAN_UPDATE, PLAN_UPDATE);
        one.change.diff = &one.diff;
        one.fields[0].to = text.data;
        for (size_t n = 0; n < N; n++)
            results.items[n] = one.result;
        shown = report_results(&source, &omitted);
        for (size_t n = 0; n < N; n++)
            n_shown += value_get(value_at(shown, n), "fields") != NULL;
        EXPECT_INT(omitted, 0, rows[i]);
        EXPECT(n_shown * REPEATED * 6 < REPORT_BYTES, rows[i]);
        EXPECT(n_shown > 50, rows[i]);
        free(results.items);
    }
}

SUITE(report_results, TEST(counts_the_fields_that_were_not_kept),
      TEST(takes_fields_from_before_a_restart), TEST(says_whether_a_forgotten_object_stays),
      TEST(tells_outcomes), TEST(tells_what_each_waits_for), TEST(fields_give_way_to_ids),
      TEST(counts_bytes_as_they_are_stored))
