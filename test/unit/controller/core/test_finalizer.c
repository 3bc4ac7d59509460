#include "controller/core/finalizer.h"

#include "engine/base/json.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define PATH "/apis/api.kusion.io/v1/namespaces/ns/specs/a"
#define OURS "\"api.kusion.io/finalizer\""
#define STATUS(code, reason)                                                               \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"" reason "\",\"code\":" #code \
    ",\"details\":{\"name\":\"a\",\"kind\":\"specs\"}}"

#define ANSWER "{\"metadata\":{\"resourceVersion\":\"8\"}}"

static const struct row {
    const char *note;
    bool adds;
    const char *metadata;
    const char *sent; /* the list; NULL: no request */
    int status;
    const char *answer;
    int expected;
} rows[] = {
    {"add to none", true, "{\"resourceVersion\":\"7\"}", "[" OURS "]", 200, ANSWER, 0},
    {"add after others", true, "{\"resourceVersion\":\"7\",\"finalizers\":[\"x/y\"]}",
     "[\"x/y\"," OURS "]", 200, ANSWER, 0},
    {"add what is there", true, "{\"resourceVersion\":\"7\",\"finalizers\":[" OURS "]}", NULL, 0,
     NULL, 0},
    {"add to what changed", true, "{\"resourceVersion\":\"7\"}", "[" OURS "]", 409,
     STATUS(409, "Conflict"), ERR_CONFLICT},
    {"add to what is gone", true, "{\"resourceVersion\":\"7\"}", "[" OURS "]", 404,
     STATUS(404, "NotFound"), ERR_NOT_FOUND},
    {"add without a version", true, "{}", NULL, 0, NULL, ERR_INTERNAL},
    {"remove among others", false,
     "{\"resourceVersion\":\"7\",\"finalizers\":[\"x/y\"," OURS ",\"z\"]}", "[\"x/y\",\"z\"]", 200,
     "{}", 0},
    {"remove the last", false, "{\"resourceVersion\":\"7\",\"finalizers\":[" OURS "]}", "[]", 200,
     "{}", 0},
    {"remove what is not there", false, "{\"resourceVersion\":\"7\",\"finalizers\":[\"x/y\"]}",
     NULL, 0, NULL, 0},
    {"remove from what changed", false, "{\"resourceVersion\":\"7\",\"finalizers\":[" OURS "]}",
     "[]", 409, STATUS(409, "Conflict"), ERR_CONFLICT},
    {"remove from what is gone", false, "{\"resourceVersion\":\"7\",\"finalizers\":[" OURS "]}",
     "[]", 404, STATUS(404, "NotFound"), 0},
    {"a page that says 404 does not say that it is gone", false,
     "{\"resourceVersion\":\"7\",\"finalizers\":[" OURS "]}", "[]", 404, "404 page not found",
     ERR_UNAVAILABLE},
};

static void expect_sent(struct harness *harness, const struct row *row)
{
    _cleanup_free_ char *request = fake_server_request(harness->server, 0);
    _cleanup_free_ char *list = NULL;

    if (!row->sent) {
        EXPECT_STR(request, NULL, row->note);
        return;
    }
    list = str_printf("{\"metadata\":{\"resourceVersion\":\"7\",\"finalizers\":%s}}", row->sent);
    EXPECT(request && strstr(request, list), row->note);
    EXPECT(request && strstr(request, KUBE_MERGE_PATCH), row->note);
}

static void changes_the_list_alone(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        struct fake_step step = {
            .expect = "PATCH " PATH " ", .status = row->status, .body = row->answer};
        _cleanup_value_ const struct value *metadata = NULL;
        struct error error = {0};
        struct harness harness;
        int rc;

        harness_start(&harness, &step, row->sent ? 1 : 0, NULL);
        EXPECT_INT(json_read_str(row->metadata, &metadata, NULL), 0, row->note);
        if (row->adds)
            rc = finalizer_add(harness.client, PATH, &metadata, NULL, &error);
        else
            rc = finalizer_remove(harness.client, PATH, metadata, NULL, &error);
        EXPECT_INT(rc, row->expected, row->note);
        EXPECT_INT(error.code, row->expected, row->note);
        if (str_equal(row->answer, ANSWER))
            EXPECT_STR(value_get_string(metadata, "resourceVersion"), "8", row->note);
        expect_sent(&harness, row);
        harness_stop(&harness, true);
    }
}

SUITE(finalizer, TEST(changes_the_list_alone))
