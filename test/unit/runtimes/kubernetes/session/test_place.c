/* What tells one cluster from another. */
#include "runtimes/kubernetes/session/place.h"

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/session/script.h"
#include "test/unit/suite.h"

#define SYSTEM "/api/v1/namespaces/kube-system"
#define OWN    "/api/v1/namespaces/shop"
#define NAMESPACE_OF(name, uid)                                                                    \
    "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name\":\"" name "\",\"uid\":\"" uid "\"}" \
    "}"
#define ANSWER(path, name, uid)                                                   \
    {                                                                             \
        .expect = "GET " path " ", .status = 200, .body = NAMESPACE_OF(name, uid) \
    }
#define REFUSAL(path, name)                                                                      \
    {                                                                                            \
        .expect = "GET " path " ", .status = 403,                                                \
        .body = STATUS(403, "Forbidden", "User \\\"x\\\" cannot get", "{\"name\":\"" name "\"}") \
    }
#define ABSENCE(path, name)                                             \
    {                                                                   \
        .expect = "GET " path " ", .status = 404, .body = MISSING(name) \
    }
#define EXPIRED(path)                                                                             \
    {                                                                                             \
        .expect = "GET " path " ", .status = 401, .body = STATUS(401, "Unauthorized", "no", "{}") \
    }

static struct place_question question_of(const struct harness *harness)
{
    return (struct place_question){.client = harness->client,
                                   .namespaces = {"shop", NULL},
                                   .ca = "abc",
                                   .wait = {&system_clock, CLOCK_FOREVER, NULL}};
}

static void the_strongest_that_may_be_read_is_taken(void)
{
    static const struct {
        struct fake_step steps[3];
        const char *place; /* NULL: an error */
        int code;
    } rows[] = {
        {{ANSWER(SYSTEM, "kube-system", "u1")}, "namespace:kube-system=u1", 0},
        {{REFUSAL(SYSTEM, "kube-system"), ANSWER(OWN, "shop", "u2")}, "namespace:shop=u2", 0},
        {{REFUSAL(SYSTEM, "kube-system"), REFUSAL(OWN, "shop")}, "ca:abc", 0},
        {{REFUSAL(SYSTEM, "kube-system"), ABSENCE(OWN, "shop")}, "ca:abc", 0},
        {{EXPIRED(SYSTEM)}, NULL, ERR_UNAUTHENTICATED},
        {{REFUSAL(SYSTEM, "kube-system"), EXPIRED(OWN)}, NULL, ERR_UNAUTHENTICATED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *place = NULL;
        struct error error = {0};
        struct harness harness;
        struct place_question question;

        harness_start(&harness, rows[i].steps, count_steps(rows[i].steps), NULL);
        question = question_of(&harness);
        EXPECT_INT(place_find(&question, &place, &error), rows[i].code, error.message);
        EXPECT_STR(place, rows[i].place, "place");
        harness_stop(&harness, true);
    }
}

static void a_recorded_one_is_known_again(void)
{
    static const struct {
        const char *recorded;
        struct fake_step steps[2];
        int result;
    } rows[] = {
        {"namespace:kube-system=u1", {ANSWER(SYSTEM, "kube-system", "u1")}, 1},
        {"namespace:kube-system=u1", {ANSWER(SYSTEM, "kube-system", "u2")}, 0},
        {"namespace:shop=u1", {ANSWER(OWN, "shop", "u1")}, 1},
        {"namespace:shop=u1", {ABSENCE(OWN, "shop")}, 0},
        {"namespace:shop=u1", {REFUSAL(OWN, "shop")}, ERR_FORBIDDEN},
        {"namespace:shop=u1", {EXPIRED(OWN)}, ERR_UNAUTHENTICATED},
        {"ca:abc", {{0}}, 1},
        {"ca:abd", {{0}}, 0},
        {"of a later version", {{0}}, 0},
        {"namespace:shop", {{0}}, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct harness harness;
        struct place_question question;

        harness_start(&harness, rows[i].steps, count_steps(rows[i].steps), NULL);
        question = question_of(&harness);
        EXPECT_INT(place_is(&question, rows[i].recorded, &error), rows[i].result, rows[i].recorded);
        harness_stop(&harness, true);
    }
    EXPECT(place_is_weak("ca:abc") && !place_is_weak("namespace:shop=u1"), "weak");
}

SUITE(place, TEST(the_strongest_that_may_be_read_is_taken), TEST(a_recorded_one_is_known_again))
