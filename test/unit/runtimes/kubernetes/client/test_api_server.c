/* The API server in memory does as a real one: each behaviour that tests rely on, by the real
 * client. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/path.h"
#include "test/unit/runtimes/kubernetes/client/api_server_client.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define CMS   "/api/v1/namespaces/default/configmaps"
#define SPECS "/apis/api.kusion.io/v1/namespaces/default/specs"
#define CM(metadata, rest) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{" metadata "}" rest "}"
#define DATA(members) ",\"data\":{" members "}"
#define NAME(name)    "\"name\":\"" name "\""
#define SPEC(rest) \
    "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"name\":\"s\"}" rest "}"

/* One request after the other, of one server. */
struct step {
    const char *note, *how; /* "POST", "PUT", "GET", "DELETE", "MERGE", "APPLY" */
    const char *path, *body;
    int code;           /* an error's; 0: none */
    const char *reason; /* of it; NULL: any */
    const char *says;   /* "POINTER JSON" of the answer, a line each; "-" for JSON: not there */
};

static void check_line(const struct value *answer, const char *line, size_t length,
                       const char *note)
{
    _cleanup_free_ char *text = str_new_n(line, length), *found = NULL;
    char *blank = strchr(text, ' ');
    const struct value *value;

    *blank = '\0';
    value = pointer_find(answer, text);
    found = value ? json_to_str(value) : str_new("-");
    EXPECT_STR(found, blank + 1, note);
}

static void check_answer(const struct value *answer, const char *says, const char *note)
{
    while (says && *says) {
        size_t length = strcspn(says, "\n");

        check_line(answer, says, length, note);
        says += length + (says[length] == '\n');
    }
}

static void take(struct api_client *client, const struct step *step)
{
    static const char *const types[][2] = {{"MERGE", KUBE_MERGE_PATCH},
                                           {"APPLY", KUBE_APPLY_PATCH}};
    _cleanup_value_ const struct value *body = NULL, *answer = NULL;
    struct kube_request request = {
        .method = step->how, .path = step->path, .ref = {.name = harness_name(step->path)}};
    struct error error = {0};
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (str_equal(step->how, types[i][0])) {
            request.method = "PATCH";
            request.content_type = types[i][1];
        }
    if (step->body)
        EXPECT_INT(json_read_str(step->body, &body, NULL), 0, step->body);
    request.body = body;
    r = kube_do(client->client, &request, &answer, &error);
    EXPECT_INT(r, step->code, step->note);
    if (r != step->code)
        EXPECT_STR(error.message, "", step->note);
    if (step->reason)
        EXPECT_STR(error.reason, step->reason, step->note);
    check_answer(answer, step->says, step->note);
}

static void take_all(const struct step *steps, size_t n)
{
    _cleanup_(api_server_free_p) struct api_server *server = api_server_new();
    struct api_client client;

    api_client_start(&client, server, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        take(&client, &steps[i]);
    api_client_stop(&client);
}

static void keeps_objects(void)
{
    static const struct step steps[] = {
        {"absent", "GET", CMS "/a", NULL, ERR_NOT_FOUND, NULL, NULL},
        {"made", "POST", CMS, CM(NAME("a"), DATA("\"x\":\"1\"")), 0, NULL,
         "/data/x \"1\"\n/metadata/namespace \"default\"\n/metadata/resourceVersion \"1003\"\n"
         "/metadata/uid \"00000000-0000-4000-8000-000000000003\"\n/metadata/generation -"},
        {"made twice", "POST", CMS, CM(NAME("a"), ""), ERR_EXISTS, "AlreadyExists", NULL},
        {"without a name", "POST", CMS, CM("", ""), ERR_INVALID, "Invalid", NULL},
        {"of another kind", "POST", "/api/v1/namespaces/default/secrets", CM(NAME("a"), ""),
         ERR_INVALID, "BadRequest", NULL},
        {"with a name that is made up", "POST", CMS, CM("\"generateName\":\"b-\"", ""), 0, NULL,
         "/metadata/name \"b-00004\""},
        {"in a Namespace that is not there", "POST", "/api/v1/namespaces/none/configmaps",
         CM(NAME("a"), ""), ERR_INVALID, "NamespaceNotFound", NULL},
        {"replaced", "PUT", CMS "/a", CM(NAME("a"), DATA("\"y\":\"2\"")), 0, NULL,
         "/data {\"y\":\"2\"}\n/metadata/resourceVersion \"1005\""},
        {"replaced by the same", "PUT", CMS "/a", CM(NAME("a"), DATA("\"y\":\"2\"")), 0, NULL,
         "/metadata/resourceVersion \"1005\""},
        {"replaced by version", "PUT", CMS "/a",
         CM(NAME("a") ",\"resourceVersion\":\"1005\"", DATA("\"y\":\"3\"")), 0, NULL,
         "/metadata/resourceVersion \"1006\""},
        {"of an older version", "PUT", CMS "/a",
         CM(NAME("a") ",\"resourceVersion\":\"1005\"", DATA("\"y\":\"4\"")), ERR_CONFLICT,
         "Conflict", NULL},
        {"of another uid", "PUT", CMS "/a", CM(NAME("a") ",\"uid\":\"u\"", ""), ERR_CONFLICT,
         "Conflict", NULL},
        {"what is not there is not replaced", "PUT", CMS "/none", CM(NAME("none"), ""),
         ERR_NOT_FOUND, NULL, NULL},
        {"merged", "MERGE", CMS "/a", "{\"data\":{\"y\":null,\"z\":\"5\"}}", 0, NULL,
         "/data {\"z\":\"5\"}"},
        {"merged by an older version", "MERGE", CMS "/a",
         "{\"metadata\":{\"resourceVersion\":\"1005\"}}", ERR_CONFLICT, "Conflict", NULL},
        {"nothing is done dry", "PUT", CMS "/a?dryRun=All", CM(NAME("a"), DATA("\"y\":\"9\"")), 0,
         NULL, "/data {\"y\":\"9\"}"},
        {"as it was before", "GET", CMS "/a", NULL, 0, NULL, "/data {\"z\":\"5\"}"},
        {"what does not change once it is said", "MERGE", CMS "/a", "{\"immutable\":true}", 0, NULL,
         NULL},
        {"does not change", "MERGE", CMS "/a", "{\"data\":{\"z\":\"6\"}}", ERR_INVALID, "Invalid",
         NULL},
        {"a kind that is not served", "GET", "/apis/none/v1/namespaces/default/nones/a", NULL,
         ERR_UNAVAILABLE, "NotServed", NULL},
        {"no such method", "POST", CMS "/a", CM(NAME("a"), ""), ERR_INVALID, "MethodNotAllowed",
         NULL},
    };

    take_all(steps, ARRAY_SIZE(steps));
}

static void keeps_status_apart(void)
{
    static const struct step steps[] = {
        {"none is made", "POST", SPECS, SPEC(",\"spec\":{\"a\":1},\"status\":{\"b\":1}"), 0, NULL,
         "/metadata/generation 1\n/status -"},
        {"the status alone", "PUT", SPECS "/s/status",
         SPEC(",\"spec\":{\"a\":9},\"status\":{\"b\":2}"), 0, NULL,
         "/spec/a 1\n/status/b 2\n/metadata/generation 1"},
        {"all but the status", "PUT", SPECS "/s", SPEC(",\"spec\":{\"a\":2},\"status\":{\"b\":9}"),
         0, NULL, "/spec/a 2\n/status/b 2\n/metadata/generation 2"},
        {"metadata are no generation", "MERGE", SPECS "/s",
         "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}", 0, NULL,
         "/metadata/generation 2\n/metadata/labels/l \"1\""},
        {"a merge patch of it", "MERGE", SPECS "/s/status", "{\"status\":{\"c\":3}}", 0, NULL,
         "/status {\"b\":2,\"c\":3}"},
        {"what has none", "GET", CMS "/a/status", NULL, ERR_UNAVAILABLE, "NotServed", NULL},
        {"of what is not there", "PUT", SPECS "/none/status", SPEC(""), ERR_INVALID, "BadRequest",
         NULL},
    };

    take_all(steps, ARRAY_SIZE(steps));
}

#define DELETE_BY(uid) \
    "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{" uid "}}"

static void deletes(void)
{
    static const struct step steps[] = {
        {"made", "POST", CMS, CM(NAME("a"), ""), 0, NULL, NULL},
        {"by another uid", "DELETE", CMS "/a", DELETE_BY("\"uid\":\"u\""), ERR_CONFLICT, "Conflict",
         NULL},
        {"by another version", "DELETE", CMS "/a", DELETE_BY("\"resourceVersion\":\"7\""),
         ERR_CONFLICT, "Conflict", NULL},
        {"dry", "DELETE", CMS "/a?dryRun=All", NULL, 0, NULL, NULL},
        {"by its uid", "DELETE", CMS "/a",
         DELETE_BY("\"uid\":\"00000000-0000-4000-8000-000000000003\""), 0, NULL,
         "/kind \"Status\"\n/status \"Success\""},
        {"gone", "DELETE", CMS "/a", NULL, ERR_NOT_FOUND, NULL, NULL},
        {"with finalizers", "POST", SPECS,
         "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"name\":\"s\","
         "\"finalizers\":[\"x/y\",\"x/z\"]}}",
         0, NULL, "/metadata/generation 1"},
        {"waits for them", "DELETE", SPECS "/s", NULL, 0, NULL,
         "/kind \"Spec\"\n/metadata/deletionGracePeriodSeconds 0\n/metadata/generation 2"},
        {"for all", "MERGE", SPECS "/s", "{\"metadata\":{\"finalizers\":[\"x/z\"]}}", 0, NULL,
         "/metadata/generation 2"},
        {"once more", "DELETE", SPECS "/s", NULL, 0, NULL, "/metadata/generation 2"},
        {"is there", "GET", SPECS "/s", NULL, 0, NULL, "/metadata/finalizers [\"x/z\"]"},
        {"the last", "MERGE", SPECS "/s", "{\"metadata\":{\"finalizers\":null}}", 0, NULL, NULL},
        {"gone, too", "GET", SPECS "/s", NULL, ERR_NOT_FOUND, NULL, NULL},
        {"some", "POST", CMS, CM(NAME("b") ",\"labels\":{\"l\":\"1\"}", ""), 0, NULL, NULL},
        {"and others", "POST", CMS, CM(NAME("c"), ""), 0, NULL, NULL},
        {"by label", "DELETE", CMS "?labelSelector=l%3D1", NULL, 0, NULL, NULL},
        {"which has it", "GET", CMS "/b", NULL, ERR_NOT_FOUND, NULL, NULL},
        {"which has not", "GET", CMS "/c", NULL, 0, NULL, NULL},
    };

    take_all(steps, ARRAY_SIZE(steps));
}

#define NAMESPACES "/api/v1/namespaces"
#define INSIDE     NAMESPACES "/n/configmaps"

static void ends_namespaces(void)
{
    static const struct step steps[] = {
        {"made", "POST", NAMESPACES,
         "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}", 0, NULL,
         "/status/phase \"Active\"\n/metadata/labels/kubernetes.io~1metadata.name \"n\""},
        {"one in it", "POST", INSIDE, CM(NAME("a"), ""), 0, NULL, NULL},
        {"one that stays", "POST", INSIDE, CM(NAME("b") ",\"finalizers\":[\"x/y\"]", ""), 0, NULL,
         NULL},
        {"ends", "DELETE", NAMESPACES "/n", NULL, 0, NULL, "/status/phase \"Terminating\""},
        {"goes at once", "GET", INSIDE "/a", NULL, ERR_NOT_FOUND, NULL, NULL},
        {"stays", "GET", INSIDE "/b", NULL, 0, NULL, "/metadata/deletionGracePeriodSeconds 0"},
        {"nothing new", "POST", INSIDE, CM(NAME("c"), ""), ERR_FORBIDDEN, "NamespaceTerminating",
         NULL},
        {"waits for it", "GET", NAMESPACES "/n", NULL, 0, NULL, "/status/phase \"Terminating\""},
        {"lets go", "MERGE", INSIDE "/b", "{\"metadata\":{\"finalizers\":null}}", 0, NULL, NULL},
        {"ended", "GET", NAMESPACES "/n", NULL, ERR_NOT_FOUND, NULL, NULL},
    };

    take_all(steps, ARRAY_SIZE(steps));
}

#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define THINGS      "/apis/x.org/v1/namespaces/default/things"
#define THING                                                                                    \
    "{\"apiVersion\":\"x.org/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"t\"},\"status\":{" \
    "\"a\":1}}"

static void serves_what_is_defined(void)
{
    static const struct step steps[] = {
        {"not served", "GET", THINGS "/t", NULL, ERR_UNAVAILABLE, "NotServed", NULL},
        {"defined", "POST", DEFINITIONS,
         "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
         "\"metadata\":{\"name\":\"things.x.org\"},\"spec\":{\"group\":\"x.org\",\"scope\":"
         "\"Namespaced\",\"names\":{\"kind\":\"Thing\",\"plural\":\"things\"},\"versions\":[{"
         "\"name\":\"v1\",\"served\":true}]}}",
         0, NULL, "/status/conditions/0/type \"Established\""},
        {"listed", "GET", "/apis/x.org/v1", NULL, 0, NULL,
         "/kind \"APIResourceList\"\n/resources/0/kind \"Thing\"\n/resources/0/name \"things\"\n"
         "/resources/0/namespaced true\n/resources/0/verbs/0 \"create\""},
        {"made, and without a status apart", "POST", THINGS, THING, 0, NULL,
         "/status/a 1\n/metadata/generation 1"},
        {"a door to the same", "GET", THINGS "/t", NULL, 0, NULL, "/apiVersion \"x.org/v1\""},
        {"withdrawn", "DELETE", DEFINITIONS "/things.x.org", NULL, 0, NULL, NULL},
        {"and with it all of them", "GET", THINGS "/t", NULL, ERR_UNAVAILABLE, "NotServed", NULL},
        {"nor listed", "GET", "/apis/x.org/v1", NULL, ERR_UNAVAILABLE, "NotServed", NULL},
    };

    take_all(steps, ARRAY_SIZE(steps));
}

SUITE(api_server_objects, TEST(keeps_objects), TEST(keeps_status_apart), TEST(deletes),
      TEST(ends_namespaces), TEST(serves_what_is_defined))
