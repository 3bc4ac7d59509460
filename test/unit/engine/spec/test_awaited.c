/* `dependsOn` of a Spec. */
#include "engine/base/str.h"
#include "engine/spec/spec.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static const struct value *make(const char *depends_on)
{
    _cleanup_free_ char *text =
        str_printf("{\"metadata\":{\"name\":\"web\",\"namespace\":\"team\"},\"spec\":"
                   "{\"resources\":[],\"dependsOn\":%s}}",
                   depends_on);
    const struct value *object = NULL;

    CU_ASSERT_FATAL(json_read(text, strlen(text), &object, NULL) == 0);
    return object;
}

static void others_are_read(void)
{
    static const struct {
        const char *depends_on;
        bool no_cross_namespace;
        const char *read, *problem; /* NULL: none */
    } rows[] = {
        {"null", false, "", NULL},
        {"[]", false, "", NULL},
        {"[{\"name\":\"db\"}]", false, "team/db ", NULL},
        {"[{\"name\":\"db\",\"namespace\":null}]", false, "team/db ", NULL},
        {"[{\"name\":\"db\",\"namespace\":\"team\"},{\"name\":\"web\",\"namespace\":\"b\"}]", false,
         "team/db b/web ", NULL},
        {"[{\"name\":\"db\",\"namespace\":\"team\"}]", true, "team/db ", NULL},
        {"[{\"name\":\"db\"},{\"name\":\"net\",\"namespace\":\"b\"}]", true, "team/db ",
         "dependsOn[1]: is in another namespace, \"b\": the operator was started with "
         "--no-cross-namespace-refs"},
        {"[{\"name\":\"web\"}]", false, "", "dependsOn[0]: is this Spec itself"},
        {"[{\"name\":\"web\",\"namespace\":\"team\"},{\"name\":\"db\"}]", false, "team/db ",
         "dependsOn[0]: is this Spec itself"},
        {"{\"name\":\"db\"}", false, "",
         "dependsOn: must be a list of Specs, and is of type object"},
        {"[\"db\"]", false, "", "dependsOn[0]: must be an object, and is of type string"},
        {"[{}]", false, "", "dependsOn[0].name: is required"},
        {"[{\"name\":7}]", false, "", "dependsOn[0].name: must be a string, and is of type number"},
        {"[{\"name\":\"a/b\"}]", false, "", "dependsOn[0].name: \"a/b\" is not the name of a Spec"},
        {"[{\"name\":\"db\",\"namespace\":\"..\"}]", false, "",
         "dependsOn[0].namespace: \"..\" is not the name of a namespace"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = make(rows[i].depends_on);
        const struct spec_options options = {.no_cross_namespace = rows[i].no_cross_namespace};
        _cleanup_(spec_free_p) struct spec *spec = NULL;
        struct problems problems = PROBLEMS_INIT;
        struct spec_awaited awaited[LIMIT_AWAITED];
        size_t count = spec_awaited_read(object, rows[i].no_cross_namespace, awaited);
        struct buf text = BUF_INIT;
        struct error error = {0};
        int r = spec_parse(object, &options, &spec, &problems, &error);

        EXPECT_INT(r, rows[i].problem ? ERR_INVALID : 0, rows[i].depends_on);
        EXPECT_STR(r ? error.message : NULL, rows[i].problem, rows[i].depends_on);
        for (size_t k = 0; k < count; k++)
            buf_printf(&text, "%s/%s ", awaited[k].namespace_name, awaited[k].name);
        EXPECT_STR(text.length ? text.data : "", rows[i].read, rows[i].depends_on);
        if (spec)
            EXPECT_INT(spec->n_awaited, count, rows[i].depends_on);
        problems_done(&problems);
        buf_done(&text);
    }
}

static void too_many_are_refused(void)
{
    struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *object = NULL;
    struct spec_awaited awaited[LIMIT_AWAITED];
    struct problems problems = PROBLEMS_INIT;
    struct spec *spec = NULL;
    struct error error = {0};

    buf_add_str(&text, "[");
    for (int i = 0; i <= LIMIT_AWAITED; i++)
        buf_printf(&text, "%s{\"name\":\"a%d\"}", i ? "," : "", i);
    buf_add_str(&text, "]");
    object = make(text.data);
    EXPECT_INT(spec_parse(object, &(struct spec_options){0}, &spec, &problems, &error), ERR_INVALID,
               "refused");
    EXPECT_STR(error.message, "dependsOn: holds 65 Specs, 64 at most", "why");
    EXPECT_INT(spec_awaited_read(object, false, awaited), 0, "none is taken");
    problems_done(&problems);
    buf_done(&text);
}

SUITE(spec_awaited, TEST(others_are_read), TEST(too_many_are_refused))
