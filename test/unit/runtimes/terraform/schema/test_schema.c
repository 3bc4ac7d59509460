#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "test/unit/runtimes/terraform/schema/make_schema.h"
#include "test/unit/suite.h"

/* An attribute of each kind, and a block of each nesting. */
static const char BLOCKS[] =
    "{\"version\":3,"
    " \"attributes\":{\"name\":{\"type\":\"string\",\"required\":true},"
    "   \"count\":{\"type\":\"number\",\"optional\":true},"
    "   \"id\":{\"type\":\"string\",\"computed\":true},"
    "   \"size\":{\"type\":\"number\",\"optional\":true,\"computed\":true},"
    "   \"secret\":{\"type\":\"string\",\"optional\":true,\"sensitive\":true}},"
    " \"blocks\":{"
    "   "
    "\"one\":{\"nesting\":\"single\",\"attributes\":{\"a\":{\"type\":\"string\",\"optional\":true},"
    "     \"c\":{\"type\":\"string\",\"computed\":true,\"optional\":true}}},"
    "   "
    "\"group\":{\"nesting\":\"group\",\"attributes\":{\"a\":{\"type\":\"string\",\"optional\":true}"
    "}},"
    "   "
    "\"list\":{\"nesting\":\"list\",\"max\":3,\"attributes\":{\"a\":{\"type\":\"string\","
    "\"required\":true},"
    "     \"c\":{\"type\":\"string\",\"computed\":true}}},"
    "   \"set\":{\"nesting\":\"set\",\"attributes\":{\"a\":{\"type\":\"string\",\"required\":true},"
    "     \"c\":{\"type\":\"string\",\"computed\":true},"
    "     \"s\":{\"type\":\"string\",\"optional\":true,\"sensitive\":true}}},"
    "   \"map\":{\"nesting\":\"map\",\"attributes\":{\"a\":{\"type\":\"string\",\"optional\":true},"
    "     \"c\":{\"type\":\"string\",\"computed\":true}}}}}";

/* A block that has to be there. */
static const char NEEDED[] = "{\"blocks\":{\"needed\":{\"nesting\":\"list\",\"min\":1,"
                             "   \"attributes\":{\"a\":{\"type\":\"string\",\"optional\":true}}}}}";

/* Attributes with attributes inside. */
static const char NESTED[] =
    "{\"attributes\":{"
    " \"o\":{\"nesting\":\"single\",\"optional\":true,\"computed\":true,"
    "   \"attributes\":{\"a\":{\"type\":\"string\",\"optional\":true},"
    "                 \"c\":{\"type\":\"string\",\"computed\":true}}},"
    " \"l\":{\"nesting\":\"list\",\"optional\":true,"
    "   \"attributes\":{\"a\":{\"type\":\"string\",\"required\":true},"
    "                 \"c\":{\"type\":\"string\",\"computed\":true},"
    "                 \"s\":{\"type\":\"string\",\"optional\":true,\"sensitive\":true}}},"
    " \"m\":{\"nesting\":\"map\",\"optional\":true,"
    "   \"attributes\":{\"c\":{\"type\":\"string\",\"computed\":true,\"optional\":true}}},"
    " \"w\":{\"type\":\"string\",\"optional\":true,\"writeOnly\":true}}}";

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

/* ---- The schema ---- */

static void a_schema_is_read(void)
{
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(BLOCKS, 5);
    const struct tf_block *block = schema->block;
    _cleanup_buf_ struct buf type = BUF_INIT;

    CU_ASSERT(schema->version == 3 && block->n_attributes == 5 && block->n_blocks == 5);
    CU_ASSERT(block->attributes[0].required && !block->attributes[0].computed);
    CU_ASSERT(block->attributes[3].optional && block->attributes[3].computed);
    CU_ASSERT(block->attributes[4].sensitive && block->has_sensitive);
    CU_ASSERT(block->blocks[2].nesting == TF_NESTED_LIST && block->blocks[2].max == 3);
    tf_type_write(&type, block->type);
    CU_ASSERT_STRING_EQUAL(
        type.data,
        "[\"object\",{\"name\":\"string\",\"count\":\"number\",\"id\":\"string\",\"size\":"
        "\"number\","
        "\"secret\":\"string\",\"one\":[\"object\",{\"a\":\"string\",\"c\":\"string\"}],"
        "\"group\":[\"object\",{\"a\":\"string\"}],"
        "\"list\":[\"list\",[\"object\",{\"a\":\"string\",\"c\":\"string\"}]],"
        "\"set\":[\"set\",[\"object\",{\"a\":\"string\",\"c\":\"string\",\"s\":\"string\"}]],"
        "\"map\":[\"map\",[\"object\",{\"a\":\"string\",\"c\":\"string\"}]]}]");
}

static void protocol_6_has_attributes_inside_of_attributes(void)
{
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(NESTED, 6);
    const struct tf_block *block = schema->block;

    CU_ASSERT(block->attributes[0].nested->nesting == TF_SINGLE);
    CU_ASSERT(block->attributes[1].nested->block->attributes[2].sensitive);
    CU_ASSERT(block->attributes[1].type->kind == TF_LIST);
    CU_ASSERT(block->attributes[3].write_only);
}

static void rubbish_is_refused(void)
{
    static const char *const bad[] = {
        "{\"attributes\":{\"a\":{\"type\":\"text\"}}}",
        "{\"attributes\":{\"\":{\"type\":\"string\"}}}",
        "{\"attributes\":{\"a\":{\"type\":\"string\"}},\"blocks\":{\"a\":{\"nesting\":\"list\"}}}",
    };
    static const char no_message[] = "\xff\xff\xff\xff";
    struct tf_schema *schema = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _cleanup_value_ const struct value *description = parse(bad[i]);
        _cleanup_buf_ struct buf bytes = BUF_INIT;

        describe_schema(description, 5, &bytes);
        EXPECT_INT(tf_schema_decode(bytes.data, bytes.length, 5, &schema, NULL), ERR_INVALID,
                   bad[i]);
    }
    CU_ASSERT(tf_schema_decode(no_message, sizeof(no_message), 5, &schema, NULL) == ERR_INVALID);
}

static void blocks_that_are_too_deep_are_refused(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT, bytes = BUF_INIT;
    _cleanup_value_ const struct value *description = NULL;
    struct tf_schema *schema = NULL;

    for (int i = 0; i < 40; i++)
        buf_add_str(&text, "{\"nesting\":\"single\",\"blocks\":{\"b\":");
    buf_add_str(&text, "{\"nesting\":\"single\"}");
    for (int i = 0; i < 40; i++)
        buf_add_str(&text, "}}");
    description = parse(text.data);
    describe_schema(description, 5, &bytes);
    CU_ASSERT(tf_schema_decode(bytes.data, bytes.length, 5, &schema, NULL) == ERR_INVALID);
}

/* ---- Configurations ---- */

static const struct {
    const char *schema;
    int protocol;
    const char *attributes, *expected; /* a configuration, or the error's message */
} configurations[] = {
    {BLOCKS, 5, "{\"name\":\"n\"}",
     "{\"name\":\"n\",\"count\":null,\"id\":null,\"size\":null,\"secret\":null,\"one\":null,"
     "\"group\":{\"a\":null},\"list\":[],\"set\":[],\"map\":{}}"},
    {BLOCKS, 5,
     "{\"name\":5,\"count\":\"2\",\"one\":{\"a\":\"x\"},\"list\":[{\"a\":1}],"
     "\"set\":{\"a\":true},\"map\":{\"k\":{}}}",
     "{\"name\":\"5\",\"count\":2,\"id\":null,\"size\":null,\"secret\":null,"
     "\"one\":{\"a\":\"x\",\"c\":null},\"group\":{\"a\":null},\"list\":[{\"a\":\"1\",\"c\":null}],"
     "\"set\":[{\"a\":\"true\",\"c\":null,\"s\":null}],\"map\":{\"k\":{\"a\":null,\"c\":null}}}"},
    /* Sets: each element once, null last. */
    {BLOCKS, 5,
     "{\"name\":\"n\",\"set\":[{\"a\":\"y\"},{\"a\":\"x\"},{\"a\":\"x\",\"s\":\"t\"},"
     "{\"a\":\"y\"}]}",
     "{\"name\":\"n\",\"count\":null,\"id\":null,\"size\":null,\"secret\":null,\"one\":null,"
     "\"group\":{\"a\":null},\"list\":[],\"set\":[{\"a\":\"x\",\"c\":null,\"s\":\"t\"},"
     "{\"a\":\"x\",\"c\":null,\"s\":null},{\"a\":\"y\",\"c\":null,\"s\":null}],\"map\":{}}"},
    {BLOCKS, 5, "{}", "attributes.name: is required"},
    {BLOCKS, 5, "{\"name\":null}", "attributes.name: is required"},
    {BLOCKS, 5, "{\"name\":\"n\",\"id\":\"x\"}",
     "attributes.id: cannot be set: the provider computes it"},
    {BLOCKS, 5, "{\"nane\":\"n\"}",
     "attributes.nane: there is no such argument; is \"name\" meant?"},
    {BLOCKS, 5, "{\"name\":\"n\",\"zzzzzz\":1}", "attributes.zzzzzz: there is no such argument"},
    {BLOCKS, 5, "{\"nane\":\"n\",\"id\":\"x\",\"list\":[{\"a\":\"x\"},{}]}",
     "attributes.nane: there is no such argument; is \"name\" meant?; attributes.id: cannot be "
     "set: "
     "the provider computes it; attributes.list[1].a: is required"},
    {BLOCKS, 5,
     "{\"name\":\"n\",\"z1\":1,\"z2\":1,\"z3\":1,\"z4\":1,\"z5\":1,\"z6\":1,\"z7\":1,\"z8\":1,"
     "\"z9\":1,\"z10\":1}",
     "attributes.z1: there is no such argument; attributes.z2: there is no such argument; "
     "attributes.z3: there is no such argument; attributes.z4: there is no such argument; "
     "attributes.z5: there is no such argument; attributes.z6: there is no such argument; "
     "attributes.z7: there is no such argument; attributes.z8: there is no such argument; and 2 "
     "more"},
    {BLOCKS, 5, "{\"name\":{}}", "attributes.name: must be a string, and is of type object"},
    {BLOCKS, 5, "{\"name\":\"n\",\"list\":[{\"a\":\"x\"},{}]}",
     "attributes.list[1].a: is required"},
    {BLOCKS, 5, "{\"name\":\"n\",\"list\":[{\"a\":1},{\"a\":1},{\"a\":1},{\"a\":1}]}",
     "attributes.list: there are 4 blocks of this name, and 3 are allowed"},
    {BLOCKS, 5, "{\"name\":\"n\",\"list\":\"x\"}", "attributes.list: must be a list of objects"},
    {BLOCKS, 5, "{\"name\":\"n\",\"map\":[]}", "attributes.map: must be an object of objects"},
    {BLOCKS, 5, "{\"name\":\"n\",\"map\":{\"k\":{\"c\":1}}}",
     "attributes.map.k.c: cannot be set: the provider computes it"},
    {BLOCKS, 5, "{\"name\":\"n\",\"one\":[]}", "attributes.one: must be an object"},
    {NEEDED, 5, "{}", "attributes.needed: a block of this name is required"},
    {NEEDED, 5, "{\"needed\":\"x\"}", "attributes.needed: must be a list of objects"},
    {NESTED, 6, "{}", "{\"o\":null,\"l\":null,\"m\":null,\"w\":null}"},
    {NESTED, 6, "{\"o\":{\"a\":1},\"l\":[{\"a\":2}],\"m\":{\"k\":{}}}",
     "{\"o\":{\"a\":\"1\",\"c\":null},\"l\":[{\"a\":\"2\",\"c\":null,\"s\":null}],"
     "\"m\":{\"k\":{\"c\":null}},\"w\":null}"},
    {NESTED, 6, "{\"l\":[{}]}", "attributes.l[0].a: is required"},
};

static void configurations_are_made_and_checked(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(configurations); i++) {
        const char *note = configurations[i].attributes;
        _cleanup_(tf_schema_unref_p) struct tf_schema *schema =
            make_schema(configurations[i].schema, configurations[i].protocol);
        _cleanup_value_ const struct value *attributes = parse(note), *config = NULL;
        _cleanup_free_ char *text = NULL;
        struct error error = {0};
        struct path path;

        path_init(&path);
        path_push_key(&path, "attributes");
        tf_configure(schema->block, attributes, &path, &config, &error);
        path_done(&path);
        text = config ? json_to_str(config) : str_new(error.message);
        EXPECT_STR(text, configurations[i].expected, note);
    }
}

static void unknown_values_stay_unknown(void)
{
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(BLOCKS, 5);
    _cleanup_value_ const struct value *attributes = value_pack("{s:u, s:[u, {s:u}], s:u}", "name",
                                                                "list", "a", "set"),
                                       *config = NULL;
    struct path path;

    path_init(&path);
    CU_ASSERT(tf_configure(schema->block, attributes, &path, &config, NULL) == 0);
    path_done(&path);
    CU_ASSERT(value_is(value_get(config, "name"), VALUE_UNKNOWN));
    CU_ASSERT(value_is(value_get(config, "set"), VALUE_UNKNOWN));
    CU_ASSERT(value_is(value_at(value_get(config, "list"), 0), VALUE_UNKNOWN));
    CU_ASSERT(value_is(value_get(value_at(value_get(config, "list"), 1), "a"), VALUE_UNKNOWN));
}

/* ---- Proposed states ---- */

static const struct {
    const char *note, *schema;
    int protocol;
    const char *prior, *config, *expected;
} proposals[] = {
    {"a new object", BLOCKS, 5, NULL, "{\"name\":\"n\"}", "{\"name\":\"n\"}"},
    {"what is computed stays", BLOCKS, 5, "{\"name\":\"n\",\"id\":\"i\",\"size\":7,\"count\":1}",
     "{\"name\":\"m\"}", "{\"name\":\"m\",\"id\":\"i\",\"size\":7}"},
    {"what is configured counts", BLOCKS, 5, "{\"name\":\"n\",\"size\":7}",
     "{\"name\":\"n\",\"size\":8}", "{\"name\":\"n\",\"size\":8}"},
    {"a single block", BLOCKS, 5, "{\"name\":\"n\",\"one\":{\"a\":\"1\",\"c\":\"2\"}}",
     "{\"name\":\"n\",\"one\":{\"a\":\"3\"}}",
     "{\"name\":\"n\",\"one\":{\"a\":\"3\",\"c\":\"2\"}}"},
    {"a single block goes", BLOCKS, 5, "{\"name\":\"n\",\"one\":{\"a\":\"1\",\"c\":\"2\"}}",
     "{\"name\":\"n\"}", "{\"name\":\"n\"}"},
    {"a list by position", BLOCKS, 5,
     "{\"name\":\"n\",\"list\":[{\"a\":\"1\",\"c\":\"x\"},{\"a\":\"2\",\"c\":\"y\"}]}",
     "{\"name\":\"n\",\"list\":[{\"a\":\"2\"},{\"a\":\"2\"},{\"a\":\"3\"}]}",
     "{\"name\":\"n\",\"list\":[{\"a\":\"2\",\"c\":\"x\"},{\"a\":\"2\",\"c\":\"y\"},"
     "{\"a\":\"3\",\"c\":null}]}"},
    {"a set by what is configured", BLOCKS, 5,
     "{\"name\":\"n\",\"set\":[{\"a\":\"1\",\"c\":\"x\",\"s\":null},"
     "{\"a\":\"2\",\"c\":\"y\",\"s\":\"z\"}]}",
     "{\"name\":\"n\",\"set\":[{\"a\":\"3\"},{\"a\":\"2\",\"s\":\"z\"},{\"a\":\"2\"},{\"a\":\"1\"}]"
     "}",
     "{\"name\":\"n\",\"set\":[{\"a\":\"3\",\"c\":null,\"s\":null},"
     "{\"a\":\"2\",\"c\":\"y\",\"s\":\"z\"},{\"a\":\"2\",\"c\":null,\"s\":null},"
     "{\"a\":\"1\",\"c\":\"x\",\"s\":null}]}"},
    {"of equal elements of a set, one", BLOCKS, 5,
     "{\"name\":\"n\",\"set\":[{\"a\":\"1\",\"c\":\"x\",\"s\":null}]}",
     "{\"name\":\"n\",\"set\":[{\"a\":\"1\"},{\"a\":\"1\"}]}",
     "{\"name\":\"n\",\"set\":[{\"a\":\"1\",\"c\":\"x\",\"s\":null}]}"},
    {"a map by key", BLOCKS, 5,
     "{\"name\":\"n\",\"map\":{\"k\":{\"a\":\"1\",\"c\":\"x\"},\"l\":{\"a\":\"1\",\"c\":\"y\"}}}",
     "{\"name\":\"n\",\"map\":{\"l\":{\"a\":\"2\"},\"m\":{}}}",
     "{\"name\":\"n\",\"map\":{\"l\":{\"a\":\"2\",\"c\":\"y\"},\"m\":{\"a\":null,\"c\":null}}}"},
    {"a nested attribute", NESTED, 6, "{\"l\":[{\"a\":\"1\",\"c\":\"x\",\"s\":null}]}",
     "{\"l\":[{\"a\":\"2\"}]}", "{\"l\":[{\"a\":\"2\",\"c\":\"x\",\"s\":null}]}"},
    {"a nested attribute that only the provider set", NESTED, 6, "{\"o\":{\"a\":null,\"c\":\"x\"}}",
     "{}", "{\"o\":{\"a\":null,\"c\":\"x\"}}"},
    {"a nested attribute that is not configured any more", NESTED, 6,
     "{\"o\":{\"a\":\"1\",\"c\":\"x\"}}", "{}", "{}"},
    {"a nested map", NESTED, 6, "{\"m\":{\"k\":{\"c\":\"x\"}}}", "{\"m\":{\"k\":{},\"l\":{}}}",
     "{\"m\":{\"k\":{\"c\":\"x\"},\"l\":{\"c\":null}}}"},
};

/* With all members, as a configuration is. lenient: computed values can be set. */
static const struct value *complete(const struct tf_schema *lenient, const char *text)
{
    _cleanup_value_ const struct value *given = text ? parse(text) : NULL;
    const struct value *value = NULL;
    struct error error = {0};
    struct path path;

    path_init(&path);
    if (given)
        EXPECT_INT(tf_configure(lenient->block, given, &path, &value, &error), 0, error.message);
    path_done(&path);
    return value;
}

static void allow_all(const struct tf_block *block)
{
    for (size_t i = 0; i < block->n_attributes; i++) {
        struct tf_attribute *attribute = &block->attributes[i];

        attribute->optional = !attribute->required;
        if (attribute->nested)
            allow_all(attribute->nested->block);
    }
    for (size_t i = 0; i < block->n_blocks; i++)
        allow_all(block->blocks[i].block);
}

static void states_are_proposed_as_terraform_does(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(proposals); i++) {
        _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(proposals[i].schema,
                                                                            proposals[i].protocol),
                                                      *lenient = make_schema(proposals[i].schema,
                                                                             proposals[i].protocol);
        _cleanup_value_ const struct value *prior = NULL, *config = NULL, *expected = NULL,
                                           *proposed = NULL;
        _cleanup_free_ char *text = NULL;

        allow_all(lenient->block);
        prior = complete(lenient, proposals[i].prior);
        config = complete(lenient, proposals[i].config);
        expected = complete(lenient, proposals[i].expected);
        proposed = tf_propose(schema->block, prior, config);
        text = json_to_str(proposed);
        EXPECT(value_equal(proposed, expected), proposals[i].note);
        if (!value_equal(proposed, expected))
            EXPECT_STR(text, proposals[i].expected, proposals[i].note);
    }
}

/* Of a data source before it is read: what is computed, and not configured, is unknown. */
static void what_is_to_be_read_is_unknown(void)
{
    static const struct {
        const char *path;
        bool is_unknown;
    } rows[] = {
        {"id", true},        {"size", true},     {"count", false},     {"name", false},
        {"one.a", false},    {"one.c", true},    {"list[0].a", false}, {"list[0].c", true},
        {"set[0].a", false}, {"set[0].c", true}, {"set[0].s", false},  {"map.k.a", false},
        {"map.k.c", true},   {"group", false},   {"secret", false},
    };
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(BLOCKS, 5);
    _cleanup_value_ const struct value *unknown = value_pack("u");
    _cleanup_value_ const struct value *config =
        complete(schema, "{\"name\":\"n\",\"one\":{\"a\":\"1\"},\"list\":[{\"a\":\"1\"}],"
                         "\"set\":[{\"a\":\"1\"}],\"map\":{\"k\":{}}}");
    _cleanup_value_ const struct value *expected = tf_propose(schema->block, unknown, config);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(value_is(path_find(expected, rows[i].path, NULL), VALUE_UNKNOWN),
                   rows[i].is_unknown, rows[i].path);
}

/* ---- What is sensitive ---- */

static void what_the_schema_calls_sensitive_is_marked(void)
{
    static const struct {
        const char *schema;
        int protocol;
        const char *value, *paths;
    } table[] = {
        {BLOCKS, 5, "{\"name\":\"n\",\"secret\":\"s\"}", "[\"/secret\"]"},
        {BLOCKS, 5, "{\"set\":[{\"a\":\"1\",\"s\":\"x\"},{\"s\":\"y\"}]}",
         "[\"/set/0/s\",\"/set/1/s\"]"},
        {BLOCKS, 5, "{\"name\":\"n\"}", "null"},
        {NESTED, 6, "{\"l\":[{\"s\":\"x\"}],\"w\":\"y\"}", "[\"/l/0/s\",\"/w\"]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(tf_schema_unref_p) struct tf_schema *schema =
            make_schema(table[i].schema, table[i].protocol);
        _cleanup_value_ const struct value *value = parse(table[i].value);
        _cleanup_value_ const struct value *marked = tf_mark(schema->block, value);
        _cleanup_value_ const struct value *paths = value_sensitive_paths(marked);
        _cleanup_free_ char *text = json_to_str(paths);

        EXPECT(value_equal(value, marked), table[i].value);
        EXPECT_STR(text, table[i].paths, table[i].value);
    }
}

/* ---- What providers are held to ---- */

/* Each "?" becomes an unknown value. */
static void add_with_unknown(struct value_builder *b, const struct value *value)
{
    if (str_equal(value_string(value), "?")) {
        value_add_unknown(b);
        return;
    }
    if (!value_is(value, VALUE_OBJECT) && !value_is(value, VALUE_ARRAY)) {
        value_add(b, value);
        return;
    }
    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;

        if (value_is(value, VALUE_OBJECT))
            value_key(b, value_member_key(value, i, &length));
        add_with_unknown(b, value_child(value, i));
    }
    value_end(b);
}

static const struct value *with_unknown(const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *made = NULL;

    add_with_unknown(b, value);
    CU_ASSERT(value_builder_finish(b, &made, NULL) == 0);
    return made;
}

static void plans_are_checked(void)
{
    static const struct {
        const char *prior, *config, *planned, *message; /* NULL: nothing is wrong */
    } table[] = {
        {NULL, "{\"name\":\"n\"}", "{\"name\":\"n\",\"id\":\"i\",\"size\":5}", NULL},
        {"{\"name\":\"N\"}", "{\"name\":\"n\"}", "{\"name\":\"N\"}", NULL}, /* a normal form */
        {NULL, "{\"name\":\"n\"}", "{\"name\":\"m\"}",
         "attributes.name: the provider planned another value than the configured one"},
        {NULL, "{\"name\":\"n\"}", "{\"name\":\"n\",\"count\":1}",
         "attributes.count: the provider planned a value that is not configured"},
        {NULL, "{\"name\":\"n\",\"list\":[{\"a\":\"1\"}]}",
         "{\"name\":\"n\",\"list\":[{\"a\":\"1\",\"c\":\"x\"}]}", NULL},
        {NULL, "{\"name\":\"n\",\"list\":[{\"a\":\"1\"}]}",
         "{\"name\":\"n\",\"list\":[{\"a\":\"2\"}]}",
         "attributes.list[0].a: the provider planned another value than the configured one"},
        {NULL, "{\"name\":\"n\",\"list\":[{\"a\":\"1\"}]}", "{\"name\":\"n\"}",
         "attributes.list: the provider planned another number of blocks"},
        {NULL, "{\"name\":\"n\",\"set\":[{\"a\":\"1\"}]}", "{\"name\":\"n\"}",
         "attributes.set: the provider planned another number of blocks"},
        {NULL, "{\"name\":\"n\",\"map\":{\"k\":{}}}", "{\"name\":\"n\",\"map\":{\"l\":{}}}",
         "attributes.map.k: the provider planned no such block"},
        {NULL, "{\"name\":\"n\"}", "{\"name\":\"n\",\"one\":{}}",
         "attributes.one: the provider planned another number of blocks"},
    };
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(BLOCKS, 5),
                                                  *lenient = make_schema(BLOCKS, 5);

    allow_all(lenient->block);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *prior = complete(lenient, table[i].prior);
        _cleanup_value_ const struct value *config = complete(lenient, table[i].config);
        _cleanup_value_ const struct value *planned = complete(lenient, table[i].planned);
        struct error error = {0};

        EXPECT_INT(tf_check_planned(schema->block, prior, config, planned, &error),
                   table[i].message ? ERR_INTERNAL : 0, table[i].planned);
        EXPECT_STR(error.message, table[i].message ? table[i].message : "", table[i].planned);
    }
}

static void results_are_checked(void)
{
    static const struct {
        const char *planned, *actual; /* "?" stands for an unknown value */
        const char *place;            /* of the difference; NULL: there is none */
    } table[] = {
        {"{\"name\":\"n\"}", "{\"name\":\"n\"}", NULL},
        {"{\"name\":\"?\"}", "{\"name\":\"n\"}", NULL},
        {"{\"name\":\"n\"}", "{\"name\":\"m\"}", "attributes.name"},
        {"{\"name\":\"n\"}", "{\"name\":\"n\",\"size\":1}", "attributes.size"},
        {"{\"name\":\"n\",\"size\":1}", "{\"name\":\"n\"}", "attributes.size"},
        {"{\"name\":\"n\",\"list\":[{\"a\":\"1\",\"c\":\"?\"}]}",
         "{\"name\":\"n\",\"list\":[{\"a\":\"1\",\"c\":\"x\"}]}", NULL},
        {"{\"name\":\"n\",\"list\":[{\"a\":\"1\"}]}", "{\"name\":\"n\"}", "attributes.list"},
        {"{\"name\":\"n\",\"set\":[{\"a\":\"1\"}]}", "{\"name\":\"n\",\"set\":[{\"a\":\"2\"}]}",
         "attributes.set"},
        {"{\"name\":\"n\",\"set\":[{\"a\":\"1\",\"c\":\"?\"}]}",
         "{\"name\":\"n\",\"set\":[{\"a\":\"1\",\"c\":\"x\"}]}", NULL},
        {"{\"name\":\"n\",\"map\":{\"k\":{\"a\":\"1\"}}}",
         "{\"name\":\"n\",\"map\":{\"k\":{\"a\":\"2\"}}}", "attributes.map.k.a"},
    };
    _cleanup_(tf_schema_unref_p) struct tf_schema *lenient = make_schema(BLOCKS, 5);

    allow_all(lenient->block);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *text = complete(lenient, table[i].planned);
        _cleanup_value_ const struct value *planned = with_unknown(text);
        _cleanup_value_ const struct value *actual = complete(lenient, table[i].actual);
        struct error error = {0};

        EXPECT_INT(tf_check_applied(lenient->block, planned, actual, &error),
                   table[i].place ? ERR_INTERNAL : 0, table[i].planned);
        error.message[table[i].place ? strlen(table[i].place) : 0] = '\0';
        EXPECT_STR(error.message, table[i].place ? table[i].place : "", table[i].planned);
    }
}

SUITE(terraform_schema, TEST(a_schema_is_read),
      TEST(protocol_6_has_attributes_inside_of_attributes), TEST(rubbish_is_refused),
      TEST(blocks_that_are_too_deep_are_refused), TEST(configurations_are_made_and_checked),
      TEST(unknown_values_stay_unknown), TEST(states_are_proposed_as_terraform_does),
      TEST(what_is_to_be_read_is_unknown), TEST(what_the_schema_calls_sensitive_is_marked),
      TEST(plans_are_checked), TEST(results_are_checked))
