/* Changes that a store refuses: of two writers, behind a lock, without a permit, after a cancel. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/store_scene.h"

static const struct store_call plain; /* no deadline, no cancel, no permit */

/* ---- Two writers ---- */

static void conflicts(struct store_scene *scene)
{
    struct store_file *first = store_scene_open(scene),
                      *second = store_scene_open_in(scene, scene->other);
    struct document document = DOCUMENT_INIT;

    expect_ok(scene, store_scene_write(scene, first, "1", "s1"), "the first creates");
    expect_code(scene, store_scene_write(scene, second, "2", "s2"), ERR_CONFLICT, "both saw none");
    expect_code(scene, store_scene_remove(scene, second), ERR_CONFLICT, "it saw none");
    if (store_scene_can_append(scene))
        expect_code(scene, store_scene_append(scene, second, "x"), ERR_CONFLICT, "it saw none");
    store_scene_expect_read(scene, second, "1", "s1", NULL, "nothing changed");
    expect_ok(scene, store_scene_write(scene, second, "2", "s2"), "it has seen it now");
    expect_code(scene, store_scene_write(scene, first, "3", ""), ERR_CONFLICT, "stale");
    expect_code(scene, store_scene_remove(scene, first), ERR_CONFLICT, "stale");
    if (store_scene_can_append(scene))
        expect_code(scene, store_scene_append(scene, first, "x"), ERR_CONFLICT, "stale");
    store_scene_expect_kept(scene, "2", "s2", NULL, "nothing changed");
    store_scene_expect_read(scene, first, "2", "s2", NULL, "read brings it up to date");
    expect_ok(scene, store_scene_remove(scene, first), "remove");
    expect_code(scene, store_scene_write(scene, second, "4", ""), ERR_CONFLICT, "it is gone");
    expect_code(scene, store_scene_remove(scene, second), ERR_CONFLICT, "it is gone");
    expect_code(scene, store_scene_read(scene, second, &document), ERR_NOT_FOUND, "it is gone");
    expect_ok(scene, store_scene_write(scene, second, "5", ""), "made again");
    expect_code(scene, store_scene_write(scene, first, "6", ""), ERR_CONFLICT, "it saw none");
    store_scene_close(second);
    store_scene_close(first);
    store_scene_expect_kept(scene, "5", "", NULL, "the last");
}

static void appends_conflict(struct store_scene *scene)
{
    struct store_file *first, *second;

    if (!store_scene_can_append(scene))
        return;
    first = store_scene_open(scene);
    second = store_scene_open_in(scene, scene->other);
    expect_ok(scene, store_scene_write(scene, first, "1", ""), "write");
    store_scene_expect_read(scene, second, "1", "", NULL, "both see it");
    expect_ok(scene, store_scene_append(scene, first, "a"), "the first entry");
    expect_code(scene, store_scene_append(scene, second, "x"), ERR_CONFLICT, "its first entry");
    expect_code(scene, store_scene_write(scene, second, "2", ""), ERR_CONFLICT, "folding");
    expect_code(scene, store_scene_remove(scene, second), ERR_CONFLICT, "removing");
    store_scene_expect_read(scene, second, "1", "", (const char *[]){"a", NULL}, "nothing changed");
    expect_ok(scene, store_scene_append(scene, second, "b"), "it has seen it now");
    expect_code(scene, store_scene_append(scene, first, "x"), ERR_CONFLICT, "stale");
    expect_code(scene, store_scene_write(scene, first, "2", ""), ERR_CONFLICT, "stale");
    expect_code(scene, store_scene_remove(scene, first), ERR_CONFLICT, "stale");
    store_scene_expect_read(scene, first, "1", "", (const char *[]){"a", "b", NULL}, "in order");
    expect_ok(scene, store_scene_write(scene, first, "2", ""), "folded");
    expect_code(scene, store_scene_append(scene, second, "x"), ERR_CONFLICT, "to what was folded");
    store_scene_expect_read(scene, second, "2", "", NULL, "folded");
    expect_ok(scene, store_scene_append(scene, second, "c"), "anew");
    store_scene_close(second);
    store_scene_close(first);
    store_scene_expect_kept(scene, "2", "", (const char *[]){"c", NULL}, "the last");
}

static void locks(struct store_scene *scene)
{
    struct store_file *first, *second = NULL;

    if (!scene->fixture->break_lock)
        return;
    first = store_scene_open(scene);
    expect_code(scene,
                scene->other->ops->open(scene->other, &scene->name, STORE_WRITE, &plain, &second,
                                        &scene->error),
                ERR_CONFLICT, "open to write");
    expect_true_of(scene, str_equal(scene->error.reason, "StateLocked") && !second, "locked");
    expect_ok(scene, store_scene_write(scene, first, "1", ""), "write");
    store_scene_expect_kept(scene, "1", "", NULL, "it can be read meanwhile");
    store_scene_close(first);
    expect_ok(scene,
              scene->other->ops->open(scene->other, &scene->name, STORE_WRITE, &plain, &second,
                                      &scene->error),
              "free again");
    store_scene_close(second);
}

/* ---- Permits and cancels ---- */

struct refusal {
    enum permit_use refused;
    unsigned asked;
};

static int refuse(void *arg, enum permit_use use, struct error *error)
{
    struct refusal *refusal = arg;

    refusal->asked++;
    return use == refusal->refused ? err_set(error, ERR_FENCED, NULL, "the Lease is lost") : 0;
}

/* What a call does that must change nothing. */
static void expect_refused(struct store_scene *scene, struct store_file *file,
                           const struct store_call *call, int code, const char *what)
{
    const struct store_ops *ops = file->store->ops;
    _cleanup_buf_ struct buf open = BUF_INIT;
    struct document document = DOCUMENT_INIT;

    buf_add_str(&open, "refused");
    document.open = open;
    document.secret = open;
    err_clear(&scene->error);
    expect_code(scene, ops->write(file, call, &document, &scene->error), code, what);
    if (ops->append)
        expect_code(scene, ops->append(file, call, "x", 1, &scene->error), code, what);
    expect_code(scene, ops->remove(file, call, &scene->error), code, what);
    store_scene_expect_kept(scene, "open", "secret", NULL, what);
}

static void asks_the_permit(struct store_scene *scene)
{
    struct store_file *file = store_scene_open(scene);
    struct refusal refusal = {PERMIT_ACT, 0};
    const struct permit permit = {refuse, &refusal};
    const struct document document = DOCUMENT_INIT;
    struct document back = DOCUMENT_INIT;
    struct store_call act = {.permit = &permit, .use = PERMIT_ACT};
    struct store_call tell = {.permit = &permit, .use = PERMIT_RECORD};

    expect_ok(scene, store_scene_write(scene, file, "open", "secret"), "write");
    expect_refused(scene, file, &act, ERR_FENCED, "ACT is refused");
    expect_ok(scene, file->store->ops->read(file, &act, &back, &scene->error), "read needs none");
    document_done(&back);
    refusal = (struct refusal){PERMIT_RECORD, 0};
    expect_refused(scene, file, &tell, ERR_FENCED, "TELL is refused");
    expect_true_of(scene, refusal.asked >= 2, "it was asked");
    expect_ok(scene, file->store->ops->write(file, &act, &document, &scene->error), "ACT goes");
    refusal.refused = PERMIT_ACT;
    if (store_scene_can_append(scene))
        expect_ok(scene, file->store->ops->append(file, &tell, "x", 1, &scene->error), "TELL goes");
    expect_ok(scene, file->store->ops->remove(file, &tell, &scene->error), "TELL goes");
    store_scene_close(file);
    store_scene_expect_none(scene, "removed");
}

static void is_cancelled(struct store_scene *scene)
{
    struct store_file *file = store_scene_open(scene);
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    const struct store_call call = {.cancel = cancel};
    struct document document = DOCUMENT_INIT;

    expect_ok(scene, store_scene_write(scene, file, "open", "secret"), "write");
    expect_ok(scene, file->store->ops->read(file, &call, &document, &scene->error), "not yet");
    cancel_fire(cancel, "Superseded");
    expect_refused(scene, file, &call, ERR_CANCELLED, "fired before");
    expect_code(scene, file->store->ops->read(file, &call, &document, &scene->error), ERR_CANCELLED,
                "read");
    document_done(&document);
    store_scene_close(file);
}

static void reading_handles_change_nothing(struct store_scene *scene)
{
    struct store_file *file = store_scene_open(scene);

    expect_ok(scene, store_scene_write(scene, file, "open", "secret"), "write");
    store_scene_close(file);
    expect_ok(scene,
              scene->store->ops->open(scene->store, &scene->name, STORE_READ, &plain, &file,
                                      &scene->error),
              "open to read");
    store_scene_expect_read(scene, file, "open", "secret", NULL, "read");
    expect_refused(scene, file, &plain, ERR_INVALID, "open to read");
    store_scene_close(file);
}

/* ---- All of them ---- */

const struct store_scenario store_contract_refusals[] = {
    {"conflicts", conflicts},
    {"appends-conflict", appends_conflict},
    {"locks", locks},
    {"permit", asks_the_permit},
    {"cancel", is_cancelled},
    {"reading-handles", reading_handles_change_nothing},
    {NULL, NULL},
};
