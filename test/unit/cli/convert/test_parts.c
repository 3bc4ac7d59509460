#include "cli/convert/parts.h"

#include <stdlib.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

static const struct value *make_spec(size_t n, const char *reference)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *resources = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < n; i++) {
        value_begin_object(b);
        value_key(b, "id");
        value_add_printf(b, "a%zu", i);
        value_key(b, "attributes");
        value_begin_object(b);
        value_key(b, "x");
        value_add_string(b, i == 0 && reference ? reference : "y");
        value_end_object(b);
        value_end_object(b);
    }
    value_end_array(b);
    EXPECT_INT(value_builder_finish(b, &resources, NULL), 0, "resources");
    return value_pack("{s:{s:s, s:s}, s:{s:s, s:v}}", "metadata", "name", "web", "namespace",
                      "apps", "spec", "interval", "3m", "resources", resources);
}

static void each_resource_is_in_one_part_and_stays_there(void)
{
    _cleanup_value_ const struct value *few = make_spec(20, NULL), *many = make_spec(40, NULL);
    _cleanup_value_ const struct value *parts = NULL, *more = NULL;
    struct error error = {0};
    size_t total = 0;

    EXPECT_INT(parts_make(few, 3, &parts, &error), 0, error.message);
    EXPECT_INT(parts_make(many, 3, &more, &error), 0, error.message);
    CU_ASSERT_EQUAL_FATAL(value_count(parts), 3);
    EXPECT_STR(value_get_string(value_get(value_at(parts, 1), "metadata"), "name"), "web-2",
               "name");
    EXPECT_STR(value_get_string(value_get(value_at(parts, 1), "spec"), "interval"), "3m", "fields");
    for (size_t i = 0; i < 3; i++) {
        const struct value *small = value_path(value_at(parts, i), "spec", "resources", NULL);
        const struct value *large = value_path(value_at(more, i), "spec", "resources", NULL);

        total += value_count(small);
        for (size_t k = 0; k < value_count(small); k++)
            EXPECT(value_equal(value_at(small, k), value_at(large, k)), "it stays, and the order");
    }
    EXPECT_INT(total, 20, "all of them");
}

static void one_part_is_the_spec(void)
{
    _cleanup_value_ const struct value *spec = make_spec(3, NULL), *parts = NULL;

    EXPECT_INT(parts_make(spec, 1, &parts, NULL), 0, "");
    EXPECT_STR(value_get_string(value_get(value_at(parts, 0), "metadata"), "name"), "web", "name");
    EXPECT(value_equal(value_get(value_at(parts, 0), "spec"), value_get(spec, "spec")), "fields");
}

/* Of twenty resources some are in another part than the first. */
static void what_is_referred_to_is_in_the_same_part(void)
{
    size_t n_refused = 0;

    for (size_t i = 1; i < 20; i++) {
        _cleanup_free_ char *reference = str_printf("$kusion_path.a%zu.x", i);
        _cleanup_value_ const struct value *spec = make_spec(20, reference), *parts = NULL;
        struct error error = {0};

        if (parts_make(spec, 2, &parts, &error) == 0)
            continue;
        n_refused++;
        EXPECT(strstr(error.message, "a0 depends on a"), error.message);
    }
    EXPECT(n_refused > 0 && n_refused < 19, "some are refused");
}

static void a_preview_is_of_the_same_resources(void)
{
    _cleanup_value_ const struct value *spec = make_spec(3, NULL), *release = parts_preview(spec);

    EXPECT_STR(value_get_string(value_path(release, "spec", "specRef", NULL), "name"), "web", "");
    EXPECT_STR(value_get_string(value_get(release, "metadata"), "generateName"), "web-preview-",
               "");
    EXPECT(value_equal(value_path(release, "spec", "resources", NULL),
                       value_path(spec, "spec", "resources", NULL)),
           "resources");
    EXPECT(!value_get(value_get(release, "spec"), "serviceAccountName"), "none is there");
}

SUITE(parts, TEST(each_resource_is_in_one_part_and_stays_there), TEST(one_part_is_the_spec),
      TEST(what_is_referred_to_is_in_the_same_part), TEST(a_preview_is_of_the_same_resources))
