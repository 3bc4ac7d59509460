#include "controller/reconcile/conditions.h"

#include "engine/base/json.h"
#include "test/unit/suite.h"

#define LATER 1767323045000 /* 2026-01-02T03:04:05Z */

static const char *field(const struct value *conditions, const char *type, const char *key)
{
    return value_get_string(conditions_find(conditions, type), key);
}

static void never_says_reconciling_and_stalled_at_once(void)
{
    static const struct {
        int code;
        const char *reason;
        const char *there, *not_there;
    } rows[] = {
        {ERR_INVALID, "InvalidSpec", "Stalled", "Reconciling"},
        {ERR_FORBIDDEN, "AccessDenied", "Stalled", "Reconciling"},
        {ERR_UNAVAILABLE, "ServiceUnavailable", "Reconciling", "Stalled"},
        {ERR_TIMEOUT, "Timeout", "Reconciling", "Stalled"},
        {ERR_CONFLICT, "Conflict", "Reconciling", "Stalled"},
        {ERR_CONFLICT, "ConflictDetected", "Stalled", "Reconciling"},
        {ERR_TIMEOUT, "HealthCheckFailed", "Stalled", "Reconciling"},
        {ERR_CORRUPT, "StateCorrupt", "Stalled", "Reconciling"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct verdict verdict;
        _cleanup_value_ const struct value *conditions = NULL;

        err_set(&error, rows[i].code, rows[i].reason, "because");
        verdict = verdict_of_error(&error);
        conditions = conditions_make(NULL, &verdict, 3, LATER);
        EXPECT_STR(field(conditions, "Ready", "status"), "False", rows[i].reason);
        EXPECT_STR(field(conditions, "Ready", "reason"), rows[i].reason, rows[i].reason);
        EXPECT_STR(field(conditions, rows[i].there, "status"), "True", rows[i].reason);
        EXPECT(!conditions_find(conditions, rows[i].not_there), rows[i].reason);
    }
}

static void saying_the_same_again_is_no_change(void)
{
    struct verdict verdict = {"True", "ReconciliationSucceeded", "done", PROGRESS_SETTLED, "True"};
    _cleanup_value_ const struct value *first = conditions_make(NULL, &verdict, 1, LATER);
    _cleanup_value_ const struct value *again = conditions_make(first, &verdict, 1, LATER + 60000);
    _cleanup_value_ const struct value *changed = NULL;

    EXPECT(value_equal(first, again), "the same");
    EXPECT_STR(field(first, "Ready", "lastTransitionTime"), "2026-01-02T03:04:05Z", "time");
    verdict.ready = "False";
    changed = conditions_make(first, &verdict, 1, LATER + 60000);
    EXPECT_STR(field(changed, "Ready", "lastTransitionTime"), "2026-01-02T03:05:05Z", "changed");
    EXPECT_STR(field(changed, "Healthy", "lastTransitionTime"), "2026-01-02T03:04:05Z",
               "as before");
}

SUITE(conditions, TEST(never_says_reconciling_and_stalled_at_once),
      TEST(saying_the_same_again_is_no_change))
