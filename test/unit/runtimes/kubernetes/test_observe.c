/* Looks over a scripted server: what is absent, and what is only not known. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/script.h"
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
         {DISCOVERY, {.expect = "GET", .status = 403, .body = DENIED}},
         PRESENCE_UNKNOWN,
         ERR_FORBIDDEN},
        {"no such group",
         WIDGET,
         {{.expect = "GET /apis/x.io/v1 ", NO_PAGE}, GROUPS("")},
         PRESENCE_ABSENT,
         0},
        {"a group that is not served at the moment",
         WIDGET,
         {{.expect = "GET /apis/x.io/v1 ", NO_PAGE}, GROUPS("{\"groupVersion\":\"x.io/v1\"}")},
         PRESENCE_UNKNOWN,
         ERR_UNAVAILABLE},
        {"its kind went since it was discovered",
         WIDGET,
         {FOUND_WIDGETS,
          {.expect = "GET /apis/x.io/v1/namespaces/team/widgets/a ", NO_PAGE},
          {.expect = "GET /apis/x.io/v1 ", NO_PAGE},
          GROUPS("")},
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
        struct observation seen = {0};
        struct error error = {0};

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), rows[i].attributes);
        EXPECT_INT(kube_read(call.session, &call.target, &seen, &error), rows[i].code,
                   rows[i].note);
        EXPECT_INT(seen.presence, rows[i].presence, rows[i].note);
        EXPECT_INT(seen.error.code, rows[i].code, "the same error");
        observation_done(&seen);
        call_end(&call);
    }
}

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
        {"one list; what it does not show is absent; who is named twice is asked for twice",
         {DISCOVERY,
          {.expect = "GET " MAPS "?limit=", .status = 200, .body = LIST(META("a") "," META("z"))},
          {.expect = "GET " MAPS "/a ", .status = 200, .body = META("a")}},
         "PAAP"},
        {"a continue token that expired",
         {DISCOVERY,
          {.expect = "GET " MAPS "?limit=",
           .status = 200,
           .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":"
                   "\"next\"},\"items\":[" META("a") "]}"},
          {.expect = "GET " MAPS "?limit=",
           .status = 410,
           .body = STATUS(410, "Expired", "too old", "{}")},
          {.expect = "GET " MAPS "?limit=", .status = 200, .body = LIST(META("a") "," META("c"))},
          {.expect = "GET " MAPS "/a ", .status = 200, .body = META("a")}},
         "PAPP"},
        {"a list that breaks off after it showed some",
         {DISCOVERY,
          {.expect = "GET " MAPS "?limit=",
           .status = 200,
           .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":"
                   "\"next\"},\"items\":[" META("a") "," META("b") "]}"},
          {.expect = "GET " MAPS "?limit=", .status = 403, .body = DENIED},
          {.expect = "GET " MAPS "/a ", .status = 200, .body = META("a")},
          {.expect = "GET " MAPS "/b ", .status = 404, .body = MISSING("b")},
          {.expect = "GET " MAPS "/c ", .status = 403, .body = DENIED},
          {.expect = "GET " MAPS "/a ", .status = 200, .body = META("a")}},
         "PAUP"},
        {"no right to list: each for itself",
         {DISCOVERY,
          {.expect = "GET " MAPS "?limit=", .status = 403, .body = DENIED},
          {.expect = "GET " MAPS "/a ", .status = 200, .body = META("a")},
          {.expect = "GET " MAPS "/b ", .status = 404, .body = MISSING("b")},
          {.expect = "GET " MAPS "/c ", .status = 403, .body = DENIED},
          {.expect = "GET " MAPS "/a ", .status = 200, .body = META("a")}},
         "PAUP"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_target targets[N_MANY] = {0};
        struct observation seen[N_MANY] = {0};
        struct error error = {0};
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), MAP("a"));
        for (size_t j = 0; j < N_MANY; j++)
            targets[j].attributes = stage_value(all[j]);
        EXPECT_INT(kube_observe(call.session, targets, N_MANY, seen, &error), 0, error.message);
        for (size_t j = 0; j < N_MANY; j++) {
            EXPECT_INT("UAP"[seen[j].presence], rows[i].seen[j], rows[i].note);
            EXPECT_INT(seen[j].error.code, rows[i].seen[j] == 'U' ? ERR_FORBIDDEN : 0,
                       rows[i].note);
            observation_done(&seen[j]);
            value_unref(targets[j].attributes);
        }
        for (size_t j = 1; j < count_steps(rows[i].steps); j++)
            EXPECT(call_impersonates(&call, j), rows[i].note);
        call_end(&call);
    }
}

/* Kinds and namespaces apart; and a kind that is unknown spoils only its own. */
static void looks_at_each_place_by_itself(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY,
        {.expect = "GET /apis/x.io/v1 ", .status = 403, .body = STATUS(403, "Forbidden", "", "{}")},
        {.expect = "GET /api/v1/namespaces/", .status = 200, .body = META("a")},
        {.expect = "GET /api/v1/namespaces/", .status = 200, .body = META("a")},
        {.expect = "GET /api/v1/namespaces/", .status = 200, .body = META("a")},
    };
    static const char *const all[N_MANY] = {MAP("a"), NAMESPACE, WIDGET, MAP_IN("other", "a")};
    struct runtime_target targets[N_MANY] = {0};
    struct observation seen[N_MANY] = {0};
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
    for (size_t i = 0; i < N_MANY; i++)
        targets[i].attributes = stage_value(all[i]);
    EXPECT_INT(kube_observe(call.session, targets, N_MANY, seen, NULL), 0, "a look");
    for (size_t i = 0; i < N_MANY; i++) {
        EXPECT_INT(seen[i].presence, i == 2 ? PRESENCE_UNKNOWN : PRESENCE_PRESENT, all[i]);
        EXPECT_INT(seen[i].error.code, i == 2 ? ERR_FORBIDDEN : 0, all[i]);
        observation_done(&seen[i]);
        value_unref(targets[i].attributes);
    }
    call_end(&call);
}

static void a_look_that_is_cancelled_fails_as_a_whole(void)
{
    static const struct fake_step steps[] = {DISCOVERY};
    struct cancel *cancel = cancel_new(NULL);
    struct observation seen = {0};
    struct error error = {0};
    struct kube_place place;
    struct call call;

    call_begin(&call, steps, 1, MAP("a"));
    EXPECT_INT(kube_place_of(call.session, call.attributes, &place, &error), 0, error.message);
    call.session->cancel = cancel;
    cancel_fire(cancel, "Superseded");
    EXPECT_INT(kube_observe(call.session, &call.target, 1, &seen, &error), ERR_CANCELLED, "all");
    EXPECT_STR(error.message, "Superseded", "why");
    EXPECT_INT(seen.presence, PRESENCE_UNKNOWN, "not absent");
    EXPECT_INT(seen.error.code, ERR_CANCELLED, seen.error.message);
    observation_done(&seen);
    call_end(&call);
    cancel_free(cancel);
}

SUITE(kube_observe, TEST(absent_is_only_what_is_said_to_be), TEST(looks_at_many),
      TEST(looks_at_each_place_by_itself), TEST(a_look_that_is_cancelled_fails_as_a_whole))
