/* Fields of a Spec about objects in which others have a part, and the bound of deletions. */
#include "test/unit/engine/spec/parse.h"
#include "test/unit/suite.h"

#define WITH(field) SPEC("\"resources\":[]," field)

static void reads_policies(void)
{
    _cleanup_free_ char *problems = NULL;
    _cleanup_(spec_free_p) struct spec *spec =
        parse_spec(WITH("\"conflictPolicy\":\"Fail\",\"adoptionPolicy\":\"MustMatch\","
                        "\"maxDeletions\":0,\"ignore\":[{\"paths\":[\"/a\"]}],"
                        "\"commonMetadata\":{\"labels\":{\"a\":\"b\"}}"),
                   &problems);

    EXPECT(spec, problems);
    EXPECT(spec->policy.objects.yields, "conflictPolicy");
    EXPECT_INT(spec->policy.objects.adoption, ADOPT_MATCHING, "adoptionPolicy");
    EXPECT_INT(spec->policy.max_deletions, 0, "maxDeletions");
    EXPECT_INT(value_count(spec->policy.objects.ignore), 1, "ignore");
    EXPECT(value_get(spec->policy.objects.common_metadata, "labels"), "commonMetadata");
}

static void has_defaults(void)
{
    _cleanup_free_ char *problems = NULL;
    _cleanup_(spec_free_p) struct spec *spec =
        parse_spec(WITH("\"conflictPolicy\":null,\"ignore\":[],\"commonMetadata\":{}"), &problems);

    EXPECT(spec, problems);
    EXPECT(!spec->policy.objects.yields, "conflictPolicy");
    EXPECT_INT(spec->policy.objects.adoption, ADOPT_IF_UNOWNED, "adoptionPolicy");
    EXPECT_INT(spec->policy.max_deletions, -1, "maxDeletions");
    EXPECT(!spec->policy.objects.ignore, "ignore");
    EXPECT(!spec->policy.objects.common_metadata, "commonMetadata");
}

static void refuses_wrong_values(void)
{
    static const struct parse_row rows[] = {
        {WITH("\"conflictPolicy\":\"Force\",\"adoptionPolicy\":\"AdoptAll\""), ""},
        {WITH("\"conflictPolicy\":\"fail\""),
         "InvalidSpec|-|conflictPolicy|\"fail\" is neither Force nor Fail\n"},
        {WITH("\"conflictPolicy\":true"),
         "InvalidSpec|-|conflictPolicy|must be a string, and is of type boolean\n"},
        {WITH("\"adoptionPolicy\":\"Adopt\""),
         "InvalidSpec|-|adoptionPolicy|\"Adopt\" is none of AdoptIfUnowned, MustMatch "
         "and AdoptAll\n"},
        {WITH("\"maxDeletions\":-1"),
         "InvalidSpec|-|maxDeletions|must be a number from 0 to 2147483647\n"},
        {WITH("\"maxDeletions\":\"3\""),
         "InvalidSpec|-|maxDeletions|must be a number from 0 to 2147483647\n"},
        {WITH("\"ignore\":\"all\""),
         "InvalidSpec|-|ignore|must be a list, and is of type string\n"},
        {WITH("\"commonMetadata\":[]"),
         "InvalidSpec|-|commonMetadata|must be an object, and is of type array\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

SUITE(object_policy, TEST(reads_policies), TEST(has_defaults), TEST(refuses_wrong_values))
