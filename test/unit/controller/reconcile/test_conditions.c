#include "controller/reconcile/conditions.h"

#include "engine/base/json.h"
#include "engine/base/str.h"
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
        conditions = conditions_make(NULL, &verdict, (struct conditions_generation){3, 3}, LATER);
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
        conditions_make(NULL, &verdict, first_generation, LATER);
    _cleanup_value_ const struct value *again =
        conditions_make(first, &verdict, first_generation, LATER + 60000);
    _cleanup_value_ const struct value *changed = NULL;

    EXPECT(value_equal(first, again), "the same");
    EXPECT_STR(field(first, "Ready", "lastTransitionTime"), "2026-01-02T03:04:05Z", "time");
    verdict.ready = "False";
    changed = conditions_make(first, &verdict, first_generation, LATER + 60000);
    EXPECT_STR(field(changed, "Ready", "lastTransitionTime"), "2026-01-02T03:05:05Z", "changed");
    EXPECT_STR(field(changed, "Healthy", "lastTransitionTime"), "2026-01-02T03:04:05Z",
               "as before");
}

static void what_was_written_is_kept_until_it_is_tried_again(void)
{
    struct verdict verdict = {"True", "ReconciliationSucceeded", "done", PROGRESS_SETTLED, NULL};
    struct verdict failed = {.ready = "False", .reason = "Forbidden", .message = "no right"};
    const struct value *first = conditions_make(NULL, &verdict, first_generation, LATER);
    const struct value *next = conditions_make(first, &verdict, first_generation, LATER);

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

static void adds_what_is_exposed(void)
{
    struct verdict verdict = {"False", "Because", "failed", PROGRESS_STALLED, NULL};
    const struct value *first = conditions_make(NULL, &verdict, first_generation, LATER);
    const struct value *again = conditions_make(first, &verdict, first_generation, LATER);
    size_t n = value_count(first);

    conditions_add_exposed(&first, NULL, NULL, 1, LATER);
    EXPECT_INT((int)value_count(first), (int)n, "nothing is exposed");
    conditions_add_exposed(&first, NULL, "one Secret", 1, LATER);
    EXPECT_INT((int)value_count(first), (int)n + 1, "one more");
    EXPECT_STR(field(first, "Ready", "reason"), "Because", "the others stay");
    EXPECT_STR(field(first, "SecretsInClear", "status"), "True", "status");
    EXPECT_STR(field(first, "SecretsInClear", "message"), "one Secret", "message");
    conditions_add_exposed(&again, first, "two Secrets", 1, LATER + 60000);
    EXPECT_STR(field(again, "SecretsInClear", "lastTransitionTime"), "2026-01-02T03:04:05Z",
               "the status is the same");
    value_unref(again);
    value_unref(first);
}

SUITE(conditions, TEST(never_says_reconciling_and_stalled_at_once),
      TEST(saying_the_same_again_is_no_change), TEST(adds_what_is_exposed),
      TEST(what_was_written_is_kept_until_it_is_tried_again))
