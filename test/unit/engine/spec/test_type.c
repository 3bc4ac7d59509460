/* What a type of resources brings to the checks of a Spec. */
#include "engine/base/mem.h"
#include "engine/spec/check.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

/* Notes what it is asked. */
static void *begin(void *arg, struct check *check)
{
    struct buf *notes = arg;

    buf_printf(notes, "begin %s/%s:%zu", check->spec->namespace_name, check->spec->name,
               check->spec->n_resources);
    return notes;
}

static void check_resource(void *state, struct check *check, size_t index,
                           const struct place *place)
{
    const struct place at = {.above = place, .key = "attributes"};

    buf_printf(state, "; resource %zu %s", index, check->spec->resources[index].id);
    if (value_get(check->spec->resources[index].attributes, "bad"))
        check_problem(check, INVALID_SPEC, &at, "is bad");
}

static void check_reference(void *state, struct check *check, const struct resource *target,
                            const char *path, const struct place *place)
{
    buf_printf(state, "; reference of %s to %s.%s", check->id, target->id, path);
    check_problem(check, UNSUPPORTED, place, "is not to be had");
}

static void end(void *state, struct check *check)
{
    buf_printf(state, "; end");
    check_problem(check, INVALID_SPEC, NULL, "all together");
}

static const struct spec_checks noting = {begin, check_resource, check_reference, end};

#define SPEC(resources)                                                                         \
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":{\"resources\":[" resources \
    "]}}"
#define ONE(id, type, fields) \
    "{\"id\":\"" id "\",\"type\":\"" type "\",\"attributes\":{" fields "}}"
#define TO(path) "\"x\":\"$kusion_path." path "\""

/* Each problem in a line; what the noting type was asked in *ret_notes. */
static char *problems_of(const char *json, char **ret_notes)
{
    struct buf notes, text;
    const struct spec_type types[] = {{"Plain", NULL, NULL}, {"Noting", &noting, &notes}};
    const struct spec_options options = {.types = types, .n_types = ARRAY_SIZE(types)};
    _cleanup_value_ const struct value *object = NULL;
    struct problems problems = PROBLEMS_INIT;
    struct spec *spec = NULL;

    buf_init(&notes, 0);
    buf_init(&text, 0);
    EXPECT_INT(json_read_str(json, &object, NULL), 0, json);
    spec_parse(object, &options, &spec, &problems, NULL);
    spec_free(spec);
    for (size_t i = 0; i < problems.count; i++)
        buf_printf(&text, "%s%s %s", i ? "; " : "",
                   problems.items[i].resource ? problems.items[i].resource : "-",
                   problems.items[i].message);
    problems_done(&problems);
    *ret_notes = buf_take(&notes);
    return buf_take(&text);
}

static void asks_the_checks_of_each_type(void)
{
    static const struct {
        const char *json, *notes, *problems;
    } rows[] = {
        {SPEC(""), "begin team/s:0; end", "- all together"},
        {SPEC(ONE("a", "Plain", "\"bad\":1")), "begin team/s:1; end", "- all together"},
        {SPEC(ONE("a", "Noting", "\"bad\":1") "," ONE("b", "Plain", "") "," ONE("c", "Noting", "")),
         "begin team/s:3; resource 0 a; resource 2 c; end", "a is bad; - all together"},
        /* by the type that is referred to */
        {SPEC(ONE("a", "Plain", TO("b.y.z")) "," ONE("b", "Noting", "")),
         "begin team/s:2; reference of a to b.y.z; resource 1 b; end",
         "a is not to be had; - all together"},
        {SPEC(ONE("a", "Noting", TO("b.y")) "," ONE("b", "Plain", "")),
         "begin team/s:2; resource 0 a; end", "- all together"},
        {SPEC(ONE("a", "Other", "")), "begin team/s:1; end",
         "a unknown type \"Other\"; supported: Plain, Noting; - all together"},
        /* known, with no runtime here */
        {SPEC(ONE("a", "Kubernetes", "")), "begin team/s:1; end",
         "a the type \"Kubernetes\" is known, and not supported by this version; - all together"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *notes = NULL, *problems = problems_of(rows[i].json, &notes);

        EXPECT_STR(notes, rows[i].notes, rows[i].json);
        EXPECT_STR(problems, rows[i].problems, rows[i].json);
    }
}

SUITE(type, TEST(asks_the_checks_of_each_type))
