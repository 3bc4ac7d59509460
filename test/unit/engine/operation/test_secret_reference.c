/* What is secret of a Secret by its kind, and what it takes from another, both stay out of the
 * open part of State. */
#include "engine/base/json.h"
#include "engine/operation/operation.h"
#include "engine/state/codec.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void a_secret_that_refers_to_one_is_secret_as_a_whole(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *text = NULL;
    struct payload open, secret;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Secret/t=hunter1 Secret/s=hunter2@t.data.x"), 0, "applied");
    state = fake_store_state(&stage.store);
    CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(payload_decode(open.bytes.data, open.bytes.length, &value, NULL), 0);
    text = json_to_str(value);
    EXPECT(!strstr(text, "hunter1"), "t's value, here and there");
    EXPECT(!strstr(text, "hunter2"), "s's own value");
    payload_done(&open);
    payload_done(&secret);
}

SUITE(operation_secret_reference, TEST(a_secret_that_refers_to_one_is_secret_as_a_whole))
