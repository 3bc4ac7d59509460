#include "controller/reconcile/status/conditions.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

#define LATER 1767323045000 /* 2026-01-02T03:04:05Z */

static const struct conditions_generation first_generation = {1, 1};

static const char *field(const struct value *conditions, const char *type, const char *key)
{
    return value_get_string(conditions_find(conditions, type), key);
}

static void never_says_reconciling_and_stalled_at_once(void)
{
    static const struct {
        int code;
        const char *reason, *message;
        const char *there, *not_there;
        bool is_spent;
    } rows[] = {
        {ERR_INVALID, "InvalidSpec", "because", "Stalled", "Reconciling", false},
        {ERR_FORBIDDEN, "AccessDenied", "because", "Stalled", "Reconciling", false},
        {ERR_FORBIDDEN, "Forbidden", "because", "Stalled", "Reconciling", false},
        {ERR_FORBIDDEN, "Forbidden", "pods \"p\" is forbidden: exceeded quota: q, requested: 1",
         "Reconciling", "Stalled", false},
        {ERR_INVALID, "KindNotFound", "because", "Reconciling", "Stalled", false},
        {ERR_INVALID, "NamespaceNotFound", "because", "Reconciling", "Stalled", false},
        {ERR_INVALID, "NamespaceNotFound", "because", "Stalled", "Reconciling", true},
        {ERR_FORBIDDEN, "NamespaceTerminating", "because", "Reconciling", "Stalled", false},
        {ERR_INVALID, "ServiceAccountNotFound", "because", "Reconciling", "Stalled", false},
        {ERR_UNAVAILABLE, "InternalError", "because", "Reconciling", "Stalled", false},
        {ERR_UNAVAILABLE, "InternalError", "because", "Stalled", "Reconciling", true},
        {ERR_TIMEOUT, "Timeout", "because", "Reconciling", "Stalled", false},
        {ERR_CONFLICT, "Conflict", "because", "Reconciling", "Stalled", false},
        {ERR_CONFLICT, "ConflictDetected", "because", "Stalled", "Reconciling", false},
        {ERR_TIMEOUT, "HealthCheckFailed", "because", "Stalled", "Reconciling", false},
        {ERR_CORRUPT, "StateCorrupt", "because", "Stalled", "Reconciling", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct verdict verdict;
        _cleanup_value_ const struct value *conditions = NULL;

        err_set(&error, rows[i].code, rows[i].reason, "%s", rows[i].message);
        verdict = verdict_of_error(&error, rows[i].is_spent);
        conditions =
            conditions_make(NULL, &verdict, NULL, (struct conditions_generation){3, 3}, LATER);
        EXPECT_STR(field(conditions, "Ready", "status"), "False", rows[i].reason);
        EXPECT_STR(field(conditions, "Ready", "reason"), rows[i].reason, rows[i].reason);
        EXPECT_STR(field(conditions, rows[i].there, "status"), "True", rows[i].reason);
        EXPECT(!conditions_find(conditions, rows[i].not_there), rows[i].reason);
        EXPECT_STR(field(conditions, "Finished", "status"),
                   str_equal(rows[i].there, "Stalled") ? "True" : "False", rows[i].reason);
    }
}

static void saying_the_same_again_is_no_change(void)
{
    struct verdict verdict = {"True", "ReconciliationSucceeded", "done", PROGRESS_SETTLED, "True"};
    _cleanup_value_ const struct value *first =
        conditions_make(NULL, &verdict, NULL, first_generation, LATER);
    _cleanup_value_ const struct value *again =
        conditions_make(first, &verdict, NULL, first_generation, LATER + 60000);
    _cleanup_value_ const struct value *changed = NULL;

    EXPECT(value_equal(first, again), "the same");
    EXPECT_STR(field(first, "Ready", "lastTransitionTime"), "2026-01-02T03:04:05Z", "time");
    verdict.ready = "False";
    changed = conditions_make(first, &verdict, NULL, first_generation, LATER + 60000);
    EXPECT_STR(field(changed, "Ready", "lastTransitionTime"), "2026-01-02T03:05:05Z", "changed");
    EXPECT_STR(field(changed, "Healthy", "lastTransitionTime"), "2026-01-02T03:04:05Z",
               "as before");
}

static void says_the_whole_once(void)
{
    struct verdict verdict = {"False", "HealthCheckFailed", "all of it", PROGRESS_STALLED, "False"};
    const struct conditions_clauses clauses = {"in short", "1 of 2 healthy"};
    _cleanup_value_ const struct value *made =
        conditions_make(NULL, &verdict, &clauses, first_generation, LATER);

    EXPECT_STR(field(made, "Ready", "message"), "all of it", "Ready");
    EXPECT_STR(field(made, "Stalled", "message"), "in short", "Stalled");
    EXPECT_STR(field(made, "Finished", "message"), "in short", "Finished");
    EXPECT_STR(field(made, "Healthy", "message"), "1 of 2 healthy", "Healthy");
}

/* A new Spec is queued by the schema's default, whose time is none. */
static void what_the_schema_says_has_no_time(void)
{
    struct verdict verdict = {"Unknown", "Progressing", "applying", PROGRESS_RECONCILING, NULL};
    _cleanup_value_ const struct value *queued =
        value_pack("[{s:s, s:s, s:s}]", "type", "Ready", "status", "Unknown", "lastTransitionTime",
                   "1970-01-01T00:00:00Z");
    _cleanup_value_ const struct value *begun =
        conditions_make(queued, &verdict, NULL, first_generation, LATER);

    EXPECT_STR(field(begun, "Ready", "lastTransitionTime"), "2026-01-02T03:04:05Z", "begun");
}

static void what_was_written_is_kept_until_it_is_tried_again(void)
{
    struct verdict verdict = {"True", "ReconciliationSucceeded", "done", PROGRESS_SETTLED, NULL};
    struct verdict failed = {.ready = "False", .reason = "Forbidden", .message = "no right"};
    const struct value *first = conditions_make(NULL, &verdict, NULL, first_generation, LATER);
    const struct value *next = conditions_make(first, &verdict, NULL, first_generation, LATER);

    conditions_add_written(&next, first, NULL, 1, LATER);
    EXPECT(!conditions_find(next, CONDITION_WRITTEN), "there was none");
    conditions_add_written(&first, NULL, &failed, 1, LATER);
    EXPECT_STR(field(first, CONDITION_WRITTEN, "status"), "False", "failed");
    EXPECT_STR(field(first, CONDITION_WRITTEN, "message"), "no right", "failed");
    conditions_add_written(&next, first, NULL, 2, LATER + 60000);
    EXPECT(value_equal(conditions_find(next, CONDITION_WRITTEN),
                       conditions_find(first, CONDITION_WRITTEN)),
           "as before");
    failed.ready = "True";
    conditions_add_written(&next, first, &failed, 2, LATER + 60000);
    EXPECT_STR(field(next, CONDITION_WRITTEN, "status"), "True", "tried again");
    EXPECT_INT((long long)value_count(next), 3, "Ready, Finished, and this, once");
    conditions_drop(&next, CONDITION_WRITTEN);
    EXPECT_INT((long long)value_count(next), 2, "not asked for any more");
    value_unref(first);
    value_unref(next);
}

static void expose(const struct value **conditions, const struct value *old, const char *message,
                   int64_t now)
{
    const struct warning warning = {"SecretsInClear", "SecretsInClear", message};

    conditions_set_warning(conditions, old, &warning, 1, now);
}

static void adds_what_is_exposed(void)
{
    struct verdict verdict = {"False", "Because", "failed", PROGRESS_STALLED, NULL};
    const struct value *first = conditions_make(NULL, &verdict, NULL, first_generation, LATER);
    const struct value *again = conditions_make(first, &verdict, NULL, first_generation, LATER);
    size_t n = value_count(first);

    expose(&first, NULL, NULL, LATER);
    EXPECT_INT((int)value_count(first), (int)n, "nothing is exposed");
    expose(&first, NULL, "one Secret", LATER);
    EXPECT_INT((int)value_count(first), (int)n + 1, "one more");
    EXPECT_STR(field(first, "Ready", "reason"), "Because", "the others stay");
    EXPECT_STR(field(first, "SecretsInClear", "status"), "True", "status");
    EXPECT_STR(field(first, "SecretsInClear", "message"), "one Secret", "message");
    expose(&again, first, "two Secrets", LATER + 60000);
    EXPECT_STR(field(again, "SecretsInClear", "lastTransitionTime"), "2026-01-02T03:04:05Z",
               "the status is the same");
    expose(&again, first, NULL, LATER + 120000);
    EXPECT_INT((int)value_count(again), (int)n, "no more");
    value_unref(again);
    value_unref(first);
}

SUITE(conditions, TEST(never_says_reconciling_and_stalled_at_once),
      TEST(saying_the_same_again_is_no_change), TEST(what_the_schema_says_has_no_time),
      TEST(says_the_whole_once), TEST(adds_what_is_exposed),
      TEST(what_was_written_is_kept_until_it_is_tried_again))
