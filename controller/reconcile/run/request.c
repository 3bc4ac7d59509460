#include "controller/reconcile/run/request.h"

#include "controller/reconcile/records/api.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

/* 1: it has ended, or is gone. */
static int write(const struct run *run, const struct request *request, int64_t revision,
                 const struct outcome *outcome, struct error *error)
{
    const struct spec_key key = {run->subject.key.namespace_name, request->release};
    /* Its plan and its results are in the Release of the operation. */
    const struct outcome said = {
        .phase = outcome->phase, .verdict = outcome->verdict, .summary = outcome->summary};
    _cleanup_(release_free_p) struct release *release = NULL;
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    int r =
        kube_get(run->context->client, api_release_ref(&key, NULL), run->cancel, &object, &problem);

    if (r == ERR_NOT_FOUND)
        return 1;
    if (r < 0)
        return err_copy(error, &problem);
    release = release_of(object);
    if (!release || !str_equal(value_get_string(release->metadata, "uid"), request->uid) ||
        release_phase_is_terminal(release->phase))
        return 1;
    if (release->phase == outcome->phase &&
        value_int(value_get(release->status, "revision"), 0) == revision)
        return 0; /* it says so already */
    release->revision = revision;
    r = release_write(run->context, &run->subject, release, &said, error);
    return r < 0 ? r : release_phase_is_terminal(release->phase);
}

int request_write(const struct run *run, const struct request *request, int64_t revision,
                  const struct outcome *outcome, struct error *error)
{
    const struct spec_key *key = &run->subject.key;
    struct error problem = {0};
    int r = write(run, request, revision, outcome, &problem);

    if (r > 0 || r == ERR_TOO_LARGE)
        desk_end_request(run->context->desk, key, request->uid);
    if (r == ERR_TOO_LARGE) /* nothing waits for it */
        log_warn("a Release has no room for its status", "namespace", key->namespace_name,
                 "release", request->release, "error", problem.message, NULL);
    if (r >= 0 || r == ERR_TOO_LARGE)
        return 0;
    err_wrap(&problem, "Release %s", request->release);
    return err_copy(error, &problem);
}
