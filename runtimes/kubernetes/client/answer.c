#include "runtimes/kubernetes/client/answer.h"

#include "engine/base/str.h"
#include "engine/value/json.h"

/* ret: NULL for an empty body. */
static int parse_answer(const struct http_response *response, const struct value **ret,
                        struct error *error)
{
    int r;

    if (response->body.length == 0) {
        *ret = NULL;
        return 0;
    }
    r = json_read(response->body.data, response->body.length, ret, error);
    if (r == ERR_TOO_LARGE) {
        err_wrap(error, "the API server's answer");
        return r;
    }
    if (r < 0)
        return err_set(error, ERR_UNAVAILABLE, "UnexpectedAnswer",
                       "the API server's answer is not JSON");
    return 0;
}

/* The name of the object that the answer must be; NULL: an answer of any kind is taken. */
static const char *expected_name(const struct kube_request *request)
{
    if (request->path || !request->ref.kind->kind)
        return NULL;
    if (request->ref.name)
        return request->ref.name;
    return value_string(value_path(request->body, "metadata", "name", NULL));
}

/* The answer is of that kind and has that name. */
static bool is_object(const struct kube_ref *ref, const char *name, const struct value *answer)
{
    const struct value *metadata = value_get(answer, "metadata");
    const char *kind = value_get_string(answer, "kind");
    const char *in = ref->namespace_name;

    return (str_equal(kind, ref->kind->kind) || str_equal(kind, "PartialObjectMetadata")) &&
           str_equal(value_get_string(metadata, "name"), name) &&
           (!in || str_equal(value_get_string(metadata, "namespace"), in));
}

static bool has_uid(const struct value *answer)
{
    const char *uid = value_get_string(value_get(answer, "metadata"), "uid");

    return uid && *uid;
}

/* The server of an aggregated API may give its objects no UIDs. They would be the same with every
 * retry. */
static int refuse_without_uid(const struct kube_kind *kind, const char *name, struct error *error)
{
    return err_set(error, ERR_INVALID, "Unsupported",
                   "the API server for %s %s gave the object \"%s\" without metadata.uid: objects "
                   "of such kinds cannot be told apart, and so cannot be managed",
                   kind->group_version, kind->kind, name);
}

/* The deletion of an object without finalizers is answered with a Status that names it. */
static bool is_deletion(const struct kube_request *request, const char *name,
                        const struct value *answer)
{
    return str_equal(request->method, "DELETE") &&
           str_equal(value_get_string(answer, "kind"), "Status") &&
           str_equal(value_get_string(answer, "status"), "Success") &&
           str_equal(value_get_string(value_get(answer, "details"), "name"), name);
}

/* A proxy between the operator and the API server may answer 200 with something else. */
static int check_answer(const struct kube_request *request, const char *name,
                        const struct value *answer, struct error *error)
{
    if (!name || is_deletion(request, name, answer))
        return 0;
    if (is_object(&request->ref, name, answer))
        return has_uid(answer) ? 0 : refuse_without_uid(request->ref.kind, name, error);
    return err_set(error, ERR_UNAVAILABLE, "UnexpectedAnswer",
                   "%s: the answer is not the object that was asked for (%s %s)", request->method,
                   request->ref.kind->kind, name);
}

int kube_answer_read(const struct kube_request *request, const struct http_response *response,
                     const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    const char *name = expected_name(request);
    int r;

    if (request->on_body || (!ret && !name))
        return 0;
    r = parse_answer(response, &answer, error);
    if (r >= 0)
        r = check_answer(request, name, answer, error);
    if (r >= 0 && ret)
        *ret = TAKE(answer);
    return r;
}
