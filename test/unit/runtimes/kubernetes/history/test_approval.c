/* Who approved a plan, by the object's managed fields. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/history/approval.h"
#include "test/unit/suite.h"

#define BY(manager, time, fields)                                                  \
    "{\"manager\":\"" manager "\",\"operation\":\"Update\",\"time\":\"" time "\"," \
    "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":" fields "}"
#define PLAN  "{\"f:spec\":{\"f:approvedPlan\":{}}}"
#define OTHER "{\"f:spec\":{\"f:operation\":{},\"f:specRef\":{\"f:approvedPlan\":{}}}}"
#define RELEASE(managers, spec) \
    "{\"metadata\":{\"managedFields\":[" managers "]},\"spec\":{" spec "}}"
#define NAMED "\"approvedPlan\":\"abc\""

static void tells_who_approved(void)
{
    static const char *const path[] = {"spec", "approvedPlan", NULL};
    static const struct {
        const char *note, *object, *plan, *manager, *time;
    } rows[] = {
        {"nobody", RELEASE("", ""), NULL, NULL, NULL},
        {"nobody, any more", RELEASE(BY("alice", "2026-01-01T00:00:00Z", PLAN), ""), NULL, NULL,
         NULL},
        {"one",
         RELEASE(
             BY("op", "2026-01-02T00:00:00Z", OTHER) "," BY("alice", "2026-01-01T00:00:00Z", PLAN),
             NAMED),
         "abc", "alice", "2026-01-01T00:00:00Z"},
        {"the last of two",
         RELEASE(BY("alice", "2026-01-01T00:00:00Z",
                    PLAN) "," BY("bob", "2026-01-03T00:00:00Z",
                                 PLAN) "," BY("carol", "2026-01-02T00:00:00Z", PLAN),
                 NAMED),
         "abc", "bob", "2026-01-03T00:00:00Z"},
        {"not known who", RELEASE(BY("op", "2026-01-02T00:00:00Z", OTHER), NAMED), "abc", NULL,
         NULL},
        {"no managed fields", "{\"spec\":{" NAMED "}}", "abc", NULL, NULL},
        {"no text", RELEASE(BY("alice", "2026-01-01T00:00:00Z", PLAN), "\"approvedPlan\":7"), NULL,
         NULL, NULL},
        {"no object", "[]", NULL, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = NULL;
        struct release_approval approval;

        EXPECT_INT(json_read(rows[i].object, strlen(rows[i].object), &object, NULL), 0,
                   rows[i].note);
        kube_approval_read(object, path, &approval);
        EXPECT_STR(approval.plan, rows[i].plan, rows[i].note);
        EXPECT_STR(approval.manager, rows[i].manager, rows[i].note);
        EXPECT_STR(approval.time, rows[i].time, rows[i].note);
        EXPECT_STR(approval.approver, rows[i].manager, rows[i].note);
        release_approval_done(&approval);
    }
}

static void tells_the_name_that_the_approver_gave(void)
{
    static const char *const path[] = {"spec", "approvedPlan", NULL};
    static const char *const decisions[] = {NAMED, "\"rejected\":true"};

    for (size_t i = 0; i < ARRAY_SIZE(decisions); i++) {
        _cleanup_value_ const struct value *object = NULL;
        _cleanup_free_ char *text = str_printf(
            RELEASE(BY("kubectl", "2026-01-01T00:00:00Z", PLAN), "%s,\"approvedBy\":\"alice\""),
            decisions[i]);
        struct release_rejection rejection;
        struct release_approval approval;

        EXPECT_INT(json_read(text, strlen(text), &object, NULL), 0, text);
        kube_approval_read(object, path, &approval);
        kube_rejection_read(object, &rejection);
        EXPECT_STR(approval.approver, approval.plan ? "alice" : NULL, text);
        EXPECT_STR(rejection.approver, rejection.is_rejected ? "alice" : NULL, text);
        EXPECT_STR(approval.manager, approval.plan ? "kubectl" : NULL, text);
        release_approval_done(&approval);
        release_rejection_done(&rejection);
    }
}

static void tells_when_a_field_was_written(void)
{
    static const char *const spec[] = {"spec", NULL};
    static const struct {
        const char *object, *time;
    } rows[] = {
        {RELEASE(
             BY("op", "2026-01-02T00:00:00Z", OTHER) "," BY("alice", "2026-01-01T00:00:00Z", PLAN),
             ""),
         "2026-01-02T00:00:00Z"},
        {RELEASE(BY("op", "2026-01-02T00:00:00Z", "{\"f:status\":{}}"), ""), NULL},
        {RELEASE("", ""), NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = NULL;

        EXPECT_INT(json_read(rows[i].object, strlen(rows[i].object), &object, NULL), 0, "read");
        EXPECT_STR(kube_field_time(object, spec), rows[i].time, rows[i].object);
    }
}

SUITE(approval, TEST(tells_who_approved), TEST(tells_the_name_that_the_approver_gave),
      TEST(tells_when_a_field_was_written))
