#include "runtimes/terraform/memory.h"

#include "engine/value/json.h"
#include "test/unit/suite.h"

/* A provider without a process: a call of it would end the test. */
static char address[] = "registry.terraform.io/kusion/probe", version[] = "1.0.0",
            name[] = "kusion/probe 1.0.0", h1[] = "h1:one";
static struct provider provider = {.address = address, .version = version, .name = name, .h1 = h1};
static struct instance instance = {.provider = &provider};
static struct arena arena;
static struct tf_block block;
static struct tf_schema schema = {.version = 2, .block = &block};
static struct resource_type type = {
    .instance = &instance, .name = "probe_thing", .schema = &schema};

static const struct value *read(const char *json)
{
    const struct value *value = NULL;

    CU_ASSERT_EQUAL_FATAL(json_read_str(json, &value, NULL), 0);
    return value;
}

static void set_type(const char *json)
{
    _cleanup_value_ const struct value *text = read(json);

    CU_ASSERT_EQUAL_FATAL(tf_type_read(&arena, text, &block.type, NULL), 0);
}

static const struct value *remember(const struct tf_state *state)
{
    const struct value *memory = NULL;
    struct error error = {0};

    EXPECT_INT(memory_make(&type, state, NULL, &memory, &error), 0, error.message);
    return memory;
}

/* The state that a provider wrote comes back byte by byte, and the provider is not asked. */
static void what_it_wrote_comes_back_as_it_was(void)
{
    static const struct {
        const char *type, *value;
    } rows[] = {
        {"[\"object\",{\"a\":\"string\"}]", "{\"a\":\"x\"}"},
        {"[\"object\",{\"a\":\"string\",\"b\":\"bool\"}]", "{\"a\":null,\"b\":false}"},
        {"[\"object\",{\"n\":\"number\"}]", "{\"n\":12345678901234567890.5}"},
        {"[\"object\",{\"l\":[\"list\",\"number\"],\"e\":[\"list\",\"string\"]}]",
         "{\"l\":[1,2.5,-3],\"e\":[]}"},
        {"[\"object\",{\"s\":[\"set\",\"string\"],\"m\":[\"map\",\"string\"]}]",
         "{\"s\":[\"a\",\"b\"],\"m\":{\"x\":\"1\",\"y\":null}}"},
        {"[\"object\",{\"o\":[\"object\",{\"t\":[\"tuple\",[\"string\",\"bool\"]]}]}]",
         "{\"o\":{\"t\":[\"\\u0000é\",true]}}"},
    };

    arena = (struct arena)ARENA_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = read(rows[i].value), *memory = NULL;
        _cleanup_(tf_state_done) struct tf_state before = TF_STATE_INIT, after = TF_STATE_INIT;
        struct error error = {0};

        set_type(rows[i].type);
        EXPECT_INT(tf_encode(&before.value, value, block.type, &error), 0, error.message);
        buf_add(&before.private, "p", 1);
        memory = remember(&before);
        EXPECT_INT(memory_load(&type, memory, &after, &error), 0, error.message);
        EXPECT_INT((long long)after.value.length, (long long)before.value.length, rows[i].value);
        EXPECT(memcmp(after.value.data, before.value.data, before.value.length) == 0,
               rows[i].value);
        EXPECT(after.private.length == 1 && after.private.data[0] == 'p', rows[i].value);
    }
    arena_done(&arena);
}

/* Everything else is for the provider to read. */
static void what_another_wrote_is_not_taken_as_it_is(void)
{
    static const struct {
        const char *note, *address, *h1, *name;
        int64_t version;
        bool is_of;
    } rows[] = {
        {"the same", "registry.terraform.io/kusion/probe", "h1:one", "probe_thing", 2, true},
        {"from elsewhere", "example.com/kusion/probe", "h1:one", "probe_thing", 2, false},
        {"another package", "registry.terraform.io/kusion/probe", "h1:two", "probe_thing", 2,
         false},
        {"another type", "registry.terraform.io/kusion/probe", "h1:one", "probe_other", 2, false},
        {"another schema", "registry.terraform.io/kusion/probe", "h1:one", "probe_thing", 3, false},
    };
    _cleanup_value_ const struct value *value = read("{\"a\":\"x\"}"), *memory = NULL;
    _cleanup_(tf_state_done) struct tf_state state = TF_STATE_INIT;

    arena = (struct arena)ARENA_INIT;
    set_type("[\"object\",{\"a\":\"string\"}]");
    tf_encode(&state.value, value, block.type, NULL);
    memory = remember(&state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct provider now = provider;
        struct instance its = {.provider = &now};
        struct tf_schema its_schema = {.version = rows[i].version, .block = &block};
        struct resource_type its_type = {
            .instance = &its, .name = rows[i].name, .schema = &its_schema};

        now.address = (char *)(uintptr_t)rows[i].address;
        now.h1 = (char *)(uintptr_t)rows[i].h1;
        EXPECT_INT(memory_is_of(&its_type, memory), rows[i].is_of, rows[i].note);
    }
    EXPECT(!memory_is_of(&type, NULL), "no memory");
    arena_done(&arena);
}

/* What the provider tells an object by is JSON in State, and handed back as it was given. */
static void the_identity_comes_back_as_it_was(void)
{
    static const char given[] = "\x0a\x0c\x0a\x0a\x81\xa6object\xa1x"; /* an IdentityData */
    struct identity_schema identity = {.version = 3};
    _cleanup_value_ const struct value *value = read("{\"a\":\"x\"}"), *memory = NULL, *text = NULL;
    _cleanup_(tf_state_done) struct tf_state before = TF_STATE_INIT, after = TF_STATE_INIT;
    _cleanup_free_ char *shown = NULL;

    arena = (struct arena)ARENA_INIT;
    set_type("[\"object\",{\"a\":\"string\"}]");
    text = read("[\"object\",{\"object\":\"string\"}]");
    CU_ASSERT_EQUAL_FATAL(tf_type_read(&arena, text, &identity.type, NULL), 0);
    tf_encode(&before.value, value, block.type, NULL);
    buf_add(&before.identity, given, sizeof(given) - 1);

    strmap_put(&provider.identities, type.name, &identity);
    memory = remember(&before);
    shown = json_to_str(value_get(memory, "identity"));
    EXPECT_STR(shown, "{\"object\":\"x\"}", "in State");
    EXPECT_INT(value_int(value_get(memory, "identitySchemaVersion"), -1), 3, "its schema");
    EXPECT_INT(memory_load(&type, memory, &after, NULL), 0, "read again");
    EXPECT_INT((long long)after.identity.length, sizeof(given) - 1, "as it was");
    EXPECT(memcmp(after.identity.data, given, sizeof(given) - 1) == 0, "as it was");
    strmap_done(&provider.identities);

    value_unref(memory);
    memory = remember(&before);
    EXPECT(!value_get(memory, "identity"), "a type that has none");
    arena_done(&arena);
}

static void what_cannot_be_read_says_so(void)
{
    _cleanup_value_ const struct value *newer =
        value_pack("{s:s, s:s, s:i, s:{}}", "type", "probe_thing", "version", "9.0.0",
                   "schemaVersion", 3, "state");
    _cleanup_(tf_state_done) struct tf_state state = TF_STATE_INIT;
    struct error error = {0};

    EXPECT_INT(memory_load(&type, NULL, &state, &error), ERR_UNSUPPORTED, "nothing");
    EXPECT_STR(error.reason, "CannotBeFound", error.message);
    err_clear(&error);
    EXPECT_INT(memory_load(&type, newer, &state, &error), ERR_UNSUPPORTED, "newer");
    EXPECT_STR(error.reason, "NewerState", error.message);
    EXPECT(strstr(error.message, "9.0.0") && strstr(error.message, "1.0.0"), error.message);
}

SUITE(terraform_memory, TEST(what_it_wrote_comes_back_as_it_was),
      TEST(what_another_wrote_is_not_taken_as_it_is), TEST(the_identity_comes_back_as_it_was),
      TEST(what_cannot_be_read_says_so))
