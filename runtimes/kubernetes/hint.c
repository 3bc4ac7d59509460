/* What would give a right that is missing, ready to be typed. */
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/session.h"

#define VERBS "get,list,watch,create,patch,delete"
#define ALLOW "; to allow it: "

/* Bytes of each of the two parts of a name, and of the digest that a long one ends in. */
#define PART_BYTES   80
#define DIGEST_BYTES 16

/* Bytes that are left to the API server's words, at least. */
#define LEAST_WORDS 128

char *kube_kind_resource(const struct kube_kind *kind)
{
    size_t length = 0;
    const char *group = api_group(kind->group_version, &length);

    return str_printf("%s%s%.*s", kind->plural, length ? "." : "", (int)length, group);
}

/* ---- Names ---- */

static char *shorten(const char *part)
{
    char digest[HASH_HEX_SIZE];

    if (strlen(part) <= PART_BYTES)
        return str_new(part);
    hash_hex(part, strlen(part), digest);
    return str_printf("%.*s-%.*s", PART_BYTES - DIGEST_BYTES - 1, part, DIGEST_BYTES, digest);
}

/* Colons part it, as in Kubernetes' own "system:…": no namespace, account or kind has one in its
 * name, so that what is made for one of them is never in the way of another. */
char *session_rights_name(const struct runtime_session *session, const char *which)
{
    _cleanup_free_ char *account =
        str_printf("%s:%s", session->spec_namespace, session->service_account);
    _cleanup_free_ char *whose = shorten(account), *what = shorten(which);

    return str_printf("kusion:%s:%s", whose, what);
}

/* ---- Commands ---- */

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
    static const char *const not_edited[] = {"endpoints",           "limitranges",
                                             "resourcequotas",      "podtemplates",
                                             "controllerrevisions", "leasecandidates"};
    bool is_covered = !strchr(kind->group_version, '/');

    if (str_has_prefix(kind->group_version, "rbac.authorization.k8s.io/"))
        return "admin";
    for (size_t i = 0; i < ARRAY_SIZE(edited); i++)
        is_covered = is_covered || str_has_prefix(kind->group_version, edited[i]);
    return is_covered && !is_in(not_edited, ARRAY_SIZE(not_edited), kind->plural) ? "edit" : NULL;
}

char *session_role_command(const struct runtime_session *session, const char *which,
                           const char *verbs, const char *resources, const char *namespace_name)
{
    const char *role = namespace_name ? "role" : "clusterrole";
    _cleanup_free_ char *name = session_rights_name(session, which);
    _cleanup_free_ char *in =
        namespace_name ? str_printf(" --namespace=%s", namespace_name) : str_new("");

    return str_printf("kubectl create %s %s --verb=%s --resource=%s%s && "
                      "kubectl create %sbinding %s --%s=%s --serviceaccount=%s:%s%s",
                      role, name, verbs, resources, in, role, name, role, name,
                      session->spec_namespace, session->service_account, in);
}

static char *binding_command(const struct runtime_session *session, const char *role,
                             const char *namespace_name)
{
    _cleanup_free_ char *name = session_rights_name(session, role);

    return str_printf("kubectl create rolebinding %s --clusterrole=%s --serviceaccount=%s:%s "
                      "--namespace=%s",
                      name, role, session->spec_namespace, session->service_account,
                      namespace_name);
}

static char *command_for(const struct runtime_session *session, const struct kube_ref *place)
{
    const char *role = place->namespace_name ? role_for(place->kind) : NULL;
    _cleanup_free_ char *resource = kube_kind_resource(place->kind);

    return role ? binding_command(session, role, place->namespace_name)
                : session_role_command(session, resource, VERBS, resource, place->namespace_name);
}

/* ---- Errors ---- */

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

/* The words are shortened rather than the command, which is of no use in part. */
static size_t room_for_words(const char *command)
{
    size_t taken = strlen(ALLOW) + strlen(command);

    return taken + LEAST_WORDS < ERROR_MESSAGE_SIZE ? ERROR_MESSAGE_SIZE - taken : LEAST_WORDS;
}

void session_add_hint(const struct runtime_session *session, const struct kube_ref *place,
                      struct error *error)
{
    _cleanup_free_ char *command = NULL;
    char words[ERROR_MESSAGE_SIZE];

    if (!is_about_rights(session, error))
        return;
    command = command_for(session, place);
    str_copy(words, room_for_words(command), error->message);
    err_set(error, ERR_FORBIDDEN, "AccessDenied", "%s" ALLOW "%s", words, command);
}
