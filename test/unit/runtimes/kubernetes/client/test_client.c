/* What a request contains, in whose name, and which connection it takes. */
#include <pthread.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define FAILED(reason) "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"" reason "\"}"

static bool was_sent(struct harness *harness, size_t n, const char *text)
{
    _cleanup_free_ char *request = fake_server_request(harness->server, n);

    return request && strstr(request, text);
}

static void sends_what_it_is_told(void)
{
    static const struct fake_step steps[] = {
        {.expect = "PATCH /api/v1/x?fieldManager=k HTTP/1.1", .status = 200, .body = "{\"a\":1}"},
        {.expect = "GET /api HTTP/1.1", .status = 200},
    };
    struct kube_config fixed = {.token = (char *)(uintptr_t) "abc"};
    struct kube_client_config config = {.config = &fixed};
    _cleanup_value_ const struct value *body = value_pack("{s:s}", "kind", "X"), *answer = NULL;
    struct kube_request request = {.method = "PATCH",
                                   .path = "/api/v1/x?fieldManager=k",
                                   .body = body,
                                   .content_type = KUBE_APPLY_PATCH,
                                   .impersonate = "system:serviceaccount:a:b"};
    const struct value *empty = body;
    struct error error = {0};
    struct kube_client_stats stats;
    struct harness harness;

    harness_start(&harness, steps, ARRAY_SIZE(steps), &config);
    EXPECT_INT(kube_do(harness.client, &request, &answer, &error), 0, error.message);
    EXPECT_INT(value_int(value_get(answer, "a"), 0), 1, "the answer");
    EXPECT(was_sent(&harness, 0, "Authorization: Bearer abc\r\n"), "token");
    EXPECT(was_sent(&harness, 0, "Impersonate-User: system:serviceaccount:a:b\r\n"), "for whom");
    EXPECT(was_sent(&harness, 0, "Content-Type: application/apply-patch+yaml\r\n"), "type");
    EXPECT(was_sent(&harness, 0, "Accept: application/json\r\n"), "accept");
    EXPECT(was_sent(&harness, 0, "\r\n\r\n{\"kind\":\"X\"}"), "body");
    EXPECT(was_sent(&harness, 0, "User-Agent: kusion-test"), "agent");

    EXPECT_INT(harness_get(harness.client, "/api", &empty, &error), 0, error.message);
    EXPECT(empty == NULL, "an empty answer");
    EXPECT(!was_sent(&harness, 1, "Impersonate-User"), "ourselves again");
    EXPECT(!was_sent(&harness, 1, "Content-Type"), "no body, no type");
    kube_client_stats(harness.client, &stats);
    EXPECT_INT(stats.writes, 1, "writes");
    EXPECT_INT(stats.reads, 1, "reads");
    EXPECT_INT(stats.retries, 0, "retries");
    harness_stop(&harness, true);
}

/* An apply's body is read as YAML (json.h), all others as JSON. */
static void writes_bodies_for_those_that_read_them(void)
{
    static const struct {
        const char *type, *body;
    } rows[] = {
        {KUBE_APPLY_PATCH, "\r\n\r\n{\"k\\u2028\":\"a\\u0085b\\u007f\"}"},
        {KUBE_MERGE_PATCH, "\r\n\r\n{\"k\xe2\x80\xa8\":\"a\xc2\x85"
                           "b\x7f\"}"},
        {NULL, "\r\n\r\n{\"k\xe2\x80\xa8\":\"a\xc2\x85"
               "b\x7f\"}"},
    };
    static const struct fake_step steps[] = {{.expect = "PATCH /a ", .status = 200}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *body = value_pack("{s:s}", "k\xe2\x80\xa8",
                                                              "a\xc2\x85"
                                                              "b\x7f");
        struct kube_request request = {
            .method = "PATCH", .path = "/a", .body = body, .content_type = rows[i].type};
        struct error error = {0};
        struct harness harness;

        harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
        EXPECT_INT(kube_do(harness.client, &request, NULL, &error), 0, error.message);
        EXPECT(was_sent(&harness, 0, rows[i].body), rows[i].type);
        harness_stop(&harness, true);
    }
}

static void refuses_a_user_that_breaks_out_of_its_header(void)
{
    static const char *const users[] = {"", "a\r\nAuthorization: x", "a\nb", "a\x7f"};
    struct harness harness;

    harness_start(&harness, NULL, 0, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
        struct kube_request request = {.method = "GET", .path = "/api", .impersonate = users[i]};

        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), ERR_INVALID, users[i]);
    }
    harness_stop(&harness, true);
}

/* ---- Which loop a request takes ---- */

struct hung {
    struct kube_client *client;
    struct cancel *cancel;
};

/* On a thread of its own: until it is cancelled. */
static void *hang(void *arg)
{
    const struct hung *hung = arg;
    struct kube_request request = {
        .method = "GET", .path = "/hangs", .impersonate = "a", .cancel = hung->cancel};

    EXPECT_INT(kube_do(hung->client, &request, NULL, NULL), ERR_CANCELLED, "it hung");
    return NULL;
}

/* The tenants' loop has one connection, and a call that hangs has it: what is done for a tenant
 * waits, and what is our own does not. */
static void tenants_do_not_hold_up_our_own(void)
{
    static const struct fake_step steps[] = {
        {.expect = "GET /hangs ", .status = 200, .body = " ", .end = FAKE_HOLD},
        {.expect = "GET /free ", .status = 200, .repeat = true},
    };
    static const struct {
        const char *note, *impersonate;
        bool for_tenant;
        int r;
    } rows[] = {
        {"our own", NULL, false, 0},
        {"for a user", "b", false, ERR_TIMEOUT},
        {"for a tenant in our name", NULL, true, ERR_TIMEOUT},
        {"our own again", NULL, false, 0},
    };
    struct harness harness;
    struct hung hung;
    pthread_t thread;

    harness_start(&harness, steps, ARRAY_SIZE(steps), &(struct kube_client_config){0});
    hung = (struct hung){harness.client, cancel_new(NULL)};
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, hang, &hung) == 0);
    CU_ASSERT_FATAL(fake_server_wait(harness.server, 1));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_request request = {.method = "GET",
                                       .path = "/free",
                                       .impersonate = rows[i].impersonate,
                                       .for_tenant = rows[i].for_tenant,
                                       .timeout = rows[i].r ? 300 : 0};

        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), rows[i].r, rows[i].note);
    }
    EXPECT_INT(fake_server_count(harness.server), 3, "those that waited were not sent");
    cancel_fire(hung.cancel, "enough");
    pthread_join(thread, NULL);
    cancel_free(hung.cancel);
    harness_stop(&harness, true);
}

/* ---- Tokens ---- */

static void reads_a_token_file_again(void)
{
    static const struct fake_step steps[] = {
        {.status = 200},
        {.status = 200},
        {.status = 401, .body = FAILED("Unauthorized")},
        {.status = 200},
        {.status = 401, .body = FAILED("Unauthorized")},
        {.status = 401, .body = FAILED("Unauthorized")},
        {.status = 200},
    };
    char *folder = harness_folder();
    _cleanup_free_ char *file = str_printf("%s/token", folder);
    struct kube_config rotating = {.token_file = file};
    struct kube_client_config config = {.config = &rotating};
    struct error error = {0};
    struct harness harness;

    harness_start(&harness, steps, ARRAY_SIZE(steps), &config);
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), ERR_UNAUTHENTICATED, "no file");
    harness_write(folder, "token", "one\n");
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), 0, error.message);
    EXPECT(was_sent(&harness, 0, "Bearer one\r\n"), "first");
    harness_write(folder, "token", "two\n");
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), 0, error.message);
    EXPECT(was_sent(&harness, 1, "Bearer two\r\n"), "another file of the same size");
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), 0, "401, once more, 200");
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), ERR_UNAUTHENTICATED, "401 twice");
    unlink(file);
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), 0,
               "the last token while the file is away");
    EXPECT(was_sent(&harness, 6, "Bearer two\r\n"), "the last");
    harness_write(folder, "token", "a b\r\nX: y");
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), ERR_UNAUTHENTICATED,
               "what would be two headers");
    harness_stop(&harness, true);
    harness_remove(folder);
}

static void does_not_repeat_a_401_of_a_fixed_token(void)
{
    static const struct fake_step steps[] = {{.status = 401, .body = FAILED("Unauthorized")}};
    struct kube_config fixed = {.token = (char *)(uintptr_t) "abc"};
    struct kube_client_config config = {.config = &fixed};
    struct harness harness;

    harness_start(&harness, steps, 1, &config);
    EXPECT_INT(harness_get(harness.client, "/a", NULL, NULL), ERR_UNAUTHENTICATED, "once");
    harness_stop(&harness, true);
}

static void acts_as_whom_it_is_made_for(void)
{
    static const struct fake_step steps[] = {{.status = 200}, {.status = 200}};
    static const char *const groups[] = {"a", "b"};
    struct kube_client_config config = {.as = "lead", .as_groups = groups, .n_as_groups = 2};
    struct kube_request tenant = {.method = "GET", .path = "/b", .impersonate = "other"};
    struct error error = {0};
    struct harness harness;

    harness_start(&harness, steps, ARRAY_SIZE(steps), &config);
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), 0, error.message);
    EXPECT(was_sent(&harness, 0, "Impersonate-User: lead\r\n"), "the user");
    EXPECT(was_sent(&harness, 0, "Impersonate-Group: a\r\n"), "a group");
    EXPECT(was_sent(&harness, 0, "Impersonate-Group: b\r\n"), "another");
    EXPECT_INT(kube_do(harness.client, &tenant, NULL, &error), 0, error.message);
    EXPECT(was_sent(&harness, 1, "Impersonate-User: other\r\n"), "a request's own");
    EXPECT(!was_sent(&harness, 1, "lead"), "and nobody else");
    EXPECT(!was_sent(&harness, 1, "Impersonate-Group"), "without groups");
    harness_stop(&harness, true);
}

SUITE(kube_client, TEST(acts_as_whom_it_is_made_for), TEST(sends_what_it_is_told),
      TEST(writes_bodies_for_those_that_read_them),
      TEST(refuses_a_user_that_breaks_out_of_its_header), TEST(tenants_do_not_hold_up_our_own),
      TEST(reads_a_token_file_again), TEST(does_not_repeat_a_401_of_a_fixed_token))
