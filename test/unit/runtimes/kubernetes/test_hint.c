#include "test/unit/runtimes/kubernetes/stage.h"
#include "test/unit/suite.h"

#define DENIED "x is forbidden: User \"system:serviceaccount:team:deployer\" cannot patch it"
#define ALLOW  DENIED "; to allow it: "
#define VERBS  "--verb=get,list,watch,create,patch,delete"
#define TO     "--serviceaccount=team:deployer"

static void says_what_would_give_the_right(void)
{
    static const struct {
        struct kube_kind kind;
        const char *namespace_name, *message;
    } rows[] = {
        {{"v1", "ConfigMap", "configmaps", true},
         "team",
         ALLOW "kubectl create rolebinding kusion-deployer --clusterrole=edit " TO
               " --namespace=team"},
        {{"apps/v1", "Deployment", "deployments", true},
         "prod",
         ALLOW "kubectl create rolebinding kusion-deployer --clusterrole=edit " TO
               " --namespace=prod"},
        {{"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true},
         "team",
         ALLOW "kubectl create rolebinding kusion-deployer --clusterrole=admin " TO
               " --namespace=team"},
        /* Those that no role of every cluster lets one write. */
        {{"v1", "ResourceQuota", "resourcequotas", true},
         "team",
         ALLOW "kubectl create role kusion-resourcequotas " VERBS
               " --resource=resourcequotas --namespace=team && kubectl create rolebinding "
               "kusion-deployer-resourcequotas --role=kusion-resourcequotas " TO
               " --namespace=team"},
        {{"example.com/v1", "Widget", "widgets", true},
         "team",
         ALLOW "kubectl create role kusion-widgets " VERBS
               " --resource=widgets.example.com --namespace=team && kubectl create rolebinding "
               "kusion-deployer-widgets --role=kusion-widgets " TO " --namespace=team"},
        {{"v1", "Namespace", "namespaces", false},
         NULL,
         ALLOW "kubectl create clusterrole kusion-namespaces " VERBS
               " --resource=namespaces && kubectl create clusterrolebinding "
               "kusion-team-namespaces --clusterrole=kusion-namespaces " TO},
        {{"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false},
         NULL,
         ALLOW "kubectl create clusterrole kusion-clusterroles " VERBS
               " --resource=clusterroles.rbac.authorization.k8s.io && kubectl create "
               "clusterrolebinding kusion-team-clusterroles --clusterrole=kusion-clusterroles " TO},
    };
    struct runtime_session session = stage_session();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_place place = {&rows[i].kind, rows[i].namespace_name, "x"};
        struct error error = {0};

        err_set(&error, ERR_FORBIDDEN, "Forbidden", DENIED);
        session_add_hint(&session, &place, &error);
        EXPECT_STR(error.message, rows[i].message, rows[i].kind.kind);
        EXPECT_STR(error.reason, "AccessDenied", rows[i].kind.kind);
        EXPECT_INT(error.code, ERR_FORBIDDEN, rows[i].kind.kind);
    }
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
    struct kube_place place = {&kind, "team", "x"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        err_set(&error, rows[i].code, rows[i].reason, "%s", rows[i].message);
        session_add_hint(&session, &place, &error);
        EXPECT_STR(error.message, rows[i].message, rows[i].message);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].message);
    }
}

static void the_controller_itself_gets_none(void)
{
    static const struct kube_kind kind = {"v1", "ConfigMap", "configmaps", true};
    struct runtime_session session = stage_session();
    struct kube_place place = {&kind, "team", "x"};
    struct error error = {0};

    session.service_account = session.impersonate = NULL;
    err_set(&error, ERR_FORBIDDEN, "Forbidden", DENIED);
    session_add_hint(&session, &place, &error);
    EXPECT_STR(error.message, DENIED, "no account to bind");
}

SUITE(kube_hint, TEST(says_what_would_give_the_right), TEST(gives_no_hint_that_would_not_help),
      TEST(the_controller_itself_gets_none))
