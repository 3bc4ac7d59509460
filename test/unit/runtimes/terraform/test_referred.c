#include "runtimes/terraform/referred.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/terraform/schema/make_schema.h"
#include "test/unit/suite.h"

#define SCHEMA                                                                                     \
    "{\"attributes\":{\"text\":{\"type\":\"string\"},\"number\":{\"type\":\"number\"},"            \
    "\"flag\":{\"type\":\"bool\"},\"any\":{\"type\":\"dynamic\"},"                                 \
    "\"map\":{\"type\":[\"map\",\"string\"]},\"list\":{\"type\":[\"list\",\"number\"]},"           \
    "\"set\":{\"type\":[\"set\",\"string\"]},\"lists\":{\"type\":[\"map\",[\"list\",\"bool\"]]},"  \
    "\"object\":{\"type\":[\"object\",{\"x\":\"string\",\"y\":\"dynamic\"}]}},"                    \
    "\"blocks\":{\"one\":{\"nesting\":\"single\",\"attributes\":{\"text\":{\"type\":\"string\"}}}" \
    ","                                                                                            \
    "\"many\":{\"nesting\":\"list\",\"attributes\":{\"text\":{\"type\":\"string\"}}}}}"

static void begin(struct referred *referred)
{
    struct tf_schema *schema = make_schema(SCHEMA, 6);

    referred_init(referred);
    referred_note(referred, "n:p:t:a", schema);
    referred_note(referred, "n:p:t:a.b", schema);
    tf_schema_unref(schema);
}

static void references_have_the_type_of_what_they_lead_to(void)
{
    static const struct {
        const char *path, *type;
    } table[] = {
        {"a.text", "\"string\""},
        {"a.b.number", "\"number\""},
        {"a.map", "[\"map\",\"string\"]"},
        {"a.map.key", "\"string\""},
        {"a.map[\"a.b\"]", "\"string\""},
        {"a.list[0]", "\"number\""},
        {"a.lists.x.0", "\"bool\""},
        {"a.one.text", "\"string\""},
        {"a.many[1].text", "\"string\""},
        {"a.object.x", "\"string\""},
        {"a.object", NULL},
        {"a.any", NULL},
        {"a.any.x", NULL},
        {"a.other", NULL},
        {"a.text.x", NULL},
        {"a", NULL},
        {"c.text", NULL},
    };
    struct referred referred;

    begin(&referred);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *text = str_printf("$kusion_path.n:p:t:%s", table[i].path);
        const struct tf_type *type = referred_find(&referred, text);
        _cleanup_buf_ struct buf shown = BUF_INIT;

        if (type)
            tf_type_write(&shown, type);
        EXPECT_STR(type ? shown.data : NULL, table[i].type, table[i].path);
    }
    referred_done(&referred);
}

/* @ stands for a reference: "@list". */
static char *refer(const char *text)
{
    _cleanup_buf_ struct buf buf = BUF_INIT;

    for (; *text; text++)
        if (*text == '@')
            buf_add_str(&buf, "$kusion_path.n:p:t:a.");
        else
            buf_add_char(&buf, *text);
    return buf_take(&buf);
}

/* NULL: nothing is wrong. free(). */
static char *check(const char *written, const char *attributes)
{
    _cleanup_free_ char *text = refer(written);
    _cleanup_value_ const struct value *given = NULL, *resolved = NULL;
    struct tf_schema *schema = make_schema(SCHEMA, 6);
    struct referred referred;
    struct error error = {0};
    struct path path;

    begin(&referred);
    CU_ASSERT_EQUAL_FATAL(json_read_str(text, &given, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(json_read_str(attributes, &resolved, NULL), 0);
    path_init(&path);
    path_push_key(&path, "attributes");
    referred_check(&referred, schema->block, given, resolved, &path, &error);
    path_done(&path);
    tf_schema_unref(schema);
    referred_done(&referred);
    return error.code ? str_new(error.message) : NULL;
}

static void what_can_never_become_the_argument_is_refused(void)
{
    static const struct {
        const char *written, *attributes, *says;
    } table[] = {
        {"{\"text\":\"@map\"}", "{\"text\":null}",
         "attributes.text: must be a string, and what it refers to is an object of strings"},
        {"{\"map\":{\"k\":\"@list\"}}", "{\"map\":{\"k\":null}}",
         "attributes.map.k: must be a string, and what it refers to is a list of numbers"},
        {"{\"list\":[1,\"@flag\"]}", "{\"list\":[1,null]}",
         "attributes.list[1]: must be a number, and what it refers to is true or false"},
        {"{\"map\":\"@lists\"}", "{\"map\":null}",
         "attributes.map: must be an object of strings, and what it refers to is an object of "
         "lists"},
        {"{\"many\":[{\"text\":\"@set\"}]}", "{\"many\":[{\"text\":null}]}",
         "attributes.many[0].text: must be a string, and what it refers to is a list of strings"},
        {"{\"many\":{\"text\":\"@set\"}}", "{\"many\":{\"text\":null}}",
         "attributes.many.text: must be a string, and what it refers to is a list of strings"},
        {"{\"number\":\"@text\",\"text\":\"@flag\",\"set\":\"@list\",\"any\":\"@map\"}",
         "{\"number\":null,\"text\":null,\"set\":null,\"any\":null}", NULL},
        {"{\"text\":\"@any\",\"map\":\"@object\",\"one\":\"@text\"}",
         "{\"text\":null,\"map\":null,\"one\":null}", NULL},
        {"{\"text\":\"@map\"}", "{\"text\":{}}", NULL}, /* told by its value */
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *says = check(table[i].written, table[i].attributes);

        EXPECT_STR(says, table[i].says, table[i].written);
    }
}

SUITE(terraform_referred, TEST(references_have_the_type_of_what_they_lead_to),
      TEST(what_can_never_become_the_argument_is_refused))
