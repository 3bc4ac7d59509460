#include "cli/online/doctor_rights.h"

#include <string.h>

#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"

#define GROUP "api.kusion.io"
#define WATCH "--watch-namespace="

static const struct kube_kind reviews = {"authorization.k8s.io/v1", "SubjectAccessReview",
                                         "subjectaccessreviews", false};

/* What it does not do without; of its own namespace, or of all that it watches. */
static const struct right {
    const char *verb, *group, *resource, *subresource;
    bool is_own;
} rights[] = {
    {"list", GROUP, "specs", NULL, false},
    {"watch", GROUP, "specs", NULL, false},
    {"patch", GROUP, "specs", NULL, false},
    {"update", GROUP, "specs", "status", false},
    {"watch", GROUP, "releases", NULL, false},
    {"create", GROUP, "releases", NULL, false},
    {"update", GROUP, "releases", "status", false},
    {"impersonate", "", "serviceaccounts", NULL, false},
    {"get", "", "configmaps", NULL, true},
    {"update", "", "configmaps", NULL, true},
    {"get", "", "secrets", NULL, true},
    {"update", "", "secrets", NULL, true},
    {"update", "coordination.k8s.io", "leases", NULL, true},
};

void operator_account_done(struct operator_account *account)
{
    free(account->namespace_name);
    free(account->name);
    free(account->watched);
    *account = (struct operator_account){0};
}

/* The value of the container's argument; free(). */
static char *argument_of(const struct value *container, const char *prefix)
{
    const struct value *list = value_get(container, "args");

    for (size_t i = 0; i < value_count(list); i++) {
        const char *text = value_string(value_at(list, i));

        if (text && str_has_prefix(text, prefix))
            return str_new(text + strlen(prefix));
    }
    return NULL;
}

void operator_account_of(const struct value *deployment, struct operator_account *ret)
{
    const struct value *pod = value_path(deployment, "spec", "template", "spec", NULL);

    *ret = (struct operator_account){
        .namespace_name = str_new(object_namespace(deployment)),
        .name = str_new(object_text(pod, "default", "serviceAccountName", NULL)),
        .watched = argument_of(value_at(value_get(pod, "containers"), 0), WATCH),
    };
}

static int review(struct session *session, const struct operator_account *account,
                  const struct right *right, bool *ret, struct error *error)
{
    _cleanup_free_ char *user =
        str_printf("system:serviceaccount:%s:%s", account->namespace_name, account->name);
    _cleanup_free_ char *of_namespace =
        str_printf("system:serviceaccounts:%s", account->namespace_name);
    const char *place = right->is_own ? account->namespace_name : account->watched;
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_value_ const struct value *body =
        value_pack("{s:s, s:s, s:{s:s, s:[s, s, s], s:{s:s, s:s, s:s, s:s?, s:s?}}}", "apiVersion",
                   "authorization.k8s.io/v1", "kind", "SubjectAccessReview", "spec", "user", user,
                   "groups", "system:serviceaccounts", of_namespace, "system:authenticated",
                   "resourceAttributes", "verb", right->verb, "group", right->group, "resource",
                   right->resource, "subresource", right->subresource, "namespace", place);
    int r = session_do(session,
                       &(struct kube_request){
                           .method = "POST",
                           .ref = {&reviews, NULL, NULL, NULL},
                           .body = body,
                           .idempotent = true,
                       },
                       &answer, error);

    *ret = value_bool(value_path(answer, "status", "allowed", NULL), false);
    return r;
}

int operator_lacks(struct session *session, const struct operator_account *account, struct buf *ret,
                   struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
        const struct right *right = &rights[i];
        bool is_allowed;
        int r = review(session, account, right, &is_allowed, error);

        if (r < 0)
            return r;
        if (!is_allowed)
            buf_printf(ret, "%s%s %s%s%s", ret->length ? ", " : "", right->verb, right->resource,
                       right->subresource ? "/" : "", right->subresource ? right->subresource : "");
    }
    return 0;
}
