#include "runtimes/kubernetes/change/match.h"

#include "engine/plan/diff.h"
#include "engine/value/children.h"
#include "runtimes/kubernetes/objects/marks.h"

#define NAMED_FIELDS 8

/* The object without one of our marks, and without what had nothing else. Takes the reference over.
 */
static const struct value *drop(const struct value *taken, const char *part, const char *key)
{
    const char *const keys[] = {"metadata", part, key};
    const struct value *metadata = value_get(taken, "metadata");
    const struct value *marks = value_get(metadata, part);
    size_t n = value_count(marks) > 1 ? 3 : value_count(metadata) > 1 ? 2 : 1;

    if (value_get(marks, key))
        value_move(&taken, value_without_path(taken, keys, n));
    return taken;
}

static const struct value *without_marks(const struct value *object)
{
    return drop(drop(value_ref(object), "labels", KUBE_OWNER_LABEL), "annotations",
                KUBE_SPEC_ANNOTATION);
}

static void name_fields(const struct diff *diff, struct buf *to)
{
    for (size_t i = 0; i < diff->n_fields && i < NAMED_FIELDS; i++)
        buf_printf(to, "%s%s", i ? ", " : "", diff->fields[i].path);
    if (diff->total > NAMED_FIELDS)
        buf_printf(to, " and %zu more", diff->total - NAMED_FIELDS);
}

int kube_check_match(const struct runtime_session *session, const struct observation *seen,
                     const struct projection *ours, struct error *error)
{
    _cleanup_value_ const struct value *before = NULL, *after = NULL;
    _cleanup_(diff_done) struct diff diff = DIFF_INIT;
    _cleanup_buf_ struct buf names = BUF_INIT;

    if (session->objects.adoption != ADOPT_MATCHING || kube_detail_of(seen)->owner == OWNER_SELF)
        return 0;
    before = without_marks(ours->before);
    after = without_marks(ours->after);
    diff_values(before, after, &diff_brief, &diff);
    if (!diff.total)
        return 0;
    name_fields(&diff, &names);
    return err_set(error, ERR_CONFLICT, "ConflictDetected",
                   "it exists, and differs in %s: with adoptionPolicy MustMatch only an object "
                   "that is as wanted is adopted. Change the Spec or the object, or set "
                   "adoptionPolicy: AdoptIfUnowned",
                   names.data);
}
