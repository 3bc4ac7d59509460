/* What is wrong with a description, and where. */
#include "runtimes/http/resource/description.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

/* connection and read are rows of what may be there; the rest is right. */
#define OF(connection, read)                                                                       \
    "{\"connection\":" connection ",\"read\":" read                                                \
    ",\"create\":{\"method\":\"PUT\",\"path\":\"/a\"},\"delete\":{\"method\":\"DELETE\",\"path\":" \
    "\"/a\"}}"
#define CONNECTION(rest) OF("{\"url\":\"https://a\"" rest "}", "{\"path\":\"/a\"}")
#define READ(read)       OF("{\"url\":\"https://a\"}", read)

static void note(void *arg, const char *field, const char *problem)
{
    buf_printf(arg, "%s: %s; ", field, problem);
}

static void says_what_is_wrong_and_where(void)
{
    static const struct {
        const char *json, *problems; /* their beginning; "": none */
    } rows[] = {
        {CONNECTION(""), ""},
        {CONNECTION(",\"x.io/note\":1,\"caFrom\":null"), ""},
        {CONNECTION(",\"bearerFrom\":{\"secret\":\"a\"}"), ""},
        {CONNECTION(",\"bearerFrom\":{\"ref\":\"ref://a/b\"}"), ""},
        {CONNECTION(",\"basicFrom\":{\"usernameRef\":\"ref://a/b\",\"passwordRef\":\"ref://a/c\"}"),
         ""},
        {CONNECTION(
             ",\"headersFrom\":[{\"name\":\"X-A\",\"ref\":\"ref://a/b\",\"prefix\":\"p \"}]"),
         ""},
        {CONNECTION(",\"bearerFrom\":{}"),
         "connection.bearerFrom: must name a Secret, or refer to a secret store; "},
        {CONNECTION(",\"bearerFrom\":[]"), "connection.bearerFrom: must be an object; "},
        {CONNECTION(",\"bearerFrom\":{\"secret\":\"a\",\"ref\":\"ref://a/b\"}"),
         "connection.bearerFrom: must name a Secret, or refer to a secret store; "},
        {CONNECTION(",\"bearerFrom\":{\"key\":\"a\",\"ref\":\"ref://a/b\"}"),
         "connection.bearerFrom: a key is of a Secret, and a reference has a property; "},
        {CONNECTION(",\"bearerFrom\":{\"ref\":\"in-clear\"}"),
         "connection.bearerFrom.ref: must be a reference to a secret store: ref://NAME/PROPERTY; "},
        {CONNECTION(",\"basicFrom\":{\"usernameRef\":\"ref://a/b\"}"),
         "connection.basicFrom: usernameRef and passwordRef go together; "},
        {CONNECTION(",\"headersFrom\":[{\"name\":\"X-A\",\"secret\":\"a\"}]"),
         "connection.headersFrom[0]: must have `key`, too: that of the Secret's data; "},
        {CONNECTION(",\"headersFrom\":[{\"name\":\"Host\",\"ref\":\"ref://a/b\"}]"),
         "connection.headersFrom[0].name: this header cannot be set here; "},
        {CONNECTION(
             ",\"headersFrom\":[{\"name\":\"X-A\",\"ref\":\"ref://a/b\",\"prefix\":\"p\\r\\nHost: "
             "b\"}]"),
         "connection.headersFrom[0].prefix: must be a string of one line; "},
        {CONNECTION(",\"bearerFrom\":{\"secret\":\"a\"},\"basicFrom\":{\"secret\":\"a\"}"),
         "connection: bearerFrom and basicFrom cannot be there at once; "},
        {CONNECTION(",\"caFrom\":{\"key\":\"a\"}"),
         "connection.caFrom: must name one of configMap and secret; "},
        {OF("{}", "{\"path\":\"/a\"}"), "connection.url: is required; "},
        {OF("{\"url\":\"ref://a/b\"}", "{\"path\":\"/a\"}"),
         "connection.url: an address is no secret: write it out; "},
        {READ("{\"paht\":\"/a\"}"),
         "read.paht: there is no such field; is path meant?; read.path: is required; "},
        {READ("[]"), "read: must be an object; "},
        {READ("{\"path\":\"/{b}\"}"), "read.path: "},
        {READ("{\"path\":\"/a\",\"timeout\":\"1d\"}"),
         "read.timeout: must be a duration as 30s is, and at most 10m; "},
        {"{}", "connection: is required; read: is required; create: is required; delete: is "
               "required; "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL;
        _cleanup_buf_ struct buf found = BUF_INIT;

        CU_ASSERT_EQUAL_FATAL(json_read_str(rows[i].json, &value, NULL), 0);
        description_check(value, note, &found);
        EXPECT(strncmp(found.data, rows[i].problems, strlen(rows[i].problems)) == 0, found.data);
        EXPECT_INT(found.length == 0, *rows[i].problems == '\0', rows[i].json);
    }
}

SUITE(http_description, TEST(says_what_is_wrong_and_where))
