#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/terraform/tfstate/address.h"
#include "runtimes/terraform/tfstate/tfstate.h"
#include "test/unit/suite.h"

#define RANDOM "provider[\\\"registry.terraform.io/hashicorp/random\\\"]"

/* A state with one resource; `more` are members of it or of its instance. */
#define STATE(resource_more, instances)                                                          \
    "{\"version\":4,\"resources\":[{\"mode\":\"managed\",\"type\":\"random_id\",\"name\":\"a\"," \
    "\"provider\":\"" RANDOM "\"" resource_more ",\"instances\":[" instances "]}]}"
#define INSTANCE(more) \
    "{\"schema_version\":2,\"attributes\":{\"id\":\"secret-1\"},\"private\":\"YQ==\"" more "}"

#define ID "hashicorp:random:random_id:a"

/* What is found of one target, as JSON: of a problem its message; NULL: the target is new. Or why
 * the file cannot be read. */
static char *find(const char *file, const char *id, const char *extensions)
{
    _cleanup_value_ const struct value *found = NULL, *read = NULL;
    struct runtime_target target = {.id = id};
    struct error error = {0};
    const struct value *one;

    CU_ASSERT_FATAL(json_read_str(extensions, &read, NULL) == 0);
    target.extensions = read;
    if (tfstate_find(NULL, file, strlen(file), &target, 1, &found, &error) < 0)
        return str_printf("%s: %s", error.reason, error.message);
    one = value_get(found, id);
    if (!one)
        return NULL;
    return value_get(one, "error") ? str_new(value_get_string(one, "error")) : json_to_str(one);
}

static const struct {
    const char *note, *file, *extensions, *found;
} table[] = {
    {"by its id", STATE("", INSTANCE("")), "{}",
     "{\"address\":\"random_id.a\",\"provider\":\"registry.terraform.io/hashicorp/random\","
     "\"type\":\"random_id\",\"schemaVersion\":2,\"private\":\"YQ==\",\"state\":{\"id\":\"secret-"
     "1\"},\"sensitive\":[]}"},
    {"what is sensitive of it",
     STATE("", INSTANCE(",\"sensitive_attributes\":[[{\"type\":\"get_attr\",\"value\":\"id\"},{"
                        "\"type\":\"index\",\"value\":{\"value\":0,\"type\":\"number\"}}],[]]")),
     "{}",
     "{\"address\":\"random_id.a\",\"provider\":\"registry.terraform.io/hashicorp/random\","
     "\"type\":\"random_id\",\"schemaVersion\":2,\"private\":\"YQ==\",\"state\":{\"id\":\"secret-"
     "1\"},\"sensitive\":[\"/id\"]}"},
    {"of OpenTofu's registry, and with an alias",
     "{\"version\":4,\"resources\":[{\"mode\":\"managed\",\"type\":\"random_id\",\"name\":\"a\","
     "\"module\":\"module.m[0]\",\"provider\":\"module.m.provider[\\\"registry.opentofu.org/"
     "hashicorp/random\\\"].other\",\"instances\":[{\"index_key\":\"k\",\"schema_version\":0,"
     "\"attributes\":{}}]}]}",
     "{\"kusionstack.io/state-address\":\"module.m[0].random_id.a[\\\"k\\\"]\"}",
     "{\"address\":\"module.m[0].random_id.a[\\\"k\\\"]\",\"provider\":\"registry.terraform.io/"
     "hashicorp/random\",\"type\":\"random_id\",\"schemaVersion\":0,\"private\":\"\",\"state\":{},"
     "\"sensitive\":[]}"},
    {"nothing there: it is new", "{\"version\":4}", "{}", NULL},
    {"another type",
     "{\"version\":4,\"resources\":[{\"mode\":\"managed\",\"type\":\"random_pet\","
     "\"name\":\"a\"}]}",
     "{}", NULL},
    {"a data source",
     "{\"version\":4,\"resources\":[{\"mode\":\"data\",\"type\":\"random_id\","
     "\"name\":\"a\",\"instances\":[" INSTANCE("") "]}]}",
     "{}", NULL},
    {"nothing there, but an address", "{\"version\":4}",
     "{\"kusionstack.io/state-address\":\"random_id.b\"}", "Terraform's state has no random_id.b"},
    {"keys", STATE("", INSTANCE(",\"index_key\":0") "," INSTANCE(",\"index_key\":\"x\\u202ey\"")),
     "{}",
     "Terraform's state has random_id.a with these keys: [0], [\"x\\u202ey\"]: say which one by "
     "extensions[kusionstack.io/state-address]"},
    {"another key", STATE("", INSTANCE(",\"index_key\":0")),
     "{\"kusionstack.io/state-address\":\"random_id.a[1]\"}",
     "Terraform's state has random_id.a[1] with these keys: [0]: say which one by "
     "extensions[kusionstack.io/state-address]"},
    {"a key that is a text", STATE("", INSTANCE(",\"index_key\":\"1\"")),
     "{\"kusionstack.io/state-address\":\"random_id.a[1]\"}",
     "Terraform's state has random_id.a[1] with these keys: [\"1\"]: say which one by "
     "extensions[kusionstack.io/state-address]"},
    {"in a module", STATE(",\"module\":\"module.m\"", INSTANCE("")), "{}",
     "Terraform's state has no random_id.a, but module.m.random_id.a: say by "
     "extensions[kusionstack.io/state-address] if that is meant; for a new object give the "
     "resource another name"},
    {"no object", STATE("", ""), "{}", "Terraform's state has no object under random_id.a"},
    {"a deposed one alone", STATE("", INSTANCE(",\"deposed\":\"12345678\"")), "{}",
     "Terraform's state has no object under random_id.a"},
    {"a deposed one, too", STATE("", INSTANCE(",\"deposed\":\"12345678\"") "," INSTANCE("")), "{}",
     "Terraform's state has an old object of random_id.a, too, that is still to be deleted "
     "(\"deposed\"): let `terraform apply` delete it first"},
    {"tainted", STATE("", INSTANCE(",\"status\":\"tainted\"")), "{}",
     "Terraform's state has random_id.a as \"tainted\": its creation did not complete, so that it "
     "would be replaced, and what is taken over never is; `terraform untaint` it if it is whole"},
    {"another provider", STATE("", INSTANCE("")), "{\"provider\":\"acme/random\"}",
     "Terraform's state has random_id.a of the provider registry.terraform.io/hashicorp/random, "
     "and not of registry.terraform.io/acme/random"},
    {"a provider of Terraform 0.12",
     "{\"version\":4,\"resources\":[{\"mode\":\"managed\",\"type\":\"random_id\",\"name\":\"a\","
     "\"provider\":\"provider.random\",\"instances\":[" INSTANCE("") "]}]}",
     "{}",
     "Terraform's state has random_id.a with a provider that is not written as those of Terraform "
     "0.13 or later are: let that write it, by `terraform apply -refresh-only`"},
    {"attributes of Terraform 0.11",
     STATE("", "{\"schema_version\":2,\"attributes_flat\":{\"id\":\"secret-1\"}}"), "{}",
     "Terraform's state has random_id.a in the form of Terraform 0.11: let a later version write "
     "it, by `terraform apply -refresh-only`"},
    {"no attributes", STATE("", "{\"schema_version\":2}"), "{}",
     "Terraform's state is damaged: random_id.a has no attributes"},
    {"no version of the schema", STATE("", "{\"attributes\":{}}"), "{}",
     "Terraform's state is damaged: random_id.a has no schema_version"},
    {"private data that is not Base64",
     STATE("", "{\"schema_version\":2,\"attributes\":{},\"private\":\"secret-1\"}"), "{}",
     "Terraform's state is damaged: the private data of random_id.a is not Base64"},

    {"no JSON", "secret-1", "{}", "TakeoverFailed: it is not JSON"},
    {"cut", "{\"version\":4,\"resources\":[{\"secret-1\":", "{}", "TakeoverFailed: it is not JSON"},
    {"a key twice", "{\"secret-1\":1,\"secret-1\":2}", "{}", "TakeoverFailed: it is not JSON"},
    {"no object", "[4]", "{}", "TakeoverFailed: it is no state file of Terraform: it is no object"},
    {"no version", "{\"resources\":[]}", "{}",
     "TakeoverFailed: it is no state file of Terraform: it has no version"},
    {"an older version", "{\"version\":3,\"modules\":[]}", "{}",
     "TakeoverFailed: it is a state file of version 3: Terraform 0.12 or later, and OpenTofu, "
     "write "
     "version 4, with `terraform apply -refresh-only`"},
    {"a newer version", "{\"version\":5}", "{}",
     "TakeoverFailed: it is a state file of version 5, and this operator reads version 4"},
    {"encrypted",
     "{\"serial\":1,\"lineage\":\"x\",\"meta\":{},\"encrypted_data\":\"secret-1\","
     "\"encryption_version\":\"v0\"}",
     "{}", "TakeoverFailed: it is encrypted; `tofu state pull` writes one that is not"},
    {"no list", "{\"version\":4,\"resources\":{\"a\":\"secret-1\"}}", "{}",
     "TakeoverFailed: it is damaged: resources must be a list"},
    {"no objects in the list", "{\"version\":4,\"resources\":[1,null,[],{}]}", "{}", NULL},
    {"instances that are none", STATE("", "1,null,[]"), "{}",
     "Terraform's state is damaged: random_id.a has no attributes"},
};

static void of_one_address(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *found = find(table[i].file, ID, table[i].extensions);

        EXPECT_STR(found, table[i].found, table[i].note);
        EXPECT(!found || *found == '{' || !strstr(found, "secret-1"), "no values in messages");
    }
}

static void what_is_recorded_is_not_looked_for(void)
{
    const struct record record = {.id = ID};
    const struct runtime_target targets[] = {{.id = ID, .prior = &record}};
    _cleanup_value_ const struct value *found = NULL;
    const char *file = STATE("", INSTANCE(""));

    EXPECT_INT(tfstate_find(NULL, file, strlen(file), targets, 1, &found, NULL), 0, "read");
    EXPECT_INT((long long)value_count(found), 0, "nothing");
}

/* Whether the one is recorded or not: an object has one owner. */
static void two_with_one_address_have_nothing(void)
{
    const struct record record = {.id = "x:y:random_id:a"};
    const char *file = STATE("", INSTANCE(""));
    _cleanup_value_ const struct value *extensions = NULL;

    json_read_str("{\"provider\":\"hashicorp/random\"}", &extensions, NULL);
    for (int i = 0; i < 2; i++) {
        const struct runtime_target targets[] = {
            {.id = ID}, {.id = record.id, .extensions = extensions, .prior = i ? &record : NULL}};
        _cleanup_value_ const struct value *found = NULL;

        EXPECT_INT(tfstate_find(NULL, file, strlen(file), targets, 2, &found, NULL), 0, "read");
        EXPECT_STR(value_get_string(value_get(found, ID), "error"),
                   "the resource \"x:y:random_id:a\" has the same address in Terraform's state, "
                   "random_id.a",
                   i ? "recorded" : "new");
    }
}

#define MANY 64

/* A small gzipped file may have one long text, which each of many problems would quote. */
static void problems_do_not_quote_what_is_long(void)
{
    static const char *const before[] = {
        "{\"version\":4,\"resources\":[{\"mode\":\"managed\",\"type\":\"random_id\",\"name\":\"a\","
        "\"instances\":[{\"index_key\":\"",
        "{\"version\":4,\"resources\":[{\"mode\":\"managed\",\"type\":\"random_id\",\"name\":\"a\","
        "\"instances\":[],\"module\":\""};
    static const char *const after[] = {"\"}]}]}", "\"}]}"};

    for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
        _cleanup_free_ char *text = mem_new((1u << 20) + 1);
        _cleanup_free_ char *file = NULL;
        _cleanup_value_ const struct value *found = NULL;
        struct runtime_target targets[MANY] = {0};
        char ids[MANY][40];

        memset(text, 'x', 1u << 20);
        text[1u << 20] = '\0';
        file = str_printf("%s%s%s", before[i], text, after[i]);
        for (int j = 0; j < MANY; j++) {
            snprintf(ids[j], sizeof(ids[j]), "a%d:random:random_id:a", j);
            targets[j].id = ids[j];
        }
        EXPECT_INT(tfstate_find(NULL, file, strlen(file), targets, MANY, &found, NULL), 0,
                   "a problem of each alone");
        EXPECT_INT((long long)value_count(found), MANY, "all");
        EXPECT(value_memory(found) < MANY * 4096, "short");
    }
}

/* Minutes of a thread, with a file of some kilobytes when it is gzipped. */
static void the_work_is_bounded(void)
{
    enum { PLACES = 300000, TARGETS = 400 };
    _cleanup_buf_ struct buf file = BUF_INIT;
    struct runtime_target targets[TARGETS] = {0};
    _cleanup_value_ const struct value *found = NULL;
    struct error error = {0};

    buf_add_str(&file, "{\"version\":4,\"resources\":[{}");
    for (int i = 0; i < PLACES; i++)
        buf_add_str(&file, ",{}");
    buf_add_str(&file, "]}");
    for (int i = 0; i < TARGETS; i++)
        targets[i].id = ID;
    EXPECT_INT(tfstate_find(NULL, file.data, file.length, targets, TARGETS, &found, &error),
               ERR_TOO_LARGE, "refused");
    EXPECT(strstr(error.message, "in parts"), "it says what to do");
}

SUITE(terraform_tfstate_find, TEST(problems_do_not_quote_what_is_long), TEST(the_work_is_bounded),
      TEST(of_one_address), TEST(what_is_recorded_is_not_looked_for),
      TEST(two_with_one_address_have_nothing))
