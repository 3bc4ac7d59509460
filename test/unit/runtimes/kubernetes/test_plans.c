#include "runtimes/kubernetes/plans.h"

#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/str.h"
#include "engine/state/compress.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define PATH "/api/v1/namespaces/own/configmaps/"
#define FORBIDDEN                                                                       \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"Forbidden\",\"code\":403," \
    "\"message\":"                                                                      \
    "\"no\"}"

/* What the API server says of a part that is not there: it names it. */
static char *gone(size_t part)
{
    char name[PLAN_NAME_SIZE];

    plan_name("team", "web-1", name);
    return str_printf("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"NotFound\","
                      "\"code\":404,\"details\":{\"name\":\"%s-%zu\",\"kind\":\"configmaps\"}}",
                      name, part);
}

static void names_a_release_and_no_state(void)
{
    char one[PLAN_NAME_SIZE], same[PLAN_NAME_SIZE], other[PLAN_NAME_SIZE];

    plan_name("team", "web-1", one);
    plan_name("team", "web-1", same);
    plan_name("team", "web-2", other);
    EXPECT_STR(one, same, "the same Release");
    EXPECT(strcmp(one, other) != 0, "another Release");
    EXPECT(strncmp(one, "kusion-plan-", 12) == 0, "told from State");
    EXPECT_INT(strlen(one), 12 + 40, "length");
}

/* The JSON that a request of the script brought. */
static const struct value *body_of(struct harness *harness, size_t n)
{
    _cleanup_free_ char *request = fake_server_request(harness->server, n);
    const char *body = request ? strstr(request, "\r\n\r\n") : NULL;
    const struct value *value = NULL;

    if (body)
        json_read_str(body + 4, &value, NULL);
    return value;
}

static void keeps_it_whole(void)
{
    _cleanup_free_ char *none = gone(1);
    struct fake_step steps[] = {
        {.expect = "PATCH " PATH "kusion-plan-", .status = 200, .body = "{}"},
        {.expect = "DELETE " PATH "kusion-plan-", .status = 404, .body = none},
    };
    _cleanup_value_ const struct value *list = value_pack("[s, s]", "a", "b"), *object = NULL,
                                       *back = NULL;
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct error error = {0};
    struct harness harness;
    const char *text;

    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    EXPECT_INT(plan_save(harness.client, "own", "team", "web-1", list, &error), 0, error.message);
    object = body_of(&harness, 0);
    EXPECT_STR(value_string(value_path(object, "data", "chunks", NULL)), "1", "chunks");
    EXPECT_STR(
        value_string(value_path(object, "metadata", "annotations", "api.kusion.io/release", NULL)),
        "team/web-1", "whose");
    text = value_string(value_path(object, "binaryData", "plan", NULL));
    EXPECT(text && base64_decode(&bytes, text, strlen(text)), "base64");
    EXPECT_INT(value_expand(bytes.data, bytes.length, &back, &error), 0, error.message);
    EXPECT(value_equal(back, list), "the same list");
    harness_stop(&harness, true);
}

static void tells_what_failed(void)
{
    struct fake_step steps[] = {
        {.expect = "PATCH " PATH "kusion-plan-", .status = 403, .body = FORBIDDEN},
    };
    _cleanup_value_ const struct value *list = value_pack("[s]", "a");
    struct error error = {0};
    struct harness harness;

    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    EXPECT_INT(plan_save(harness.client, "own", "team", "web-1", list, &error), ERR_FORBIDDEN,
               "refused");
    EXPECT(strstr(error.message, "team/web-1"), error.message);
    harness_stop(&harness, true);
}

static void removes_all_of_its_parts(void)
{
    _cleanup_free_ char *none = gone(2);
    struct fake_step steps[] = {
        {.expect = "DELETE " PATH "kusion-plan-", .status = 200, .body = "{}"},
        {.expect = "DELETE " PATH "kusion-plan-", .status = 200, .body = "{}"},
        {.expect = "DELETE " PATH "kusion-plan-", .status = 404, .body = none},
    };
    struct error error = {0};
    struct harness harness;
    _cleanup_free_ char *last = NULL;

    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    EXPECT_INT(plan_remove(harness.client, "own", "team", "web-1", &error), 0, error.message);
    last = fake_server_request(harness.server, 2);
    EXPECT(last && strstr(last, "-2 HTTP/1.1\r\n"), last);
    harness_stop(&harness, true);
}

SUITE(plans, TEST(names_a_release_and_no_state), TEST(keeps_it_whole), TEST(tells_what_failed),
      TEST(removes_all_of_its_parts))
