/* What messages about missing rights ask the API server, in the account's own name. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/session/script.h"
#include "test/unit/suite.h"

#define RULE(verbs, groups, resources, more) \
    "{\"verbs\":[" verbs "],\"apiGroups\":[" groups "],\"resources\":[" resources "]" more "}"
#define REVIEW(rules)                                                                  \
    "{\"kind\":\"SelfSubjectRulesReview\",\"apiVersion\":\"authorization.k8s.io/v1\"," \
    "\"metadata\":{},\"spec\":{},\"status\":{\"resourceRules\":[" rules                \
    "],\"nonResourceRules\":[],\"incomplete\":false}}"
#define ASKED(answer)                                                   \
    {                                                                   \
        .expect = "POST " REVIEWS " ", .status = 201, .body = (answer), \
    }

static const struct kube_kind maps = {"v1", "ConfigMap", "configmaps", true};

static void lists_all_verbs_that_are_missing(void)
{
    static const struct {
        const char *note, *rules; /* NULL: not known */
        const char *refused, *expected, *object;
    } rows[] = {
        {"none is allowed", "", "patch", "get,list,watch,create,patch,delete", NULL},
        {"some are", RULE("\"get\",\"list\"", "\"\"", "\"configmaps\"", ""), "patch",
         "watch,create,patch,delete", NULL},
        {"of another kind", RULE("\"get\"", "\"\"", "\"secrets\"", ""), "patch",
         "get,list,watch,create,patch,delete", NULL},
        {"of another group", RULE("\"get\"", "\"apps\"", "\"configmaps\"", ""), "patch",
         "get,list,watch,create,patch,delete", NULL},
        {"of one object", RULE("\"get\"", "\"\"", "\"configmaps\"", ",\"resourceNames\":[\"a\"]"),
         "patch", "get,list,watch,create,patch,delete", NULL},
        {"all by stars", RULE("\"*\"", "\"*\"", "\"*\"", ""), "patch", "patch", NULL},
        {"it was allowed meanwhile", RULE("\"patch\"", "\"\"", "\"configmaps\"", ""), "patch",
         "get,list,watch,create,patch,delete", NULL},
        {"not known", NULL, "patch", "patch", NULL},
        {"for one object", "", "patch", "get,create,patch,delete", "a"},
        {"for one, of one", RULE("\"get\"", "\"\"", "\"configmaps\"", ",\"resourceNames\":[\"a\"]"),
         "patch", "create,patch,delete", "a"},
        {"for one, of another",
         RULE("\"get\"", "\"\"", "\"configmaps\"", ",\"resourceNames\":[\"b\"]"), "patch",
         "get,create,patch,delete", "a"},
        {"for one, all of the kind", RULE("\"get\"", "\"\"", "\"configmaps\"", ""), "patch",
         "create,patch,delete", "a"},
        {"for one, not known", NULL, "patch", "patch", "a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *answer =
            rows[i].rules ? str_printf(REVIEW("%s"), rows[i].rules) : NULL;
        const struct fake_step known[] = {ASKED(answer)};
        static const struct fake_step unknown[] = {NO_REVIEW, NO_REVIEW};
        struct call call;

        call_begin(&call, answer ? known : unknown, answer ? 1 : 2, MAP("a"));
        for (int again = 0; again < 2; again++) { /* what is known is not asked again */
            _cleanup_free_ char *verbs = session_missing_verbs(call.session, &maps, rows[i].object,
                                                               rows[i].refused, &stage_call);

            EXPECT_STR(verbs, rows[i].expected, rows[i].note);
        }
        EXPECT(call_impersonates(&call, 0), "it asks for itself");
        call_end(&call);
    }
}

static void offers_all_of_them_at_once(void)
{
    static const struct fake_step steps[] = {
        ASKED(REVIEW(RULE("\"get\"", "\"\"", "\"configmaps\"", "")))};
    static const struct kube_ref place = {&maps, "team", "a", NULL};
    struct error error = {0};
    struct call call;

    call_begin(&call, steps, 1, MAP("a"));
    err_set(&error, ERR_FORBIDDEN, "Forbidden",
            "User \"system:serviceaccount:team:deployer\" cannot patch resource");
    session_add_hint(call.session, &place, &stage_call, &error);
    EXPECT(strstr(error.message,
                  "kubectl create role kusion:team:deployer:list-watch-create-patch-delete-"
                  "configmaps --verb=list,watch,create,patch,delete --resource=configmaps "
                  "--namespace=team && kubectl create rolebinding "),
           error.message);
    call_end(&call);
}

/* A namespace that does not exist refuses every account that has no rights everywhere. */
static void tells_a_missing_namespace_from_a_missing_right(void)
{
    static const struct {
        const char *note;
        int status; /* of the look; 0: nobody looks */
        const char *in, *reason, *words;
    } rows[] = {
        {"it does not exist", 404, "other", "NamespaceNotFound",
         "namespaces \"other\" not found: create it, or add the Namespace to this Spec\n"
         "to create it: kubectl create namespace other"},
        {"it exists", 200, "other", "AccessDenied", "is its owners' to give"},
        {"the account may not know", 403, "other", "AccessDenied",
         "such a right in namespace other is its owners' to give, if there is such a namespace"},
        {"it is the Spec's own", 0, "team", "AccessDenied", "to allow it: "},
        {"it is no namespace", 0, NULL, "AccessDenied", "it is in no namespace"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step looks[] = {{.expect = "GET /api/v1/namespaces/other ",
                                           .status = rows[i].status,
                                           .body = rows[i].status == 200 ? META_IN("", "other", "")
                                                   : rows[i].status == 404 ? MISSING("other")
                                                                           : DENIED}};
        static const struct fake_step review[] = {NO_REVIEW, NO_REVIEW};
        const struct kube_ref place = {&maps, rows[i].in, "a", NULL};
        bool is_own = rows[i].in && str_equal(rows[i].in, "team");
        struct call call;

        call_begin(&call, is_own ? review : looks, is_own ? 2 : rows[i].status != 0, MAP("a"));
        for (int again = 0; again < 2; again++) {
            struct error error = {0};

            err_set(&error, ERR_FORBIDDEN, "Forbidden",
                    "User \"system:serviceaccount:team:deployer\" cannot patch resource");
            session_add_hint(call.session, &place, &stage_call, &error);
            EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
            EXPECT(strstr(error.message, rows[i].words), error.message);
        }
        if (rows[i].status)
            EXPECT(call_impersonates(&call, 0), "it asks for itself");
        call_end(&call);
    }
}

static void says_what_to_do_about_a_missing_namespace(void)
{
    static const struct kube_ref place = {&maps, "other", "a", NULL};
    struct runtime_session session = stage_session();
    struct error error = {0};

    err_set(&error, ERR_INVALID, "NamespaceNotFound", "namespaces \"other\" not found");
    session_add_hint(&session, &place, NULL, &error);
    EXPECT_STR(error.message,
               "namespaces \"other\" not found: create it, or add the Namespace to this Spec\n"
               "to create it: kubectl create namespace other",
               "the next step");
    EXPECT_STR(error.reason, "NamespaceNotFound", "as before");
    EXPECT_INT(error.code, ERR_INVALID, "as before");
}

SUITE(kube_rights, TEST(lists_all_verbs_that_are_missing), TEST(offers_all_of_them_at_once),
      TEST(tells_a_missing_namespace_from_a_missing_right),
      TEST(says_what_to_do_about_a_missing_namespace))
