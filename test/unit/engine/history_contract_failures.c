/* Calls that fail: without a permit, after a cancel, without an answer. */
#include "engine/base/str.h"
#include "test/unit/engine/history_scene.h"

static const struct store_call plain; /* no deadline, no cancel, no permit */

/* ---- Permits and cancels ---- */

struct refusal {
    unsigned asked;
    enum permit_use use; /* the last that was asked for */
};

static int refuse(void *arg, enum permit_use use, struct error *error)
{
    struct refusal *refusal = arg;

    refusal->asked++;
    refusal->use = use;
    return err_set(error, ERR_FENCED, NULL, "the Lease is lost");
}

/* Revision 1 is there, 2 is not. */
static void expect_refused(struct history_scene *scene, const struct store_call *call,
                           char **version, int code, const char *what)
{
    _cleanup_free_ char *before = str_new(*version), *none = NULL;

    expect_code(scene, history_scene_try_create(scene, 2, call, &none), code, what);
    expect_code(scene,
                history_scene_try_update(scene, scene->history, 1, PHASE_FAILED, call, version),
                code, what);
    expect_true_of(scene, str_equal(before, *version), "the version stays");
    expect_code(scene, history_scene_remove(scene, 1, call), code, what);
    history_scene_expect_kept(scene, 1, PHASE_NONE, what);
    history_scene_expect_none(scene, 2, what);
}

static void asks_the_permit(struct history_scene *scene)
{
    _cleanup_free_ char *version = history_scene_create(scene, 1), *loaded = NULL;
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    struct refusal refusal = {.asked = 0};
    const struct permit permit = {refuse, &refusal};
    const struct store_call call = {.permit = &permit, .use = PERMIT_RECORD};

    expect_refused(scene, &call, &version, ERR_FENCED, "refused");
    expect_true_of(scene, refusal.asked >= 3 && refusal.use == PERMIT_RECORD, "for this use");
    expect_ok(scene,
              scene->history->ops->load(scene->history, &scene->spec, 1, &call, &record, &loaded,
                                        &scene->error),
              "load needs none");
    history_scene_update(scene, 1, PHASE_APPLYING, &version);
}

static int count_heads(void *arg, const struct release_head *head, struct error *error)
{
    (void)head;
    (void)error;
    ++*(size_t *)arg;
    return 0;
}

static void is_cancelled(struct history_scene *scene)
{
    _cleanup_free_ char *version = history_scene_create(scene, 1), *loaded = NULL;
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    const struct store_call call = {.cancel = cancel};
    size_t count = 0;

    cancel_fire(cancel, "Superseded");
    expect_refused(scene, &call, &version, ERR_CANCELLED, "fired before");
    expect_code(scene,
                scene->history->ops->load(scene->history, &scene->spec, 1, &call, &record, &loaded,
                                          &scene->error),
                ERR_CANCELLED, "load");
    expect_code(scene,
                scene->history->ops->list(scene->history, &scene->spec, count_heads, &count, &call,
                                          &scene->error),
                ERR_CANCELLED, "list");
    expect_true_of(scene, count == 0, "list");
}

/* ---- Lost answers ---- */

/* Whatever is said of it, it happened as a whole or not at all, and load tells which. */
static void answers_are_lost(struct history_scene *scene)
{
    for (int is_after = 0; scene->fixture->lose_answer && is_after <= 1; is_after++) {
        int64_t revision = is_after + 1;
        _cleanup_(release_record_free_p) struct release_record *record = NULL, *updated = NULL;
        _cleanup_free_ char *version = NULL, *loaded = NULL, *after = NULL;
        int r;

        scene->fixture->lose_answer(scene->fixture->arg, is_after);
        r = history_scene_try_create(scene, revision, &plain, &version);
        expect_true_of(scene, r == 0 || r == ERR_UNAVAILABLE, "create");
        if (r < 0 && !is_after)
            history_scene_expect_none(scene, revision, "it did not happen");
        if (r < 0 && !is_after)
            free(history_scene_create(scene, revision));
        expect_ok(scene, history_scene_load(scene, scene->other, revision, &record, &loaded),
                  "load");
        if (record)
            history_scene_expect_record(scene, record, revision, PHASE_NONE, "made");
        scene->fixture->lose_answer(scene->fixture->arg, is_after);
        r = history_scene_try_update(scene, scene->history, revision, PHASE_SUCCEEDED, &plain,
                                     &loaded);
        expect_true_of(scene, r == 0 || r == ERR_UNAVAILABLE, "update");
        history_scene_expect_kept(scene, revision,
                                  r == 0 || is_after ? PHASE_SUCCEEDED : PHASE_NONE, "update");
        err_clear(&scene->error);
        expect_ok(scene, history_scene_load(scene, scene->other, revision, &updated, &after),
                  "load");
        r = r < 0 && !is_after ? history_scene_try_update(scene, scene->history, revision,
                                                          PHASE_SUCCEEDED, &plain, &after)
                               : 0;
        expect_ok(scene, r, "it goes on from what load tells");
        history_scene_expect_kept(scene, revision, PHASE_SUCCEEDED, "updated");
    }
}

/* ---- All of them ---- */

const struct history_scenario history_contract_failures[] = {
    {"permit", asks_the_permit},
    {"cancel", is_cancelled},
    {"lost-answers", answers_are_lost},
    {NULL, NULL},
};
