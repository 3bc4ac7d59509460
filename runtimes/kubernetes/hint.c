/* What would give a right that is missing, ready to be typed. */
#include <string.h>

#include "engine/base/str.h"
#include "engine/spec/resource.h"
#include "runtimes/kubernetes/session.h"

#define VERBS "get,list,watch,create,patch,delete"

/* "widgets.example.com", as kubectl calls a resource. */
static char *resource_of_kind(const struct kube_kind *kind)
{
    size_t length = 0;
    const char *group = api_group(kind->group_version, &length);

    return str_printf("%s%s%.*s", kind->plural, length ? "." : "", (int)length, group);
}

static bool is_in(const char *const *list, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], s) == 0)
            return true;
    return false;
}

/* The role that every cluster has which lets one write a kind; NULL: none does. */
static const char *role_for(const struct kube_kind *kind)
{
    static const char *const edited[] = {"apps/",   "autoscaling/",       "batch/",
                                         "policy/", "networking.k8s.io/", "coordination.k8s.io/"};
    static const char *const not_edited[] = {"endpoints", "limitranges", "resourcequotas",
                                             "podtemplates", "controllerrevisions"};
    bool is_covered = !strchr(kind->group_version, '/');

    if (str_has_prefix(kind->group_version, "rbac.authorization.k8s.io/"))
        return "admin";
    for (size_t i = 0; i < ARRAY_SIZE(edited); i++)
        is_covered = is_covered || str_has_prefix(kind->group_version, edited[i]);
    return is_covered && !is_in(not_edited, ARRAY_SIZE(not_edited), kind->plural) ? "edit" : NULL;
}

static char *hint_in_namespace(const struct runtime_session *session,
                               const struct kube_place *place)
{
    const char *role = role_for(place->kind), *plural = place->kind->plural;
    _cleanup_free_ char *resource = resource_of_kind(place->kind);
    _cleanup_free_ char *to =
        str_printf("--serviceaccount=%s:%s --namespace=%s", session->spec_namespace,
                   session->service_account, place->namespace_name);

    if (role)
        return str_printf("kubectl create rolebinding kusion-%s --clusterrole=%s %s",
                          session->service_account, role, to);
    return str_printf("kubectl create role kusion-%s --verb=" VERBS " --resource=%s --namespace=%s "
                      "&& kubectl create rolebinding kusion-%s-%s --role=kusion-%s %s",
                      plural, resource, place->namespace_name, session->service_account, plural,
                      plural, to);
}

static char *hint_in_cluster(const struct runtime_session *session, const struct kube_place *place)
{
    const char *plural = place->kind->plural;
    _cleanup_free_ char *resource = resource_of_kind(place->kind);

    return str_printf("kubectl create clusterrole kusion-%s --verb=" VERBS " --resource=%s && "
                      "kubectl create clusterrolebinding kusion-%s-%s --clusterrole=kusion-%s "
                      "--serviceaccount=%s:%s",
                      plural, resource, session->spec_namespace, plural, plural,
                      session->spec_namespace, session->service_account);
}

/* A quota, an admission webhook, a privilege that one may not grant: those are refusals that no
 * role takes away. The API server's words for a right that is missing are its own. */
static bool is_about_rights(const struct runtime_session *session, const struct error *error)
{
    _cleanup_free_ char *words = NULL;

    if (error->code != ERR_FORBIDDEN || !session->service_account)
        return false;
    words = str_printf("User \"%s\" cannot ", session->impersonate);
    return strstr(error->message, words) != NULL;
}

void session_add_hint(const struct runtime_session *session, const struct kube_place *place,
                      struct error *error)
{
    _cleanup_free_ char *hint = NULL, *message = NULL;

    if (!is_about_rights(session, error))
        return;
    hint =
        place->namespace_name ? hint_in_namespace(session, place) : hint_in_cluster(session, place);
    message = str_new(error->message);
    err_set(error, ERR_FORBIDDEN, "AccessDenied", "%s; to allow it: %s", message, hint);
}
