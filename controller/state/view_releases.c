#include "controller/state/private.h"
#include "controller/state/view.h"

#include <stdlib.h>

#include "engine/base/str.h"
#include "engine/store/store_error.h"
#include "engine/value/json.h"

/* As the API server would have it. NULL: it is nested too deep for a List, in which there are two
 * more levels. */
static const struct value *release_of(const struct release_record *record,
                                      const struct value *resources)
{
    const struct release_head *head = &record->head;
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    const char *name = release_name(&arena, head->spec.name, head->revision);
    _cleanup_value_ const struct value *owner =
        head->spec_uid ? value_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", "api.kusion.io/v1",
                                    "kind", "Spec", "name", head->spec.name, "uid", head->spec_uid)
                       : NULL;
    _cleanup_value_ const struct value *to_revision =
        head->to_revision ? value_pack("I", head->to_revision) : NULL;
    _cleanup_value_ const struct value *status =
        record->status ? value_ref(record->status) : value_pack("{}");
    _cleanup_value_ const struct value *release = value_pack(
        "{s:s, s:s, s:{s:s, s:s, s:{s:s}, s:v?}, s:{s:{s:s}, s:s, s:v?, s:v?}, s:v}", "apiVersion",
        "api.kusion.io/v1", "kind", "Release", "metadata", "namespace", head->spec.namespace_name,
        "name", name, "labels", "api.kusion.io/generated", "true", "ownerReferences", owner, "spec",
        "specRef", "name", head->spec.name, "operation", release_operation_name(head->operation),
        "toRevision", to_revision, "resources", resources, "status", status);
    _cleanup_value_ const struct value *list =
        release ? value_pack("{s:[v]}", "items", release) : NULL;

    return list ? TAKE(release) : NULL;
}

/* *damage: set, if the record is damaged, or sealed with a key that is not there. Resources that
 * are nested too deep are left out: the status still says what was done. */
static int add_release(const struct state_side *side, const struct spec_key *spec, int64_t revision,
                       const struct store_call *call, struct value_builder *b, struct error *damage,
                       struct error *error)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_value_ const struct value *release = NULL;
    _cleanup_free_ char *version = NULL;
    struct error problem = {0};
    int r =
        side->history->ops->load(side->history, spec, revision, call, &record, &version, &problem);

    if (r == ERR_NOT_FOUND)
        return 0;
    if (r == ERR_CORRUPT || copy_is_locked(r, &problem)) {
        err_copy(damage, &problem);
        return 0;
    }
    if (r < 0)
        return err_copy(error, &problem);
    release = release_of(record, record->head.resources);
    if (!release)
        release = release_of(record, NULL);
    value_add(b, release);
    return 0;
}

static int add_releases(const struct state_side *side, const struct spec_key *spec,
                        const struct revisions *revisions, const struct store_call *call,
                        struct buf *to, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *items = NULL, *list = NULL;
    struct error damage = {0};
    int r = 0;

    value_begin_array(b);
    for (size_t i = revisions->count; i > 0 && r >= 0; i--)
        r = add_release(side, spec, revisions->items[i - 1], call, b, &damage, error);
    if (r < 0)
        return r;
    value_end_array(b);
    r = value_builder_finish(b, &items, error);
    if (r < 0)
        return r;
    list = value_pack("{s:s, s:s, s:v}", "apiVersion", "v1", "kind", "List", "items", items);
    if (list) {
        json_write(to, list, JSON_PRETTY);
        buf_add_str(to, "\n");
    }
    if (!list || buf_overflowed(to)) {
        buf_reset(to);
        return err_set(error, ERR_TOO_LARGE, "TooLarge", "the Releases are too large for one List");
    }
    return err_copy(error, &damage);
}

int state_releases(const struct state_side *side, const struct spec_key *spec,
                   const struct store_call *call, struct buf *to, struct error *error)
{
    _cleanup_(revisions_done) struct revisions revisions = {0};
    struct error problem = {0};
    int r = revisions_list(side, spec, call, &revisions, &problem);

    if (r >= 0 && !revisions.count)
        return err_set(error, ERR_NOT_FOUND, "NotFound", "there is no Release of %s/%s in %s",
                       spec->namespace_name, spec->name, side->place);
    if (r >= 0)
        r = add_releases(side, spec, &revisions, call, to, &problem);
    if (r < 0)
        store_error_explain(&problem, side->place);
    return err_copy(error, &problem);
}
