#include "controller/core/finalizer.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/client/group.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define PATH "/apis/api.kusion.io/v1/namespaces/ns/specs/a"
#define OURS "\"api.kusion.io/finalizer\""
#define STATUS(code, reason)                                                               \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"" reason "\",\"code\":" #code \
    ",\"details\":{\"name\":\"a\",\"kind\":\"specs\"}}"

#define READ(more) "{\"uid\":\"u\",\"resourceVersion\":\"7\"" more "}"
#define APPLIED                                                                           \
    "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"uid\":\"u\"," \
    "\"resourceVersion\":\"7\",\"finalizers\":[" OURS "]}}"
#define MERGED(list) "{\"metadata\":{\"resourceVersion\":\"7\",\"finalizers\":" list "}}"

#define ANSWER                                                                               \
    "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"," \
    "\"uid\":\"u\",\"resourceVersion\":\"8\"}}"

static const struct row {
    const char *note;
    bool adds;
    const char *metadata;
    const char *sent; /* NULL: no request */
    int status;
    const char *answer;
    int expected;
} rows[] = {
    {"add to none", true, READ(""), APPLIED, 200, ANSWER, 0},
    {"add after others", true, READ(",\"finalizers\":[\"x/y\"]"), APPLIED, 200, ANSWER, 0},
    {"add what is there", true, READ(",\"finalizers\":[" OURS "]"), NULL, 0, NULL, 0},
    {"add to what changed, or is gone", true, READ(""), APPLIED, 409, STATUS(409, "Conflict"),
     ERR_CONFLICT},
    {"add without a version", true, "{\"uid\":\"u\"}", NULL, 0, NULL, ERR_INTERNAL},
    {"add without a uid", true, "{\"resourceVersion\":\"7\"}", NULL, 0, NULL, ERR_INTERNAL},
    {"remove among others", false, READ(",\"finalizers\":[\"x/y\"," OURS ",\"z\"]"),
     MERGED("[\"x/y\",\"z\"]"), 200, ANSWER, 0},
    {"remove the last", false, READ(",\"finalizers\":[" OURS "]"), MERGED("[]"), 200, ANSWER, 0},
    {"remove what is not there", false, READ(",\"finalizers\":[\"x/y\"]"), NULL, 0, NULL, 0},
    {"remove without a version", false, "{\"finalizers\":[" OURS "]}", NULL, 0, NULL, ERR_INTERNAL},
    {"remove from what changed", false, READ(",\"finalizers\":[" OURS "]"), MERGED("[]"), 409,
     STATUS(409, "Conflict"), ERR_CONFLICT},
    {"remove from what is gone", false, READ(",\"finalizers\":[" OURS "]"), MERGED("[]"), 404,
     STATUS(404, "NotFound"), 0},
    {"a page that says 404 does not say that it is gone", false, READ(",\"finalizers\":[" OURS "]"),
     MERGED("[]"), 404, "404 page not found", ERR_UNAVAILABLE},
};

static void expect_sent(struct harness *harness, const struct row *row)
{
    _cleanup_free_ char *request = fake_server_request(harness->server, 0);

    if (!row->sent) {
        EXPECT_STR(request, NULL, row->note);
        return;
    }
    EXPECT(request && strstr(request, row->sent), row->note);
    EXPECT(request && strstr(request, row->adds ? KUBE_APPLY_PATCH : KUBE_MERGE_PATCH), row->note);
}

static void changes_the_list_alone(void)
{
    static const struct kube_ref ref = {&kube_specs, "ns", "a", NULL};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        struct fake_step step = {.expect = row->adds ? "PATCH " PATH
                                                       "?fieldManager=kusion-operator "
                                                     : "PATCH " PATH " ",
                                 .status = row->status,
                                 .body = row->answer};
        _cleanup_value_ const struct value *metadata = NULL;
        struct error error = {0};
        struct harness harness;
        int rc;

        harness_start(&harness, &step, row->sent ? 1 : 0, NULL);
        EXPECT_INT(json_read_str(row->metadata, &metadata, NULL), 0, row->note);
        if (row->adds)
            rc = finalizer_add(harness.client, &ref, &metadata, NULL, &error);
        else
            rc = finalizer_remove(harness.client, &ref, metadata, NULL, &error);
        EXPECT_INT(rc, row->expected, row->note);
        EXPECT_INT(error.code, row->expected, row->note);
        if (row->adds && str_equal(row->answer, ANSWER))
            EXPECT_STR(value_get_string(metadata, "resourceVersion"), "8", row->note);
        expect_sent(&harness, row);
        harness_stop(&harness, true);
    }
}

SUITE(finalizer, TEST(changes_the_list_alone))
