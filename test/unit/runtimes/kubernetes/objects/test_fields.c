/* Sets of fields: their union, and what an object is without those that are given up. */
#include "runtimes/kubernetes/objects/fields.h"

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/objects/values.h"
#include "test/unit/suite.h"

static void unites(void)
{
    static const struct {
        const char *note, *a, *b, *both;
    } rows[] = {
        {"nothing", "{}", "{}", "{}"},
        {"one is empty", "{}", "{\"f:a\":{}}", "{\"f:a\":{}}"},
        {"side by side", "{\"f:a\":{}}", "{\"f:b\":{}}", "{\"f:a\":{},\"f:b\":{}}"},
        {"the same", "{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{\"f:b\":{}}}"},
        {"in one field", "{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{\"f:c\":{}}}",
         "{\"f:a\":{\"f:b\":{},\"f:c\":{}}}"},
        {"the field itself, and in it", "{\"f:a\":{}}", "{\"f:a\":{\"f:b\":{}}}",
         "{\"f:a\":{\".\":{},\"f:b\":{}}}"},
        {"the other way round", "{\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{}}",
         "{\"f:a\":{\".\":{},\"f:b\":{}}}"},
        {"the field itself, twice", "{\"f:a\":{\".\":{},\"f:b\":{}}}", "{\"f:a\":{}}",
         "{\"f:a\":{\".\":{},\"f:b\":{}}}"},
        {"leaves", "{\"f:a\":{}}", "{\"f:a\":{}}", "{\"f:a\":{}}"},
        {"items by key", "{\"f:c\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{\".\":{},\"f:name\":{}}}}",
         "{\"f:c\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{\"f:image\":{}},"
         "\"k:{\\\"name\\\":\\\"y\\\"}\":{\".\":{}}}}",
         "{\"f:c\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{\".\":{},\"f:name\":{},\"f:image\":{}},"
         "\"k:{\\\"name\\\":\\\"y\\\"}\":{\".\":{}}}}"},
        {"items of a set", "{\"f:s\":{\"v:\\\"a\\\"\":{}}}", "{\"f:s\":{\"v:\\\"b\\\"\":{}}}",
         "{\"f:s\":{\"v:\\\"a\\\"\":{},\"v:\\\"b\\\"\":{}}}"},
        {"no set", "[1]", "{\"f:a\":{}}", "{\"f:a\":{}}"},
        {"neither", "3", "null", "{}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *a = stage_value(rows[i].a);
        _cleanup_value_ const struct value *b = stage_value(rows[i].b);
        _cleanup_value_ const struct value *expected = stage_value(rows[i].both);
        _cleanup_value_ const struct value *both = fields_union(a, b);

        EXPECT(value_equal(both, expected), rows[i].note);
    }
}

static void has_a_field(void)
{
    static const struct {
        const char *note, *set, *path[3];
        bool expected;
    } rows[] = {
        {"a leaf", "{\"f:a\":{\"f:b\":{}}}", {"a", "b"}, true},
        {"fields in it", "{\"f:a\":{\"f:b\":{}}}", {"a"}, true},
        {"another field", "{\"f:a\":{\"f:b\":{}}}", {"a", "c"}, false},
        {"above it", "{\"f:b\":{}}", {"a", "b"}, false},
        {"no step of a member", "{\"v:a\":{},\"a\":{}}", {"a"}, false},
        {"no set", "[{\"f:a\":{}}]", {"a"}, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *set = stage_value(rows[i].set);

        EXPECT(fields_has(set, rows[i].path) == rows[i].expected, rows[i].note);
    }
    EXPECT(!fields_has(NULL, rows[0].path), "none");
}

#define LIST                                                                                \
    "{\"c\":[{\"name\":\"x\",\"env\":[{\"name\":\"A\"},{\"name\":\"B\"}]},{\"name\":\"y\"," \
    "\"image\":\"i\"}]}"
#define X    "k:{\\\"name\\\":\\\"x\\\"}"
#define Y    "k:{\\\"name\\\":\\\"y\\\"}"
#define A    "k:{\\\"name\\\":\\\"A\\\"}"
#define B    "k:{\\\"name\\\":\\\"B\\\"}"
#define PORT "k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}"
#define PORTS(n) \
    "{\"p\":[{\"port\":80,\"protocol\":\"UDP\"},{\"port\":" n ",\"protocol\":\"TCP\"}]}"

static void prunes(void)
{
    static const struct {
        const char *note, *object, *given_up, *kept, *left;
    } rows[] = {
        {"nothing is given up", "{\"a\":1}", "{}", "{}", "{\"a\":1}"},
        {"a field", "{\"a\":1,\"b\":2}", "{\"f:a\":{}}", "{\"f:b\":{}}", "{\"b\":2}"},
        {"one that is kept", "{\"a\":1}", "{\"f:a\":{}}", "{\"f:a\":{}}", "{\"a\":1}"},
        {"one that is not there", "{\"a\":1}", "{\"f:b\":{}}", "{}", "{\"a\":1}"},
        {"one that nobody has", "{\"a\":1,\"b\":2}", "{\"f:a\":{}}", "{}", "{\"b\":2}"},
        {"in an object that others have fields in", "{\"l\":{\"a\":1,\"b\":2}}",
         "{\"f:l\":{\".\":{},\"f:a\":{}}}", "{\"f:l\":{\"f:b\":{}}}", "{\"l\":{\"b\":2}}"},
        {"in one that nobody has fields in any more", "{\"l\":{\"a\":1,\"default\":2},\"m\":1}",
         "{\"f:l\":{\"f:a\":{}}}", "{\"f:m\":{}}", "{\"m\":1}"},
        {"the last of an object that somebody keeps", "{\"l\":{\"a\":1},\"m\":1}",
         "{\"f:l\":{\"f:a\":{}}}", "{\"f:l\":{\".\":{}}}", "{\"m\":1}"},
        {"an empty object that is kept stays", "{\"l\":{}}", "{\"f:l\":{\".\":{},\"f:a\":{}}}",
         "{\"f:l\":{}}", "{\"l\":{}}"},
        {"an atomic field", "{\"s\":{\"a\":1},\"t\":1}", "{\"f:s\":{}}", "{}", "{\"t\":1}"},
        {"an atomic field, kept", "{\"s\":{\"a\":1}}", "{\"f:s\":{}}", "{\"f:s\":{}}",
         "{\"s\":{\"a\":1}}"},
        {"an item", LIST, "{\"f:c\":{\"" Y "\":{\".\":{},\"f:name\":{},\"f:image\":{}}}}",
         "{\"f:c\":{\"" X "\":{\".\":{}}}}",
         "{\"c\":[{\"name\":\"x\",\"env\":[{\"name\":\"A\"},{\"name\":\"B\"}]}]}"},
        {"an item in an item", LIST,
         "{\"f:c\":{\"" X "\":{\".\":{},\"f:env\":{\"" A "\":{\".\":{}},\"" B "\":{\".\":{}}}}}}",
         "{\"f:c\":{\"" X "\":{\".\":{},\"f:env\":{\"" A "\":{\".\":{}}}}}}",
         "{\"c\":[{\"name\":\"x\",\"env\":[{\"name\":\"A\"}]},{\"name\":\"y\",\"image\":\"i\"}]}"},
        {"an item in which another has a field goes as a whole", LIST,
         "{\"f:c\":{\"" Y "\":{\".\":{},\"f:name\":{}}}}",
         "{\"f:c\":{\"" X "\":{\".\":{}},\"" Y "\":{\"f:image\":{}}}}",
         "{\"c\":[{\"name\":\"x\",\"env\":[{\"name\":\"A\"},{\"name\":\"B\"}]}]}"},
        {"a field in an item of another", LIST, "{\"f:c\":{\"" Y "\":{\"f:image\":{}}}}",
         "{\"f:c\":{\"" Y "\":{\".\":{},\"f:name\":{}}}}",
         "{\"c\":[{\"name\":\"x\",\"env\":[{\"name\":\"A\"},{\"name\":\"B\"}]},{\"name\":\"y\"}]}"},
        {"a key of several fields", PORTS("80"), "{\"f:p\":{\"" PORT "\":{\".\":{}}}}",
         "{\"f:p\":{\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"UDP\\\"}\":{\".\":{}}}}",
         "{\"p\":[{\"port\":80,\"protocol\":\"UDP\"}]}"},
        {"such a key of no item", PORTS("81"), "{\"f:p\":{\"" PORT "\":{\".\":{}}}}",
         "{\"f:p\":{}}", PORTS("81")},
        {"an item of a set", "{\"s\":[\"a\",\"b\",2]}",
         "{\"f:s\":{\"v:\\\"a\\\"\":{},\"v:\\\"b\\\"\":{},\"v:2\":{}}}",
         "{\"f:s\":{\"v:\\\"b\\\"\":{}}}", "{\"s\":[\"b\"]}"},
        {"all of a set that is kept", "{\"s\":[\"a\"],\"t\":1}", "{\"f:s\":{\"v:\\\"a\\\"\":{}}}",
         "{\"f:s\":{\".\":{}}}", "{\"t\":1}"},
        {"by position", "{\"s\":[\"a\",\"b\"]}", "{\"f:s\":{\"i:1\":{}}}", "{\"f:s\":{\"i:0\":{}}}",
         "{\"s\":[\"a\"]}"},
        {"steps that are none", "{\"s\":[\"a\"],\"t\":1}",
         "{\"t\":{},\"x:t\":{},\"f\":{},\"f:s\":{\"k:{\":{},\"k:3\":{},\"k:{}\":{},\"v:\":{},\"i:"
         "x\""
         ":{},\"w:\\\"a\\\"\":{}}}",
         "{\"f:s\":{}}", "{\"s\":[\"a\"],\"t\":1}"},
        {"a list in place of an object, and the other way round", "{\"a\":[1],\"b\":{\"c\":1}}",
         "{\"f:a\":{\"f:x\":{}},\"f:b\":{\"v:1\":{},\"i:0\":{}}}", "{\"f:a\":{},\"f:b\":{}}",
         "{\"a\":[1],\"b\":{\"c\":1}}"},
        {"no sets", "{\"a\":1}", "[1]", "3", "{\"a\":1}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = stage_value(rows[i].object);
        _cleanup_value_ const struct value *given_up = stage_value(rows[i].given_up);
        _cleanup_value_ const struct value *kept = stage_value(rows[i].kept);
        _cleanup_value_ const struct value *expected = stage_value(rows[i].left);
        _cleanup_value_ const struct value *left = fields_prune(object, given_up, kept);

        EXPECT(value_equal(left, expected), rows[i].note);
    }
}

static void what_is_secret_stays_so(void)
{
    _cleanup_value_ const struct value *plain = stage_value("{\"a\":1,\"b\":[{\"name\":\"x\"},2]}");
    _cleanup_value_ const struct value *object = value_sensitive(plain);
    _cleanup_value_ const struct value *given_up =
        stage_value("{\"f:a\":{},\"f:b\":{\"" X "\":{}}}");
    _cleanup_value_ const struct value *kept = stage_value("{\"f:b\":{\".\":{}}}");
    _cleanup_value_ const struct value *left = fields_prune(object, given_up, kept);

    EXPECT(value_is_sensitive(left) && value_is_sensitive(value_get(left, "b")), "all of it");
    EXPECT_INT((int)value_count(value_get(left, "b")), 1, "an item is gone");
}

SUITE(kube_fields, TEST(has_a_field), TEST(unites), TEST(prunes), TEST(what_is_secret_stays_so))
