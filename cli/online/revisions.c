#include "cli/online/revisions.h"

#include "engine/base/str.h"

/* Annotations: the digest of what was recorded, in the Release itself or in a document of State. */
#define RESOURCES_DIGEST "api.kusion.io/resources-digest"
#define SPEC_DIGEST      "api.kusion.io/spec-digest"

/* NULL: there is none (any more). Borrowed. */
static const struct value *find_revision(const struct objects *releases, int64_t revision)
{
    for (size_t i = releases->count; i-- > 0;) {
        const struct value *release = releases->items[i];

        if (release_is_record(release) &&
            object_int(release, 0, "status", "revision", NULL) == revision)
            return release;
    }
    return NULL;
}

/* A record that has no revision yet is of an operation that has just begun. */
bool revisions_are_stored(const struct value *spec, const struct objects *releases)
{
    int64_t attempted = object_int(spec, 0, "status", "lastAttemptedRevision", NULL);

    for (size_t i = 0; i < releases->count; i++)
        if (release_is_record(releases->items[i]) &&
            object_int(releases->items[i], INT64_MAX, "status", "revision", NULL) >= attempted)
            return false;
    return attempted > 0;
}

int revisions_stored_error(const struct target *target, const struct value *spec,
                           struct error *error)
{
    err_set(error, ERR_NOT_FOUND, "ReleasesStored",
            "the Release of %s/%s for revision %lld is not at the API server: the operator keeps "
            "Releases in a store, or somebody deleted it",
            target->namespace_name, target->name,
            (long long)object_int(spec, 0, "status", "lastAttemptedRevision", NULL));
    err_hint(
        error,
        "kusion-operator state releases %s/%s --state-backend PLACE | kubectl kusion show -f -",
        target->namespace_name, target->name);
    return ERR_NOT_FOUND;
}

static int not_found(const struct target *target, int64_t revision, struct error *error)
{
    err_set(error, ERR_NOT_FOUND, "NotFound", "%s/%s has no revision %lld (any more)",
            target->namespace_name, target->name, (long long)revision);
    err_hint(error, "kubectl kusion history %s -n %s", target->name, target->namespace_name);
    return ERR_NOT_FOUND;
}

int revision_get(struct session *session, const struct target *target, int64_t revision,
                 const struct value **ret, struct error *error)
{
    _cleanup_(objects_done) struct objects releases = {0};
    _cleanup_value_ const struct value *spec = NULL;
    const struct value *found;
    int r;

    spec_get(session, target, &spec, NULL);
    r = release_list(session, target, &releases, error);
    if (r < 0)
        return r;
    found = find_revision(&releases, revision);
    if (!found)
        return revisions_are_stored(spec, &releases) ? revisions_stored_error(target, spec, error)
                                                     : not_found(target, revision, error);
    *ret = value_ref(found);
    return 0;
}

int revision_check(struct session *session, const struct target *target, const struct value *spec,
                   int64_t revision, struct error *error)
{
    _cleanup_(objects_done) struct objects releases = {0};
    int r = release_list(session, target, &releases, error);

    if (r < 0 || find_revision(&releases, revision) || revisions_are_stored(spec, &releases))
        return r;
    return not_found(target, revision, error);
}

static const char *content_of(const struct value *release)
{
    const char *in_document =
        object_text(release, NULL, "metadata", "annotations", SPEC_DIGEST, NULL);

    return object_text(release, in_document, "metadata", "annotations", RESOURCES_DIGEST, NULL);
}

int revision_before(struct session *session, const struct target *target, const struct value *spec,
                    int64_t *ret, struct error *error)
{
    _cleanup_(objects_done) struct objects releases = {0};
    int64_t in_force = object_int(spec, 0, "status", "lastAppliedRevision", NULL);
    int r = release_list(session, target, &releases, error);
    const char *content;

    if (r < 0)
        return r;
    if (revisions_are_stored(spec, &releases)) {
        r = revisions_stored_error(target, spec, error);
        err_hint(error, "kubectl kusion rollback %s@REVISION -n %s", target->name,
                 target->namespace_name);
        return r;
    }
    content = content_of(find_revision(&releases, in_force));
    for (size_t i = releases.count; i-- > 0;) {
        const struct value *release = releases.items[i];

        if (!release_is_record(release) || !content_of(release) ||
            str_equal(content_of(release), content) ||
            !str_equal(object_text(release, "", "status", "phase", NULL), "succeeded"))
            continue;
        *ret = object_int(release, 0, "status", "revision", NULL);
        return 0;
    }
    err_set(error, ERR_NOT_FOUND, "NotFound",
            "%s/%s has no earlier revision that succeeded with other resources",
            target->namespace_name, target->name);
    err_hint(error, "kubectl kusion history %s -n %s", target->name, target->namespace_name);
    return ERR_NOT_FOUND;
}
