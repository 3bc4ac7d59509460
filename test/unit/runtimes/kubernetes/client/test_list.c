#include "runtimes/kubernetes/client/list.h"

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define PAGE(next, ...)                                                                           \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"77\"," \
    "\"continue\":\"" next "\"},\"items\":[" __VA_ARGS__ "]}"
#define EXPIRED                                                                                   \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"Expired\",\"code\":410,\"message\":" \
    "\"too old\",\"metadata\":{\"continue\":\"inconsistent\"}}"

static int note_name(void *arg, const struct value *item, struct error *error)
{
    struct buf *names = arg;
    const char *name = value_get_string(value_get(item, "metadata"), "name");

    if (str_equal(name, "stop"))
        return err_set(error, ERR_TOO_LARGE, "Enough", "enough");
    buf_printf(names, "%s ", name);
    return 0;
}

static void reads_lists(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[5];
        size_t n_steps;
        int code;
        const char *names;
    } rows[] = {
        {"one page",
         {{.expect = "GET /api/v1/c?labelSelector=x&limit=500 ",
           .status = 200,
           .body = PAGE("", ITEM("a") "," ITEM("b"))}},
         1,
         0,
         "a b "},
        {"no items", {{.status = 200, .body = PAGE("", "")}}, 1, 0, ""},
        {"pages",
         {{.status = 200, .body = PAGE("t/+1", ITEM("a"))},
          {.expect = "GET /api/v1/c?labelSelector=x&limit=500&continue=t%2F%2B1 ",
           .status = 200,
           .body = PAGE("t2", ITEM("b"))},
          {.expect = "GET /api/v1/c?labelSelector=x&limit=500&continue=t2 ",
           .status = 200,
           .body = PAGE("", ITEM("c"))}},
         3,
         0,
         "a b c "},
        {"an expired token starts again",
         {{.status = 200, .body = PAGE("t1", ITEM("a"))},
          {.expect = "GET /api/v1/c?labelSelector=x&limit=500&continue=t1 ",
           .status = 410,
           .body = EXPIRED},
          {.expect = "GET /api/v1/c?labelSelector=x&limit=500 ",
           .status = 200,
           .body = PAGE("", ITEM("a") "," ITEM("b"))}},
         3,
         0,
         "a a b "},
        {"expired again and again: all in one",
         {{.status = 200, .body = PAGE("t1", ITEM("a"))},
          {.status = 410, .body = EXPIRED},
          {.status = 200, .body = PAGE("t1", ITEM("a"))},
          {.status = 410, .body = EXPIRED},
          {.expect = "GET /api/v1/c?labelSelector=x HTTP",
           .status = 200,
           .body = PAGE("", ITEM("b"))}},
         5,
         0,
         "a a b "},
        {"a page that breaks off is asked for again",
         {{.status = 200, .body = PAGE("t1", ITEM("a"))},
          {.expect = "GET /api/v1/c?labelSelector=x&limit=500&continue=t1 ",
           .status = 200,
           .body = PAGE("", ITEM("b") "," ITEM("c")),
           .end = FAKE_BREAK},
          {.expect = "GET /api/v1/c?labelSelector=x&limit=500&continue=t1 ",
           .status = 200,
           .body = PAGE("", ITEM("d"))}},
         3,
         0,
         "a * d "},
        {"forbidden",
         {{.status = 403,
           .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"Forbidden\"}"}},
         1,
         ERR_FORBIDDEN,
         ""},
        {"on_item ends it",
         {{.status = 200, .body = PAGE("t", ITEM("stop"))}},
         1,
         ERR_TOO_LARGE,
         ""},
        {"no list", {{.status = 200, .body = "{\"kind\":\"ConfigMap\"}"}}, 1, ERR_INTERNAL, ""},
        {"no JSON", {{.status = 200, .body = "<html></html>"}}, 1, ERR_INTERNAL, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf names = BUF_INIT;
        _cleanup_free_ char *version = NULL;
        struct kube_list list = {.ref = {.kind = &harness_things},
                                 .selector = {.labels = "x"},
                                 .on_item = note_name,
                                 .arg = &names};
        const char *star = strchr(rows[i].names, '*');
        struct error error = {0};
        struct harness harness;

        harness_start(&harness, rows[i].steps, rows[i].n_steps, NULL);
        EXPECT_INT(kube_list(harness.client, &list, &version, &error), rows[i].code, rows[i].note);
        if (star) { /* what arrived of a broken page may have been given */
            EXPECT(strncmp(names.data, rows[i].names, (size_t)(star - rows[i].names)) == 0,
                   names.data);
            EXPECT(str_has_suffix(names.data, star + 2), names.data);
        } else {
            EXPECT_STR(names.data, rows[i].names, rows[i].note);
        }
        EXPECT_STR(version, rows[i].code ? NULL : "77", rows[i].note);
        harness_stop(&harness, true);
    }
}

static void asks_for_metadata_alone(void)
{
    static const struct fake_step steps[] = {{.status = 200, .body = PAGE("", "")}};
    _cleanup_buf_ struct buf names = BUF_INIT;
    struct kube_list list = {.ref = {.kind = &harness_things},
                             .metadata_only = true,
                             .impersonate = "u",
                             .on_item = note_name,
                             .arg = &names};
    struct harness harness;
    char *request;

    harness_start(&harness, steps, 1, NULL);
    EXPECT_INT(kube_list(harness.client, &list, NULL, NULL), 0, "");
    request = fake_server_request(harness.server, 0);
    EXPECT(strstr(request, "Accept: " KUBE_METADATA_LIST "\r\n") != NULL, request);
    EXPECT(strstr(request, "Impersonate-User: u\r\n") != NULL, request);
    free(request);
    harness_stop(&harness, true);
}

/* The deadline is that of all pages. */
static void waits_no_longer_than_it_may(void)
{
    static const struct fake_step steps[] = {
        {.status = 200, .body = PAGE("t1", ITEM("a")), .delay = 1200},
        {.status = 200, .body = PAGE("t2", ITEM("b")), .delay = 1200},
        {.status = 200, .body = PAGE("", ITEM("c")), .delay = 1200},
    };
    _cleanup_buf_ struct buf names = BUF_INIT;
    struct kube_list list = {.ref = {.kind = &harness_things},
                             .wait = {.clock = &system_clock},
                             .on_item = note_name,
                             .arg = &names};
    struct harness harness;

    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    list.wait.deadline = system_clock.monotonic(&system_clock) + 2000;
    EXPECT_INT(kube_list(harness.client, &list, NULL, NULL), ERR_TIMEOUT, names.data);
    EXPECT_STR(names.data, "a ", "the second came too late");
    harness_stop(&harness, false);
}

SUITE(kube_list, TEST(reads_lists), TEST(asks_for_metadata_alone),
      TEST(waits_no_longer_than_it_may))
