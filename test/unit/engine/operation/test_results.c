#include "engine/operation/private.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

/* Out of time before the first visit: that is a time-out, not a cancellation. */
static void out_of_time_is_no_cancellation(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.world.step_takes = 2 * STAGE_TIMEOUT;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1"), ERR_TIMEOUT, stage.error.reason);
}

/* Pending is no result. */
static void results_tell_of_each(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 x=1"), 0, "applied");
    stage.store.conflict_at = 2;
    EXPECT_INT(stage_apply(&stage, "a=1"), ERR_CONFLICT, "the save before prune");
    EXPECT(!strstr(stage.results.data, "pending"), stage.results.data);
}

/* A message may end in a command: it is not cut, where it fits at all. */
static void names_failures_whole(void)
{
    static const struct {
        size_t length, failures;
        const char *ends; /* what the message ends with */
    } rows[] = {
        {100, 2, "!; b: xx"},
        {100, 5, "!; and 2 more"},
        {500, 2, "!; and 1 more"},
        {800, 3, "!; and 2 more"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        static const char *const ids[] = {"a", "b", "c", "d", "e"};
        struct operation_results results;
        struct operation_result *items = operation_results_init(&results, rows[i].failures);
        struct error error = {0};
        char text[ERROR_MESSAGE_SIZE];

        memset(text, 'x', sizeof(text));
        text[rows[i].length - 1] = '!';
        text[rows[i].length] = '\0';
        for (size_t k = 0; k < rows[i].failures; k++) {
            items[k].id = ids[k];
            items[k].status = RESULT_FAILED;
            err_set(&items[k].error, ERR_FORBIDDEN, "AccessDenied", "%s", text);
        }
        EXPECT_INT(operation_results_error(&results, "apply", &error), ERR_FORBIDDEN, "failed");
        EXPECT(strstr(error.message, rows[i].ends) != NULL, error.message);
        EXPECT(!strstr(error.message, "…"), error.message);
        operation_results_done(&results);
    }
}

SUITE(operation_results, TEST(out_of_time_is_no_cancellation), TEST(results_tell_of_each),
      TEST(names_failures_whole))
