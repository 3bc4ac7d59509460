/* Looks over a scripted server: what is absent, and what is only not known. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

/* A definition that is removed while the kind is known. */
#define FOUND_WIDGETS                                                      \
    {                                                                      \
        .expect = "GET /apis/x.io/v1 HTTP", .status = 200, .body = WIDGETS \
    }
#define GROUPS(versions)                                                                 \
    {                                                                                    \
        .expect = "GET /apis HTTP", .status = 200,                                       \
        .body = "{\"kind\":\"APIGroupList\",\"groups\":[{\"versions\":[" versions "]}]}" \
    }
#define NO_WIDGETS {.expect = "GET /apis/x.io/v1 ", NO_PAGE}, GROUPS("")
#define CRDS       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define DEFINITIONS(names)                                                               \
    {                                                                                    \
        .expect = "GET " CRDS "?limit=500 ", .status = 200,                              \
        .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":" \
                "[" names "]}"                                                           \
    }
#define NAMED(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define DEFINITION(kind)                                                                          \
    {                                                                                             \
        .expect = "GET " CRDS "/widgets.x.io ", .status = 200,                                    \
        .body = "{\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"widgets.x.io\"," \
                "\"uid\":\"u\"},\"spec\":{\"group\":\"x.io\",\"names\":{\"kind\":\"" kind         \
                "\"},\"versions"                                                                  \
                "\":[{\"name\":\"v1\",\"served\":false}]}}"                                       \
    }
#define SERVICE                                                    \
    .expect = "GET /apis/apiregistration.k8s.io/v1/apiservices/v1" \
              ".x.io "

static void absent_is_only_what_is_said_to_be(void)
{
    static const struct {
        const char *note, *attributes;
        struct fake_step steps[MAX_STEPS];
        enum presence presence;
        int code;
    } rows[] = {
        {"there",
         MAP("a"),
         {DISCOVERY, {.expect = "GET " MAPS "/a ", .status = 200, .body = META("a")}},
         PRESENCE_PRESENT,
         0},
        {"not there",
         MAP("a"),
         {DISCOVERY, {.expect = "GET", .status = 404, .body = MISSING("a")}},
         PRESENCE_ABSENT,
         0},
        {"another is not there",
         MAP("a"),
         {DISCOVERY, {.expect = "GET " MAPS "/a ", .status = 404, .body = MISSING("b")}, DISCOVERY},
         PRESENCE_UNKNOWN,
         ERR_UNAVAILABLE},
        {"a proxy's page",
         MAP("a"),
         {DISCOVERY, {.expect = "GET " MAPS "/a ", NO_PAGE}, DISCOVERY},
         PRESENCE_UNKNOWN,
         ERR_UNAVAILABLE},
        {"refused",
         MAP("a"),
         {DISCOVERY, {.expect = "GET", .status = 403, .body = DENIED}, NO_REVIEW},
         PRESENCE_UNKNOWN,
         ERR_FORBIDDEN},
        {"nothing defines it",
         WIDGET,
         {NO_WIDGETS,
          DEFINITIONS(NAMED("widgets.y.io")),
          {SERVICE, .status = 404, .body = MISSING("v1.x.io")}},
         PRESENCE_ABSENT,
         0},
        {"its group defines other kinds",
         WIDGET,
         {NO_WIDGETS,
          DEFINITIONS(NAMED("widgets.x.io")),
          DEFINITION("Gadget"),
          {SERVICE, .status = 200,
           .body = "{\"kind\":\"APIService\",\"metadata\":{\"name\":\"v1.x.io\",\"uid\":\"u\"},"
                   "\"spec\":{\"version\":\"v1\"}}"}},
         PRESENCE_ABSENT,
         0},
        {"it is defined, and not served",
         WIDGET,
         {NO_WIDGETS, DEFINITIONS(NAMED("widgets.x.io")), DEFINITION("Widget")},
         PRESENCE_UNKNOWN,
         ERR_UNAVAILABLE},
        {"a server that is away has it",
         WIDGET,
         {NO_WIDGETS,
          DEFINITIONS(""),
          {SERVICE, .status = 200, .body = "{\"spec\":{\"service\":{\"name\":\"s\"}}}"}},
         PRESENCE_UNKNOWN,
         ERR_UNAVAILABLE},
        {"an answer that is no registration",
         WIDGET,
         {NO_WIDGETS, DEFINITIONS(""), {SERVICE, .status = 200, .body = "{}"}},
         PRESENCE_UNKNOWN,
         ERR_UNAVAILABLE},
        {"its definition cannot be looked for",
         WIDGET,
         {NO_WIDGETS, {.expect = "GET " CRDS, .status = 403, .body = DENIED}},
         PRESENCE_UNKNOWN,
         ERR_FORBIDDEN},
        {"a group that is not served at the moment",
         WIDGET,
         {{.expect = "GET /apis/x.io/v1 ", NO_PAGE}, GROUPS("{\"groupVersion\":\"x.io/v1\"}")},
         PRESENCE_UNKNOWN,
         ERR_UNAVAILABLE},
        {"its definition went since it was discovered",
         WIDGET,
         {FOUND_WIDGETS,
          {.expect = "GET /apis/x.io/v1/namespaces/team/widgets/a ", NO_PAGE},
          NO_WIDGETS,
          DEFINITIONS(""),
          {SERVICE, .status = 404, .body = MISSING("v1.x.io")}},
         PRESENCE_ABSENT,
         0},
        {"its kind is there, but does not answer",
         WIDGET,
         {FOUND_WIDGETS,
          {.expect = "GET /apis/x.io/v1/namespaces/team/widgets/a ", NO_PAGE},
          FOUND_WIDGETS},
         PRESENCE_UNKNOWN,
         ERR_UNAVAILABLE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct call call;
        struct runtime_outcome outcome = {0};
        struct error error = {0};

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), rows[i].attributes);
        EXPECT_INT(kube_read(call.session, &call.target, &stage_call, &outcome, &error),
                   rows[i].code, rows[i].note);
        EXPECT_INT(outcome.now.presence, rows[i].presence, rows[i].note);
        EXPECT_INT(outcome.certainty, OUTCOME_KNOWN, rows[i].note);
        EXPECT_INT(outcome.now.result != NULL, rows[i].presence == PRESENCE_PRESENT, "whole");
        outcome_done(&outcome);
        call_end(&call);
    }
}

/* A 200 may come from anything on the way. */
static void believes_only_the_object_that_was_asked_for(void)
{
    static const struct {
        const char *note, *answer;
    } rows[] = {
        {"nothing", ""},
        {"null", "null"},
        {"an empty object", "{}"},
        {"a list", "[]"},
        {"a Status", STATUS(200, "", "fine", "{\"name\":\"a\"}")},
        {"another name", META("b")},
        {"another namespace", META_IN(",\"namespace\":\"other\"", "a", "")},
        {"another kind", "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"uid\":\"u-a\"}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {
            DISCOVERY, {.expect = "GET " MAPS "/a ", .status = 200, .body = rows[i].answer}};
        struct runtime_outcome outcome = {0};
        struct error error = {0};
        struct call call;

        call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
        EXPECT_INT(kube_read(call.session, &call.target, &stage_call, &outcome, &error),
                   ERR_UNAVAILABLE, rows[i].note);
        EXPECT_STR(error.reason, "UnexpectedAnswer", error.message);
        EXPECT_INT(outcome.now.presence, PRESENCE_UNKNOWN, rows[i].note);
        outcome_done(&outcome);
        call_end(&call);
    }
}

/* Many targets of a kind that nothing defines ask for its definition once. */
static void looks_for_a_definition_once(void)
{
    static const struct fake_step steps[] = {
        NO_WIDGETS, DEFINITIONS(""), {SERVICE, .status = 404, .body = MISSING("v1.x.io")}};
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), WIDGET);
    for (int i = 0; i < 3; i++) {
        struct runtime_outcome outcome = {0};

        EXPECT_INT(kube_read(call.session, &call.target, &stage_call, &outcome, NULL), 0, "a look");
        EXPECT_INT(outcome.now.presence, PRESENCE_ABSENT, "absent");
        outcome_done(&outcome);
    }
    call_end(&call);
}

static int look_for(struct call *call, int n)
{
    const struct value *attributes;
    _cleanup_free_ char *text = str_printf("{\"apiVersion\":\"x.io/v1\",\"kind\":\"Widget%d\"}", n);
    int r;

    attributes = stage_value(text);
    r = kube_is_undefined(call->session, attributes, &stage_call, NULL);
    value_unref(attributes);
    return r;
}

/* The list of all definitions counts for three seconds, for all kinds and Specs; of the kinds of
 * one namespace eight are looked for in a second. */
static void looks_for_few_definitions_at_once(void)
{
#define LOOK                                               \
    {                                                      \
        SERVICE, .status = 404, .body = MISSING("v1.x.io") \
    }
    static const struct fake_step steps[] = {DEFINITIONS(""),
                                             LOOK,
                                             LOOK,
                                             LOOK,
                                             LOOK,
                                             LOOK,
                                             LOOK,
                                             LOOK,
                                             LOOK,
                                             LOOK,
                                             DEFINITIONS(""),
                                             LOOK,
                                             DEFINITIONS(""),
                                             LOOK};
#undef LOOK
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), WIDGET);
    for (int i = 0; i < 8; i++)
        EXPECT_INT(look_for(&call, i), 1, "nothing defines it");
    EXPECT_INT(look_for(&call, 8), ERR_UNAVAILABLE, "too many");
    EXPECT_INT(look_for(&call, 0), 1, "what was found counts");
    call.stage.clock.monotonic += 1000;
    EXPECT_INT(look_for(&call, 8), 1, "later, of the same list");
    call.stage.clock.monotonic += 2000;
    EXPECT_INT(look_for(&call, 8), 1, "of another list");
    call.stage.clock.monotonic += 1000;
    kube_note_applied(call.session, call.target.attributes);
    EXPECT_INT(look_for(&call, 8), 1, "what was applied may have a definition since");
    call_end(&call);
}

/* ---- Many ---- */

#define N_MANY 4

/* One look at ConfigMaps a, b, c and the same a. */
static void looks_at_many(void)
{
    static const char *const all[N_MANY] = {MAP("a"), MAP("b"), MAP("c"), MAP("a")};
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        const char *seen; /* P, A or U for each */
    } rows[] = {
        {"one list; what it does not show is absent; what is named twice is left to the plan",
         {DISCOVERY,
          {.expect = "GET " MAPS "?limit=", .status = 200, .body = LIST(META("a") "," META("z"))}},
         "PAAU"},
        {"a continue token that expired",
         {DISCOVERY,
          {.expect = "GET " MAPS "?limit=",
           .status = 200,
           .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":"
                   "\"next\"},\"items\":[" META("a") "]}"},
          {.expect = "GET " MAPS "?limit=",
           .status = 410,
           .body = STATUS(410, "Expired", "too old", "{}")},
          {.expect = "GET " MAPS "?limit=", .status = 200, .body = LIST(META("a") "," META("c"))}},
         "PAPU"},
        {"a list that breaks off after it showed some tells nothing",
         {DISCOVERY,
          {.expect = "GET " MAPS "?limit=",
           .status = 200,
           .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":"
                   "\"next\"},\"items\":[" META("a") "," META("b") "]}"},
          {.expect = "GET " MAPS "?limit=", .status = 403, .body = DENIED}},
         "UUUU"},
        {"no right to list",
         {DISCOVERY, {.expect = "GET " MAPS "?limit=", .status = 403, .body = DENIED}},
         "UUUU"},
        {"items without an identity",
         {DISCOVERY, {.expect = "GET " MAPS "?limit=", .status = 200, .body = LIST(NAMED("a"))}},
         "UUUU"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_target targets[N_MANY] = {0};
        struct observation seen[N_MANY] = {0};
        struct error error = {0};
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), MAP("a"));
        for (size_t j = 0; j < N_MANY; j++)
            targets[j].attributes = stage_value(all[j]);
        EXPECT_INT(kube_prefetch(call.session, targets, N_MANY, &stage_call, seen, &error), 0,
                   error.message);
        for (size_t j = 0; j < N_MANY; j++) {
            EXPECT_INT("UAP"[seen[j].presence], rows[i].seen[j], rows[i].note);
            EXPECT_INT(kube_detail_of(&seen[j]) != NULL, rows[i].seen[j] == 'P', rows[i].note);
            observation_done(&seen[j]);
            value_unref(targets[j].attributes);
        }
        for (size_t j = 1; j < count_steps(rows[i].steps); j++)
            EXPECT(call_impersonates(&call, j), rows[i].note);
        call_end(&call);
    }
}

/* Kinds and namespaces apart; what is alone, and what is of an unknown kind, is the plan's. */
static void lists_each_place_by_itself(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY,
        {.expect = "GET /apis/x.io/v1 ", .status = 403, .body = STATUS(403, "Forbidden", "", "{}")},
        {.expect = "GET " MAPS "?limit=", .status = 200, .body = LIST(META("a"))},
    };
    static const char *const all[] = {MAP("a"), NAMESPACE, WIDGET, MAP_IN("other", "a"), MAP("b")};
    static const enum presence expected[] = {PRESENCE_PRESENT, PRESENCE_UNKNOWN, PRESENCE_UNKNOWN,
                                             PRESENCE_UNKNOWN, PRESENCE_ABSENT};
    struct runtime_target targets[ARRAY_SIZE(all)] = {0};
    struct observation seen[ARRAY_SIZE(all)] = {0};
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        targets[i].attributes = stage_value(all[i]);
    EXPECT_INT(kube_prefetch(call.session, targets, ARRAY_SIZE(all), &stage_call, seen, NULL), 0,
               "a look");
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        EXPECT_INT(seen[i].presence, expected[i], all[i]);
        observation_done(&seen[i]);
        value_unref(targets[i].attributes);
    }
    call_end(&call);
}

/* ---- Its end ---- */

static void a_look_ends_with_its_call(void)
{
    static const struct fake_step steps[] = {DISCOVERY};
    struct cancel *cancel = cancel_new(NULL);
    struct runtime_call cancelled = {.deadline = CLOCK_FOREVER, .cancel = cancel}, late = {0};
    struct runtime_outcome outcome = {0};
    struct error error = {0};
    struct kube_ref place;
    struct call call;

    call_begin(&call, steps, 1, MAP("a"));
    EXPECT_INT(kube_ref_of(call.session, call.attributes, &stage_call, &place, &error), 0,
               error.message);
    cancel_fire(cancel, "Superseded");
    EXPECT_INT(kube_read(call.session, &call.target, &cancelled, &outcome, &error), ERR_CANCELLED,
               "cancelled");
    EXPECT(strstr(error.message, "Superseded"), error.message);
    EXPECT_INT(outcome.now.presence, PRESENCE_UNKNOWN, "not absent");
    late.deadline = call.stage.clock.monotonic;
    EXPECT_INT(kube_read(call.session, &call.target, &late, &outcome, &error), ERR_TIMEOUT, "late");
    EXPECT_INT(outcome.now.presence, PRESENCE_UNKNOWN, "not absent");
    call_end(&call);
    cancel_free(cancel);
}

SUITE(kube_observe, TEST(absent_is_only_what_is_said_to_be),
      TEST(believes_only_the_object_that_was_asked_for), TEST(looks_for_a_definition_once),
      TEST(looks_for_few_definitions_at_once), TEST(looks_at_many),
      TEST(lists_each_place_by_itself), TEST(a_look_ends_with_its_call))
