#include "controller/reconcile/run/hold_revision.h"

#include "controller/reconcile/records/recorded.h"
#include "engine/base/str.h"

/* Releases that are read to find the one before: people can make any number that look like records.
 */
#define MOST_READ 100
/* Bytes of a value of a recorded Spec, with its text, about. */
#define RECORDED_VALUE 48
/* Revisions that a message names. */
#define MOST_NAMED 10

/* ---- Which one ---- */

/* An earlier Spec of the name had revisions, too. */
static bool can_be_rolled_back_to(const struct run *run, const struct release *release)
{
    const char *uid = value_string(value_path(run->object, "metadata", "uid", NULL));

    return release && release->spec_digest && release->operation != RELEASE_DESTROY &&
           (!release->spec_uid || str_equal(release->spec_uid, uid));
}

/* Another version of the operator may have applied it, which had other types, say. */
static int check_source(const struct run *run, const struct value *source, int64_t revision,
                        struct error *refusal)
{
    const struct run like = {.context = run->context, .source = source};
    _cleanup_(spec_free_p) struct spec *spec = NULL;
    int r = run_parse(&like, &spec, refusal);

    if (r < 0)
        err_wrap(refusal, "the Spec of revision %lld cannot be applied any more",
                 (long long)revision);
    return r;
}

/* The Spec as it was recorded. 1: not this one; *refusal: why, if it is there. */
static int read_source(const struct run *run, const struct release *release,
                       const struct value **ret, struct error *refusal, struct error *error)
{
    _cleanup_value_ const struct value *source = NULL;
    struct error problem = {0};
    int r;

    if (!can_be_rolled_back_to(run, release))
        return 1;
    r = recorded_apply(run->context, &run->subject.key, release->spec_digest, release->resources,
                       run->object, run->cancel, &source, &problem);
    if (r == ERR_NOT_FOUND || r == ERR_CORRUPT) /* somebody removed or damaged it */
        return 1;
    if (r < 0)
        return err_copy(error, &problem);
    if (check_source(run, source, release->revision, refusal) < 0)
        return 1;
    *ret = TAKE(source);
    return 0;
}

int hold_take_revision(const struct run *run, const struct release *release, struct hold *hold,
                       struct error *refusal, struct error *error)
{
    _cleanup_value_ const struct value *source = NULL;
    int r = read_source(run, release, &source, refusal, error);

    if (r == 0 && release->resources) /* the Release may go while the hold is in force */
        r = recorded_keep(run->context, &run->subject.key, source, release->spec_digest, error);
    if (r)
        return r;
    hold->to_revision = release->revision;
    hold->spec_digest = str_new(release->spec_digest);
    return 0;
}

static void refuse_revision(const struct run *run, int64_t revision,
                            const struct release_revisions *revisions, struct error *refusal)
{
    _cleanup_buf_ struct buf kept = BUF_INIT;

    for (size_t i = 0; i < revisions->count && i < MOST_NAMED; i++)
        buf_printf(&kept, "%s%lld", i ? ", " : "", (long long)revisions->items[i]);
    if (revision)
        err_set(refusal, ERR_NOT_FOUND, "RevisionNotFound",
                "the Spec of revision %lld is not there any more, or never was (Releases are "
                "there of: %s; spec.revisionHistoryLimit is %lld)",
                (long long)revision, kept.length ? kept.data : "none",
                (long long)run->policy.history_limit);
    else
        err_set(refusal, ERR_NOT_FOUND, "RevisionNotFound",
                "no earlier revision succeeded with another Spec than the one in force (Releases "
                "are there of: %s)",
                kept.length ? kept.data : "none");
}

/* The newest that succeeded with another Spec than the one in force. */
static int find_before(const struct run *run, const char *in_force,
                       const struct release_revisions *revisions, struct release **ret,
                       struct error *error)
{
    for (size_t i = 0; i < revisions->count && i < MOST_READ; i++) {
        _cleanup_(release_free_p) struct release *release = NULL;
        int r = releases_load(run->context, &run->subject, revisions->items[i], run->cancel,
                              &release, error);

        if (r < 0)
            return r;
        if (can_be_rolled_back_to(run, release) && release->phase == PHASE_SUCCEEDED &&
            !str_equal(release->spec_digest, in_force)) {
            *ret = TAKE(release);
            return 0;
        }
    }
    return 0;
}

int hold_choose_revision(const struct run *run, int64_t asked, const struct hold *now,
                         const struct release_revisions *revisions, struct hold *next,
                         struct error *refusal, struct error *error)
{
    _cleanup_(release_free_p) struct release *release = NULL;
    char in_force[HASH_HEX_SIZE]; /* "": none is */
    int r;

    if (hold_is_in_force(now, run->uid, run->subject.generation, run->sources_digest))
        str_copy(in_force, HASH_HEX_SIZE, now->spec_digest ? now->spec_digest : "");
    else
        recorded_digest(run->context, run_source(run), in_force);
    if (asked)
        r = releases_load(run->context, &run->subject, asked, run->cancel, &release, error);
    else
        r = find_before(run, in_force, revisions, &release, error);
    if (r >= 0)
        r = hold_take_revision(run, release, next, refusal, error);
    if (r > 0 && !refusal->code)
        refuse_revision(run, release ? release->revision : asked, revisions, refusal);
    return r;
}

/* The source shares what was recorded with its document. */
static void note_memory(struct run *run)
{
    const struct value *resources = value_path(run->source, "spec", "resources", NULL);

    run->source_memory = resources ? value_size(resources) * RECORDED_VALUE : 0;
}

int hold_preview_revision(struct run *run, int64_t revision, struct error *error)
{
    _cleanup_(release_revisions_done) struct release_revisions revisions = {0};
    _cleanup_(release_free_p) struct release *release = NULL;
    struct error refusal = {0};
    int r = releases_load(run->context, &run->subject, revision, run->cancel, &release, error);

    if (r >= 0)
        r = read_source(run, release, &run->source, &refusal, error);
    if (r > 0 && !refusal.code) {
        r = releases_list(run->context, &run->subject, run->cancel, &revisions, error);
        if (r < 0)
            return r;
        refuse_revision(run, revision, &revisions, &refusal);
    }
    note_memory(run);
    return refusal.code ? err_copy(error, &refusal) : r;
}

/* ---- What it applied ---- */

int hold_take_source(struct run *run, struct error *error)
{
    struct error problem = {0};
    int r;

    if (run->hold.operation != RELEASE_ROLLBACK)
        return 0;
    value_unref(TAKE(run->source));
    r = recorded_apply(run->context, &run->subject.key, run->hold.spec_digest, NULL, run->object,
                       run->cancel, &run->source, &problem);
    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "RevisionNotFound",
                       "the Spec of revision %lld, to which it was rolled back, is not there any "
                       "more; edit the Spec to apply that again",
                       (long long)run->hold.to_revision);
    if (r == ERR_CORRUPT)
        err_wrap(&problem, "revision %lld, to which it was rolled back (edit the Spec to end that)",
                 (long long)run->hold.to_revision);
    note_memory(run);
    return r < 0 ? err_copy(error, &problem) : 0;
}
