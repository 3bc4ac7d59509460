#include "engine/spec/secret_ref.h"

#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "test/unit/engine/spec/parse.h"
#include "test/unit/suite.h"

static void reads_references(void)
{
    static const struct {
        const char *text, *name, *property, *version;
    } rows[] = {
        {"ref://db/password", "db", "password", NULL},
        {"ref://team/a/db/password", "team/a/db", "password", NULL},
        {"ref://db", "db", NULL, NULL},
        {"ref://db/password?version=3", "db", "password", "3"},
        {"ref://db?version=uuid/a-b", "db", NULL, "uuid/a-b"},
        {"ref://db?version=uuid%2Fa", "db", NULL, "uuid/a"},
        {"ref://a%20b/%C3%A4%3F", "a b", "\xc3\xa4?", NULL},
        {"ref://db/tls.crt", "db", "tls.crt", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct secret_ref ref = {0};
        struct error error = {0};

        EXPECT_INT(secret_ref_parse(rows[i].text, &ref, &error), 0, error.message);
        EXPECT_STR(ref.name, rows[i].name, rows[i].text);
        EXPECT_STR(ref.property, rows[i].property, rows[i].text);
        EXPECT_STR(ref.version, rows[i].version, rows[i].text);
        secret_ref_done(&ref);
    }
}

static void refuses_what_is_none(void)
{
    static const char *const rows[] = {"ref:/db/password",
                                       "ref://",
                                       "ref:///password",
                                       "ref://db/",
                                       "ref://db//password",
                                       "ref://../x",
                                       "ref://db/../x",
                                       "ref://db/./x",
                                       "ref://db/%2e%2e/x",
                                       "ref://db/a%2Fb",
                                       "ref://db/%",
                                       "ref://db/%0a",
                                       "ref://db/a%00b",
                                       "ref://db/%ff",
                                       "ref://db/%7f",
                                       "ref://db/a\nb",
                                       "ref://db/x#y",
                                       "ref://db/x?",
                                       "ref://db/x?v=1",
                                       "ref://db/x?version=",
                                       "ref://db/x?version=1&a=2",
                                       "ref://db/x?version=a b"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct secret_ref ref = {0};
        struct error error = {0};

        EXPECT_INT(secret_ref_parse(rows[i], &ref, &error), ERR_INVALID, rows[i]);
        EXPECT_STR(error.reason, "InvalidReference", rows[i]);
        secret_ref_done(&ref);
    }
    _cleanup_free_ char *longest = str_printf("ref://%0*d", SECRET_REF_BYTES, 1);
    struct secret_ref ref = {0};

    EXPECT_INT(secret_ref_parse(longest, &ref, NULL), ERR_INVALID, "too long");
    secret_ref_done(&ref);
}

/* ---- Resolving ---- */

static int look_up_object(void *arg, const char *text, const struct value **ret,
                          struct error *error)
{
    (void)arg, (void)text, (void)error;
    *ret = value_pack("s", "ref://from/object");
    return 0;
}

static int look_up_secret(void *arg, const char *text, const struct value **ret,
                          struct error *error)
{
    buf_printf(arg, "%s ", text + strlen(SECRET_REF_PREFIX));
    if (str_equal(text, "ref://none/x"))
        return err_set(error, ERR_INVALID, "SecretNotFound", "none");
    *ret = str_equal(text, "ref://unknown/x")     ? value_pack("u")
           : str_equal(text, "ref://like/kusion") ? value_pack("s", "$kusion_path.a.b")
                                                  : value_pack("s", "value");
    return 0;
}

#define SECRET(fields) "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"," fields "}"

static void resolves_both_kinds_in_one_pass(void)
{
    static const struct {
        const char *json, *resolved, *asked, *sensitive;
    } rows[] = {
        {"{\"a\":\"ref://a/b\",\"b\":[\"ref://c/d?version=1\",\"x ref://e/f\"]}",
         "{\"a\":\"value\",\"b\":[\"value\",\"x ref://e/f\"]}", "a/b c/d?version=1 ",
         "[\"/a\",\"/b/0\"]"},
        {"{\"a\":\"$kusion_path.x.y\"}", "{\"a\":\"ref://from/object\"}", "", NULL},
        {"{\"a\":\"ref://like/kusion\"}", "{\"a\":\"$kusion_path.a.b\"}", "like/kusion ",
         "[\"/a\"]"},
        {"{\"a\":\"ref://unknown/x\"}", "{\"a\":\"(known after apply)\"}", "unknown/x ",
         "[\"/a\"]"},
        {SECRET("\"data\":{\"a\":\"ref://a/b\",\"b\":\"cmVmOi8vYS9i\",\"c\":\"Yg==\"}"),
         SECRET("\"data\":{\"a\":\"dmFsdWU=\",\"b\":\"dmFsdWU=\",\"c\":\"Yg==\"}"), "a/b a/b ",
         "[\"/data/a\",\"/data/b\"]"},
        {SECRET("\"stringData\":{\"a\":\"ref://a/b\",\"b\":\"cmVmOi8vYS9i\"}"),
         SECRET("\"stringData\":{\"a\":\"value\",\"b\":\"cmVmOi8vYS9i\"}"), "a/b ",
         "[\"/stringData/a\"]"},
        {"{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"ref://a/b\",\"b\":\"cmVmOi8vYS9i\"}}",
         "{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"value\",\"b\":\"cmVmOi8vYS9i\"}}", "a/b ",
         "[\"/data/a\"]"},
        {"{\"a\":\"plain\"}", "{\"a\":\"plain\"}", "", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL, *resolved = NULL, *paths = NULL;
        _cleanup_buf_ struct buf asked = BUF_INIT;
        struct ref_lookups lookups = {
            .reference = look_up_object, .secret = look_up_secret, .arg = &asked};
        _cleanup_free_ char *text = NULL, *marked = NULL;
        struct error error = {0};

        CU_ASSERT_EQUAL_FATAL(json_read_str(rows[i].json, &value, NULL), 0);
        lookups.has_data = secret_ref_has_data(value);
        EXPECT_INT(ref_resolve_all(value, &lookups, &resolved, &error), 0, error.message);
        text = json_to_str(resolved);
        paths = value_sensitive_paths(resolved);
        marked = paths ? json_to_str(paths) : NULL;
        EXPECT_STR(text, rows[i].resolved, rows[i].json);
        EXPECT_STR(asked.data, rows[i].asked, rows[i].json);
        EXPECT_STR(marked, rows[i].sensitive, rows[i].json);
        EXPECT_INT(secret_ref_is_within(value), *rows[i].asked != '\0', rows[i].json);
    }
}

static void leaves_what_is_looked_up_later(void)
{
    _cleanup_value_ const struct value *value =
        value_pack("{s:{s:[s],s:s},s:s}", "kept", "a", "ref://a/b", "b", "$kusion_path.a.x",
                   "other", "ref://a/b");
    _cleanup_value_ const struct value *resolved = NULL;
    _cleanup_buf_ struct buf asked = BUF_INIT;
    const struct ref_lookups lookups = {
        .reference = look_up_object, .secret = look_up_secret, .arg = &asked, .kept = "kept"};
    _cleanup_free_ char *text = NULL;
    struct error error = {0};

    EXPECT_INT(ref_resolve_all(value, &lookups, &resolved, &error), 0, error.message);
    text = json_to_str(resolved);
    EXPECT(strstr(text, "\"a\":[\"ref://a/b\"]"), text);
    EXPECT(!strstr(text, "kusion_path"), text);
    EXPECT(strstr(text, "\"other\":\"value\""), text);
}

static void an_error_ends_it(void)
{
    _cleanup_value_ const struct value *value =
        value_pack("{s:s,s:s}", "a", "ref://none/x", "b", "ref://a/b");
    const struct value *resolved = NULL;
    _cleanup_buf_ struct buf asked = BUF_INIT;
    const struct ref_lookups lookups = {
        .reference = look_up_object, .secret = look_up_secret, .arg = &asked};
    struct error error = {0};

    EXPECT_INT(ref_resolve_all(value, &lookups, &resolved, &error), ERR_INVALID, "none");
    EXPECT_STR(error.reason, "SecretNotFound", "reason");
    EXPECT(!resolved, "nothing");
    EXPECT_STR(asked.data, "none/x ", "asked");
}

/* ---- The store ---- */

#define STORE(store) SPEC("\"resources\":[],\"secretStore\":" store)

static void checks_the_store(void)
{
    static const struct parse_row rows[] = {
        {STORE("null"), ""},
        {STORE("{}"), ""},
        {STORE("{\"provider\":{\"vault\":{\"server\":\"https://v\"}},\"auth\":{\"role\":\"a\"}}"),
         ""},
        {STORE("{\"provider\":{\"aws\":{\"region\":\"a\"}},\"auth\":{\"role\":\"a\"}}"), ""},
        {STORE("{\"provider\":{\"fake\":{\"data\":[]}}}"), ""},
        {STORE("{\"provider\":{}}"), "InvalidSpec|-|secretStore.provider\n"},
        {STORE("{\"auth\":{}}"), "InvalidSpec|-|secretStore.provider\n"},
        {STORE("{\"provider\":{\"vault\":{},\"aws\":{}}}"), "InvalidSpec|-|secretStore.provider\n"},
        {STORE("{\"provider\":{\"volt\":{}}}"), "InvalidSpec|-|secretStore.provider.volt\n"},
        {STORE("{\"provider\":{\"onpremises\":{}}}"),
         "Unsupported|-|secretStore.provider.onpremises\n"},
        {STORE("{\"provider\":{\"vault\":{\"server\":\"https://v\"}}}"),
         "InvalidSpec|-|secretStore.auth.role\n"},
        {STORE("{\"provider\":{\"vault\":{}},\"auth\":{\"role\":\"a\"}}"),
         "InvalidSpec|-|secretStore.provider.vault.server\n"},
        {STORE("{\"provider\":{\"vault\":{\"server\":1}},\"auth\":{\"role\":\"\"}}"),
         "InvalidSpec|-|secretStore.provider.vault.server\nInvalidSpec|-|secretStore.auth.role\n"},
        {STORE("{\"provider\":{\"aws\":{\"region\":\"a\",\"profile\":\"b\"}},\"auth\":{\"role\":"
               "\"a\",\"mount\":\"b\"}}"),
         "InvalidSpec|-|secretStore.provider.aws.profile\nInvalidSpec|-|secretStore.auth.mount\n"},
        {STORE("{\"provider\":{\"alicloud\":{\"region\":\"a\"}},\"auth\":{\"role\":\"a\"}}"),
         "InvalidSpec|-|secretStore.auth.providerArn\n"},
        {STORE("{\"provider\":{\"azure\":{\"vaultUrl\":\"a\"}},\"auth\":{}}"),
         "InvalidSpec|-|secretStore.provider.azure.tenantId\n"
         "InvalidSpec|-|secretStore.auth.clientId\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void finds_what_is_in_clear(void)
{
#define OF_SECRET "{\"apiVersion\":\"v1\",\"kind\":\"Secret\","
    static const struct {
        const char *attributes;
        bool data, string_data;
    } rows[] = {
        {OF_SECRET "\"data\":{\"a\":\"eA==\"}}", true, false},
        {OF_SECRET "\"stringData\":{\"a\":\"x\"}}", false, true},
        {OF_SECRET "\"data\":{\"a\":\"\"}}", false, false},
        {OF_SECRET "\"data\":{\"a\":\"ref://db/password\"}}", false, false},
        {OF_SECRET "\"data\":{\"a\":\"cmVmOi8vZGIvcGFzc3dvcmQ=\"}}", false, false},
        {OF_SECRET "\"stringData\":{\"a\":\"cmVmOi8vZGIvcGFzc3dvcmQ=\"}}", false, true},
        {OF_SECRET "\"data\":{\"a\":\"$kusion_path.x.y\"}}", false, false},
        {OF_SECRET "\"data\":[\"x\"]}", false, false},
        {"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"a\":\"x\"}}", false, false},
        {"{\"apiVersion\":\"v2\",\"kind\":\"Secret\",\"data\":{\"a\":\"x\"}}", false, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *attributes = NULL;

        CU_ASSERT_EQUAL_FATAL(json_read_str(rows[i].attributes, &attributes, NULL), 0);
        EXPECT_INT(secret_ref_is_clear(attributes, "data"), rows[i].data, rows[i].attributes);
        EXPECT_INT(secret_ref_is_clear(attributes, "stringData"), rows[i].string_data,
                   rows[i].attributes);
    }
}

SUITE(secret_ref, TEST(finds_what_is_in_clear), TEST(reads_references), TEST(refuses_what_is_none),
      TEST(resolves_both_kinds_in_one_pass), TEST(leaves_what_is_looked_up_later),
      TEST(an_error_ends_it), TEST(checks_the_store))
