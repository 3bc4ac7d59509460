#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define BUSY \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"TooManyRequests\",\"code\":429}"
#define FAILED(reason) "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"" reason "\"}"

static int64_t now(void)
{
    return system_clock.monotonic(&system_clock);
}

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

/* What is repeated, and what is not: how many requests one kube_do() makes. */
static void repeats_what_may_be_repeated(void)
{
    static const struct {
        const char *note;
        struct fake_step first;
        const char *method;
        bool dry_run, idempotent;
        int code;
        const char *reason;
        size_t requests;
    } rows[] = {
        {"GET 500",
         {.status = 500, .body = FAILED("InternalError")},
         "GET",
         false,
         false,
         0,
         "",
         2},
        {"GET 503", {.status = 503, .body = "busy"}, "GET", false, false, 0, "", 2},
        {"GET broken",
         {.status = 200, .body = "{\"a\":1}", .end = FAKE_BREAK},
         "GET",
         false,
         false,
         0,
         "",
         2},
        {"GET dropped", {.end = FAKE_DROP}, "GET", false, false, 0, "", 2},
        {"GET 403",
         {.status = 403, .body = FAILED("Forbidden")},
         "GET",
         false,
         false,
         ERR_FORBIDDEN,
         "Forbidden",
         1},
        {"GET plain 404",
         {.status = 404, .body = "404 page not found", .type = "text/plain"},
         "GET",
         false,
         false,
         ERR_UNAVAILABLE,
         "NotServed",
         1},
        {"POST 429", {.status = 429, .body = BUSY}, "POST", false, false, 0, "", 2},
        {"POST 500",
         {.status = 500, .body = FAILED("InternalError")},
         "POST",
         false,
         false,
         ERR_UNAVAILABLE,
         "InternalError",
         1},
        {"POST dropped",
         {.end = FAKE_DROP},
         "POST",
         false,
         false,
         ERR_UNAVAILABLE,
         "OutcomeUnknown",
         1},
        {"POST dropped, idempotent", {.end = FAKE_DROP}, "POST", false, true, 0, "", 2},
        {"POST dropped, dry-run", {.end = FAKE_DROP}, "POST", true, false, 0, "", 2},
        {"PATCH 504, idempotent", {.status = 504}, "PATCH", false, true, 0, "", 2},
        {"GET no JSON",
         {.status = 200, .body = "<html>"},
         "GET",
         false,
         false,
         ERR_UNAVAILABLE,
         "UnexpectedAnswer",
         1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_step steps[] = {rows[i].first, {.status = 200, .body = "{}"}};
        struct kube_request request = {.method = rows[i].method,
                                       .path = "/a",
                                       .dry_run = rows[i].dry_run,
                                       .idempotent = rows[i].idempotent};
        const struct value *answer = NULL;
        struct kube_client_stats stats;
        struct error error = {0};
        struct harness harness;

        harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
        EXPECT_INT(kube_do(harness.client, &request, &answer, &error), rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        EXPECT_INT(fake_server_count(harness.server), rows[i].requests, rows[i].note);
        kube_client_stats(harness.client, &stats);
        EXPECT_INT(stats.retries, rows[i].requests - 1, rows[i].note);
        value_unref(answer);
        harness_stop(&harness, false);
    }
}

#define OF(kind, namespace_, name, uid)                                                      \
    "{\"kind\":\"" kind "\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" namespace_ \
    "\",\"uid\":\"" uid "\"}}"

/* An answer of 200 may come from anything between us and the API server. */
static void takes_only_the_object_asked_for(void)
{
    static const struct kube_ref one = {&kube_config_maps, "n", "a-b", NULL};
    static const struct kube_ref status = {&kube_config_maps, "n", "a-b", "status"};
    static const struct kube_ref all = {&kube_config_maps, "n", NULL, NULL};
    static const char gone[] =
        "{\"kind\":\"Status\",\"status\":\"Success\",\"details\":{\"name\":\"a-b\"}}";
    static const struct {
        const char *note, *method;
        const struct kube_ref *ref;
        const char *body;
        bool is_taken;
    } rows[] = {
        {"it", "GET", &one, OF("ConfigMap", "n", "a-b", "u"), true},
        {"its metadata", "GET", &one, OF("PartialObjectMetadata", "n", "a-b", "u"), true},
        {"by a subresource", "PUT", &status, OF("ConfigMap", "n", "a-b", "u"), true},
        {"what was made", "POST", &all, OF("ConfigMap", "n", "made", "u"), true},
        {"what is being deleted", "DELETE", &one, OF("ConfigMap", "n", "a-b", "u"), true},
        {"what is deleted", "DELETE", &one, gone, true},
        {"nothing", "GET", &one, "", false},
        {"no fields", "GET", &one, "{}", false},
        {"null", "GET", &one, "null", false},
        {"another kind", "GET", &one, OF("Secret", "n", "a-b", "u"), false},
        {"another name", "GET", &one, OF("ConfigMap", "n", "b", "u"), false},
        {"another namespace", "GET", &one, OF("ConfigMap", "m", "a-b", "u"), false},
        {"another was made", "POST", &all, OF("ConfigMap", "n", "b", "u"), false},
        {"a Status of no deletion", "GET", &one, gone, false},
        {"a page", "GET", &one, "<html>", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step step = {.status = 200, .body = rows[i].body};
        _cleanup_value_ const struct value *answer = NULL, *body = NULL;
        bool in_doubt = false;
        struct kube_request request = {
            .method = rows[i].method, .ref = *rows[i].ref, .ret_in_doubt = &in_doubt};
        struct error error = {0};
        struct harness harness;

        body = value_pack("{s:{s:s}}", "metadata", "name", "made");
        if (rows[i].ref == &all)
            request.body = body;
        harness_start(&harness, &step, 1, NULL);
        EXPECT_INT(kube_do(harness.client, &request, &answer, &error),
                   rows[i].is_taken ? 0 : ERR_UNAVAILABLE, rows[i].note);
        EXPECT_STR(error.reason, rows[i].is_taken ? "" : "UnexpectedAnswer", rows[i].note);
        EXPECT_INT(answer != NULL, rows[i].is_taken, rows[i].note);
        EXPECT_INT(in_doubt, !rows[i].is_taken, "somebody answered that it was done");
        harness_stop(&harness, true);
    }
}

/* The server of an aggregated API may keep no UIDs: the answer is the same however often it is
 * asked. */
static void refuses_a_kind_without_uids(void)
{
    static const struct kube_kind kind = {"metrics.x.io/v1", "Gauge", "gauges", true};
    static const struct kube_ref one = {&kind, "n", "a", NULL}, all = {&kind, "n", NULL, NULL};
    static const struct {
        const char *note, *method;
        const struct kube_ref *ref;
        const char *body;
        int code;
        const char *reason;
    } rows[] = {
        {"with one", "GET", &one, OF("Gauge", "n", "a", "u"), 0, ""},
        {"an empty one", "GET", &one, OF("Gauge", "n", "a", ""), ERR_INVALID, "Unsupported"},
        {"none", "GET", &one,
         "{\"kind\":\"Gauge\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}}", ERR_INVALID,
         "Unsupported"},
        {"of its metadata", "GET", &one, OF("PartialObjectMetadata", "n", "a", ""), ERR_INVALID,
         "Unsupported"},
        {"of what was made", "POST", &all, OF("Gauge", "n", "a", ""), ERR_INVALID, "Unsupported"},
        {"of what was deleted", "DELETE", &one, OF("Gauge", "n", "a", ""), ERR_INVALID,
         "Unsupported"},
        {"of another object", "GET", &one, OF("Gauge", "n", "b", ""), ERR_UNAVAILABLE,
         "UnexpectedAnswer"},
        {"of another kind", "GET", &one, OF("Meter", "n", "a", ""), ERR_UNAVAILABLE,
         "UnexpectedAnswer"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step step = {.status = 200, .body = rows[i].body};
        _cleanup_value_ const struct value *answer = NULL, *body = NULL;
        struct kube_request request = {.method = rows[i].method, .ref = *rows[i].ref};
        struct error error = {0};
        struct harness harness;

        body = value_pack("{s:{s:s}}", "metadata", "name", "a");
        if (rows[i].ref == &all)
            request.body = body;
        harness_start(&harness, &step, 1, NULL);
        EXPECT_INT(kube_do(harness.client, &request, &answer, &error), rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        if (rows[i].code == ERR_INVALID) {
            EXPECT(strstr(error.message, "metrics.x.io/v1 Gauge") != NULL, error.message);
            EXPECT(strstr(error.message, "metadata.uid") != NULL, error.message);
        }
        EXPECT(!answer == (rows[i].code != 0), rows[i].note);
        harness_stop(&harness, true);
    }
}

static void does_not_repeat_a_schema_error(void)
{
    static const struct fake_step steps[] = {
        {.status = 500,
         .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\".spec.x: "
                 "field not declared in schema\",\"code\":500}"},
    };
    struct kube_request request = {
        .method = "PATCH", .path = "/a", .content_type = KUBE_APPLY_PATCH, .idempotent = true};
    struct error error = {0};
    struct harness harness;

    harness_start(&harness, steps, 1, NULL);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_INVALID, "permanent");
    EXPECT_STR(error.reason, "InvalidSchema", error.message);
    harness_stop(&harness, true);
}

static void obeys_retry_after(void)
{
    static const struct fake_step steps[] = {
        {.status = 429, .body = BUSY, .headers = "Retry-After: 1\r\n"},
        {.status = 200, .body = "{}"},
        {.status = 429, .body = BUSY, .headers = "Retry-After: 30\r\n"},
    };
    struct kube_request request = {.method = "GET", .path = "/a", .timeout = 5000};
    struct error error = {0};
    int64_t start = now();
    struct harness harness;

    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), 0, error.message);
    EXPECT(now() - start >= 950, "a second");
    start = now();
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_UNAVAILABLE, "too long");
    EXPECT_STR(error.reason, "TooManyRequests", "the server's answer, not a time-out");
    EXPECT(now() - start < 4000, "there is no point in waiting for what the deadline forbids");
    harness_stop(&harness, true);
}

static void keeps_its_deadline_over_all_retries(void)
{
    static const struct fake_step steps[] = {{.status = 503, .repeat = true}};
    struct kube_request request = {.method = "GET", .path = "/a", .timeout = 700};
    struct error error = {0};
    int64_t start = now();
    struct harness harness;

    harness_start(&harness, steps, 1, NULL);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_UNAVAILABLE, error.message);
    EXPECT(now() - start <= 5000, "700 ms");
    EXPECT(fake_server_count(harness.server) >= 2, "several attempts");
    harness_stop(&harness, true);
}

static void *fire_soon(void *arg)
{
    usleep(200000);
    cancel_fire(arg, "Superseded");
    return NULL;
}

static void ends_a_wait_when_cancelled(void)
{
    static const struct fake_step steps[] = {
        {.status = 429, .body = BUSY, .headers = "Retry-After: 20\r\n", .repeat = true}};
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    struct kube_request request = {.method = "GET", .path = "/a", .cancel = cancel};
    struct error error = {0};
    int64_t start = now();
    struct harness harness;
    pthread_t thread;

    harness_start(&harness, steps, 1, NULL);
    pthread_create(&thread, NULL, fire_soon, cancel);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_CANCELLED, error.message);
    EXPECT(now() - start < 10000, "at once");
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_CANCELLED, "before it begins");
    pthread_join(thread, NULL);
    harness_stop(&harness, false);
}

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

static int refuse(void *arg, struct error *error)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return err_set(error, ERR_FENCED, "NotLeader", "not the leader");
}

struct refusal {
    enum permit_use refused;
    atomic_int asked;
};

static int refuse_use(void *arg, enum permit_use use, struct error *error)
{
    struct refusal *refusal = arg;

    atomic_fetch_add(&refusal->asked, 1);
    return use == refusal->refused ? err_set(error, ERR_FENCED, NULL, "not for this use") : 0;
}

/* A request with a permit is asked of that, for its use, and not of the guard. */
static void asks_the_requests_own_permit(void)
{
    static const struct {
        const char *method;
        enum permit_use use;
        bool has_permit;
        int code;
    } rows[] = {
        {"PUT", PERMIT_ACT, true, ERR_FENCED},
        {"PUT", PERMIT_TELL, true, 0},
        {"PUT", PERMIT_TELL, false, ERR_FENCED},
        {"GET", PERMIT_ACT, true, 0},
    };
    static const struct fake_step steps[] = {{.status = 200, .repeat = true}};
    struct refusal refusal = {.refused = PERMIT_ACT};
    const struct permit permit = {refuse_use, &refusal};
    atomic_int asked = 0;
    struct kube_client_config config = {.guard = refuse, .guard_arg = &asked};
    struct harness harness;

    harness_start(&harness, steps, 1, &config);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_request request = {.method = rows[i].method,
                                       .path = "/a",
                                       .permit = rows[i].has_permit ? &permit : NULL,
                                       .use = rows[i].use};

        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), rows[i].code, rows[i].method);
    }
    EXPECT_INT(asked, 1, "the guard");
    EXPECT_INT(refusal.asked, 2, "the permit");
    harness_stop(&harness, true);
}

static void asks_the_guard_before_it_changes_anything(void)
{
    static const struct {
        const char *method;
        bool dry_run, unguarded;
        int code;
    } rows[] = {
        {"POST", false, false, ERR_FENCED},
        {"PUT", false, false, ERR_FENCED},
        {"PATCH", false, false, ERR_FENCED},
        {"DELETE", false, false, ERR_FENCED},
        {"PATCH", true, false, 0},
        {"PUT", false, true, 0},
        {"GET", false, false, 0},
    };
    static const struct fake_step steps[] = {{.status = 200, .repeat = true}};
    atomic_int asked = 0;
    struct kube_client_config config = {.guard = refuse, .guard_arg = &asked};
    struct kube_client_stats stats;
    struct harness harness;

    harness_start(&harness, steps, 1, &config);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_request request = {.method = rows[i].method,
                                       .path = "/a",
                                       .dry_run = rows[i].dry_run,
                                       .unguarded = rows[i].unguarded};

        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), rows[i].code, rows[i].method);
    }
    EXPECT_INT(asked, 4, "how often it was asked");
    EXPECT_INT(fake_server_count(harness.server), 3, "what got through");
    kube_client_stats(harness.client, &stats);
    EXPECT_INT(stats.writes, 1, "the unguarded PUT");
    EXPECT_INT(stats.dry_runs, 1, "");
    EXPECT_INT(stats.reads, 1, "");
    harness_stop(&harness, true);
}

static void retries_refused_connections(void)
{
    bool in_doubt = true;
    struct kube_request request = {
        .method = "POST", .path = "/a", .timeout = 500, .ret_in_doubt = &in_doubt};
    struct kube_config nowhere = {.server = (char *)(uintptr_t) "http://127.0.0.1:1"};
    struct kube_client_config config = {.config = &nowhere};
    struct kube_client_stats stats;
    struct harness harness = {0};
    struct error error = {0};

    harness_connect(&harness, &config);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_UNAVAILABLE, error.message);
    EXPECT(strcmp(error.reason, "OutcomeUnknown") != 0, "it was certainly not done");
    EXPECT(!in_doubt, "it was certainly not done");
    kube_client_stats(harness.client, &stats);
    EXPECT(stats.retries >= 1, "although it is a POST");
    EXPECT_INT(stats.writes, 0, "nothing was sent");
    harness_stop(&harness, true);
}

/* ERR_NOT_FOUND needs the name that was asked for. */
static void compares_the_name_that_was_asked_for(void)
{
    static const struct kube_kind deployments = {"apps/v1", "Deployment", "deployments", true};
    static const struct kube_kind roles = {"r/v1", "ClusterRole", "clusterroles", false};
    static const struct kube_kind group = {.group_version = "apps/v1"};
    static const struct {
        const char *note;
        struct kube_ref ref;
        const char *name, *kind;
        int code;
    } rows[] = {
        {"it", {&kube_config_maps, "a", "b", NULL}, "b", "configmaps", ERR_NOT_FOUND},
        {"its status", {&kube_config_maps, "a", "b", "status"}, "b", "configmaps", ERR_NOT_FOUND},
        {"a Namespace", {&kube_namespaces, NULL, "a", NULL}, "a", "namespaces", ERR_NOT_FOUND},
        {"encoded", {&roles, NULL, "s:n", NULL}, "s:n", "clusterroles", ERR_NOT_FOUND},
        {"of a group", {&deployments, "a", "b", NULL}, "b", "deployments", ERR_NOT_FOUND},
        {"another", {&deployments, "a", "b", NULL}, "a", "deployments", ERR_UNAVAILABLE},
        {"all", {&deployments, "a", NULL, NULL}, "deployments", "deployments", ERR_UNAVAILABLE},
        {"in no namespace", {&kube_config_maps, "a", NULL, NULL}, "a", "namespaces", ERR_INVALID},
        {"a group", {.kind = &group}, "v1", "x", ERR_UNAVAILABLE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *body =
            str_printf("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"NotFound\","
                       "\"code\":404,\"details\":{\"name\":\"%s\",\"kind\":\"%s\"}}",
                       rows[i].name, rows[i].kind);
        struct fake_step steps[] = {{.status = 404, .body = body}};
        struct harness harness;

        harness_start(&harness, steps, 1, NULL);
        EXPECT_INT(kube_get(harness.client, rows[i].ref, NULL, NULL, NULL), rows[i].code,
                   rows[i].note);
        harness_stop(&harness, true);
    }
}

static void tells_whether_it_may_have_been_done(void)
{
    static const struct {
        const char *note;
        bool idempotent;
        struct fake_step steps[2];
        size_t n_steps;
        int code;
        bool in_doubt;
    } rows[] = {
        {"done", false, {{.status = 200, .body = "{}"}}, 1, 0, false},
        {"refused", false, {{.status = 422}}, 1, ERR_INVALID, false},
        {"in conflict", false, {{.status = 409}}, 1, ERR_CONFLICT, false},
        {"too many requests",
         false,
         {{.status = 429, .headers = "Retry-After: 100\r\n"}},
         1,
         ERR_UNAVAILABLE,
         false},
        {"no answer", false, {{.status = 200, .end = FAKE_DROP}}, 1, ERR_UNAVAILABLE, true},
        {"broke inside", false, {{.status = 500}}, 1, ERR_UNAVAILABLE, true},
        {"a gateway's time-out", false, {{.status = 504}}, 1, ERR_UNAVAILABLE, true},
        {"no answer, then done",
         true,
         {{.status = 200, .end = FAKE_DROP}, {.status = 200, .body = "{}"}},
         2,
         0,
         false},
        {"no answer, then in conflict, perhaps with itself",
         true,
         {{.status = 200, .end = FAKE_DROP}, {.status = 409}},
         2,
         ERR_CONFLICT,
         true},
        {"an answer that cannot be read",
         false,
         {{.status = 200, .body = "<html>"}},
         1,
         ERR_UNAVAILABLE,
         true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *answer = NULL;
        bool in_doubt = !rows[i].in_doubt;
        struct kube_request request = {.method = "PATCH",
                                       .path = "/a",
                                       .idempotent = rows[i].idempotent,
                                       .ret_in_doubt = &in_doubt};
        struct harness harness;

        harness_start(&harness, rows[i].steps, rows[i].n_steps, NULL);
        EXPECT_INT(kube_do(harness.client, &request, &answer, NULL), rows[i].code, rows[i].note);
        EXPECT_INT(in_doubt, rows[i].in_doubt, rows[i].note);
        harness_stop(&harness, true);
    }
}

static void what_was_sent_is_beyond_a_cancel(void)
{
    static const struct {
        bool complete_once_sent;
        int64_t timeout;
        int code;
    } rows[] = {
        {false, 0, ERR_CANCELLED},
        {true, 0, 0},
        {true, 100, 0},
        {false, 100, ERR_TIMEOUT},
    };
    static const struct fake_step steps[] = {{.status = 200, .body = "{}", .delay = 700}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cancel *cancel = cancel_new(NULL);
        bool in_doubt;
        struct kube_request request = {.method = "PATCH",
                                       .path = "/a",
                                       .timeout = rows[i].timeout,
                                       .cancel = cancel,
                                       .complete_once_sent = rows[i].complete_once_sent,
                                       .ret_in_doubt = &in_doubt};
        struct harness harness;
        pthread_t thread;

        harness_start(&harness, steps, 1, NULL);
        pthread_create(&thread, NULL, fire_soon, cancel);
        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), rows[i].code, "what came of it");
        EXPECT_INT(in_doubt, rows[i].code != 0, "it was sent");
        pthread_join(thread, NULL);
        rows[i].complete_once_sent ? harness_stop(&harness, true) : harness_stop(&harness, false);
        harness_start(&harness, steps, 0, NULL);
        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), ERR_CANCELLED, "not sent at all");
        EXPECT(!in_doubt, "not sent at all");
        harness_stop(&harness, true);
        cancel_free(cancel);
    }
}

SUITE(kube_client, TEST(sends_what_it_is_told), TEST(tenants_do_not_hold_up_our_own),
      TEST(writes_bodies_for_those_that_read_them),
      TEST(refuses_a_user_that_breaks_out_of_its_header), TEST(repeats_what_may_be_repeated),
      TEST(takes_only_the_object_asked_for), TEST(refuses_a_kind_without_uids),
      TEST(does_not_repeat_a_schema_error), TEST(obeys_retry_after),
      TEST(keeps_its_deadline_over_all_retries), TEST(ends_a_wait_when_cancelled),
      TEST(reads_a_token_file_again), TEST(does_not_repeat_a_401_of_a_fixed_token),
      TEST(asks_the_guard_before_it_changes_anything), TEST(asks_the_requests_own_permit),
      TEST(tells_whether_it_may_have_been_done), TEST(what_was_sent_is_beyond_a_cancel),
      TEST(retries_refused_connections), TEST(compares_the_name_that_was_asked_for))
