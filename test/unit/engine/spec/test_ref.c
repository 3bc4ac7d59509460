#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "test/unit/suite.h"

#define INGRESS "networking.k8s.io/v1:Ingress:ns:x"

static const char *const known_ids[] = {
    "v1:Service:ns:web",
    INGRESS,
    INGRESS ".spec",
    "a",
    "a.b",
    "a.b.c.d",
    "with[0]",
    "rbac.authorization.k8s.io/v1:ClusterRole:system:node",
    "hashicorp:aws:data.aws_ami:web",
};

static void fill(struct strmap *ids)
{
    for (size_t i = 0; i < ARRAY_SIZE(known_ids); i++)
        strmap_put(ids, known_ids[i], (char *)(uintptr_t)known_ids[i]);
}

static void takes_the_longest_id(void)
{
    static const struct {
        const char *text, *id, *path;
    } rows[] = {
        {REF_PREFIX "v1:Service:ns:web.spec.clusterIP", "v1:Service:ns:web", "spec.clusterIP"},
        {REF_PREFIX "v1:Service:ns:web", "v1:Service:ns:web", ""},
        {REF_PREFIX INGRESS ".status.hosts[0]", INGRESS, "status.hosts[0]"},
        {REF_PREFIX INGRESS ".spec.rules[0].host", INGRESS ".spec", "rules[0].host"},
        {REF_PREFIX "rbac.authorization.k8s.io/v1:ClusterRole:system:node.rules.0",
         "rbac.authorization.k8s.io/v1:ClusterRole:system:node", "rules.0"},
        {REF_PREFIX "a.b.c.d.e", "a.b.c.d", "e"},
        {REF_PREFIX "a.b.c.e", "a.b", "c.e"},
        {REF_PREFIX "a.bc", "a", "bc"},
        {REF_PREFIX "a.metadata.annotations[example.com/x]", "a",
         "metadata.annotations[example.com/x]"},
        {REF_PREFIX "with[0].x", "with[0]", "x"},
        {REF_PREFIX "hashicorp:aws:data.aws_ami:web.filter[0].name",
         "hashicorp:aws:data.aws_ami:web", "filter[0].name"},
    };
    struct strmap ids = STRMAP_INIT;

    fill(&ids);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ref ref = {0};
        struct error error = {0};

        EXPECT_INT(ref_parse(rows[i].text, &ids, &ref, &error), 0, rows[i].text);
        EXPECT_STR(ref.id, rows[i].id, rows[i].text);
        EXPECT_STR(ref.path, rows[i].path, rows[i].text);
        EXPECT(ref.target == ref.id, "what the map holds");
    }
    strmap_done(&ids);
}

static void refuses_references(void)
{
    static const struct {
        const char *text;
        int code;
        const char *reason;
    } rows[] = {
        {REF_PREFIX "b.x", ERR_NOT_FOUND, "UnknownReference"},
        {REF_PREFIX "", ERR_NOT_FOUND, "UnknownReference"},
        {REF_PREFIX ".a", ERR_NOT_FOUND, "UnknownReference"},
        {REF_PREFIX "ab", ERR_NOT_FOUND, "UnknownReference"},
        {REF_PREFIX "a[0]", ERR_NOT_FOUND, "UnknownReference"}, /* no dot after the id */
        {REF_PREFIX "a.", ERR_INVALID, "InvalidPath"},
        {REF_PREFIX "a..x", ERR_INVALID, "InvalidPath"},
        {REF_PREFIX "a.x[", ERR_INVALID, "InvalidPath"},
        {"a.x", ERR_INVALID, "InvalidReference"},
    };
    struct strmap ids = STRMAP_INIT, none = STRMAP_INIT;
    struct ref ref = {0};

    fill(&ids);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        EXPECT_INT(ref_parse(rows[i].text, &ids, &ref, &error), rows[i].code, rows[i].text);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].text);
    }
    EXPECT_INT(ref_parse(REF_PREFIX "a.x", &none, &ref, NULL), ERR_NOT_FOUND, "nothing is known");
    EXPECT(!ref.id, "untouched");
    strmap_done(&ids);
}

/* A text of dots: were every prefix of it looked up, the test would not end. */
static void bounds_the_work(void)
{
    size_t length = 8u << 20;
    _cleanup_free_ char *text = NEW_ARRAY(char, length + 1);
    struct strmap ids = STRMAP_INIT;
    struct ref ref;

    fill(&ids);
    memset(text, '.', length);
    memcpy(text, REF_PREFIX "x", strlen(REF_PREFIX "x"));
    EXPECT_INT(ref_parse(text, &ids, &ref, NULL), ERR_NOT_FOUND, "unknown");
    strmap_done(&ids);
}

/* Nothing is known of it. */
static int list(void *arg, const char *text, const struct value **ret, struct error *error)
{
    (void)ret;
    buf_printf(arg, "%s ", text + strlen(REF_PREFIX));
    return strcmp(text, REF_PREFIX "stop") == 0 ? err_set(error, ERR_CANCELLED, NULL, "stop") : 0;
}

static void finds_references(void)
{
    static const struct {
        const char *json, *found;
        int code;
    } rows[] = {
        {"{\"a\":\"$kusion_path.x\",\"b\":[1,{\"c.d\":\"$kusion_path.y.z\"}]}", "x y.z ", 0},
        {"\"$kusion_path.x\"", "x ", 0},
        {"{\"a\":\"see $kusion_path.x\",\"b\":\" $kusion_path.x\",\"c\":\"$kusion_path\","
         "\"$kusion_path.k\":1}",
         "", 0},
        {"[\"$kusion_path.a\",\"$kusion_path.stop\",\"$kusion_path.b\"]", "a stop ", ERR_CANCELLED},
        {"[\"$kusion_path.a\\u0000b\"]", "", ERR_INVALID},
        {"null", "", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL, *resolved = NULL;
        _cleanup_buf_ struct buf found = BUF_INIT;
        struct error error = {0};

        json_read_str(rows[i].json, &value, NULL);
        EXPECT_INT(ref_resolve(value, list, &found, &resolved, &error), rows[i].code, rows[i].json);
        EXPECT_INT(error.code, rows[i].code, rows[i].json);
        EXPECT_STR(found.data, rows[i].found, rows[i].json);
    }
}

/* "…object", "…number", "…partly", "…secret", "…unknown", "…both"; anything else fails. */
static int look_up(void *arg, const char *text, const struct value **ret, struct error *error)
{
    const char *name = text + strlen(REF_PREFIX);
    _cleanup_value_ const struct value *open = NULL;

    (void)arg;
    if (strcmp(name, "object") == 0)
        *ret = value_pack("{s:s}", "ref", REF_PREFIX "object");
    else if (strcmp(name, "number") == 0)
        json_read_str("1.10", ret, NULL);
    else if (strcmp(name, "partly") == 0)
        *ret = value_pack("{s:i, s:u}", "a", 1, "b");
    else if (strcmp(name, "secret") == 0 || strcmp(name, "both") == 0)
        open = *name == 's' ? value_pack("s", "s3cret") : value_pack("u");
    else if (strcmp(name, "unknown") != 0)
        return err_set(error, ERR_NOT_FOUND, "NoSuchField", "no %s", name);
    if (open)
        *ret = value_sensitive(open);
    return 0;
}

static void resolves(void)
{
    static const struct {
        const char *json, *resolved, *sensitive;
        bool unknown;
    } rows[] = {
        {"{\"a\":{\"b\":[1.0,\"$kusion_path.number\",null]},\"c\":true}",
         "{\"a\":{\"b\":[1.0,1.10,null]},\"c\":true}", NULL, false},
        /* what a reference brings is not looked at again */
        {"[\"$kusion_path.object\"]", "[{\"ref\":\"$kusion_path.object\"}]", NULL, false},
        {"{\"a/b~c\":[{\"k\":\"$kusion_path.secret\"}],\"d\":\"$kusion_path.secret\"}",
         "{\"a/b~c\":[{\"k\":\"s3cret\"}],\"d\":\"s3cret\"}", "[\"/a~1b~0c/0/k\",\"/d\"]", false},
        {"[\"$kusion_path.unknown\",\"$kusion_path.number\"]", "[\"(known after apply)\",1.10]",
         NULL, true},
        {"{\"x\":\"$kusion_path.both\"}", "{\"x\":\"(known after apply)\"}", "[\"/x\"]", true},
        {"\"$kusion_path.secret\"", "\"s3cret\"", "[\"\"]", false},
        {"[\"$kusion_path.partly\"]", "[{\"a\":1,\"b\":\"(known after apply)\"}]", NULL, true},
        {"[\"(known after apply)\",\"$kusion_path.number\"]", "[\"(known after apply)\",1.10]",
         NULL, false},
        {"{\"a\\u0000b\":\"$kusion_path.secret\"}", "{\"a\\u0000b\":\"s3cret\"}",
         "[\"/a\\u0000b\"]", false},
        {"[{},[],\"\"]", "[{},[],\"\"]", NULL, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL, *resolved = NULL, *sensitive = NULL;
        _cleanup_free_ char *text = NULL, *pointers = NULL;
        struct error error = {0};

        json_read_str(rows[i].json, &value, NULL);
        EXPECT_INT(ref_resolve(value, look_up, NULL, &resolved, &error), 0, rows[i].json);
        text = json_to_str(resolved);
        sensitive = value_sensitive_paths(resolved);
        pointers = sensitive ? json_to_str(sensitive) : NULL;
        EXPECT_STR(text, rows[i].resolved, rows[i].json);
        EXPECT_INT(value_has_unknown(resolved), rows[i].unknown, rows[i].json);
        EXPECT(str_equal(pointers, rows[i].sensitive), rows[i].json);
    }
}

/* What was sensitive before stays so, and makes what a reference brings there sensitive. */
static void keeps_what_is_sensitive(void)
{
    static const struct {
        const char *before, *after;
    } rows[] = {
        {"[\"/a\"]", "[\"/a\"]"}, {"[\"/a/b\"]", "[\"/a/b\"]"}, {"[\"/c\"]", "[\"/c\"]"},
        {"[\"/e\"]", "[\"/e\"]"}, {"[\"\"]", "[\"\"]"},
    };
    _cleanup_value_ const struct value *plain = NULL;

    json_read_str("{\"a\":{\"b\":\"$kusion_path.number\"},\"c\":\"$kusion_path.object\","
                  "\"e\":[]}",
                  &plain, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *before = NULL, *marked = NULL, *resolved = NULL,
                                           *after = NULL;
        _cleanup_free_ char *text = NULL;

        json_read_str(rows[i].before, &before, NULL);
        marked = value_mark_paths(plain, before);
        EXPECT_INT(ref_resolve(marked, look_up, NULL, &resolved, NULL), 0, rows[i].before);
        after = value_sensitive_paths(resolved);
        text = json_to_str(after);
        EXPECT_STR(text, rows[i].after, rows[i].before);
    }
}

static void resolves_nothing_without_references(void)
{
    _cleanup_value_ const struct value *value = NULL, *resolved = NULL;

    json_read_str("{\"a\":[1,2]}", &value, NULL);
    EXPECT_INT(ref_resolve(value, look_up, NULL, &resolved, NULL), 0, "good");
    EXPECT(resolved == value, "the value itself");
    EXPECT(!value_has_unknown(resolved), "nothing unknown");
}

static void ends_where_a_lookup_fails(void)
{
    static const char *const rows[] = {
        "{\"a\":[\"$kusion_path.secret\",{\"b\":\"$kusion_path.missing\"}]}",
        "[\"$kusion_path.secret\\u0000\"]",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL;
        const struct value *resolved = NULL;
        struct error error = {0};
        int r;

        json_read_str(rows[i], &value, NULL);
        r = ref_resolve(value, look_up, NULL, &resolved, &error);
        EXPECT(r != 0 && r == error.code, rows[i]);
        EXPECT(!resolved, "untouched");
    }
}

/* A few bytes may name many, thousands of times. */
static int look_up_large(void *arg, const char *text, const struct value **ret, struct error *error)
{
    (void)text, (void)error;
    *ret = value_ref(arg);
    return 0;
}

static void what_references_name_is_bounded(void)
{
    enum { ITEM = 1 << 10, ITEMS = 1 << 10 };
    static const struct {
        size_t references;
        int code;
    } rows[] = {{3, 0}, {4, ERR_TOO_LARGE}, {100000, ERR_TOO_LARGE}};
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *large = NULL;
    char item[ITEM + 1];

    memset(item, 'x', ITEM);
    item[ITEM] = '\0';
    value_begin_array(b);
    for (size_t i = 0; i < ITEMS; i++)
        value_add_string(b, item);
    value_end_array(b);
    value_builder_finish(b, &large, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL, *resolved = NULL;
        struct error error = {0};

        value_begin_array(b);
        for (size_t j = 0; j < rows[i].references; j++)
            value_add_string(b, "$kusion_path.db.items");
        value_end_array(b);
        value_builder_finish(b, &value, NULL);
        EXPECT_INT(ref_resolve(value, look_up_large, (void *)(uintptr_t)large, &resolved, &error),
                   rows[i].code, "MiB");
        EXPECT_INT(error.code, rows[i].code, error.message);
    }
}

SUITE(ref, TEST(takes_the_longest_id), TEST(refuses_references), TEST(bounds_the_work),
      TEST(finds_references), TEST(resolves), TEST(keeps_what_is_sensitive),
      TEST(resolves_nothing_without_references), TEST(ends_where_a_lookup_fails),
      TEST(what_references_name_is_bounded))
