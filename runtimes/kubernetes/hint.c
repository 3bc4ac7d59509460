/*
 * Hints: the kubectl command that grants a missing right, for error messages.
 *
 * The person who types the command trusts the operator, but perhaps not the author of the Spec. So
 * a command grants only verbs that the operator needs and the account lacks, on the refused kind,
 * in the Spec's own namespace. For all other rights the message only says who can grant them.
 *
 * An account without rights in a namespace gets the same refusal if the namespace does not exist.
 * So the namespace is looked up with the rights of the account: the message says nothing that the
 * account could not read itself.
 */
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/session.h"

/* Bytes of each of the two parts of a name, and of the digest that ends a long name. */
#define PART_BYTES   80
#define DIGEST_BYTES 16

/* The message keeps at least so many bytes of the API server's own text. */
#define LEAST_WORDS 128

#define OFFER "; to allow it: "

#define IMMUTABLE_WAY                                                                             \
    "; it cannot be changed in place: give the resource another name, or delete the object with " \
    "all that it holds, and it is created again"

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

/* Other verbs make another name: a role of that name may exist already. */
static char *role_command(const struct runtime_session *session, const char *verbs,
                          const char *resource)
{
    _cleanup_free_ char *which = str_printf("%s-%s", verbs, resource), *name = NULL;
    const char *in = session->spec_namespace;

    for (char *c = which; (c = strchr(c, ','));)
        *c = '-';
    name = session_rights_name(session, which);

    return str_printf("kubectl create role %s --verb=%s --resource=%s --namespace=%s && "
                      "kubectl create rolebinding %s --role=%s --serviceaccount=%s:%s "
                      "--namespace=%s",
                      name, verbs, resource, in, name, name, in, session->service_account, in);
}

/* The kinds of an aggregated API have the names that its server gives them. */
bool kube_is_plain(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";

    return *name && *name != '-' && !name[strspn(name, plain)];
}

bool kube_is_system(const char *namespace_name)
{
    return str_has_prefix(namespace_name, "kube-");
}

/* NULL: the message has no room for it. */
static char *fitting_command(const struct runtime_session *session, const char *verbs,
                             const char *resource)
{
    _cleanup_free_ char *command = role_command(session, verbs, resource);

    return strlen(command) + LEAST_WORDS + strlen(OFFER) < ERROR_MESSAGE_SIZE ? TAKE(command)
                                                                              : NULL;
}

/* The command that grants the right; NULL: it is not the Spec's author's to have, or there is no
 * command that could be typed, or that the message has room for. */
static char *find_command(struct runtime_session *session, const struct kube_ref *ref,
                          const char *resource, const char *verb, const struct runtime_call *call)
{
    const char *in = ref->namespace_name;
    _cleanup_free_ char *missing = NULL;
    char *command;

    if (!str_equal(in, session->spec_namespace) || kube_is_system(in) || !verb ||
        !kube_is_plain(in) || !kube_is_plain(session->service_account) || !kube_is_plain(resource))
        return NULL;
    missing = session_missing_verbs(session, ref->kind, verb, call);
    command = fitting_command(session, missing, resource);
    return command ? command : fitting_command(session, verb, resource);
}

/* Returns the hint. refused: "patch resource …", from the API server's message. */
static char *way_out(struct runtime_session *session, const struct kube_ref *ref,
                     const char *refused, const struct runtime_call *call)
{
    const char *in = ref->namespace_name;
    _cleanup_free_ char *resource = kube_kind_resource(ref->kind), *command = NULL;

    if (!in)
        return str_new("; it is in no namespace: such a right is the cluster administrators' to "
                       "give");
    command = find_command(session, ref, resource, kube_find_verb(refused), call);
    if (!command && !str_equal(in, session->spec_namespace))
        return str_printf("; such a right in namespace %s is its owners' to give, if there is such "
                          "a namespace",
                          in);
    if (!command)
        return str_printf("; such a right in namespace %s is its owners' to give", in);
    return str_printf(OFFER "%s", command);
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

/* The API server's text is shortened rather than the command, which is useless in part. */
static size_t room_for_words(const char *way)
{
    size_t taken = strlen(way);

    return taken + LEAST_WORDS < ERROR_MESSAGE_SIZE ? ERROR_MESSAGE_SIZE - taken : LEAST_WORDS;
}

static void set_missing_namespace(const char *name, struct error *error)
{
    err_set(error, ERR_INVALID, "NamespaceNotFound",
            "namespaces \"%s\" not found: create it (kubectl create namespace %s), or add the "
            "Namespace to this Spec",
            name, name);
}

/* The account has no rights in a namespace of others, and that does not exist. */
static bool is_namespace_missing(struct runtime_session *session, const struct kube_ref *ref,
                                 const struct runtime_call *call)
{
    const char *in = ref->namespace_name;

    return in && !str_equal(in, session->spec_namespace) &&
           session_lacks_namespace(session, in, call);
}

/* What an object holds is its owner's to lose. */
static void add_way_around_immutable(struct error *error)
{
    char words[ERROR_MESSAGE_SIZE];

    str_copy(words, room_for_words(IMMUTABLE_WAY), error->message);
    err_set(error, error->code, error->reason, "%s%s", words, IMMUTABLE_WAY);
}

static bool is_immutable(const struct error *error)
{
    return str_equal(error->reason, "Invalid") && strstr(error->message, "field is immutable");
}

void session_add_hint(struct runtime_session *session, const struct kube_ref *ref,
                      const struct runtime_call *call, struct error *error)
{
    const char *refused = find_refused(session, error);
    _cleanup_free_ char *way = NULL;
    char words[ERROR_MESSAGE_SIZE];

    if (ref->namespace_name && (str_equal(error->reason, "NamespaceNotFound") ||
                                (refused && is_namespace_missing(session, ref, call)))) {
        set_missing_namespace(ref->namespace_name, error);
        return;
    }
    if (is_immutable(error))
        add_way_around_immutable(error);
    if (!refused)
        return;
    way = way_out(session, ref, refused, call);
    str_copy(words, room_for_words(way), error->message);
    err_set(error, ERR_FORBIDDEN, "AccessDenied", "%s%s", words, way);
}
