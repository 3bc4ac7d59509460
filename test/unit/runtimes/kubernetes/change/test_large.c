/* Large objects: each is read as a small one first, then with a slot; and a change whose answer
 * will be large waits for a slot. */
#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define SMALL 100
#define LARGE (RUNTIME_SMALL_ANSWER + 1)
#define LOOK  "GET " MAPS "/a "

static char *object_of(size_t bytes)
{
    struct buf text = BUF_INIT;

    buf_add_str(&text, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
                       "\"namespace\":\"team\",\"uid\":\"u-a\"},\"data\":{\"k\":\"");
    for (size_t i = 0; i < bytes; i++)
        buf_add(&text, "x", 1);
    buf_add_str(&text, "\"}}");
    return buf_take(&text);
}

static void one_is_read_with_a_slot(void)
{
    static const struct {
        const char *note;
        size_t bytes;
        bool is_bounded, had_one;
        unsigned requests; /* for the object */
        bool is_taken;     /* the slot, afterwards */
    } rows[] = {
        {"small", SMALL, true, false, 1, false},
        {"large", LARGE, true, false, 2, true},
        {"large, and the caller has a slot", LARGE, true, true, 1, true},
        {"large, without a bound", LARGE, false, false, 1, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *object = object_of(rows[i].bytes);
        const struct fake_step look = {.expect = LOOK, .status = 200, .body = object};
        const struct fake_step steps[] = {DISCOVERY, look, look};
        struct call call;
        struct runtime_outcome outcome = {0};
        struct slot slot = {.is_taken = rows[i].had_one};
        struct runtime_call how = stage_call;

        call_begin(&call, steps, 1 + rows[i].requests, MAP("a"));
        how.large = rows[i].is_bounded ? &slot : NULL;
        EXPECT_INT(kube_read(call.session, &call.target, &how, &outcome, NULL), 0, rows[i].note);
        EXPECT(outcome.now.result, rows[i].note);
        EXPECT_INT(slot.is_taken, rows[i].is_taken, rows[i].note);
        outcome_done(&outcome);
        call_end(&call);
    }
}

static void a_change_with_a_large_answer_takes_one(void)
{
    static const struct {
        const char *note;
        size_t bytes;   /* of the attributes */
        bool was_large; /* the object, when it was planned */
        bool takes;
    } rows[] = {
        {"small", SMALL, false, false},
        {"what is sent is large", LARGE, false, true},
        {"what it was planned for is large", SMALL, true, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *attributes = object_of(rows[i].bytes);
        const struct fake_step steps[] = {DISCOVERY,
                                          {.expect = PATCH, .status = 200, .body = META("a")}};
        struct slot slot = {.is_taken = rows[i].was_large};
        struct runtime_call how = stage_call;
        struct runtime_outcome outcome = {0};
        struct runtime_step *step;
        struct call call;

        call_begin(&call, steps, ARRAY_SIZE(steps), attributes);
        how.large = &slot;
        step = call_step(&call, PLAN_UPDATE);
        kube_step_weigh(step, &how);
        slot_give_back(&slot);
        EXPECT_INT(kube_apply(step, &how, &outcome, NULL), 0, rows[i].note);
        EXPECT_INT(slot.is_taken, rows[i].takes, rows[i].note);
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
    }
}

SUITE(kube_large, TEST(one_is_read_with_a_slot), TEST(a_change_with_a_large_answer_takes_one))
