#include "runtimes/terraform/tfstate/address.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

/* An address, and its parts: module, type, name, key as JSON, and the address without keys; NULL:
 * it is none. */
static const struct {
    const char *text, *module, *type, *name, *key, *config;
} table[] = {
    {"random_id.a", NULL, "random_id", "a", NULL, "random_id.a"},
    {"random_id.a[0]", NULL, "random_id", "a", "0", "random_id.a"},
    {"random_id.a[12]", NULL, "random_id", "a", "12", "random_id.a"},
    {"random_id.a[\"k\"]", NULL, "random_id", "a", "\"k\"", "random_id.a"},
    {"random_id.a[\"a.b]\\\"c\"]", NULL, "random_id", "a", "\"a.b]\\\"c\"", "random_id.a"},
    {"random_id.a[\"$${x}\"]", NULL, "random_id", "a", "\"${x}\"", "random_id.a"},
    {"random_id.a[\"$$x\"]", NULL, "random_id", "a", "\"$$x\"", "random_id.a"},
    {"random_id._a-1", NULL, "random_id", "_a-1", NULL, "random_id._a-1"},
    {"module.m.random_id.a", "module.m", "random_id", "a", NULL, "module.m.random_id.a"},
    {"module.m[0].module.n[\"x.y\"].random_id.a[1]", "module.m[0].module.n[\"x.y\"]", "random_id",
     "a", "1", "module.m.module.n.random_id.a"},
    {"", NULL, NULL, NULL, NULL, NULL},
    {"random_id", NULL, NULL, NULL, NULL, NULL},
    {"random_id.", NULL, NULL, NULL, NULL, NULL},
    {".a", NULL, NULL, NULL, NULL, NULL},
    {"random_id.1a", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a.b", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a ", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[]", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[-1]", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[01]", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[9999999999999999]", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[\"k]", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[\"k\"", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[k]", NULL, NULL, NULL, NULL, NULL},
    {"random_id.a[\"\\u0000\"]", NULL, NULL, NULL, NULL, NULL},
    {"data.random_id.a", NULL, NULL, NULL, NULL, NULL},
    {"module.m.data.random_id.a", NULL, NULL, NULL, NULL, NULL},
    {"module.m", NULL, NULL, NULL, NULL, NULL},
    {"module.m[0]", NULL, NULL, NULL, NULL, NULL},
    {"module..random_id.a", NULL, NULL, NULL, NULL, NULL},
};

static void are_read_and_written(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const char *text = table[i].text;
        _cleanup_(tf_address_done) struct tf_address address = {0};
        struct error error = {0};
        int r = tf_address_read(text, &address, &error);
        _cleanup_free_ char *key = address.key ? json_to_str(address.key) : NULL;

        EXPECT_INT(r, table[i].type ? 0 : ERR_INVALID, text);
        EXPECT_STR(address.module, table[i].module, text);
        EXPECT_STR(address.type, table[i].type, text);
        EXPECT_STR(address.name, table[i].name, text);
        EXPECT_STR(key, table[i].key, text);
        if (r == 0) {
            _cleanup_free_ char *again = tf_address_text(&address);
            _cleanup_free_ char *config = tf_address_config(&address);

            /* "$${" is written as what it stands for: it is for messages, and for a comparison. */
            if (!strstr(text, "$${"))
                EXPECT_STR(again, text, "again");
            EXPECT_STR(config, table[i].config, text);
            EXPECT(tf_address_equal(&address, &address), text);
        } else {
            EXPECT(strstr(error.message, "is not the address of a resource"), error.message);
        }
    }
}

/* No two of the table are the same. */
static void are_compared(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        for (size_t j = 0; j < ARRAY_SIZE(table); j++) {
            _cleanup_(tf_address_done) struct tf_address one = {0}, other = {0};

            if (tf_address_read(table[i].text, &one, NULL) < 0 ||
                tf_address_read(table[j].text, &other, NULL) < 0)
                continue;
            EXPECT_INT(tf_address_equal(&one, &other), i == j, table[i].text);
        }
}

/* Without an extension: the type and the name of the id. */
static void of_a_resource(void)
{
    static const struct {
        const char *id, *extensions, *address;
    } rows[] = {
        {"hashicorp:random:random_id:a", "{}", "random_id.a"},
        {"hashicorp:random:random_id:a", "{\"resourceType\":\"random_pet\"}", "random_pet.a"},
        {"hashicorp:random:random_id:a", "{\"kusionstack.io/state-address\":\"x_y.z[0]\"}",
         "x_y.z[0]"},
        {"hashicorp:random:random_id:a b", "{}", NULL},
        {"hashicorp:random:random_id:", "{}", NULL},
        {"hashicorp:random:random_id:1a", "{}", NULL},
        {"hashicorp:random:random_id:a:b", "{}", NULL},
        {"a", "{\"resourceType\":\"random_pet\"}", NULL},
        {"a b", "{\"kusionstack.io/state-address\":\"x_y.z\"}", "x_y.z"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(tf_address_done) struct tf_address address = {0};
        _cleanup_value_ const struct value *extensions = NULL;
        _cleanup_free_ char *text = NULL;

        json_read_str(rows[i].extensions, &extensions, NULL);
        if (tf_address_of(rows[i].id, extensions, &address, NULL) == 0)
            text = tf_address_text(&address);
        EXPECT_STR(text, rows[i].address, rows[i].id);
    }
}

SUITE(terraform_address, TEST(are_read_and_written), TEST(are_compared), TEST(of_a_resource))
