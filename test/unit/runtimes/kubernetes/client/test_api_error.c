#include "runtimes/kubernetes/client/api_error.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/http.h"
#include "runtimes/kubernetes/client/redact.h"
#include "runtimes/kubernetes/client/ref.h"
#include "test/unit/suite.h"

#define STATUS(code, reason, more)                                                               \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"it says\"," \
    "\"reason\":\"" reason "\",\"code\":" #code more "}"
#define WEBHOOKS(code, reason)                                                               \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"         \
    "\"Internal error occurred: failed calling webhook \\\"w\\\": no\",\"reason\":\"" reason \
    "\",\"code\":" #code "}"
#define DETAILS(text) ",\"details\":{" text "}"

static int decode(int status, const char *name, bool is_apply, const char *body,
                  struct error *error)
{
    static const struct kube_kind kind = {"apps/v1", "Deployment", "deployments", true};
    const struct kube_ref ref = {&kind, "team", name, NULL};
    struct http_response response = HTTP_RESPONSE_INIT;
    int rc;

    response.status = status;
    buf_add_str(&response.body, body);
    rc = api_error_from_response("GET", &ref, is_apply, &response, error);
    buf_done(&response.body);
    return rc;
}

static void knows_every_answer(void)
{
    static const struct {
        int status;
        bool is_apply;
        const char *body;
        int code;
        const char *reason;
    } rows[] = {
        {400, false, STATUS(400, "BadRequest", ""), ERR_INVALID, "BadRequest"},
        {401, false, STATUS(401, "Unauthorized", ""), ERR_UNAUTHENTICATED, "Unauthorized"},
        {403, false, STATUS(403, "Forbidden", ""), ERR_FORBIDDEN, "Forbidden"},
        {403, false, STATUS(403, "required labels are not set", ""), ERR_FORBIDDEN, "Forbidden"},
        {422, false, STATUS(422, "4xx", ""), ERR_INVALID, "Invalid"},
        {403, false,
         STATUS(403, "Forbidden", DETAILS("\"causes\":[{\"reason\":\"NamespaceTerminating\"}]")),
         ERR_FORBIDDEN, "NamespaceTerminating"},
        {404, false, STATUS(404, "NotFound", DETAILS("\"name\":\"web\",\"kind\":\"deployments\"")),
         ERR_NOT_FOUND, "NotFound"},
        {404, false, STATUS(404, "NotFound", DETAILS("\"name\":\"web\",\"kind\":\"Deployment\"")),
         ERR_NOT_FOUND, "NotFound"},
        {404, false, STATUS(404, "NotFound", DETAILS("\"name\":\"web\"")), ERR_NOT_FOUND,
         "NotFound"},
        {404, false, STATUS(404, "NotFound", DETAILS("\"name\":\"web\",\"kind\":\"services\"")),
         ERR_UNAVAILABLE, "NotServed"},
        {404, false, STATUS(404, "NotFound", DETAILS("\"name\":\"other\"")), ERR_UNAVAILABLE,
         "NotServed"},
        {404, false, STATUS(404, "NotFound", DETAILS("")), ERR_UNAVAILABLE, "NotServed"},
        {404, true, STATUS(404, "NotFound", DETAILS("\"name\":\"web\",\"kind\":\"namespaces\"")),
         ERR_INVALID, "NamespaceNotFound"},
        {404, false, STATUS(404, "NotFound", DETAILS("\"name\":\"ns\",\"kind\":\"namespaces\"")),
         ERR_INVALID, "NamespaceNotFound"},
        {404, false, "404 page not found\n", ERR_UNAVAILABLE, "NotServed"},
        {404, false, "<html>no</html>", ERR_UNAVAILABLE, "NotServed"},
        {404, false, "{\"kind\":\"Status\",\"reason\":\"NotFound\"}", ERR_UNAVAILABLE, "NotServed"},
        {409, false, STATUS(409, "AlreadyExists", ""), ERR_EXISTS, "AlreadyExists"},
        {409, false, STATUS(409, "Conflict", ""), ERR_CONFLICT, "Conflict"},
        {409, false, "", ERR_CONFLICT, "Conflict"},
        {410, false, STATUS(410, "Expired", ""), ERR_GONE, "Expired"},
        {410, false, STATUS(410, "Gone", ""), ERR_GONE, "Gone"},
        {413, false, STATUS(413, "RequestEntityTooLarge", ""), ERR_TOO_LARGE,
         "RequestEntityTooLarge"},
        {422, false, STATUS(422, "Invalid", ""), ERR_INVALID, "Invalid"},
        {429, false, STATUS(429, "TooManyRequests", ""), ERR_UNAVAILABLE, "TooManyRequests"},
        {429, false, "slow down", ERR_UNAVAILABLE, "TooManyRequests"},
        {500, true, STATUS(500, "", ""), ERR_INVALID, "InvalidSchema"},
        {500, false, STATUS(500, "", ""), ERR_UNAVAILABLE, "InternalError"},
        {500, true, STATUS(500, "InternalError", ""), ERR_UNAVAILABLE, "InternalError"},
        {500, true, WEBHOOKS(500, "InternalError"), ERR_UNAVAILABLE, "WebhookFailed"},
        {500, true, WEBHOOKS(500, ""), ERR_INVALID, "InvalidSchema"},
        {403, true, WEBHOOKS(403, "Forbidden"), ERR_FORBIDDEN, "Forbidden"},
        {500, true, "<html>oops</html>", ERR_UNAVAILABLE, "InternalError"},
        {502, false, "<html>bad gateway</html>", ERR_UNAVAILABLE, "BadGateway"},
        {503, false, STATUS(503, "ServiceUnavailable", ""), ERR_UNAVAILABLE, "ServiceUnavailable"},
        {504, false, STATUS(504, "Timeout", ""), ERR_UNAVAILABLE, "Timeout"},
        {418, false, "teapot", ERR_INVALID, "BadRequest"},
        {302, false, "", ERR_INTERNAL, "UnexpectedAnswer"},
        {422, false, STATUS(422, "SomethingNew", ""), ERR_INVALID, "SomethingNew"},
        {403, false, STATUS(403, "required labels are not set", ""), ERR_FORBIDDEN, "Forbidden"},
        {422, false, STATUS(422, "no", ""), ERR_INVALID, "Invalid"},
        {400, false, STATUS(400, "Denied-By-Policy", ""), ERR_INVALID, "BadRequest"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        EXPECT_INT(decode(rows[i].status, "web", rows[i].is_apply, rows[i].body, &error),
                   rows[i].code, rows[i].body);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].body);
        EXPECT(*error.message, rows[i].body);
    }
}

/* With any code and reason: nobody else changed the object, and it is not absent. */
static void knows_what_a_webhook_denied(void)
{
#define DENIAL "admission webhook \\\"w.example.com\\\" denied the request"
    static const struct {
        int status;
        const char *reason, *message, *details;
        int code;
        const char *expected;
    } rows[] = {
        {409, "Conflict", DENIAL ": no", "", ERR_FORBIDDEN, "Forbidden"},
        {409, "", DENIAL, "", ERR_FORBIDDEN, "Forbidden"},
        {409, "AlreadyExists", DENIAL, "", ERR_FORBIDDEN, "Forbidden"},
        {404, "NotFound", DENIAL, "\"name\":\"web\"", ERR_FORBIDDEN, "Forbidden"},
        {404, "NotFound", DENIAL, "", ERR_FORBIDDEN, "Forbidden"},
        {404, "NotFound", DENIAL, "\"name\":\"ns\",\"kind\":\"namespaces\"", ERR_FORBIDDEN,
         "Forbidden"},
        {410, "Gone", DENIAL, "", ERR_FORBIDDEN, "Forbidden"},
        {401, "Unauthorized", DENIAL, "", ERR_FORBIDDEN, "Forbidden"},
        {400, "", DENIAL, "", ERR_INVALID, "BadRequest"},
        {422, "Invalid", DENIAL, "", ERR_INVALID, "Invalid"},
        {429, "TooManyRequests", DENIAL, "", ERR_UNAVAILABLE, "TooManyRequests"},
        {500, "", DENIAL, "", ERR_UNAVAILABLE, "InternalError"},
        {409, "Conflict", "x: " DENIAL, "", ERR_CONFLICT, "Conflict"},
        {409, "Conflict", "admission webhook \\\"w", "", ERR_CONFLICT, "Conflict"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *body = str_printf(
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"%s\","
            "\"reason\":\"%s\",\"code\":%d,\"details\":{%s}}",
            rows[i].message, rows[i].reason, rows[i].status, rows[i].details);
        struct error error = {0};

        EXPECT_INT(decode(rows[i].status, "web", false, body, &error), rows[i].code, body);
        EXPECT_STR(error.reason, rows[i].expected, body);
    }
}

/* A collection never is "not found": nothing of it would be there to delete. */
static void never_calls_a_collection_absent(void)
{
    struct error error = {0};

    EXPECT_INT(decode(404, NULL, false,
                      STATUS(404, "NotFound", DETAILS("\"name\":\"a\",\"kind\":\"widgets\"")),
                      &error),
               ERR_UNAVAILABLE, "a name that nobody asked for");
}

static void keeps_the_words_of_a_reason(void)
{
    struct error error = {0};

    decode(403, "web", false, STATUS(403, "required labels are not set", ""), &error);
    EXPECT_STR(error.message, "required labels are not set: it says", "both");
}

static void tells_storage_from_schema(void)
{
    static const struct {
        const char *message;
        int code;
    } rows[] = {
        {"failed to create typed patch object (a/b; v1, Kind=X): .spec.x: field not declared in "
         "schema",
         ERR_INVALID},
        {"etcdserver: request timed out", ERR_UNAVAILABLE},
        {"etcdserver: request is too large", ERR_TOO_LARGE},
        {"rpc error: code = ResourceExhausted desc = trying to send message larger than max "
         "(2513434 vs. 2097152)",
         ERR_TOO_LARGE},
        {"rpc error: code = Unavailable desc = closing", ERR_UNAVAILABLE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *status =
            value_pack("{s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1", "message",
                       rows[i].message, "code", 500);
        _cleanup_free_ char *body = json_to_str(status);
        struct error error = {0};

        EXPECT_INT(decode(500, "web", true, body, &error), rows[i].code, rows[i].message);
    }
}

static void prefers_causes(void)
{
    struct error error = {0};
    _cleanup_buf_ struct buf body = BUF_INIT;

    decode(422, "web", false,
           STATUS(422, "Invalid",
                  DETAILS("\"causes\":[{\"field\":\"spec.selector\",\"message\":\"Invalid value: "
                          "{\\\"a\\\":\\\"b: }c\\\"}: field is immutable\"},"
                          "{\"field\":\"spec.x\",\"message\":\"Required value\"},{}]")),
           &error);
    EXPECT_STR(error.message,
               "spec.selector: Invalid value: (redacted): field is immutable; spec.x: Required "
               "value",
               "two causes");

    buf_add_str(&body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":409,\"reason\":"
                       "\"Conflict\",\"details\":{\"causes\":[");
    for (int i = 0; i < 11; i++)
        buf_printf(&body, "%s{\"field\":\".f%d\",\"message\":\"taken\"}", i ? "," : "", i);
    buf_add_str(&body, "]}}");
    decode(409, "web", true, body.data, &error);
    EXPECT_STR(error.message,
               ".f0: taken; .f1: taken; .f2: taken; .f3: taken; .f4: taken; .f5: taken; .f6: "
               "taken; .f7: taken; and 3 more",
               "bounded");
}

/* Go's maps have no order. */
static void says_the_same_of_the_same(void)
{
    static const char *const rows[][2] = {
        {"it: errors:\\n  .b: no\\n  .a: no", "it: errors: .a: no; .b: no"},
        {"it: errors:\\n  .a: no\\n  .b: no", "it: errors: .a: no; .b: no"},
        {"it: errors:\\n  .b: no\\nand .a", "it: errors: .b: no and .a"},
        {"it: errors:\\n  .b: no, got &x{Value:[\\n  .a: s3cret]}",
         "it: errors: .b: no, got (redacted)"},
        {"it: errors:\\n  .b: no, got &x{Value:\\\"\\n  .a: s3cret\\\"}",
         "it: errors: .b: no, got (redacted)"},
        {"it: .b: no", "it: .b: no"},
        {"", "the API server answered 500 without a message"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *body = str_printf(
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":500,\"message\":\"%s\"}",
            rows[i][0]);
        struct error error = {0};

        EXPECT_INT(decode(500, "web", true, body, &error), ERR_INVALID, body);
        EXPECT_STR(error.message, rows[i][1], body);
    }
}

static void redacts_values(void)
{
    static const struct {
        const char *message, *expected;
    } rows[] = {
        {"Invalid value: \"s3cret\": must be short", "Invalid value: (redacted): must be short"},
        {"Invalid value: \"a\\\": s3cret\": no", "Invalid value: (redacted): no"},
        {"Invalid value: \"s3cret", "Invalid value: (redacted)"},
        {"Invalid value: {\"data\":{\"k\":\"s3cret\"}}: field is immutable",
         "Invalid value: (redacted): field is immutable"},
        {"Invalid value: core.PodSpec{Env:[]core.EnvVar{{Name:\"A\", Value:\"s3cret: }\"}}, "
         "X:(*int64)(nil)}: field is immutable",
         "Invalid value: (redacted): field is immutable"},
        {"Invalid value: core.PodSpec{Env:\"s3cret\"", "Invalid value: (redacted)"},
        {"Invalid value: 70000: must be between 1 and 65535, inclusive",
         "Invalid value: (redacted): must be between 1 and 65535, inclusive"},
        {"Invalid value: s3cret, s3cret: no", "Invalid value: (redacted): no"},
        {"Unsupported value: \"s3cret\": supported values: \"A\", \"B\"",
         "Unsupported value: (redacted): supported values: \"A\", \"B\""},
        {"Duplicate value: {\"name\":\"s3cret\"}", "Duplicate value: (redacted)"},
        {"Invalid value: 3; x Invalid value: \"s3cret\": no",
         "Invalid value: (redacted)Invalid value: (redacted): no"},
        {"X \"web\" is invalid: [spec.a: Duplicate value: \"s3cret\", spec.b: Invalid value: "
         "\"s3cret\": no]",
         "X \"web\" is invalid: [spec.a: Duplicate value: (redacted), spec.b: Invalid value: "
         "(redacted): no]"},
        {".spec.env[name=\"A\"].value: expected string, got &value.valueUnstructured{Value:5432}",
         ".spec.env[name=\"A\"].value: expected string, got (redacted)"},
        {"errors:\n  .data.b: expected string, got &value.valueUnstructured{Value:5}\n  "
         ".data.port: "
         "expected string, got &value.valueUnstructured{Value:map[string]interface "
         "{}{\"a\":\"s3\\n "
         ".cret\"}}",
         "errors: .data.b: expected string, got (redacted); .data.port: expected string, got "
         "(redacted)"},
        {"two\nlines\ttab", "two lines tab"},
        {"spec.x: Required value", "spec.x: Required value"},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf text = BUF_INIT;

        redact_message(&text, rows[i].message);
        EXPECT_STR(text.data, rows[i].expected, rows[i].message);
    }
}

static void reads_errors_inside_a_watch(void)
{
    struct error error = {0};
    _cleanup_value_ const struct value *gone = NULL;

    CU_ASSERT_EQUAL(json_read_str(STATUS(410, "Expired", ""), &gone, NULL), 0);
    EXPECT_INT(api_error_from_status(gone, &error), ERR_GONE, "410");
    EXPECT_STR(error.message, "it says", "410");
    EXPECT_INT(api_error_from_status(value_get(gone, "kind"), &error), ERR_INTERNAL, "no Status");
}

/* Only what the API server itself says about the fields of an invalid object. */
static void gives_the_causes_of_what_is_invalid(void)
{
    static const char causes[] = "\"causes\":[{\"field\":\"a\",\"message\":\"Required\"}]";
    static const struct {
        int status;
        const char *reason, *message;
        long long n;
    } rows[] = {
        {422, "Invalid", "x is invalid", 1},
        {422, "Invalid", "admission webhook \\\"w\\\" denied the request: no", 0},
        {422, "Other", "x", 0},
        {409, "Conflict", "x", 0},
        {400, "Invalid", "x", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *body = str_printf(
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":%d,\"reason\":\"%s\",\"message\":"
            "\"%s\",\"details\":{%s}}",
            rows[i].status, rows[i].reason, rows[i].message, causes);
        struct http_response response = {.status = rows[i].status};
        _cleanup_value_ const struct value *found = NULL;

        buf_add_str(&response.body, body);
        found = api_error_causes(&response);
        EXPECT_INT((long long)value_count(found), rows[i].n, rows[i].message);
        buf_done(&response.body);
    }
}

SUITE(api_error, TEST(gives_the_causes_of_what_is_invalid), TEST(knows_every_answer),
      TEST(knows_what_a_webhook_denied), TEST(never_calls_a_collection_absent),
      TEST(keeps_the_words_of_a_reason), TEST(tells_storage_from_schema), TEST(prefers_causes),
      TEST(says_the_same_of_the_same), TEST(redacts_values), TEST(reads_errors_inside_a_watch))
