#include "controller/reconcile/status/report.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static void expect_json(const struct value *actual, const char *expected, const char *note)
{
    _cleanup_free_ char *text = json_to_str(actual);

    EXPECT_STR(text, expected, note);
}

/* ---- Plans and results made by hand ---- */

static struct plan *plan_of(const enum plan_action *actions, size_t n)
{
    struct plan *plan = plan_new(n, 0);

    for (size_t i = 0; i < n; i++)
        plan->changes[i] = (struct plan_change){.id = arena_printf(&plan->arena, "id-%zu", i),
                                                .type = "Kubernetes",
                                                .action = actions[i]};
    return plan;
}

static const struct resource some_resource;

static void results_init(struct operation_results *results, size_t n)
{
    arena_init(&results->arena);
    results->items = ARENA_ARRAY(&results->arena, struct operation_result, n);
    results->count = n;
    for (size_t i = 0; i < n; i++) {
        struct plan_change *change = ARENA_NEW(&results->arena, struct plan_change);

        change->id = arena_printf(&results->arena, "id-%zu", i);
        change->resource = &some_resource;
        results->items[i].change = change;
    }
}

/* From number n on they are of what leaves the Spec. */
static void leave_from(struct operation_results *results, size_t n)
{
    for (size_t i = n; i < results->count; i++)
        ((struct plan_change *)(uintptr_t)results->items[i].change)->resource = NULL;
}

static void fail_with(struct operation_results *results, size_t i, const char *message)
{
    struct error *error = ARENA_NEW(&results->arena, struct error);

    err_set(error, ERR_INVALID, "Invalid", "%s", message);
    results->items[i].error = error;
}

static void set_result(struct operation_results *results, size_t i, enum plan_action action,
                       enum result_status status)
{
    struct operation_result *result = &results->items[i];

    result->action = action;
    result->status = status;
    result->error = NULL;
    if (status == RESULT_FAILED)
        fail_with(results, i, arena_printf(&results->arena, "\"%s\" is wrong", result->change->id));
}

/* ---- Plans ---- */

static void counts_what_a_plan_does(void)
{
    static const enum plan_action actions[] = {
        PLAN_CREATE,  PLAN_CREATE,    PLAN_UPDATE,    PLAN_DELETE,    PLAN_DELETE, PLAN_DELETE,
        PLAN_REPLACE, PLAN_ADOPT,     PLAN_UNCHANGED, PLAN_UNKNOWN,   PLAN_FORGET, PLAN_NONE,
        PLAN_ADOPT,   PLAN_UNCHANGED, PLAN_UNCHANGED, PLAN_UNCHANGED, PLAN_READ,   PLAN_FORGET};
    _cleanup_(plan_free_p) struct plan *plan = plan_of(actions, ARRAY_SIZE(actions));
    _cleanup_(plan_free_p) struct plan *empty = plan_of(NULL, 0);
    _cleanup_value_ const struct value *shown = report_plan(plan, "0123");
    _cleanup_value_ const struct value *nothing = report_plan(empty, NULL);
    _cleanup_free_ char *words = NULL;
    _cleanup_free_ char *no_words = report_plan_summary(empty);

    plan->changes[ARRAY_SIZE(actions) - 1].stays = true;
    words = report_plan_summary(plan);
    expect_json(shown,
                "{\"digest\":\"0123\",\"create\":2,\"update\":1,\"delete\":3,\"replace\":1,"
                "\"adopt\":2,\"unchanged\":4,\"read\":1}",
                "all kinds");
    EXPECT_STR(
        words,
        "2 to create, 2 to adopt, 1 to update, 1 to replace, 1 to read, 3 to delete, 1 to leave "
        "in place, 1 that could not be looked at",
        "all kinds");
    EXPECT_STR(no_words, "nothing to do", "empty");
    expect_json(nothing,
                "{\"create\":0,\"update\":0,\"delete\":0,\"replace\":0,\"adopt\":0,"
                "\"unchanged\":0}",
                "an empty one, without a digest");
}

static void shows_the_fields_of_a_preview(void)
{
    static const enum plan_action actions[] = {PLAN_UPDATE, PLAN_CREATE, PLAN_UNCHANGED};
    static struct diff_field fields[] = {
        {"data.a", "1", "2", false}, {"data.b", NULL, "3", false}, {"data.c", "4", NULL, false}};
    _cleanup_(plan_free_p) struct plan *plan = plan_of(actions, ARRAY_SIZE(actions));
    _cleanup_value_ const struct value *shown = NULL;
    struct diff diff = {.fields = fields, .n_fields = ARRAY_SIZE(fields)};
    struct error denied = {ERR_FORBIDDEN, "AccessDenied", "no right"};
    size_t omitted = 7;

    plan->changes[0].diff = &diff;
    plan->changes[1].error = err_new(&denied);
    shown = report_results(&(struct report_source){.plan = plan}, &omitted);
    plan->changes[0].diff = NULL;
    EXPECT_INT(omitted, 0, "all of it");
    expect_json(shown,
                "[{\"id\":\"id-0\",\"action\":\"update\",\"fields\":["
                "{\"path\":\"data.a\",\"from\":\"1\",\"to\":\"2\"},"
                "{\"path\":\"data.b\",\"to\":\"3\"},{\"path\":\"data.c\",\"from\":\"4\"}]},"
                "{\"id\":\"id-1\",\"action\":\"create\",\"message\":\"no right\","
                "\"reason\":\"AccessDenied\"},"
                "{\"id\":\"id-2\",\"action\":\"unchanged\"}]",
                "a preview");
}

/* Ids, paths and reasons are texts of tenants. */
static void shows_hidden_characters(void)
{
    static const enum plan_action actions[] = {PLAN_UPDATE};
    static struct diff_field field = {"data.a\u202e\x9b", NULL, "1", false};
    _cleanup_(plan_free_p) struct plan *plan = plan_of(actions, ARRAY_SIZE(actions));
    _cleanup_value_ const struct value *shown = NULL;
    struct diff diff = {.fields = &field, .n_fields = 1};
    size_t omitted;

    plan->changes[0].diff = &diff;
    plan->changes[0].id = "a\u202eb\x1b";
    plan->changes[0].reason = "of\u2066 c";
    shown = report_results(&(struct report_source){.plan = plan}, &omitted);
    plan->changes[0].diff = NULL;
    expect_json(shown,
                "[{\"id\":\"a\\\\u202eb\\\\u001b\",\"action\":\"update\",\"fields\":["
                "{\"path\":\"data.a\\\\u202e?\",\"to\":\"1\"}],\"message\":\"of\\\\u2066 c\"}]",
                "as they are written");
}

/* The schema of a Release takes 4096 characters, and refuses the whole status for one more. Cut, it
 * could be the path of another field. */
static void leaves_out_paths_that_no_status_takes(void)
{
    static const enum plan_action actions[] = {PLAN_UPDATE};
    _cleanup_(plan_free_p) struct plan *plan = plan_of(actions, ARRAY_SIZE(actions));
    _cleanup_value_ const struct value *shown = NULL;
    char path[5000];
    struct diff_field fields[] = {{path, NULL, "1", false}, {"a", NULL, "1", false}};
    struct diff diff = {.fields = fields, .n_fields = 2};
    const struct value *entry;
    struct report_unseen unseen;
    size_t omitted;

    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    plan->changes[0].diff = &diff;
    shown = report_results(&(struct report_source){.plan = plan}, &omitted);
    unseen = report_unseen(plan);
    plan->changes[0].diff = NULL;
    entry = value_at(shown, 0);
    EXPECT_INT(value_count(value_get(entry, "fields")), 1, "the other one");
    EXPECT_INT(value_int(value_get(entry, "omittedFields"), 0), 1, "and said so");
    EXPECT_INT(unseen.changes, 1, "who approves it does not see all of it");
    EXPECT_INT(unseen.fields, 1, "that field");
}

/* What stays as it is leaves first. */
static void shows_all_changes_of_a_plan_to_be_approved(void)
{
    static const struct {
        const char *note;
        size_t unchanged, changed, unseen;
    } rows[] = {
        {"few", 3, 2, 0},
        {"many that stay", 9900, 50, 0},
        {"too many", 10, REPORT_RESULTS_TO_APPROVE, 10},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t n = rows[i].unchanged + rows[i].changed, omitted;
        _cleanup_free_ enum plan_action *actions = NEW_ARRAY(enum plan_action, n);
        _cleanup_(plan_free_p) struct plan *plan = NULL;
        _cleanup_value_ const struct value *shown = NULL;

        for (size_t k = 0; k < n; k++)
            actions[k] = k < rows[i].unchanged ? PLAN_UNCHANGED : PLAN_CREATE;
        plan = plan_of(actions, n);
        for (size_t k = 0; k < n && rows[i].unseen == 0; k++)
            plan->changes[k].id = arena_printf(&plan->arena, "%0100zu", k);
        shown = report_results(&(struct report_source){.plan = plan, .to_approve = true}, &omitted);
        EXPECT_INT(value_count(shown) + omitted, n, rows[i].note);
        EXPECT_INT(report_unseen(plan).changes, rows[i].unseen, rows[i].note);
    }
}

/* The author of the Spec may have put them into a Secret to this end. */
static void counts_changes_in_which_something_was_hidden(void)
{
    static const enum plan_action actions[] = {PLAN_NONE, PLAN_UNCHANGED, PLAN_CREATE, PLAN_CREATE};
    _cleanup_(plan_free_p) struct plan *plan = plan_of(actions, ARRAY_SIZE(actions));
    struct diff_field fields[] = {{"a", NULL, "1", true}, {"b", NULL, "1", false}};
    struct diff shown = {.fields = fields + 1, .n_fields = 1}, hidden = {fields, 2, 2, 2, {0}};
    struct report_unseen unseen;

    plan->changes[2].diff = &shown;
    plan->changes[3].diff = &hidden;
    unseen = report_unseen(plan);
    plan->changes[2].diff = plan->changes[3].diff = NULL;
    EXPECT_INT(unseen.changes, 1, "a change");
    EXPECT_INT(unseen.fields, 1, "a field");
}

/* The plan had no room left for any of them. */
static void counts_changes_of_which_no_field_is_shown(void)
{
    static const enum plan_action actions[] = {PLAN_CREATE};
    _cleanup_(plan_free_p) struct plan *plan = plan_of(actions, ARRAY_SIZE(actions));
    _cleanup_value_ const struct value *shown = NULL;
    struct diff diff = {.total = 3};
    struct report_unseen unseen;
    size_t omitted;

    plan->changes[0].diff = &diff;
    shown = report_results(&(struct report_source){.plan = plan, .to_approve = true}, &omitted);
    unseen = report_unseen(plan);
    plan->changes[0].diff = NULL;
    expect_json(shown, "[{\"id\":\"id-0\",\"action\":\"create\",\"omittedFields\":3}]",
                "it says so");
    EXPECT_INT(unseen.changes, 1, "a change");
    EXPECT_INT(unseen.fields, 3, "its fields");
}

/* ---- Results ---- */

static void shows_how_an_operation_went(void)
{
    struct operation_results results;
    _cleanup_value_ const struct value *shown = NULL;
    size_t omitted;

    results_init(&results, 3);
    set_result(&results, 0, PLAN_ADOPT, RESULT_SUCCEEDED);
    set_result(&results, 1, PLAN_UPDATE, RESULT_FAILED);
    set_result(&results, 2, PLAN_UPDATE, RESULT_SUCCEEDED);
    results.items[0].started = 1000;
    results.items[0].ended = 2500;
    results.items[1].started = 1000;
    results.items[2].started = results.items[2].ended = 1000;
    shown = report_results(&(struct report_source){.results = &results}, &omitted);
    expect_json(shown,
                "[{\"id\":\"id-0\",\"action\":\"adopt\",\"outcome\":\"succeeded\",\"duration\":"
                "\"1500ms\"},"
                "{\"id\":\"id-1\",\"action\":\"update\",\"outcome\":\"failed\",\"message\":"
                "\"\\\"id-1\\\" is wrong\",\"reason\":\"Invalid\"},"
                "{\"id\":\"id-2\",\"action\":\"update\",\"outcome\":\"succeeded\",\"duration\":"
                "\"0ms\"}]",
                "an apply");
    operation_results_done(&results);
}

/* What the plan said of a change counts no more once it was carried out; its fields do. */
static void shows_what_became_of_a_plan(void)
{
    struct diff_field field = {"data.a", "1", "2", false};
    struct diff diff = {.fields = &field, .n_fields = 1};
    struct error old = {ERR_INVALID, "Old", "as planned"};
    struct plan_change change = {.id = "a", .diff = &diff, .error = &old};
    struct operation_result result = {
        .change = &change, .action = PLAN_ADOPT, .status = RESULT_SUCCEEDED};
    struct operation_results results = {.items = &result, .count = 1};
    size_t omitted;
    _cleanup_value_ const struct value *shown =
        report_results(&(struct report_source){.results = &results}, &omitted);

    expect_json(shown,
                "[{\"id\":\"a\",\"action\":\"adopt\",\"outcome\":\"succeeded\",\"fields\":[{"
                "\"path\":\"data.a\","
                "\"from\":\"1\",\"to\":\"2\"}]}]",
                "a change");
}

static void results_of(struct operation_results *results, size_t n, size_t message)
{
    results_init(results, n);
    for (size_t i = 0; i < n; i++) {
        set_result(results, i, PLAN_CREATE, message ? RESULT_FAILED : RESULT_SUCCEEDED);
        if (message)
            fail_with(results, i, arena_printf(&results->arena, "%0*d", (int)message, 0));
    }
}

static void bounds_what_a_status_holds(void)
{
    static const struct {
        const char *note;
        size_t n, message, least, most;
    } rows[] = {
        {"none", 0, 0, 0, 0},
        {"as many as may be", REPORT_RESULTS, 0, REPORT_RESULTS, REPORT_RESULTS},
        {"one more", REPORT_RESULTS + 1, 0, REPORT_RESULTS, REPORT_RESULTS},
        {"many", 50000, 0, REPORT_RESULTS, REPORT_RESULTS},
        {"long ones", 1000, 900, 400, REPORT_BYTES / 900},
        {"long ones that fit", 300, 900, 300, 300},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct operation_results results;
        _cleanup_value_ const struct value *shown = NULL, *all = NULL;
        _cleanup_free_ char *text = NULL;
        size_t omitted = 1;

        results_of(&results, rows[i].n, rows[i].message);
        shown = report_results(&(struct report_source){.results = &results}, &omitted);
        all = report_all_results(&(struct report_source){.results = &results});
        text = json_to_str(shown);
        EXPECT(value_count(shown) >= rows[i].least, rows[i].note);
        EXPECT(value_count(shown) <= rows[i].most, rows[i].note);
        EXPECT_INT(value_count(shown) + omitted, rows[i].n, rows[i].note);
        EXPECT(strlen(text) <= REPORT_BYTES + REPORT_RESULTS + 2, rows[i].note); /* commas */
        EXPECT_INT(value_count(all), rows[i].n, rows[i].note);
        operation_results_done(&results);
    }
}

static const enum result_status of_each[] = {
    RESULT_PENDING, RESULT_SUCCEEDED, RESULT_SUCCEEDED, RESULT_SUCCEEDED, RESULT_FAILED,
    RESULT_SKIPPED, RESULT_SKIPPED,   RESULT_CANCELLED, RESULT_TIMED_OUT, RESULT_DEFERRED,
};

static void counts_results(void)
{
    struct operation_results results;
    _cleanup_value_ const struct value *counts = NULL;

    results_init(&results, ARRAY_SIZE(of_each));
    for (size_t i = 0; i < ARRAY_SIZE(of_each); i++)
        set_result(&results, i, PLAN_CREATE, of_each[i]);
    counts = report_counts(&results);
    expect_json(counts, "{\"total\":10,\"succeeded\":3,\"failed\":2,\"skipped\":3,\"pending\":2}",
                "each once, none twice");
    operation_results_done(&results);
}

/* The last results are of what leaves the Spec. */
static void tells_what_of_a_spec_is_not_ready(void)
{
    static const struct {
        const char *note;
        enum result_status statuses[4];
        size_t n_resources;
        const char *expected;
    } rows[] = {
        {"all well",
         {RESULT_SUCCEEDED, RESULT_SUCCEEDED, RESULT_SUCCEEDED, RESULT_SUCCEEDED},
         4,
         "{\"total\":4,\"ready\":4,\"failed\":[],\"omitted\":0}"},
        {"two leave",
         {RESULT_SUCCEEDED, RESULT_SUCCEEDED, RESULT_SUCCEEDED, RESULT_SUCCEEDED},
         2,
         "{\"total\":2,\"ready\":2,\"failed\":[],\"omitted\":0}"},
        {"one fails",
         {RESULT_SUCCEEDED, RESULT_FAILED, RESULT_SUCCEEDED, RESULT_SUCCEEDED},
         3,
         "{\"total\":3,\"ready\":2,\"failed\":[{\"id\":\"id-1\",\"reason\":\"Invalid\","
         "\"message\":\"\\\"id-1\\\" is wrong\"}],\"omitted\":0}"},
        {"one that leaves fails",
         {RESULT_SUCCEEDED, RESULT_SUCCEEDED, RESULT_SUCCEEDED, RESULT_FAILED},
         3,
         "{\"total\":4,\"ready\":3,\"failed\":[{\"id\":\"id-3\",\"reason\":\"Invalid\","
         "\"message\":\"\\\"id-3\\\" is wrong\"}],\"omitted\":0}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct operation_results results;
        _cleanup_value_ const struct value *shown = NULL;

        results_init(&results, ARRAY_SIZE(rows[i].statuses));
        for (size_t j = 0; j < ARRAY_SIZE(rows[i].statuses); j++)
            set_result(&results, j, PLAN_CREATE, rows[i].statuses[j]);
        leave_from(&results, rows[i].n_resources);
        shown = report_resources(&results);
        expect_json(shown, rows[i].expected, rows[i].note);
        operation_results_done(&results);
    }
}

/* The schema takes each id once. */
static void tells_of_a_resource_once(void)
{
    static const char *const both[] = {"db", "db", "user"};
    struct operation_results results;
    _cleanup_value_ const struct value *shown = NULL;

    results_init(&results, ARRAY_SIZE(both));
    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        struct plan_change *change = (struct plan_change *)(uintptr_t)results.items[i].change;

        change->id = both[i];
        change->deposed = i ? "d1" : NULL;
        set_result(&results, i, PLAN_CREATE, RESULT_FAILED);
    }
    leave_from(&results, 1);
    shown = report_resources(&results);
    expect_json(shown,
                "{\"total\":3,\"ready\":0,\"failed\":["
                "{\"id\":\"db\",\"reason\":\"Invalid\",\"message\":\"\\\"db\\\" is wrong\"},"
                "{\"id\":\"user\",\"reason\":\"Invalid\",\"message\":\"\\\"user\\\" is wrong\"}],"
                "\"omitted\":1}",
                "an object in force, and one that makes room");
    operation_results_done(&results);
}

static void names_the_first_that_fail_and_counts_the_others(void)
{
    struct operation_results results;
    _cleanup_value_ const struct value *shown = NULL;
    const struct value *failed;

    results_of(&results, REPORT_FAILED + 30, 10);
    set_result(&results, 3, PLAN_CREATE, RESULT_SUCCEEDED);
    leave_from(&results, REPORT_FAILED + 20); /* ten that leave fail too */
    shown = report_resources(&results);
    failed = value_get(shown, "failed");
    EXPECT_INT(value_count(failed), REPORT_FAILED, "named");
    EXPECT_STR(value_get_string(value_at(failed, REPORT_FAILED - 1), "id"), "id-50", "in order");
    EXPECT_INT(value_int(value_get(shown, "omitted"), -1), 29, "counted");
    EXPECT_INT(value_int(value_get(shown, "ready"), -1), 1, "ready");
    EXPECT_INT(value_int(value_get(shown, "total"), -1), REPORT_FAILED + 30, "total");
    operation_results_done(&results);
}

static void set_error(struct operation_results *results, size_t i, enum result_status status,
                      int code, const char *reason)
{
    struct error *error = ARENA_NEW(&results->arena, struct error);

    err_set(error, code, reason, "because");
    results->items[i].status = status;
    results->items[i].error = error;
}

/* One that waiting does not heal decides over all that it may. */
static void judges_by_the_failure_that_stays(void)
{
    static const struct {
        const char *note;
        const char *reasons[3]; /* NULL: it succeeded */
        const char *expected;   /* of a failure that is told as NamespaceNotFound */
    } rows[] = {
        {"all may heal", {"NamespaceNotFound", "KindNotFound", NULL}, "NamespaceNotFound"},
        {"one stays", {"NamespaceNotFound", NULL, "Invalid"}, "Invalid"},
        {"the first that stays", {"AccessDenied", "NamespaceNotFound", "Invalid"}, "AccessDenied"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct operation_results results;
        struct error failure = {0};

        results_init(&results, 3);
        for (size_t n = 0; n < 3; n++)
            if (rows[i].reasons[n])
                set_error(&results, n, RESULT_FAILED, ERR_INVALID, rows[i].reasons[n]);
            else
                set_result(&results, n, PLAN_CREATE, RESULT_SUCCEEDED);
        err_set(&failure, ERR_INVALID, "NamespaceNotFound", "so it is");
        report_judge(&results, &failure);
        EXPECT_STR(failure.reason, rows[i].expected, rows[i].note);
        EXPECT_STR(failure.message, "so it is", rows[i].note);
        operation_results_done(&results);
    }
}

static void knows_what_needs_another_plan(void)
{
    static const struct {
        const char *note;
        enum result_status status;
        const char *reason;
        bool expected;
    } rows[] = {
        {"it does", RESULT_FAILED, OPERATION_NEEDS_PLAN, true},
        {"not begun", RESULT_SKIPPED, OPERATION_NEEDS_PLAN, false},
        {"failed otherwise", RESULT_FAILED, "Invalid", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct operation_results results;

        results_init(&results, 2);
        set_error(&results, 0, RESULT_FAILED, ERR_INVALID, "Invalid");
        set_error(&results, 1, rows[i].status, ERR_CONFLICT, rows[i].reason);
        EXPECT_INT(report_needs_plan(&results), rows[i].expected, rows[i].note);
        operation_results_done(&results);
    }
}

static void knows_what_ran_out_of_time(void)
{
    static const struct {
        const char *note;
        enum result_status status;
        int code;
        bool expected;
    } rows[] = {
        {"waited for", RESULT_TIMED_OUT, ERR_UNAVAILABLE, true},
        {"not begun", RESULT_CANCELLED, ERR_TIMEOUT, true},
        {"cancelled", RESULT_CANCELLED, ERR_CANCELLED, false},
        {"skipped", RESULT_SKIPPED, ERR_CANCELLED, false},
        {"failed", RESULT_FAILED, ERR_UNAVAILABLE, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct operation_results results;

        results_init(&results, 2);
        set_result(&results, 0, PLAN_CREATE, RESULT_SUCCEEDED);
        set_error(&results, 1, rows[i].status, rows[i].code, "Reason");
        EXPECT_INT(report_timed_out(&results), rows[i].expected, rows[i].note);
        operation_results_done(&results);
    }
}

/* ---- In a line ---- */

#define LONG_TEXT                                                                                  \
    "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901" \
    "23"

/* Of n failures with the same message the count is told. */
static void says_in_short_what_failed(void)
{
    static const struct {
        const char *note, *message, *errors; /* a letter each; '-': it succeeded */
        const char *expected;
    } rows[] = {
        {"no results", "revision 1: 2 created", NULL, "revision 1: 2 created"},
        {"none failed", "apply: 2 not done", "--", "apply: 2 not done"},
        {"one", "x", "-a", "Kind/name: message a"},
        {"hidden characters in its name", "x", "h", "\"Kind/a\\u202eb\\u001b[2Jc\\nd\": message h"},
        {"hidden characters", "waiting for a\u202eb\tc", NULL, "waiting for a\\u202eb c"},
        {"a hint", "it is not there\nto create it: c", NULL, "it is not there"},
        {"a name that reads like words", "x", "w", "\"Kind/a; to do b\": message w"},
        {"two alike", "x", "aa-", "2 of 3 failed: message a (2x)"},
        {"most alike", "x", "abbcb", "5 of 5 failed: message b (3x)"},
        {"all different", "x", "ab", "2 of 2 failed: message a"},
        {"as long as it may be", LONG_TEXT "456789", NULL, LONG_TEXT "456789"},
        {"longer", LONG_TEXT "4567890", NULL, LONG_TEXT "456\xe2\x80\xa6"},
        {"longer, with a count", "x", "ll",
         "2 of 2 failed: "
         "01234567890123456789012345678901234567890123456789012345678901234567890123456\xe2\x80\xa6"
         " "
         "(2x)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t n = rows[i].errors ? strlen(rows[i].errors) : 0;
        struct operation_results results;
        char text[REPORT_SUMMARY_SIZE];

        results_init(&results, n);
        for (size_t k = 0; k < n; k++) {
            char letter = rows[i].errors[k];

            ((struct plan_change *)(uintptr_t)results.items[k].change)->id =
                letter == 'h'   ? "v1:Kind:team:a\u202eb\x1b[2Jc\nd"
                : letter == 'w' ? "v1:Kind:team:a; to do b"
                : letter == '-' ? "v1:Kind:team:other"
                                : "v1:Kind:team:name";
            results.items[k].status = letter == '-' ? RESULT_SUCCEEDED : RESULT_FAILED;
            if (letter == 'l')
                fail_with(&results, k, LONG_TEXT);
            else if (letter != '-')
                fail_with(&results, k, arena_printf(&results.arena, "message %c", letter));
        }
        report_short(rows[i].message, rows[i].errors ? &results : NULL, text, sizeof(text));
        EXPECT_STR(text, rows[i].expected, rows[i].note);
        operation_results_done(&results);
    }
}

/* As a column has it, which is cut: the cause comes soon. */
static void begins_with_the_cause(void)
{
    static const struct {
        const char *what, *expected;
    } rows[] = {
        {"apps/v1:Deployment:shop:web: Available: 0/1", "Deployment/web: Available: 0/1"},
        {"v1:Namespace:shop: no", "Namespace/shop: no"},
        {"hashicorp:random:random_password:db: no", "random_password/db: no"},
        {"v1:ConfigMap:shop:a: not healthy within 40 s (timeout): Available: 0/2",
         "ConfigMap/a: Available: 0/2"},
        {"v1:ConfigMap:shop:a: not done within 40 s (timeout): being deleted",
         "ConfigMap/a: being deleted"},
        {"networking.k8s.io/v1:Ingress:apps:web: Internal error occurred: failed calling webhook",
         "Ingress/web: failed calling webhook"},
        {"web: no", "web: no"},
        {"a:web: no", "web: no"},
        {"a:: no", "a:: no"},
        {"\"quoted: b\": no", "\"quoted: b\": no"},
        {"memory", "memory"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = report_brief(rows[i].what);

        EXPECT_STR(text, rows[i].expected, rows[i].what);
    }
}

static void sums_up_in_words(void)
{
    static const struct {
        struct {
            enum plan_action action;
            enum result_status status;
        } results[5];
        const char *expected;
    } rows[] = {
        {{{PLAN_CREATE, RESULT_FAILED}, {PLAN_UPDATE, RESULT_SKIPPED}}, "nothing to do"},
        {{{PLAN_CREATE, RESULT_SUCCEEDED}, {PLAN_CREATE, RESULT_SUCCEEDED}}, "2 created"},
        {{{PLAN_DELETE, RESULT_SUCCEEDED},
          {PLAN_UPDATE, RESULT_SUCCEEDED},
          {PLAN_CREATE, RESULT_SUCCEEDED},
          {PLAN_CREATE, RESULT_TIMED_OUT}},
         "1 created, 1 configured, 1 deleted"},
        {{{PLAN_FORGET, RESULT_SUCCEEDED},
          {PLAN_UNCHANGED, RESULT_SUCCEEDED},
          {PLAN_ADOPT, RESULT_SUCCEEDED},
          {PLAN_REPLACE, RESULT_SUCCEEDED},
          {PLAN_READ, RESULT_SUCCEEDED}},
         "1 adopted, 1 replaced, 1 read, 1 already gone, 1 unchanged"},
        {{{PLAN_NONE, RESULT_SUCCEEDED}}, "nothing to do"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct operation_results results;
        _cleanup_free_ char *text = NULL;

        results_init(&results, ARRAY_SIZE(rows[i].results));
        for (size_t j = 0; j < ARRAY_SIZE(rows[i].results); j++)
            set_result(&results, j, rows[i].results[j].action, rows[i].results[j].status);
        text = report_summary(&results);
        EXPECT_STR(text, rows[i].expected, rows[i].expected);
        operation_results_done(&results);
    }
}

SUITE(report, TEST(counts_what_a_plan_does), TEST(shows_the_fields_of_a_preview),
      TEST(shows_hidden_characters),

      TEST(leaves_out_paths_that_no_status_takes), TEST(shows_all_changes_of_a_plan_to_be_approved),
      TEST(counts_changes_in_which_something_was_hidden),
      TEST(counts_changes_of_which_no_field_is_shown), TEST(shows_how_an_operation_went),
      TEST(shows_what_became_of_a_plan), TEST(bounds_what_a_status_holds), TEST(counts_results),
      TEST(tells_what_of_a_spec_is_not_ready), TEST(tells_of_a_resource_once),
      TEST(names_the_first_that_fail_and_counts_the_others), TEST(judges_by_the_failure_that_stays),
      TEST(knows_what_needs_another_plan), TEST(knows_what_ran_out_of_time),
      TEST(says_in_short_what_failed), TEST(begins_with_the_cause), TEST(sums_up_in_words))
