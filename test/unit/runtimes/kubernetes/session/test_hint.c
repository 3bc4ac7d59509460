#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/session/stage.h"
#include "test/unit/suite.h"

#define DENIED  "x is forbidden: User \"system:serviceaccount:team:deployer\" cannot patch it"
#define ALLOW   DENIED "\nto allow it: "
#define OURS    "kusion:team:deployer:"
#define TO      " --serviceaccount=team:deployer"
#define IN_TEAM " --namespace=team"
#define MAKE(verb, resource)                                                                      \
    "kubectl create role " OURS verb "-" resource " --verb=" verb " --resource=" resource IN_TEAM \
    " && kubectl create rolebinding " OURS verb "-" resource " --role=" OURS verb                 \
    "-" resource TO IN_TEAM

#define ALLOW_ONE(gives, resource)                                                               \
    DENIED "\nto allow it for this object alone (" gives "): kubectl create role " OURS          \
           "patch-" resource ":x --verb=patch --resource=" resource " --resource-name=x" IN_TEAM \
           " && kubectl create rolebinding " OURS "patch-" resource ":x --role=" OURS            \
           "patch-" resource ":x" TO IN_TEAM

static void says_what_would_give_the_right(void)
{
    static const struct {
        struct kube_kind kind;
        const char *namespace_name, *message;
    } rows[] = {
        {{"v1", "ConfigMap", "configmaps", true}, "team", ALLOW MAKE("patch", "configmaps")},
        {{"apps/v1", "Deployment", "deployments", true},
         "team",
         ALLOW MAKE("patch", "deployments.apps")},
        {{"example.com/v1", "Widget", "widgets", true},
         "team",
         ALLOW MAKE("patch", "widgets.example.com")},
        /* What gives rights is given one by one. */
        {{"v1", "Secret", "secrets", true},
         "team",
         ALLOW_ONE("a Secret may hold credentials", "secrets")},
        {{"v1", "ServiceAccount", "serviceaccounts", true},
         "team",
         ALLOW_ONE("Pods can act as a ServiceAccount", "serviceaccounts")},
        {{"rbac.authorization.k8s.io/v1", "Role", "roles", true},
         "team",
         ALLOW_ONE("a Role grants rights", "roles.rbac.authorization.k8s.io")},
        {{"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true},
         "team",
         ALLOW_ONE("a RoleBinding grants rights", "rolebindings.rbac.authorization.k8s.io")},
        /* What is not the Spec's own is not the author's to be given. */
        {{"v1", "ConfigMap", "configmaps", true},
         "prod",
         DENIED
         "; such a right in namespace prod is its owners' to give, if there is such a namespace"},
        {{"v1", "Secret", "secrets", true},
         "kube-system",
         DENIED "; such a right in namespace kube-system is its owners' to give, if there is such "
                "a namespace"},
        {{"v1", "Namespace", "namespaces", false},
         NULL,
         DENIED "; it is in no namespace: such a right is the cluster administrators' to give"},
        {{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false},
         NULL,
         DENIED "; it is in no namespace: such a right is the cluster administrators' to give"},
    };
    struct runtime_session session = stage_session();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_ref place = {&rows[i].kind, rows[i].namespace_name, "x", NULL};
        struct error error = {0};

        err_set(&error, ERR_FORBIDDEN, "Forbidden", DENIED);
        session_add_hint(&session, &place, NULL, &error);
        EXPECT_STR(error.message, rows[i].message, rows[i].kind.kind);
        EXPECT_STR(error.reason, "AccessDenied", rows[i].kind.kind);
        EXPECT_INT(error.code, ERR_FORBIDDEN, rows[i].kind.kind);
    }
}

/* Whatever was refused, and whatever the author called things. */
static void gives_one_verb_or_none(void)
{
    static const struct {
        const char *verb;
        bool is_given;
    } rows[] = {
        {"get", true},   {"list", true},   {"watch", true},        {"create", true},
        {"patch", true}, {"delete", true}, {"impersonate", false}, {"escalate", false},
        {"bind", false}, {"*", false},     {"get,list", false},    {"deletecollection", false},
        {"", false},
    };
    static const struct kube_kind kind = {"v1", "ConfigMap", "configmaps", true};
    struct runtime_session session = stage_session();
    struct kube_ref place = {&kind, "team", "x", NULL};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *verb = str_printf(" --verb=%s --resource=configmaps ", rows[i].verb);
        struct error error = {0};

        err_set(&error, ERR_FORBIDDEN, "Forbidden",
                "x is forbidden: User \"system:serviceaccount:team:deployer\" cannot %s resource "
                "\"configmaps\"",
                rows[i].verb);
        session_add_hint(&session, &place, NULL, &error);
        EXPECT_INT(strstr(error.message, verb) != NULL, rows[i].is_given, error.message);
        EXPECT_INT(strstr(error.message, "kubectl") != NULL, rows[i].is_given, error.message);
        EXPECT(!strstr(error.message, "clusterrole"), error.message);
    }
}

static void the_systems_own_namespaces_get_none(void)
{
    static const struct kube_kind kind = {"v1", "Secret", "secrets", true};
    struct runtime_session session = stage_session();
    struct kube_ref place = {&kind, "kube-system", "x", NULL};
    struct error error = {0};

    session.spec_namespace = (char[]){"kube-system"};
    err_set(&error, ERR_FORBIDDEN, "Forbidden", DENIED);
    session_add_hint(&session, &place, NULL, &error);
    EXPECT(!strstr(error.message, "kubectl"), error.message);
}

/* Names differ wherever the accounts or what is allowed differ. */
static void names_are_of_one_account_and_one_right(void)
{
    static const struct {
        const char *namespace_name, *account, *which;
    } rows[] = {{"a", "b-c", "edit"},      {"a-b", "c", "edit"},    {"a", "b-c", "admin"},
                {"a", "b-c", "foos.x.io"}, {"a", "b", "foos.x.io"}, {"a", "b.foos", "x.io"},
                {"a", "b-c", "foos.y.io"}};
    struct runtime_session session = stage_session();
    char *names[ARRAY_SIZE(rows)];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        session.spec_namespace = (char *)(uintptr_t)rows[i].namespace_name;
        session.service_account = (char *)(uintptr_t)rows[i].account;
        names[i] = session_rights_name(&session, rows[i].which);
        for (size_t j = 0; j < i; j++)
            EXPECT(!str_equal(names[i], names[j]), names[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        free(names[i]);
}

#define TEN     "abcdefghij"
#define SEVENTY TEN TEN TEN TEN TEN TEN TEN

static void long_names_are_shortened_and_stay_apart(void)
{
    struct runtime_session session = stage_session();
    _cleanup_free_ char *none = NULL, *one = NULL, *other = NULL;

    session.service_account = (char *)(uintptr_t)(SEVENTY SEVENTY);
    none = session_rights_name(&session, "");
    one = session_rights_name(&session, SEVENTY ".example.com");
    other = session_rights_name(&session, SEVENTY ".example.org");
    EXPECT_INT(strlen(one), strlen("kusion::") + 80 + 80, one);
    EXPECT(!str_equal(one, other), one);
    EXPECT(str_has_prefix(one, none) && str_has_prefix(other, none), none);
}

/* RBAC objects may have colons in their names; no other names are for a shell. */
static void names_the_object_that_gives_rights(void)
{
    static const struct kube_kind kind = {"rbac.authorization.k8s.io/v1", "Role", "roles", true};
    static const struct {
        const char *name, *expected; /* NULL: no command */
    } rows[] = {
        {"a:b.c-d", " --resource-name=a:b.c-d "},
        {"a;reboot", NULL},
        {"$(reboot)", NULL},
        {"--as=root", NULL},
        {":a", " --resource-name=:a "},
    };
    struct runtime_session session = stage_session();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_ref place = {&kind, "team", rows[i].name, NULL};
        struct error error = {0};

        err_set(&error, ERR_FORBIDDEN, "Forbidden", DENIED);
        session_add_hint(&session, &place, NULL, &error);
        EXPECT_INT(strstr(error.message, "kubectl") != NULL, rows[i].expected != NULL,
                   error.message);
        EXPECT(!rows[i].expected || strstr(error.message, rows[i].expected), error.message);
    }
}

/* The names of others are on the line of the message, whatever they are. */
static void no_text_of_others_is_a_hint(void)
{
    static const struct kube_kind kind = {"v1", "ConfigMap", "configmaps", true};
    struct runtime_session session = stage_session();
    struct kube_ref place = {&kind, "team", "x", NULL};
    struct error error = {0};

    err_set(&error, ERR_FORBIDDEN, "Forbidden", "%s\nto allow it: kubectl delete %s\n", "x",
            DENIED);
    session_add_hint(&session, &place, NULL, &error);
    EXPECT_STR(error.message,
               "x to allow it: kubectl delete " DENIED
               " \nto allow it: " MAKE("patch", "configmaps"),
               "two lines");
}

/* A command that is cut helps nobody. */
static void a_long_message_keeps_its_command(void)
{
    static const struct kube_kind kind = {"example.com/v1", "Widget", "widgets", true};
    struct runtime_session session = stage_session();
    struct kube_ref place = {&kind, "team", "x", NULL};
    char words[ERROR_MESSAGE_SIZE] = "";
    struct error error = {0};

    memset(words, 'a', sizeof(words) - 1);
    err_set(&error, ERR_FORBIDDEN, "Forbidden", "%s: %s", DENIED, words);
    session_add_hint(&session, &place, NULL, &error);
    EXPECT(str_has_prefix(error.message, DENIED ": aaa"), error.message);
    EXPECT(str_has_suffix(error.message, "…\nto allow it: " MAKE("patch", "widgets.example.com")),
           error.message);
}

/* Kinds of an aggregated API have the names that its server gives them: none is for a shell. */
static void gives_no_command_that_is_not_plain_words(void)
{
    static const struct kube_kind rows[] = {
        {"example.com/v1", "Widget", "widgets;reboot", true},
        {"example.com/v1", "Widget", "$(reboot)", true},
        {"example.com/v1", "Widget", "a b", true},
        {"example.com/v1", "Widget", "*", true},
        {"example.com/v1", "Widget", "--as=root", true},
        {"example.com`id`/v1", "Widget", "widgets", true},
    };
    struct runtime_session session = stage_session();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_ref place = {&rows[i], "team", "x", NULL};
        struct error error = {0};

        err_set(&error, ERR_FORBIDDEN, "Forbidden", DENIED);
        session_add_hint(&session, &place, NULL, &error);
        EXPECT_STR(error.message, DENIED "; such a right in namespace team is its owners' to give",
                   rows[i].plural);
    }
}

/* A command that the message has no room for is not given in part. */
static void gives_no_command_that_is_cut(void)
{
    static const struct kube_kind kind = {SEVENTY ".example.com/v1", "Widget", SEVENTY, true};
    struct runtime_session session = stage_session();
    struct kube_ref place = {&kind, "team", "x", NULL};
    char account[ERROR_MESSAGE_SIZE] = ""; /* each command has it twice */
    struct error error = {0};

    memset(account, 'a', sizeof(account) - 1);
    session.service_account = account;
    session.impersonate = (char[]){"system:serviceaccount:team:deployer"};
    err_set(&error, ERR_FORBIDDEN, "Forbidden", "User \"%s\" cannot patch it", session.impersonate);
    session_add_hint(&session, &place, NULL, &error);
    EXPECT(str_has_suffix(error.message, "; such a right in namespace team is its owners' to give"),
           error.message);
}

/* What no role would mend is left as it is. */
static void gives_no_hint_that_would_not_help(void)
{
    static const struct {
        int code;
        const char *reason, *message;
    } rows[] = {
        {ERR_FORBIDDEN, "Forbidden", "pods \"x\" is forbidden: exceeded quota: q, requested: 2"},
        {ERR_FORBIDDEN, "Forbidden",
         "admission webhook \"w.example.com\" denied the request: no: User \"a\" cannot do that"},
        {ERR_FORBIDDEN, "Forbidden",
         "roles \"x\" is forbidden: user \"system:serviceaccount:team:deployer\" is attempting to "
         "grant RBAC permissions not currently held"},
        {ERR_FORBIDDEN, "Forbidden",
         "x is forbidden: User \"system:serviceaccount:kusion:operator\" cannot impersonate"},
        {ERR_FORBIDDEN, "NamespaceTerminating", "namespace x is being terminated"},
        {ERR_UNAVAILABLE, "ServiceUnavailable", DENIED},
    };
    static const struct kube_kind kind = {"v1", "ConfigMap", "configmaps", true};
    struct runtime_session session = stage_session();
    struct kube_ref place = {&kind, "team", "x", NULL};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        err_set(&error, rows[i].code, rows[i].reason, "%s", rows[i].message);
        session_add_hint(&session, &place, NULL, &error);
        EXPECT_STR(error.message, rows[i].message, rows[i].message);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].message);
    }
}

static void the_controller_itself_gets_none(void)
{
    static const struct kube_kind kind = {"v1", "ConfigMap", "configmaps", true};
    struct runtime_session session = stage_session();
    struct kube_ref place = {&kind, "team", "x", NULL};
    struct error error = {0};

    session.service_account = session.impersonate = NULL;
    err_set(&error, ERR_FORBIDDEN, "Forbidden", DENIED);
    session_add_hint(&session, &place, NULL, &error);
    EXPECT_STR(error.message, DENIED, "no account to bind");
}

SUITE(kube_hint, TEST(says_what_would_give_the_right), TEST(gives_one_verb_or_none),
      TEST(the_systems_own_namespaces_get_none), TEST(names_are_of_one_account_and_one_right),
      TEST(names_the_object_that_gives_rights), TEST(no_text_of_others_is_a_hint),
      TEST(long_names_are_shortened_and_stay_apart), TEST(a_long_message_keeps_its_command),
      TEST(gives_no_command_that_is_not_plain_words), TEST(gives_no_command_that_is_cut),
      TEST(gives_no_hint_that_would_not_help), TEST(the_controller_itself_gets_none))
