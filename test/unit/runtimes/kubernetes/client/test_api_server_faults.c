/* Faults, rights and counts of the API server in memory. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/kubernetes/client/api_server_client.h"
#include "test/unit/suite.h"

#include <pthread.h>
#include <unistd.h>

#define CMS "/api/v1/namespaces/default/configmaps"

struct desk {
    struct api_server *server;
    struct api_client client;
    struct error error;
};

static void begin(struct desk *desk)
{
    *desk = (struct desk){.server = api_server_new()};
    api_client_start(&desk->client, desk->server, NULL, NULL);
}

static void end(struct desk *desk)
{
    api_client_stop(&desk->client);
    api_server_free(desk->server);
}

/* POST of a ConfigMap. */
static int make(struct desk *desk, const char *name, const char *user, bool is_idempotent)
{
    _cleanup_value_ const struct value *answer = NULL,
                                       *body = value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1",
                                                          "kind", "ConfigMap", "metadata", "name",
                                                          name);
    struct kube_request request = {.method = "POST",
                                   .path = CMS,
                                   .body = body,
                                   .impersonate = user,
                                   .idempotent = is_idempotent,
                                   .timeout = 5000};

    err_clear(&desk->error);
    return kube_do(desk->client.client, &request, &answer, &desk->error);
}

static void fails_as_told(void)
{
    static const struct {
        const char *note;
        struct api_rule rule;
        int code;
        const char *reason;
        bool is_done;
        unsigned asked;
    } rows[] = {
        {"refused", {.fault = API_ANSWER, .status = 422}, ERR_INVALID, "Invalid", false, 1},
        {"refused, and done",
         {.fault = API_ANSWER_AFTER, .status = 409},
         ERR_CONFLICT,
         "Conflict",
         true,
         1},
        {"in other words",
         {.fault = API_ANSWER, .status = 400, .reason = "Odd", .message = "odd"},
         ERR_INVALID,
         "Odd",
         false,
         1},
        {"busy once", {.times = 1, .fault = API_ANSWER, .status = 429}, 0, "", true, 2},
        {"the second of two", {.first = 2, .fault = API_ANSWER, .status = 422}, 0, "", true, 1},
        {"no answer", {.fault = API_DROP}, ERR_UNAVAILABLE, "OutcomeUnknown", false, 1},
        {"the answer is lost",
         {.fault = API_DROP_AFTER},
         ERR_UNAVAILABLE,
         "OutcomeUnknown",
         true,
         1},
        {"the answer breaks off",
         {.fault = API_BREAK_OFF},
         ERR_UNAVAILABLE,
         "OutcomeUnknown",
         true,
         1},
        {"another answer", {.fault = API_BODY, .body = "[]"}, 0, "", false, 1},
        {"another path", {.path = "*/secrets", .fault = API_DROP}, 0, "", true, 1},
        {"another verb", {.verb = "update", .fault = API_DROP}, 0, "", true, 1},
        {"any write",
         {.verb = "write", .fault = API_ANSWER, .status = 422},
         ERR_INVALID,
         NULL,
         false,
         1},
        {"by its path",
         {.verb = "create", .path = "*/configmaps", .fault = API_ANSWER, .status = 422},
         ERR_INVALID,
         NULL,
         false,
         1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct desk desk;

        begin(&desk);
        api_server_rule(desk.server, &rows[i].rule);
        EXPECT_INT(make(&desk, "a", NULL, false), rows[i].code, rows[i].note);
        if (rows[i].reason)
            EXPECT_STR(desk.error.reason, rows[i].reason, rows[i].note);
        EXPECT_INT(api_server_size(desk.server, CMS), rows[i].is_done, rows[i].note);
        EXPECT_INT(api_server_count(desk.server, "create", CMS), rows[i].asked, rows[i].note);
        end(&desk);
    }
}

static void sends_again_what_may_be(void)
{
    struct desk desk;

    begin(&desk);
    api_server_rule(desk.server, &(struct api_rule){.times = 1, .fault = API_DROP_AFTER});
    EXPECT_INT(make(&desk, "a", NULL, true), ERR_EXISTS, "sent again, and there already");
    EXPECT_INT(api_server_count(desk.server, "create", CMS), 2, "twice");
    EXPECT_INT(api_server_writes(desk.server), 1, "written once");
    end(&desk);
}

static void knows_rights(void)
{
    static const struct {
        const char *note, *user, *verb, *as;
        int code;
    } rows[] = {
        {"a user", "u", "create", "u", ERR_FORBIDDEN},
        {"another user", "u", "create", "v", 0},
        {"the operator itself", "", "create", NULL, ERR_FORBIDDEN},
        {"not when it acts for others", "", "create", "u", 0},
        {"anybody", NULL, "write", "u", ERR_FORBIDDEN},
        {"another verb", NULL, "delete", "u", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct desk desk;

        begin(&desk);
        api_server_forbid(desk.server, rows[i].user, rows[i].verb, CMS);
        EXPECT_INT(make(&desk, "a", rows[i].as, false), rows[i].code, rows[i].note);
        end(&desk);
    }
}

static void an_apply_of_what_is_not_there_creates(void)
{
    static const char body[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}";
    struct desk desk;
    _cleanup_value_ const struct value *value = NULL;
    struct kube_request request = {.method = "PATCH",
                                   .path = CMS "/a",
                                   .field_manager = "m",
                                   .content_type = KUBE_APPLY_PATCH};

    begin(&desk);
    EXPECT_INT(json_read_str(body, &value, NULL), 0, body);
    request.body = value;
    api_server_forbid(desk.server, NULL, "create", "*/configmaps/a");
    EXPECT_INT(kube_do(desk.client.client, &request, NULL, NULL), ERR_FORBIDDEN, "not there");
    api_server_create(desk.server, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                   "\"namespace\":\"default\",\"name\":\"a\"}}");
    EXPECT_INT(kube_do(desk.client.client, &request, NULL, NULL), 0, "there");
    end(&desk);
}

/* ---- What waits ---- */

static void *make_one(void *arg)
{
    EXPECT_INT(make(arg, "a", NULL, false), 0, "in the end");
    return NULL;
}

static void holds(void)
{
    static const enum api_fault faults[] = {API_HOLD, API_HOLD_AFTER};

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        bool is_after = faults[i] == API_HOLD_AFTER;
        struct desk desk;
        pthread_t thread;
        unsigned rule;

        begin(&desk);
        rule = api_server_rule(desk.server, &(struct api_rule){.fault = faults[i]});
        if (pthread_create(&thread, NULL, make_one, &desk) != 0)
            abort();
        EXPECT(api_server_wait_hits(desk.server, rule, 1), "it came");
        for (int n = is_after ? 60000 : 100; n > 0 && api_server_size(desk.server, CMS) == 0; n--)
            usleep(1000);
        EXPECT_INT(api_server_size(desk.server, CMS), is_after, "done before");
        api_server_release(desk.server, rule);
        pthread_join(thread, NULL);
        EXPECT_INT(api_server_size(desk.server, CMS), 1, "done");
        end(&desk);
    }
}

/* ---- Counts ---- */

static void note_write(void *arg, unsigned n)
{
    unsigned *last = arg;

    EXPECT_INT(n, *last + 1, "one after the other");
    *last = n;
}

static void counts(void)
{
    _cleanup_free_ char *summary = NULL, *after = NULL;
    unsigned told = 0;
    struct desk desk;

    begin(&desk);
    api_server_on_write(desk.server, note_write, &told);
    make(&desk, "a", NULL, false);
    make(&desk, "b", NULL, false);
    make(&desk, "b", NULL, false);
    kube_get(desk.client.client, (struct kube_ref){&kube_config_maps, "default", "a", NULL}, NULL,
             NULL, NULL);
    kube_do(desk.client.client,
            &(struct kube_request){.method = "DELETE", .path = CMS "/a", .dry_run = true}, NULL,
            NULL);
    kube_do(desk.client.client, &(struct kube_request){.method = "DELETE", .path = CMS "/a"}, NULL,
            NULL);
    summary = api_server_write_summary(desk.server);
    EXPECT_STR(summary, "create configmaps 2, delete configmaps", "neither refused nor dry");
    EXPECT_INT(api_server_writes(desk.server), 3, "in all");
    EXPECT_INT(told, 3, "each was told");
    EXPECT_INT(api_server_count(desk.server, "create", NULL), 3, "with the one that was refused");
    EXPECT_INT(api_server_count(desk.server, "get", CMS "/a"), 1, "reads");
    EXPECT_INT(api_server_count(desk.server, "write", CMS "*"), 3, "all writes below a path");
    api_server_mark(desk.server);
    after = api_server_write_summary(desk.server);
    EXPECT_STR(after, "", "anew");
    EXPECT_INT(api_server_count(desk.server, NULL, NULL), 0, "all of it");
    end(&desk);
}

/* The end of a process: what was written last is there, and nothing comes after it. */
static void ends_for_all(void)
{
    struct desk desk;

    begin(&desk);
    api_server_cut_after(desk.server, 2);
    EXPECT_INT(make(&desk, "a", NULL, false), 0, "before");
    EXPECT(!api_server_is_cut(desk.server), "not yet");
    EXPECT_INT(make(&desk, "b", NULL, false), ERR_UNAVAILABLE, "its answer is lost");
    EXPECT(api_server_is_cut(desk.server), "cut off");
    EXPECT_INT(make(&desk, "c", NULL, false), ERR_UNAVAILABLE, "nothing is done");
    EXPECT_INT(api_server_size(desk.server, CMS), 2, "as many as were made before");
    api_server_mend(desk.server);
    EXPECT_INT(make(&desk, "d", NULL, false), 0, "again");
    end(&desk);
}

SUITE(api_server_faults, TEST(fails_as_told), TEST(sends_again_what_may_be), TEST(knows_rights),
      TEST(an_apply_of_what_is_not_there_creates), TEST(holds), TEST(counts), TEST(ends_for_all))
