/* One record: made once, updated by its version, ended, removed. */
#include "engine/base/str.h"
#include "test/unit/engine/history_scene.h"
#include "test/unit/suite.h"

#define LARGE 1500 /* results: some 300 KiB */

static const struct store_call plain; /* no deadline, no cancel, no permit */

static void a_revision_is_taken_once(struct history_scene *scene)
{
    _cleanup_free_ char *version = history_scene_create(scene, 3), *none = NULL;
    const struct release_head other = {
        .spec = scene->spec, .revision = 3, .generation = 5, .operation = RELEASE_DESTROY};

    history_scene_expect_kept(scene, 3, PHASE_NONE, "made");
    expect_code(scene, history_scene_try_create(scene, 3, &plain, &none), ERR_EXISTS,
                "the same again");
    expect_code(scene,
                scene->other->ops->create(scene->other, &other, &plain, &none, &scene->error),
                ERR_EXISTS, "by another, of something else");
    expect_true_of(scene, !none, "no version");
    history_scene_expect_kept(scene, 3, PHASE_NONE, "as it was made");
    history_scene_update(scene, 3, PHASE_APPLYING, &version);
    expect_code(scene, history_scene_try_create(scene, 3, &plain, &none), ERR_EXISTS,
                "one that goes on");
    history_scene_expect_kept(scene, 3, PHASE_APPLYING, "goes on");
}

static void updates(struct history_scene *scene)
{
    _cleanup_free_ char *version = history_scene_create(scene, 1);

    history_scene_update(scene, 1, PHASE_GENERATING, &version);
    history_scene_expect_kept(scene, 1, PHASE_GENERATING, "by the version of create");
    history_scene_update(scene, 1, PHASE_APPLYING, &version);
    history_scene_expect_kept(scene, 1, PHASE_APPLYING, "by the version of update");
    history_scene_update(scene, 1, PHASE_SUCCEEDED, &version);
    history_scene_expect_kept(scene, 1, PHASE_SUCCEEDED, "by the version of update");
}

static void versions_decide(struct history_scene *scene)
{
    _cleanup_free_ char *version = history_scene_create(scene, 1), *other = NULL;
    _cleanup_(release_record_free_p) struct release_record *record = NULL, *again = NULL;

    expect_ok(scene, history_scene_load(scene, scene->other, 1, &record, &other), "load");
    history_scene_update(scene, 1, PHASE_GENERATING, &version);
    expect_code(scene,
                history_scene_try_update(scene, scene->other, 1, PHASE_APPLYING, &plain, &other),
                ERR_CONFLICT, "stale");
    history_scene_expect_kept(scene, 1, PHASE_GENERATING, "nothing changed");
    expect_code(scene,
                history_scene_try_update(scene, scene->other, 1, PHASE_APPLYING, &plain, &other),
                ERR_CONFLICT, "its version stays");
    free(TAKE(other));
    expect_ok(scene, history_scene_load(scene, scene->other, 1, &again, &other), "load again");
    expect_ok(scene,
              history_scene_try_update(scene, scene->other, 1, PHASE_APPLYING, &plain, &other),
              "by the version of load");
    expect_code(scene,
                history_scene_try_update(scene, scene->history, 1, PHASE_FAILED, &plain, &version),
                ERR_CONFLICT, "stale");
    history_scene_expect_kept(scene, 1, PHASE_APPLYING, "the last");
}

/* The status is as it was once; a version of then is stale all the same. */
static void a_version_does_not_come_back(struct history_scene *scene)
{
    _cleanup_free_ char *version = history_scene_create(scene, 1), *stale = NULL;

    history_scene_update(scene, 1, PHASE_GENERATING, &version);
    stale = str_new(version);
    history_scene_update(scene, 1, PHASE_APPLYING, &version);
    history_scene_update(scene, 1, PHASE_GENERATING, &version);
    expect_true_of(scene, !str_equal(version, stale), "another version");
    expect_code(scene,
                history_scene_try_update(scene, scene->other, 1, PHASE_APPLYING, &plain, &stale),
                ERR_CONFLICT, "stale");
    history_scene_expect_kept(scene, 1, PHASE_GENERATING, "the last");
}

static void expect_ended(struct history_scene *scene, int64_t revision, enum release_phase phase,
                         char **version, const char *what)
{
    int r = history_scene_try_update(scene, scene->other, revision, phase, &plain, version);

    expect_true_of(scene, str_equal(scene->error.reason, "ReleaseEnded"), what);
    expect_code(scene, r, ERR_CONFLICT, what);
}

static void an_end_is_final(struct history_scene *scene)
{
    static const enum release_phase ends[] = {PHASE_SUCCEEDED, PHASE_FAILED, PHASE_CANCELLED};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        int64_t revision = (int64_t)i + 1;
        _cleanup_free_ char *version = history_scene_create(scene, revision),
                            *stale = str_new(version);
        _cleanup_free_ char *loaded = NULL, *none = NULL;
        _cleanup_(release_record_free_p) struct release_record *record = NULL;

        history_scene_update(scene, revision, ends[i], &version);
        expect_ok(scene, history_scene_load(scene, scene->other, revision, &record, &loaded),
                  "load");
        for (size_t to = PHASE_GENERATING; to <= PHASE_CANCELLED; to++) {
            expect_ended(scene, revision, (enum release_phase)to, &version, "of update");
            expect_ended(scene, revision, (enum release_phase)to, &loaded, "of load");
            expect_ended(scene, revision, (enum release_phase)to, &stale, "stale");
        }
        expect_code(scene, history_scene_try_create(scene, revision, &plain, &none), ERR_EXISTS,
                    "create");
        history_scene_expect_kept(scene, revision, ends[i], "as it ended");
    }
}

static void large_ones(struct history_scene *scene)
{
    _cleanup_free_ char *version = history_scene_create(scene, 1), *loaded = NULL;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *results = NULL, *status = NULL;
    _cleanup_(release_record_free_p) struct release_record *back = NULL;
    struct release_record record = {.head = history_scene_head(scene, 1)};

    value_begin_array(b);
    for (int i = 0; i < LARGE; i++) {
        value_begin_object(b);
        value_key(b, "id");
        value_add_printf(b, "id-%d", i);
        value_key(b, "message");
        value_add_printf(b, "%0150d \" \\ ü €", i);
        value_end_object(b);
    }
    value_end_array(b);
    EXPECT_INT(value_builder_finish(b, &results, NULL), 0, "results");
    status = value_pack("{s:s, s:v}", "phase", "failed", "results", results);
    record.status = status;
    expect_ok(scene,
              scene->history->ops->update(scene->history, &record, &plain, &version, &scene->error),
              "update");
    expect_ok(scene, history_scene_load(scene, scene->other, 1, &back, &loaded), "load");
    expect_true_of(scene, back && value_equal(back->status, status), "as it was written");
}

static void removes(struct history_scene *scene)
{
    _cleanup_free_ char *version = history_scene_create(scene, 1), *again = NULL;

    history_scene_update(scene, 1, PHASE_APPLYING, &version);
    expect_ok(scene, history_scene_remove(scene, 1, &plain), "remove");
    history_scene_expect_none(scene, 1, "gone");
    history_scene_expect_none(scene, 0, "the newest");
    expect_ok(scene, history_scene_remove(scene, 1, &plain), "remove again");
    expect_code(
        scene,
        history_scene_try_update(scene, scene->history, 1, PHASE_SUCCEEDED, &plain, &version),
        ERR_NOT_FOUND, "update");
    history_scene_expect_none(scene, 1, "nothing is made again");
    again = history_scene_create(scene, 1);
    expect_code(
        scene,
        history_scene_try_update(scene, scene->history, 1, PHASE_SUCCEEDED, &plain, &version),
        ERR_CONFLICT, "it is another one");
    history_scene_expect_kept(scene, 1, PHASE_NONE, "made anew");
    history_scene_update(scene, 1, PHASE_SUCCEEDED, &again);
    expect_ok(scene, history_scene_remove(scene, 1, &plain), "remove one that has ended");
    history_scene_expect_none(scene, 1, "gone");
}

/* The Spec's uid is kept with the record, whatever update says. */
static void whose_it_is(struct history_scene *scene)
{
    struct release_head head = history_scene_head(scene, 1);
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL, *loaded = NULL;

    head.spec_uid = "0b5c6b0e-0000-4000-8000-000000000001";
    expect_ok(scene,
              scene->history->ops->create(scene->history, &head, &plain, &version, &scene->error),
              "create");
    history_scene_update(scene, 1, PHASE_APPLYING, &version);
    expect_ok(scene, history_scene_load(scene, scene->other, 1, &record, &loaded), "load");
    expect_true_of(scene, record && str_equal(record->head.spec_uid, head.spec_uid), "its uid");
}

static void removes_what_has_ended(struct history_scene *scene)
{
    static const enum release_phase ends[] = {PHASE_SUCCEEDED, PHASE_FAILED, PHASE_CANCELLED};
    static const enum release_phase before[] = {PHASE_GENERATING, PHASE_AWAITING_APPROVAL,
                                                PHASE_APPLYING};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        _cleanup_free_ char *version = history_scene_create(scene, 1);

        expect_code(scene, history_scene_remove_ended(scene, 1), ERR_CONFLICT, "not begun");
        history_scene_update(scene, 1, before[i], &version);
        expect_code(scene, history_scene_remove_ended(scene, 1), ERR_CONFLICT, "goes on");
        history_scene_expect_kept(scene, 1, before[i], "stays");
        history_scene_update(scene, 1, ends[i], &version);
        expect_ok(scene, history_scene_remove_ended(scene, 1), release_phase_name(ends[i]));
        history_scene_expect_none(scene, 1, "gone");
        expect_ok(scene, history_scene_remove_ended(scene, 1), "again");
    }
}

/* ---- All of them ---- */

const struct history_scenario history_contract_records[] = {
    {"taken-once", a_revision_is_taken_once},
    {"updates", updates},
    {"versions", versions_decide},
    {"versions-again", a_version_does_not_come_back},
    {"ends", an_end_is_final},
    {"large", large_ones},
    {"removes", removes},
    {"whose", whose_it_is},
    {"removes-ended", removes_what_has_ended},
    {NULL, NULL},
};
