#include "test/unit/engine/spec/parse.h"
#include "test/unit/suite.h"

#define WITH(field) SPEC("\"resources\":[]," field)
#define IS(name)    "Unsupported|-|" name "\n"

static void names_fields_of_later_versions(void)
{
    static const struct parse_row rows[] = {
        {WITH("\"driftDetection\":{\"mode\":\"warn\"}"), IS("driftDetection.mode")},
        {WITH("\"driftDetection\":{\"mode\":\"disabled\"}"), IS("driftDetection.mode")},
        /* of another type than the schema's: asked for all the same */
        {WITH("\"driftDetection\":{\"mode\":1}"), IS("driftDetection.mode")},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void takes_what_asks_for_nothing(void)
{
    static const struct parse_row rows[] = {
        {WITH("\"driftDetection\":{\"mode\":\"enabled\"},"
              "\"remediation\":{\"retries\":3,\"strategy\":\"rollback\"},\"context\":{\"A\":\"ref:/"
              "/x/y\"}"),
         ""},
        {WITH("\"driftDetection\":null"), ""},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

SUITE(unsupported, TEST(names_fields_of_later_versions), TEST(takes_what_asks_for_nothing))
