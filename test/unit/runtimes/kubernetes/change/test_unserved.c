/* A kind that the API server does not have: the message says which was probably meant. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define OF(version, kind) \
    "{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"a\"}}"
#define GROUPS(versions)                                                                        \
    {                                                                                           \
        .expect = "GET /apis ", .status = 200,                                                  \
        .body =                                                                                 \
            "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"x.io\",\"versions\":[" versions \
            "]}]}"                                                                              \
    }
#define ABSENT                                  \
    {                                           \
        .expect = "GET /apis/x.io/v1 ", NO_PAGE \
    }
#define ALL(groups) "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[" groups "]}"
#define IN_GROUP(metadata, version, plural, kind)                                      \
    "{\"metadata\":{" metadata "},\"versions\":[{\"version\":\"" version               \
    "\",\"freshness\":\"Current\",\"resources\":[{\"resource\":\"" plural              \
    "\",\"responseKind\":{\"kind\":\"" kind "\"},\"scope\":\"Namespaced\",\"verbs\":[" \
    "\"delete\",\"list\"]}]}]}"
#define SEARCH(core, groups)                                       \
    {.expect = "GET /api ", .status = 200, .body = ALL(core)},     \
    {                                                              \
        .expect = "GET /apis ", .status = 200, .body = ALL(groups) \
    }
#define CORE_KINDS IN_GROUP("", "v1", "bs", "B")
#define ADVICE     "is its CRD installed, or missing in this Spec?"

static void says_which_was_meant(void)
{
    static const struct {
        const char *note, *attributes;
        struct fake_step steps[MAX_STEPS];
        const char *message;
    } rows[] = {
        {"mistyped",
         OF("v1", "ConfigMpa"),
         {DISCOVERY},
         "the cluster has no kind \"ConfigMpa\" in \"v1\": did you mean \"ConfigMap\"?"},
        {"another version",
         WIDGET,
         {ABSENT,
          GROUPS("{\"groupVersion\":\"x.io/v2\"}"),
          {.expect = "GET /apis/x.io/v2 ", .status = 200, .body = WIDGETS}},
         "the cluster has no kind \"Widget\" in \"x.io/v1\": use apiVersion \"x.io/v2\""},
        {"another group",
         WIDGET,
         {ABSENT, GROUPS(""),
          SEARCH(IN_GROUP("", "v1", "widgets", "Widget"),
                 IN_GROUP("\"name\":\"y.io\"", "v2", "widgets", "Widget"))},
         "the cluster has no kind \"Widget\" in \"x.io/v1\", but in v1, y.io/v2: did you mean "
         "that? "
         "If not, " ADVICE},
        {"none",
         WIDGET,
         {ABSENT, GROUPS(""), SEARCH(CORE_KINDS, IN_GROUP("\"name\":\"y.io\"", "v2", "as", "A"))},
         "the cluster has no kind \"Widget\" in \"x.io/v1\": " ADVICE},
        {"it is not known",
         WIDGET,
         {ABSENT, GROUPS(""), {.expect = "GET /api ", NO_PAGE}},
         "the cluster has no kind \"Widget\" in \"x.io/v1\": " ADVICE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_outcome outcome = {0};
        struct runtime_step *step;
        struct error error = {0};
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), rows[i].attributes);
        step = call_step(&call, PLAN_CREATE);
        EXPECT_INT(kube_apply(step, &stage_call, &outcome, &error), ERR_INVALID, rows[i].note);
        EXPECT_STR(error.reason, "KindNotFound", rows[i].note);
        EXPECT_STR(error.message, rows[i].message, rows[i].note);
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
    }
}

/* All groups are a long answer: a Spec of many such kinds asks for it a few times. */
static void searches_all_groups_a_few_times(void)
{
    enum { KINDS = 7, SEARCHES = 4 };
    struct fake_step steps[2 + 2 * SEARCHES] = {ABSENT, GROUPS("")};
    static const struct fake_step search[] = {
        SEARCH(CORE_KINDS, IN_GROUP("\"name\":\"y.io\"", "v2", "as", "A"))};
    struct kube_ref ref;
    struct call call;

    for (size_t i = 0; i < SEARCHES; i++)
        memcpy(&steps[2 + 2 * i], search, sizeof(search));
    call_begin(&call, steps, ARRAY_SIZE(steps), WIDGET);
    EXPECT_INT(kube_ref_of(call.session, call.attributes, &stage_call, &ref, NULL), ERR_NOT_FOUND,
               "not served");
    for (int i = 0; i < KINDS; i++) {
        struct error error = {0};

        kube_explain_unserved(call.session, call.attributes, &stage_call, &error);
        EXPECT_STR(error.reason, "KindNotFound", "in any case");
    }
    call_end(&call);
}

SUITE(kube_unserved, TEST(says_which_was_meant), TEST(searches_all_groups_a_few_times))
