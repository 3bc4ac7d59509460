#include "runtimes/terraform/ignore.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/terraform/schema/make_schema.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

/* As providers of the old library have them: each block is a list. */
#define SCHEMA                                                                                \
    "{\"attributes\":{\"triggers\":{\"type\":[\"map\",\"string\"],\"optional\":true},"        \
    "\"any\":{\"type\":\"dynamic\",\"optional\":true},"                                       \
    "\"ports\":{\"type\":[\"set\",\"number\"],\"optional\":true}},"                           \
    "\"blocks\":{\"spec\":{\"nesting\":\"list\","                                             \
    "\"attributes\":{\"replicas\":{\"type\":\"number\",\"optional\":true},"                   \
    "\"labels\":{\"type\":[\"map\",\"string\"],\"optional\":true}},"                          \
    "\"blocks\":{\"rule\":{\"nesting\":\"set\",\"attributes\":{\"port\":{\"type\":"           \
    "\"number\",\"optional\":true}}},"                                                        \
    "\"one\":{\"nesting\":\"single\",\"attributes\":{\"x\":{\"type\":\"number\","             \
    "\"optional\":true}}}}},"                                                                 \
    "\"keyed\":{\"nesting\":\"map\",\"attributes\":{\"x\":{\"type\":\"number\",\"optional\":" \
    "true}}}}}"

static void paths_are_checked(void)
{
    static const struct {
        const char *path, *message; /* "": it is right */
    } table[] = {
        {"triggers", ""},
        {"triggers.a", ""},
        {"triggers[\"a.b/c\"]", ""},
        {"spec", ""},
        {"spec[0]", ""},
        {"spec[0].replicas", ""},
        {"spec.0.replicas", ""},
        {"spec.12.labels[\"app\"]", ""},
        {"spec[0].rule", ""},
        {"spec[0].one.x", ""},
        {"keyed.k.x", ""},
        {"any.metadata[3].labels", ""},
        {"trigger", "trigger: there is no such argument; is \"triggers\" meant?"},
        {"x", "x: there is no such argument"},
        {"spec[0].replica", "spec[0].replica: there is no such argument; is \"replicas\" meant?"},
        {"spec.replicas", "spec.replicas: spec is a list: name an element of it, as in spec[0]"},
        {"spec[01].replicas", "spec[01]: spec is a list: name an element of it, as in spec[0]"},
        {"spec[0].rule[0].port", "spec[0].rule[0]: spec[0].rule is a set, and elements of a set "
                                 "cannot be named: ignore all of it, spec[0].rule"},
        {"ports.8080", "ports.8080: ports is a set, and elements of a set cannot be named: ignore "
                       "all of it, ports"},
        {"spec[0].replicas.x", "spec[0].replicas.x: there is nothing inside of spec[0].replicas"},
        {"triggers.a.b", "triggers.a.b: there is nothing inside of triggers.a"},
        {"a]", "the path \"a]\", byte 1: a ] without its ["},
    };
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(SCHEMA, 5);

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct error error = {0};

        EXPECT_INT(ignore_check(table[i].path, schema->block->type, &error),
                   *table[i].message ? ERR_INVALID : 0, table[i].path);
        EXPECT_STR(error.message, table[i].message, table[i].path);
    }
}

static void what_a_path_leads_to_stays(void)
{
    static const char config[] =
        "{\"triggers\":null,\"any\":{\"l\":[{\"x\":1,\"y\":1}]},"
        "\"spec\":[{\"replicas\":1,\"labels\":{\"a\":\"1\",\"b.c/d\":\"1\"}}]}";
    static const char before[] =
        "{\"triggers\":{\"k\":\"2\"},\"any\":{\"l\":[{\"x\":2,\"z\":2}]},"
        "\"spec\":[{\"replicas\":2,\"labels\":{\"b.c/d\":\"2\",\"e\":\"2\"}},{\"replicas\":2}]}";
    static const char triggers[] = "\"triggers\":null,",
                      any[] = "\"any\":{\"l\":[{\"x\":1,\"y\":1}]},";
    static const struct {
        const char *path, *triggers, *any, *spec; /* the members; NULL: as configured */
    } table[] = {
        {"spec[0].replicas", NULL, NULL,
         "{\"replicas\":2,\"labels\":{\"a\":\"1\",\"b.c/d\":\"1\"}}"},
        {"spec.0.replicas", NULL, NULL,
         "{\"replicas\":2,\"labels\":{\"a\":\"1\",\"b.c/d\":\"1\"}}"},
        {"spec[0].labels[\"b.c/d\"]", NULL, NULL,
         "{\"replicas\":1,\"labels\":{\"a\":\"1\",\"b.c/d\":\"2\"}}"},
        {"spec[0].labels[b.c/d]", NULL, NULL,
         "{\"replicas\":1,\"labels\":{\"a\":\"1\",\"b.c/d\":\"2\"}}"},
        {"spec[0].labels.e", NULL, NULL,
         "{\"replicas\":1,\"labels\":{\"a\":\"1\",\"b.c/d\":\"1\",\"e\":\"2\"}}"},
        {"spec[0].labels.a", NULL, NULL, "{\"replicas\":1,\"labels\":{\"b.c/d\":\"1\"}}"},
        {"spec[1].replicas", NULL, NULL, NULL}, /* there is no such element to be made */
        {"triggers.k", "\"triggers\":{\"k\":\"2\"},", NULL, NULL},
        {"triggers.other", NULL, NULL, NULL},
        {"any.l[0].x", NULL, "\"any\":{\"l\":[{\"x\":2,\"y\":1}]},", NULL},
        {"any.l[0].z", NULL, NULL, NULL},
        {"nothing", NULL, NULL, NULL},
    };
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = make_schema(SCHEMA, 5);
    _cleanup_value_ const struct value *wanted = parse(config), *was = parse(before);

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *left =
            ignore_apply(table[i].path, schema->block->type, wanted, was);
        _cleanup_free_ char *text = json_to_str(left);
        _cleanup_free_ char *expected =
            str_printf("{%s%s\"spec\":[%s]}", table[i].triggers ? table[i].triggers : triggers,
                       table[i].any ? table[i].any : any,
                       table[i].spec ? table[i].spec
                                     : "{\"replicas\":1,\"labels\":{\"a\":\"1\",\"b.c/d\":\"1\"}}");

        EXPECT_STR(text, expected, table[i].path);
    }
}

SUITE(terraform_ignore, TEST(paths_are_checked), TEST(what_a_path_leads_to_stays))
