/* Server-side apply of the API server in memory: what is merged, and whose it is. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/path.h"
#include "test/unit/runtimes/kubernetes/client/api_server_client.h"
#include "test/unit/suite.h"

#define CMS "/api/v1/namespaces/default/configmaps/a"
#define CM(metadata, data)                                                                    \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"" metadata "}" \
    ",\"data\":{" data "}}"

static int send_apply(struct api_client *client, const char *query, const char *text,
                      const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *body = NULL;
    _cleanup_free_ char *path = str_printf(CMS "?%s", query);
    struct kube_request request = {
        .method = "PATCH", .path = path, .content_type = KUBE_APPLY_PATCH};

    EXPECT_INT(json_read_str(text, &body, NULL), 0, text);
    request.body = body;
    return kube_do(client->client, &request, ret, error);
}

/* "manager/operation field field; …", without what is of no interest. */
static char *owners(const struct value *object)
{
    const struct value *entries = value_path(object, "metadata", "managedFields", NULL);
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);
        _cleanup_free_ char *fields = json_to_str(value_get(entry, "fieldsV1"));

        buf_printf(&text, "%s%s/%s %s", i ? "; " : "", value_get_string(entry, "manager"),
                   value_get_string(entry, "operation"), fields);
    }
    return buf_take(&text);
}

#define F(fields)   "{\"f:data\":{" fields "}}"
#define X           "\"f:x\":{}"
#define Y           "\"f:y\":{}"
#define BY(manager) "fieldManager=" manager

/* Each begins with what "one" applied: {x=1, y=2}. */
static void merges_and_says_whose_it_is(void)
{
    static const struct {
        const char *note, *query, *body; /* query NULL: a merge patch of another manager */
        int code;
        const char *says, *data, *owners;
    } rows[] = {
        {"the same again", BY("one"), CM("", "\"x\":\"1\",\"y\":\"2\""), 0, NULL,
         "{\"x\":\"1\",\"y\":\"2\"}", "one/Apply " F(X "," Y)},
        {"another value", BY("one"), CM("", "\"x\":\"9\",\"y\":\"2\""), 0, NULL,
         "{\"x\":\"9\",\"y\":\"2\"}", "one/Apply " F(X "," Y)},
        {"what is wanted no more goes", BY("one"), CM("", "\"x\":\"1\""), 0, NULL, "{\"x\":\"1\"}",
         "one/Apply " F(X)},
        {"nothing at all", BY("one"), CM("", ""), 0, NULL, "null", "one/Apply {\"f:data\":{}}"},
        {"another has it, too", BY("two"), CM("", "\"x\":\"1\""), 0, NULL,
         "{\"x\":\"1\",\"y\":\"2\"}", "one/Apply " F(X "," Y) "; two/Apply " F(X)},
        {"another adds to it", BY("two"), CM("", "\"z\":\"3\""), 0, NULL,
         "{\"x\":\"1\",\"y\":\"2\",\"z\":\"3\"}",
         "one/Apply " F(X "," Y) "; two/Apply " F("\"f:z\":{}")},
        {"another wants it otherwise", BY("two"), CM("", "\"x\":\"9\""), ERR_CONFLICT, ".data.x",
         "{\"x\":\"1\",\"y\":\"2\"}", "one/Apply " F(X "," Y)},
        {"and takes it", BY("two") "&force=true", CM("", "\"x\":\"9\""), 0, NULL,
         "{\"x\":\"9\",\"y\":\"2\"}", "one/Apply " F(Y) "; two/Apply " F(X)},
        {"dry", BY("two") "&force=true&dryRun=All", CM("", "\"x\":\"9\""), 0, NULL,
         "{\"x\":\"1\",\"y\":\"2\"}", "one/Apply " F(X "," Y)},
        {"an edit takes it", NULL, "{\"data\":{\"x\":\"8\"}}", 0, NULL, "{\"x\":\"8\",\"y\":\"2\"}",
         "one/Apply " F(Y) "; test/Update " F(X)},
        {"an edit takes it away", NULL, "{\"data\":{\"x\":null}}", 0, NULL, "{\"y\":\"2\"}",
         "one/Apply " F(Y)},
        {"an edit that changes nothing", NULL, "{\"data\":{\"x\":\"1\"}}", 0, NULL,
         "{\"x\":\"1\",\"y\":\"2\"}", "one/Apply " F(X "," Y)},
        {"of a version that never was", BY("one"),
         CM(",\"resourceVersion\":\"1\"", "\"x\":\"1\",\"y\":\"2\""), ERR_CONFLICT, "modified",
         "{\"x\":\"1\",\"y\":\"2\"}", "one/Apply " F(X "," Y)},
        {"of its version", BY("one"), CM(",\"resourceVersion\":\"1003\"", "\"x\":\"7\""), 0, NULL,
         "{\"x\":\"7\"}", "one/Apply " F(X)},
        {"of fields that others have, whatever the version", BY("two"),
         CM(",\"resourceVersion\":\"1\"", "\"x\":\"9\""), ERR_CONFLICT, ".data.x",
         "{\"x\":\"1\",\"y\":\"2\"}", "one/Apply " F(X "," Y)},
        {"of another uid", BY("one"), CM(",\"uid\":\"u\"", "\"x\":\"9\""), ERR_CONFLICT, "UID",
         "{\"x\":\"1\",\"y\":\"2\"}", "one/Apply " F(X "," Y)},
        {"finalizers add up", BY("two"), CM(",\"finalizers\":[\"x/y\"]", ""), 0, NULL,
         "{\"x\":\"1\",\"y\":\"2\"}",
         "one/Apply " F(X "," Y) "; two/Apply {\"f:data\":{},\"f:metadata\":{\"f:finalizers\":{"
                                 "\"v:\\\"x/y\\\"\":{}}}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(api_server_free_p) struct api_server *server = api_server_new();
        _cleanup_value_ const struct value *object = NULL;
        _cleanup_free_ char *whose = NULL, *data = NULL;
        struct api_client client;
        struct error error = {0};

        api_client_start(&client, server, NULL, NULL);
        EXPECT_INT(send_apply(&client, BY("one"), CM("", "\"x\":\"1\",\"y\":\"2\""), NULL, &error),
                   0, error.message);
        if (rows[i].query)
            EXPECT_INT(send_apply(&client, rows[i].query, rows[i].body, NULL, &error), rows[i].code,
                       rows[i].note);
        else
            api_server_edit(server, CMS, rows[i].body);
        EXPECT(!rows[i].says || strstr(error.message, rows[i].says), error.message);
        object = api_server_get(server, CMS);
        whose = owners(object);
        data = json_to_str(value_get(object, "data"));
        EXPECT_STR(data, rows[i].data, rows[i].note);
        EXPECT_STR(whose, rows[i].owners, rows[i].note);
        api_client_stop(&client);
    }
}

/* What is not there is made, whatever version was named; but not by a uid. */
static void makes_what_is_not_there(void)
{
    static const struct {
        const char *note, *metadata;
        int code;
    } rows[] = {
        {"made", "", 0},
        {"of a version that never was", ",\"resourceVersion\":\"1\"", 0},
        {"of one that is gone", ",\"uid\":\"u\"", ERR_CONFLICT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(api_server_free_p) struct api_server *server = api_server_new();
        _cleanup_free_ char *body = str_printf(
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"%s}}",
            rows[i].metadata);
        struct api_client client;

        api_client_start(&client, server, NULL, NULL);
        EXPECT_INT(send_apply(&client, BY("one"), body, NULL, NULL), rows[i].code, rows[i].note);
        EXPECT_INT(api_server_writes(server), rows[i].code == 0, rows[i].note);
        api_client_stop(&client);
    }
}

SUITE(api_server_apply, TEST(merges_and_says_whose_it_is), TEST(makes_what_is_not_there))
