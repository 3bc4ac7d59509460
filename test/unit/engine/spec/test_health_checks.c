#include "test/unit/engine/spec/parse.h"
#include "test/unit/suite.h"

#define WITH(field)  SPEC("\"resources\":[]," field)
#define CHECKS(list) WITH("\"healthChecks\":" list)
#define AT(field)    "InvalidSpec|-|healthChecks" field
#define MANY_ENTRIES "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"name\":\"a\"}"

static void names_what_is_wrong(void)
{
    static const struct parse_row rows[] = {
        {CHECKS("[]"), ""},
        {CHECKS("null"), ""},
        {CHECKS("[" MANY_ENTRIES "]"), ""},
        {CHECKS("[{\"apiVersion\":\"v1\",\"kind\":\"A\",\"name\":\"a\",\"namespace\":\"b\"}]"), ""},
        {CHECKS("[{\"apiVersion\":\"v1\",\"kind\":\"A\",\"name\":\"a\",\"namespace\":null}]"), ""},
        {CHECKS("{}"), AT("|must be a list, and is of type object\n")},
        {CHECKS("[1]"), AT("[0]|must be an object, and is of type number\n")},
        {CHECKS("[{}]"), AT("[0].apiVersion|is required\n")},
        {CHECKS("[{\"apiVersion\":\"v1\",\"name\":\"a\"}]"), AT("[0].kind|is required\n")},
        {CHECKS("[" MANY_ENTRIES ",{\"apiVersion\":\"v1\",\"kind\":\"A\"}]"),
         AT("[1].name|is required\n")},
        {CHECKS("[{\"apiVersion\":1,\"kind\":\"A\",\"name\":\"a\"}]"), AT("[0].apiVersion")},
        {WITH("\"healthCheckExprs\":[]"), ""},
        {WITH("\"healthCheckExprs\":[{\"kind\":\"A\",\"current\":\"true\"}]"),
         "Unsupported|-|healthCheckExprs|CEL is not run by the operator. Write the check in Lua, "
         "as "
         "\"health.lua\" of the resource's extensions.healthPolicy, or for a kind in the cluster "
         "(docs/health.md): for _, c in ipairs(obj.status and obj.status.conditions or {}) do if "
         "c.type == \"Ready\" and c.status == \"True\" then return {status = \"Healthy\"} end end "
         "return {status = \"Progressing\"}\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

SUITE(spec_health_checks, TEST(names_what_is_wrong))
