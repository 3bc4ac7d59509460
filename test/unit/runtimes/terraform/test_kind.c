#include "engine/value/json.h"
#include "runtimes/terraform/data.h"
#include "test/unit/suite.h"

#define MEMORY                                                                        \
    "{\"provider\":\"registry.terraform.io/hashicorp/time\",\"type\":\"time_sleep\"," \
    "\"state\":{}}"

/* What is wanted is as it is written, and what is to go as it is recorded: its id may have moved.
 */
static void the_kind_of_a_resource(void)
{
    static const struct {
        const char *note, *extensions, *memory, *address, *version, *type;
        bool leaves;
    } rows[] = {
        {"by its id", "{}", NULL, "hashicorp/random", NULL, "random_id", false},
        {"as it is written", "{\"provider\":\"a/b/1.0.0\",\"resourceType\":\"c\"}", NULL, "a/b",
         "1.0.0", "c", false},
        {"whatever State has", "{}", MEMORY, "hashicorp/random", NULL, "random_id", false},
        {"to go", "{}", MEMORY, "hashicorp/time", NULL, "time_sleep", true},
        {"to go, with a provider", "{\"provider\":\"hashicorp/time/1.0.0\",\"resourceType\":\"x\"}",
         MEMORY, "hashicorp/time", "1.0.0", "time_sleep", true},
        {"to go, and never made", "{}", NULL, "hashicorp/random", NULL, "random_id", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *extensions = NULL, *memory = NULL,
                                           *attributes = value_pack("{}");
        struct record record = {.id = "hashicorp:random:random_id:a"};
        struct runtime_target target = {.id = record.id, .prior = &record};
        _cleanup_(source_done) struct source source = {0};
        _cleanup_free_ char *type = NULL;
        struct error error = {0};

        EXPECT_INT(json_read_str(rows[i].extensions, &extensions, NULL), 0, rows[i].note);
        if (rows[i].memory)
            EXPECT_INT(json_read_str(rows[i].memory, &memory, NULL), 0, rows[i].note);
        record.memory = memory;
        target.extensions = extensions;
        target.attributes = rows[i].leaves ? NULL : attributes;
        EXPECT_INT(target_kind(&target, &source, &type, &error), 0, error.message);
        EXPECT_STR(source.shown, rows[i].address, rows[i].note);
        EXPECT_STR(source.version, rows[i].version, rows[i].note);
        EXPECT_STR(type, rows[i].type, rows[i].note);
    }
}

static void which_are_data_sources(void)
{
    static const struct {
        const char *id, *type;
        bool expected;
    } rows[] = {
        {"hashicorp:aws:data.aws_ami:a", NULL, true},
        {"hashicorp:aws:aws_ami:data.a", NULL, false},
        {"data.a", "data.aws_ami", true},
        {"hashicorp:aws:data.aws_ami:a", "aws_ami", false},
        {"data.a", NULL, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *extensions =
            value_pack("{s:s?}", "resourceType", rows[i].type);

        EXPECT_INT(data_is_of(rows[i].id, extensions), rows[i].expected, rows[i].id);
    }
}

SUITE(terraform_kind, TEST(the_kind_of_a_resource), TEST(which_are_data_sources))
