#include "test/unit/engine/spec/parse.h"
#include "test/unit/suite.h"

#define WITH(field) SPEC("\"resources\":[]," field)
#define IS(name)    "Unsupported|-|" name "\n"

static void names_fields_of_later_versions(void)
{
    static const struct parse_row rows[] = {
        {WITH("\"resourcesFrom\":[{\"kind\":\"ConfigMap\"}]"), IS("resourcesFrom")},
        {SPEC("\"resourcesFrom\":[{}]"), IS("resourcesFrom")},
        {WITH("\"secretStore\":{\"provider\":{}}"), IS("secretStore")},
        {WITH("\"kubeConfig\":{}"), IS("kubeConfig")},
        {WITH("\"maxDeletions\":0"), IS("maxDeletions")},
        {WITH("\"healthChecks\":[{}]"), IS("healthChecks")},
        {WITH("\"ignore\":[{}]"), IS("ignore")},
        {WITH("\"conflictPolicy\":\"Fail\""), IS("conflictPolicy")},
        {WITH("\"adoptionPolicy\":\"AdoptAll\""), IS("adoptionPolicy")},
        {WITH("\"adoptionPolicy\":\"MustMatch\""), IS("adoptionPolicy")},
        {WITH("\"commonMetadata\":{\"labels\":{}}"), IS("commonMetadata")},
        {WITH("\"dependsOn\":[{\"name\":\"x\"}]"), IS("dependsOn")},
        /* of another type than the schema's: asked for all the same */
        {WITH("\"ignore\":\"all\",\"conflictPolicy\":1"), IS("ignore") IS("conflictPolicy")},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void takes_what_asks_for_nothing(void)
{
    static const struct parse_row rows[] = {
        {WITH("\"resourcesFrom\":[],\"secretStore\":{},\"kubeConfig\":null,\"maxDeletions\":null,"
              "\"driftDetection\":{\"mode\":\"enabled\"},"
              "\"healthChecks\":[],\"ignore\":[],\"conflictPolicy\":\"Force\","
              "\"adoptionPolicy\":\"AdoptIfUnowned\",\"commonMetadata\":{},\"dependsOn\":[],"
              "\"remediation\":{\"retries\":3,\"strategy\":\"rollback\"},\"context\":{\"A\":\"ref:/"
              "/x/y\"}"),
         ""},
        {WITH("\"driftDetection\":null"), ""},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

SUITE(unsupported, TEST(names_fields_of_later_versions), TEST(takes_what_asks_for_nothing))
