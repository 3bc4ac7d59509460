#include "test/unit/engine/history_scene.h"

#include "engine/base/str.h"

static const struct store_call plain; /* no deadline, no cancel, no permit */

struct release_head history_scene_head(const struct history_scene *scene, int64_t revision)
{
    return (struct release_head){
        .spec = scene->spec, .revision = revision, .generation = 4, .operation = RELEASE_APPLY};
}

int history_scene_try_create(struct history_scene *scene, int64_t revision,
                             const struct store_call *call, char **ret_version)
{
    const struct release_head head = history_scene_head(scene, revision);

    return scene->history->ops->create(scene->history, &head, call, ret_version, &scene->error);
}

char *history_scene_create(struct history_scene *scene, int64_t revision)
{
    char *version = NULL;

    expect_ok(scene, history_scene_try_create(scene, revision, &plain, &version), "create");
    expect_true_of(scene, version && *version, "a version");
    return version;
}

const struct value *history_scene_status(int64_t revision, enum release_phase phase)
{
    return value_pack("{s:I, s:s, s:s}", "revision", revision, "phase", release_phase_name(phase),
                      "createTime", "2026-01-02T03:04:05Z");
}

int history_scene_try_update(struct history_scene *scene, struct release_history *history,
                             int64_t revision, enum release_phase phase,
                             const struct store_call *call, char **version)
{
    _cleanup_value_ const struct value *status = history_scene_status(revision, phase);
    /* What a record is made with stays, whatever update says. */
    const struct release_record record = {
        .head = {scene->spec, revision, 99, RELEASE_DESTROY, PHASE_NONE, NULL}, .status = status};

    return history->ops->update(history, &record, call, version, &scene->error);
}

void history_scene_update(struct history_scene *scene, int64_t revision, enum release_phase phase,
                          char **version)
{
    _cleanup_free_ char *before = str_new(*version);

    expect_ok(scene,
              history_scene_try_update(scene, scene->history, revision, phase, &plain, version),
              release_phase_name(phase));
    expect_true_of(scene, !str_equal(*version, before), "another version");
}

int history_scene_load(struct history_scene *scene, struct release_history *history,
                       int64_t revision, struct release_record **ret, char **ret_version)
{
    return history->ops->load(history, &scene->spec, revision, &plain, ret, ret_version,
                              &scene->error);
}

int history_scene_remove(struct history_scene *scene, int64_t revision,
                         const struct store_call *call)
{
    return scene->history->ops->remove(scene->history, &scene->spec, revision, RELEASE_ANYWAY, call,
                                       &scene->error);
}

int history_scene_remove_ended(struct history_scene *scene, int64_t revision)
{
    return scene->history->ops->remove(scene->history, &scene->spec, revision, RELEASE_IF_ENDED,
                                       &plain, &scene->error);
}

/* ---- Checks ---- */

void history_scene_expect_record(struct history_scene *scene, const struct release_record *record,
                                 int64_t revision, enum release_phase phase, const char *what)
{
    _cleanup_value_ const struct value *status = history_scene_status(revision, phase);

    expect_true_of(scene,
                   str_equal(record->head.spec.name, scene->spec.name) &&
                       str_equal(record->head.spec.namespace_name, scene->spec.namespace_name),
                   what);
    expect_true_of(scene, record->head.revision == revision, what);
    expect_true_of(scene, record->head.generation == 4, what);
    expect_true_of(scene, record->head.operation == RELEASE_APPLY, what);
    expect_true_of(scene, record->head.phase == phase, what);
    expect_true_of(scene, record->own_generation == 1, what);
    expect_true_of(
        scene, phase == PHASE_NONE ? !record->status : value_equal(record->status, status), what);
}

void history_scene_expect_kept(struct history_scene *scene, int64_t revision,
                               enum release_phase phase, const char *what)
{
    struct release_history *history = scene->fixture->attach(scene->fixture->arg);
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL;

    expect_ok(scene, history_scene_load(scene, history, revision, &record, &version), what);
    if (record)
        history_scene_expect_record(scene, record, revision, phase, what);
    history->ops->free(history);
}

void history_scene_expect_none(struct history_scene *scene, int64_t revision, const char *what)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL;

    expect_code(scene, history_scene_load(scene, scene->other, revision, &record, &version),
                ERR_NOT_FOUND, what);
    expect_true_of(scene, !record && !version, what);
    expect_true_of(scene,
                   scene->other->ops->load(scene->other, &scene->spec, revision, &plain, &record,
                                           &version, NULL) == ERR_NOT_FOUND,
                   what);
}
