/*
 * Hints: the kubectl command that grants a missing right, for error messages.
 *
 * The person who types the command trusts the operator, but perhaps not the author of the Spec. So
 * a command is on a line of its own (err_hint()), where no text of the author can be. It grants
 * only verbs that the operator needs and the account lacks, on the refused kind, in the Spec's own
 * namespace. Of a kind that gives rights it grants them for the one object, and the line says what
 * such an object may give. For all other rights the message only says who can grant them.
 *
 * An account without rights in a namespace gets the same refusal if the namespace does not exist.
 * So the namespace is looked up with the rights of the account: the message says nothing that the
 * account could not read itself.
 */
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/session/session.h"

/* Bytes of each of the two parts of a name, and of the digest that ends a long name. */
#define PART_BYTES   80
#define DIGEST_BYTES 16

/* The line of the message keeps at least so many bytes of the API server's own text. */
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

/* The parts of the name are separated by colons, as in "system:…". Namespaces, accounts and kinds
 * cannot contain colons, so names of different Specs never collide. */
char *session_rights_name(const struct runtime_session *session, const char *which)
{
    _cleanup_free_ char *account =
        str_printf("%s:%s", session->spec_namespace, session->service_account);
    _cleanup_free_ char *whose = shorten(account), *what = shorten(which);

    return str_printf("kusion:%s:%s", whose, what);
}

/* ---- Commands ---- */

/* Objects that give rights: the account is allowed the named one, not all of its kind. */
static const struct {
    const char *resource, *gives;
} givers[] = {
    {"secrets", "a Secret may hold credentials"},
    {"serviceaccounts", "Pods can act as a ServiceAccount"},
    {"roles.rbac.authorization.k8s.io", "a Role grants rights"},
    {"rolebindings.rbac.authorization.k8s.io", "a RoleBinding grants rights"},
};

/* NULL: the kind gives no rights. */
static const char *find_gives(const char *resource)
{
    for (size_t i = 0; i < ARRAY_SIZE(givers); i++)
        if (str_equal(resource, givers[i].resource))
            return givers[i].gives;
    return NULL;
}

/* The kinds of an aggregated API have the names that its server gives them. */
bool kube_is_plain(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";

    return *name && *name != '-' && !name[strspn(name, plain)];
}

char *kube_reconcile_command(const char *namespace_name, const char *name)
{
    if (!kube_is_plain(namespace_name) || !kube_is_plain(name))
        return NULL;
    return str_printf(
        "kubectl annotate spec %s --namespace=%s --overwrite " KUBE_RECONCILE_ANNOTATION
        "=$(date +%%s)",
        name, namespace_name);
}

char *session_reconcile_command(const struct runtime_session *session)
{
    const char *slash = strchr(session->spec, '/');

    return session->thorough || !slash ? NULL
                                       : kube_reconcile_command(session->spec_namespace, slash + 1);
}

/* object: the one that it is about; NULL: all of the kind. Other verbs make another name: a role of
 * that name may exist already. */
static char *role_command(const struct runtime_session *session, const char *verbs,
                          const char *resource, const char *object)
{
    _cleanup_free_ char *which =
        str_printf("%s-%s%s%s", verbs, resource, object ? ":" : "", object ? object : "");
    _cleanup_free_ char *name = NULL;
    const char *in = session->spec_namespace;

    for (char *c = which; (c = strchr(c, ','));)
        *c = '-';
    name = session_rights_name(session, which);

    return str_printf("kubectl create role %s --verb=%s --resource=%s%s%s --namespace=%s && "
                      "kubectl create rolebinding %s --role=%s --serviceaccount=%s:%s "
                      "--namespace=%s",
                      name, verbs, resource, object ? " --resource-name=" : "",
                      object ? object : "", in, name, name, in, session->service_account, in);
}

bool kube_is_system(const char *namespace_name)
{
    return str_has_prefix(namespace_name, "kube-");
}

/* Whether a command can be typed, and is the Spec's author's to ask for. verb: that was refused;
 * NULL: none of ours. */
static bool may_offer(const struct runtime_session *session, const struct kube_ref *ref,
                      const char *resource, const char *verb)
{
    const char *in = ref->namespace_name;

    return verb && !session->foreign && str_equal(in, session->spec_namespace) &&
           !kube_is_system(in) && kube_is_plain(in) && kube_is_plain(session->service_account) &&
           kube_is_plain(resource);
}

/* False: the message has no room for it. */
static bool add_command(const struct runtime_session *session, const char *verbs,
                        const char *resource, struct error *error)
{
    _cleanup_free_ char *command = role_command(session, verbs, resource, NULL);

    return err_hint(error, "to allow it: %s", command);
}

/* Nobody may list or watch a kind only because one of its objects is in a Spec. */
static bool add_command_for_one(const struct runtime_session *session, const char *verbs,
                                const char *resource, const char *object, struct error *error)
{
    _cleanup_free_ char *command = NULL, *plain = object ? str_new(object) : NULL;

    for (char *c = plain; c && (c = strchr(c, ':'));)
        *c = '.'; /* as in system:node-proxier */
    if (!plain || !kube_is_plain(plain))
        return false;
    command = role_command(session, verbs, resource, object);
    return err_hint(error, "to allow it for this object alone (%s): %s", find_gives(resource),
                    command);
}

/* False: there is no command. */
static bool offer(struct runtime_session *session, const struct kube_ref *ref, const char *resource,
                  const char *verb, const struct runtime_call *call, struct error *error)
{
    bool is_narrow = find_gives(resource);
    _cleanup_free_ char *missing = NULL;

    if (!may_offer(session, ref, resource, verb))
        return false;
    missing = session_missing_verbs(session, ref->kind, is_narrow ? ref->name : NULL, verb, call);
    if (is_narrow)
        return *missing && add_command_for_one(session, missing, resource, ref->name, error);
    return add_command(session, missing, resource, error) ||
           add_command(session, verb, resource, error);
}

void kube_add_words(struct error *error, const char *added)
{
    size_t taken = strlen(added);
    char words[ERROR_MESSAGE_SIZE];

    str_copy(words, taken + LEAST_WORDS < sizeof(words) ? sizeof(words) - taken : LEAST_WORDS,
             error->message);
    err_set(error, error->code, error->reason, "%s%s", words, added);
}

char *session_list_command(const struct runtime_session *session, const char *in,
                           const char *resources)
{
    const struct kube_ref place = {.namespace_name = in};

    return session->service_account && may_offer(session, &place, "pods", "list")
               ? role_command(session, "list", resources, NULL)
               : NULL;
}

/* Adds who can grant the right. */
static void name_granter(const struct runtime_session *session, const char *in, struct error *error)
{
    _cleanup_free_ char *text = NULL;

    if (in)
        text = str_printf("; such a right in namespace %s is its owners' to give%s", in,
                          str_equal(in, session->spec_namespace) ? ""
                                                                 : ", if there is such a "
                                                                   "namespace");
    kube_add_words(error,
                   in ? text
                      : "; it is in no namespace: such a right is the cluster administrators' "
                        "to give");
}

/* ---- Errors ---- */

/* Finds the refused request in an error; NULL: the error is not a missing right. Quotas, admission
 * webhooks and privilege escalation are refused in other words, and no role would help. */
static const char *find_refused(const struct runtime_session *session, const struct error *error)
{
    _cleanup_free_ char *words = NULL;
    const char *found;

    if (error->code != ERR_FORBIDDEN || !session->service_account)
        return NULL;
    words = str_printf("User \"%s\" cannot ", session->impersonate);
    found = strstr(error->message, words);
    return found ? found + strlen(words) : NULL;
}

static void set_missing_namespace(const char *name, struct error *error)
{
    err_set(error, ERR_INVALID, "NamespaceNotFound",
            "namespaces \"%s\" not found: create it, or add the Namespace to this Spec", name);
    if (kube_is_plain(name))
        err_hint(error, "to create it: kubectl create namespace %s", name);
}

/* The account has no rights in a namespace of others, and that does not exist. */
static bool is_namespace_missing(struct runtime_session *session, const struct kube_ref *ref,
                                 const struct runtime_call *call)
{
    const char *in = ref->namespace_name;

    return in && !str_equal(in, session->spec_namespace) &&
           session_lacks_namespace(session, in, call);
}

/* In another cluster no command helps that is typed in this one. */
static void name_foreign_granter(struct error *error)
{
    if (error->code != ERR_FORBIDDEN || !strstr(error->message, "\" cannot "))
        return;
    err_set(error, ERR_FORBIDDEN, "AccessDenied", "%s", error->message);
    kube_add_words(error, "; the rights are those that the kubeConfig has in its cluster");
}

void session_add_hint(struct runtime_session *session, const struct kube_ref *ref,
                      const struct runtime_call *call, struct error *error)
{
    const char *refused = find_refused(session, error), *in = ref->namespace_name, *verb;
    _cleanup_free_ char *resource = NULL;

    if (session->foreign) {
        name_foreign_granter(error);
        return;
    }
    if (in && (str_equal(error->reason, "NamespaceNotFound") ||
               (refused && is_namespace_missing(session, ref, call)))) {
        set_missing_namespace(in, error);
        return;
    }
    if (!refused)
        return;
    verb = kube_find_verb(refused);
    resource = kube_kind_resource(ref->kind);
    err_set(error, ERR_FORBIDDEN, "AccessDenied", "%s", error->message);
    if (!offer(session, ref, resource, verb, call, error))
        name_granter(session, in, error);
}
