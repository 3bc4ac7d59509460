#include "runtimes/kubernetes/session/place.h"

#include <string.h>

#include "engine/base/str.h"

#define NAMESPACE    "namespace:"
#define CA           "ca:"
#define SYSTEM       "kube-system"
#define LOOK_TIMEOUT 10000 /* ms */
#define LONGEST_UID  256

/* *ret: the uid of the namespace; free(). */
static int ask(const struct place_question *question, const char *name, char **ret,
               struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    struct kube_request request = {.method = "GET",
                                   .ref = {.kind = &kube_namespaces, .name = name},
                                   .accept = KUBE_METADATA,
                                   .impersonate = question->impersonate,
                                   .for_tenant = question->ca,
                                   .cancel = question->wait.cancel};
    const char *uid;
    int r = kube_wait_left(&question->wait, &request.timeout, error);

    if (r < 0)
        return r;
    if (request.timeout > LOOK_TIMEOUT)
        request.timeout = LOOK_TIMEOUT;
    r = kube_do(question->client, &request, &object, error);
    if (r < 0)
        return r;
    uid = value_string(value_path(object, "metadata", "uid", NULL));
    if (!uid || strlen(uid) > LONGEST_UID)
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "a Namespace without a uid");
    *ret = str_new(uid);
    return 0;
}

/* 1: it may not be read, or is not there. */
static int try(const struct place_question *question, const char *name, char **ret,
               struct error *error)
{
    _cleanup_free_ char *uid = NULL;
    struct error problem = {0};
    int r = ask(question, name, &uid, &problem);

    if (r >= 0)
        *ret = str_printf(NAMESPACE "%s=%s", name, uid);
    if (r == ERR_FORBIDDEN && str_equal(problem.reason, "Forbidden"))
        return 1;
    return r == ERR_NOT_FOUND ? 1 : r < 0 ? err_copy(error, &problem) : 0;
}

int place_find(const struct place_question *question, char **ret, struct error *error)
{
    const char *const names[] = {SYSTEM, question->namespaces[0], question->namespaces[1]};
    int r = 1;

    for (size_t i = 0; r > 0 && i < ARRAY_SIZE(names); i++)
        if (names[i])
            r = try(question, names[i], ret, error);
    if (r <= 0)
        return r;
    if (!question->ca)
        return err_set(error, ERR_FORBIDDEN, "AccessDenied",
                       "the operator may not read the Namespace " SYSTEM);
    *ret = str_printf(CA "%s", question->ca);
    return 0;
}

bool place_is_weak(const char *place)
{
    return str_has_prefix(place, CA);
}

int place_is(const struct place_question *question, const char *recorded, struct error *error)
{
    const char *equals = strrchr(recorded, '=');
    _cleanup_free_ char *name = NULL, *uid = NULL;
    int r;

    if (place_is_weak(recorded))
        return question->ca && str_equal(recorded + strlen(CA), question->ca);
    if (!str_has_prefix(recorded, NAMESPACE) || !equals)
        return 0; /* of a later version, perhaps */
    name = str_new_n(recorded + strlen(NAMESPACE), (size_t)(equals - recorded) - strlen(NAMESPACE));
    r = ask(question, name, &uid, error);
    if (r == ERR_NOT_FOUND)
        return 0;
    return r < 0 ? r : str_equal(uid, equals + 1);
}
