#include "controller/reconcile/run/sight.h"

#include <string.h>

#include "controller/reconcile/records/api.h"
#include "engine/base/str.h"

#define LOOK_TIMEOUT 10000 /* ms */

char *sight_user(const struct run *run, const char *namespace_name)
{
    return str_equal(namespace_name, run->subject.key.namespace_name) ? NULL : run_user(run);
}

int sight_get(const struct run *run, const struct spec_key *key, const char *user,
              const char *accept, const struct value **ret, struct error *error)
{
    const struct kube_request request = {
        .method = "GET",
        .ref = api_spec_ref(key, NULL),
        .impersonate = user,
        .accept = accept,
        .timeout = LOOK_TIMEOUT,
        .cancel = run->cancel,
    };

    return kube_do(run->context->client, &request, ret, error);
}

bool sight_is_denied(int r)
{
    return r == ERR_NOT_FOUND || r == ERR_FORBIDDEN;
}

char *sight_show(const struct run *run, const char *key)
{
    const char *slash = strchr(key, '/');
    _cleanup_free_ char *namespace_name = str_new_n(key, (size_t)(slash - key));
    const struct spec_key other = {namespace_name, slash + 1};
    _cleanup_free_ char *user = sight_user(run, namespace_name);

    if (user && sight_get(run, &other, user, KUBE_METADATA, NULL, NULL) < 0)
        return str_new("…");
    return str_new(key);
}
