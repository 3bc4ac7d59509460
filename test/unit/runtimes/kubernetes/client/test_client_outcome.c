/* What an answer says of the outcome: for which object, and whether it is certain. */
#include <pthread.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

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
    static const struct fake_step done = {.status = 200, .body = "{}"}, invalid = {.status = 422},
                                  conflict = {.status = 409}, failed = {.status = 500},
                                  gateway = {.status = 504},
                                  dropped = {.status = 200, .end = FAKE_DROP},
                                  busy = {.status = 429, .headers = "Retry-After: 100\r\n"},
                                  page = {.status = 200, .body = "<html>"};
    static const struct {
        const char *note;
        const struct fake_step *first, *second; /* second: of an idempotent request; or NULL */
        int code;
        bool in_doubt;
    } rows[] = {
        {"done", &done, NULL, 0, false},
        {"refused", &invalid, NULL, ERR_INVALID, false},
        {"in conflict", &conflict, NULL, ERR_CONFLICT, false},
        {"too many requests", &busy, NULL, ERR_UNAVAILABLE, false},
        {"no answer", &dropped, NULL, ERR_UNAVAILABLE, true},
        {"broke inside", &failed, NULL, ERR_UNAVAILABLE, true},
        {"a gateway's time-out", &gateway, NULL, ERR_UNAVAILABLE, true},
        {"an answer that cannot be read", &page, NULL, ERR_UNAVAILABLE, true},
        {"no answer, then done: the first may come yet", &dropped, &done, 0, true},
        {"no answer, then in conflict, perhaps with itself", &dropped, &conflict, ERR_CONFLICT,
         true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step *second = rows[i].second;
        const struct fake_step steps[] = {*rows[i].first, second ? *second : done};
        _cleanup_value_ const struct value *answer = NULL;
        bool in_doubt = !rows[i].in_doubt;
        struct kube_request request = {.method = "PATCH",
                                       .path = "/a",
                                       .idempotent = second != NULL,
                                       .ret_in_doubt = &in_doubt};
        struct harness harness;

        harness_start(&harness, steps, second ? 2 : 1, NULL);
        EXPECT_INT(kube_do(harness.client, &request, &answer, NULL), rows[i].code, rows[i].note);
        EXPECT_INT(in_doubt, rows[i].in_doubt, rows[i].note);
        harness_stop(&harness, true);
    }
}

static void supersede(void *cancel)
{
    cancel_fire(cancel, "Superseded");
}

static void what_was_sent_is_beyond_a_cancel(void)
{
    enum {
        TIME = 1000, /* ms: enough to be sent in on a busy machine */
    };
    static const struct {
        bool complete_once_sent, is_cancelled;
        int64_t timeout;
        unsigned delay;
        int code;
    } rows[] = {
        {false, true, 0, TIME, ERR_CANCELLED},
        {true, true, 0, 100, 0},
        {true, true, TIME, TIME + 20, 0},
        {false, false, TIME, 2 * TIME, ERR_TIMEOUT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cancel *cancel = cancel_new(NULL);
        const struct fake_step steps[] = {{.status = 200,
                                           .body = "{}",
                                           .delay = rows[i].delay,
                                           .come = rows[i].is_cancelled ? supersede : NULL,
                                           .arg = cancel}};
        bool in_doubt;
        struct kube_request request = {.method = "PATCH",
                                       .path = "/a",
                                       .timeout = rows[i].timeout,
                                       .cancel = cancel,
                                       .complete_once_sent = rows[i].complete_once_sent,
                                       .ret_in_doubt = &in_doubt};
        struct harness harness;

        harness_start(&harness, steps, 1, NULL);
        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), rows[i].code, "what came of it");
        EXPECT_INT(in_doubt, rows[i].code != 0, "it was sent");
        harness_stop(&harness, rows[i].complete_once_sent);
        supersede(cancel);
        harness_start(&harness, steps, 0, NULL);
        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), ERR_CANCELLED, "not sent at all");
        EXPECT(!in_doubt, "not sent at all");
        harness_stop(&harness, true);
        cancel_free(cancel);
    }
}

SUITE(kube_client_outcome, TEST(takes_only_the_object_asked_for), TEST(refuses_a_kind_without_uids),
      TEST(compares_the_name_that_was_asked_for), TEST(tells_whether_it_may_have_been_done),
      TEST(what_was_sent_is_beyond_a_cancel))
