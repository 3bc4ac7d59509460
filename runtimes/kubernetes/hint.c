/*
 * Hints: the kubectl command that grants a missing right, for error messages.
 *
 * The person who types the command trusts the operator, but perhaps not the author of the Spec. So
 * a command grants only the refused verb on the refused kind, in the Spec's own namespace. For all
 * other rights the message only says who can grant them.
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

/* The refused verb, if it is one that the operator's requests use; else NULL. */
static const char *refused_verb(const char *words)
{
    static const char *const verbs[] = {"get", "list", "watch", "create", "patch", "delete"};

    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (str_has_prefix(words, verbs[i]) && words[strlen(verbs[i])] == ' ')
            return verbs[i];
    return NULL;
}

static char *role_command(const struct runtime_session *session, const char *verb,
                          const char *resource)
{
    _cleanup_free_ char *which = str_printf("%s-%s", verb, resource);
    _cleanup_free_ char *name = session_rights_name(session, which);
    const char *in = session->spec_namespace;

    return str_printf("kubectl create role %s --verb=%s --resource=%s --namespace=%s && "
                      "kubectl create rolebinding %s --role=%s --serviceaccount=%s:%s "
                      "--namespace=%s",
                      name, verb, resource, in, name, name, in, session->service_account, in);
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

/* The command that grants the right; NULL: it is not the Spec's author's to have, or there is no
 * command that could be typed, or that the message has room for. */
static char *find_command(const struct runtime_session *session, const char *in,
                          const char *resource, const char *verb)
{
    _cleanup_free_ char *command = NULL;

    if (!str_equal(in, session->spec_namespace) || kube_is_system(in) || !verb ||
        !kube_is_plain(in) || !kube_is_plain(session->service_account) || !kube_is_plain(resource))
        return NULL;
    command = role_command(session, verb, resource);
    return strlen(command) + LEAST_WORDS + strlen(OFFER) < ERROR_MESSAGE_SIZE ? TAKE(command)
                                                                              : NULL;
}

/* Returns the hint. refused: "patch resource …", from the API server's message. */
static char *way_out(const struct runtime_session *session, const struct kube_ref *ref,
                     const char *refused)
{
    const char *in = ref->namespace_name;
    _cleanup_free_ char *resource = kube_kind_resource(ref->kind), *command = NULL;

    if (!in)
        return str_new("; it is in no namespace: such a right is the cluster administrators' to "
                       "give");
    command = find_command(session, in, resource, refused_verb(refused));
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

void session_add_hint(const struct runtime_session *session, const struct kube_ref *ref,
                      struct error *error)
{
    const char *refused = find_refused(session, error);
    _cleanup_free_ char *way = NULL;
    char words[ERROR_MESSAGE_SIZE];

    if (!refused)
        return;
    way = way_out(session, ref, refused);
    str_copy(words, room_for_words(way), error->message);
    err_set(error, ERR_FORBIDDEN, "AccessDenied", "%s%s", words, way);
}
