/* Releases, where one of the two stores has them, and the other leaves them to the API server:
 * private.h. */
#include "controller/state/private.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

/* ---- What the target has of another time ---- */

/* Whether they tell of the same operation, and the one that is there may still become the other. */
static bool is_of_now(const struct release_record *there, const struct release_record *record)
{
    const struct release_head *a = &there->head, *b = &record->head;

    return a->generation == b->generation && a->operation == b->operation &&
           a->to_revision == b->to_revision && str_equal(a->spec_uid, b->spec_uid) &&
           str_equal(a->spec_digest, b->spec_digest) &&
           (!release_phase_is_terminal(release_status_phase(there->status)) ||
            value_equal(there->status, record->status));
}

/* 1: it is of no worth. */
static int is_stale(const struct state_side *from, const struct state_side *to,
                    const struct document_name *name, const struct store_call *call,
                    struct error *error)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL, *there = NULL;
    _cleanup_free_ char *version = NULL, *ignored = NULL;
    struct error problem = {0};
    int64_t revision;
    int r;

    if (!release_revision_parse(name->item, &revision))
        return 1;
    r = from->history->ops->load(from->history, &name->spec, revision, call, &record, &ignored,
                                 &problem);
    if (r == ERR_NOT_FOUND)
        return 1;
    if (r >= 0)
        r = to->history->ops->load(to->history, &name->spec, revision, call, &there, &version,
                                   &problem);
    if (r == ERR_CORRUPT || r == ERR_NOT_FOUND || copy_is_locked(r, &problem))
        return 1;
    return r < 0 ? err_copy(error, &problem) : !is_of_now(there, record);
}

int copy_remove_stale_releases(const struct state_side *from, const struct state_side *to,
                               const struct store_call *call, size_t *count, struct error *error)
{
    _cleanup_(names_done) struct names there = NAMES_INIT;
    int r = names_list(&there, to->store, DOCUMENT_RELEASE, call, error);

    for (size_t i = 0; i < there.count && r >= 0; i++) {
        r = is_stale(from, to, &there.items[i], call, error);
        if (r != 1)
            continue;
        r = store_drop(to->base, &there.items[i], call, error);
        *count += r >= 0;
    }
    return r < 0 ? r : 0;
}

/* ---- Copying ---- */

/* There by now, perhaps of an earlier copy: with the status, or without it yet. */
static int set_status(struct release_history *to, const struct release_record *record,
                      const struct store_call *call, struct error *error)
{
    const struct release_head *head = &record->head;
    _cleanup_(release_record_free_p) struct release_record *there = NULL;
    _cleanup_free_ char *version = NULL;
    int r = to->ops->load(to, &head->spec, head->revision, call, &there, &version, error);

    if (r < 0 || !record->status ||
        release_phase_is_terminal(release_status_phase(there->status)) ||
        value_equal(there->status, record->status))
        return r;
    return to->ops->update(to, record, call, &version, error);
}

static int copy_one(struct release_history *from, struct release_history *to,
                    const struct spec_key *spec, int64_t revision, const struct store_call *call,
                    struct error *error)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL, *ignored = NULL;
    struct error problem = {0};
    int r = from->ops->load(from, spec, revision, call, &record, &version, &problem);

    if (r >= 0)
        r = to->ops->create(to, &record->head, call, &ignored, &problem);
    if (r >= 0 || r == ERR_EXISTS) {
        err_clear(&problem);
        r = set_status(to, record, call, &problem);
    }
    if (r == ERR_NOT_FOUND) /* removed meanwhile, with its Spec */
        return 0;
    if (r < 0)
        err_wrap(&problem, "Release %lld of %s/%s", (long long)revision, spec->namespace_name,
                 spec->name);
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* Oldest first: a copy that is killed leaves no gap. */
static int copy_of_spec(const struct state_side *from, const struct state_side *to,
                        const struct spec_key *spec, const struct store_call *call, size_t *count,
                        struct error *error)
{
    _cleanup_(revisions_done) struct revisions revisions = {0};
    int r = revisions_list(from, spec, call, &revisions, error);

    for (size_t i = revisions.count; i > 0 && r >= 0; i--) {
        r = copy_one(from->history, to->history, spec, revisions.items[i - 1], call, error);
        *count += r >= 0;
    }
    return r;
}

int copy_releases(const struct state_side *from, const struct state_side *to,
                  const struct store_call *call, const struct names *names, size_t *count,
                  struct error *error)
{
    _cleanup_(names_done) struct names releases = NAMES_INIT;
    _cleanup_(strmap_done) struct strmap seen = STRMAP_INIT;
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    int r =
        from->has_releases ? names_list(&releases, from->store, DOCUMENT_RELEASE, call, error) : 0;

    for (size_t i = 0; i < names->count + releases.count && r >= 0; i++) {
        const struct document_name *name =
            i < names->count ? &names->items[i] : &releases.items[i - names->count];
        char *key = arena_printf(&arena, "%s/%s", name->spec.namespace_name, name->spec.name);

        if (strmap_get(&seen, key))
            continue;
        strmap_put(&seen, key, key);
        r = copy_of_spec(from, to, &name->spec, call, count, error);
    }
    return r;
}
