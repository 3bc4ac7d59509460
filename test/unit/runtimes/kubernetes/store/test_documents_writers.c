/* Writers of documents in an API server: killed ones, ones that slept, and many at once. */
#include <pthread.h>
#include <stdio.h>

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/store/served.h"
#include "test/unit/suite.h"

static const struct store_call plain;

/* ---- Killed ones ---- */

/* As far as a write gets that is killed before it swaps the head. */
static void begin_to_write(struct served *scene)
{
    struct document_file *file = (struct document_file *)scene->file;
    const struct task task = served_task(scene);
    _cleanup_(kube_head_done) struct head head = {0};
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    served_fill(&bytes, SERVED_LARGE, 99);
    EXPECT_INT(kube_part_write(&task, file, PART_OPEN, &bytes, &head, &scene->error), 0, "open");
    EXPECT_INT(kube_part_write(&task, file, PART_SECRET, &bytes, &head, &scene->error), 0,
               "secret");
    if (file->seen.fields[HEAD_JOURNAL])
        EXPECT_INT(kube_journal_close(&task, file, &scene->error), 0, scene->error.message);
}

static void collects_what_a_killed_write_left(struct served *scene)
{
    static const struct {
        const char *note;
        size_t before, next, secret; /* before 0: there is no document */
        size_t entries;              /* appended before */
        size_t maps, secrets;        /* then */
    } rows[] = {
        {"the first of all", 0, 10, 10, 0, 1, 1},
        {"small ones", 10, 10, 10, 0, 1, 1},
        {"large ones", SERVED_LARGE, SERVED_LARGE, SERVED_LARGE, 0, 4, 3},
        {"large before", SERVED_LARGE, 10, 0, 0, 1, 0},
        {"entries", 10, 10, 0, 3, 1, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].before)
            EXPECT_INT(served_write(scene, rows[i].before, rows[i].secret, 1), 0,
                       scene->error.message);
        for (size_t k = 0; k < rows[i].entries; k++)
            EXPECT_INT(served_append(scene, "entry"), 0, scene->error.message);
        begin_to_write(scene);
        served_start_again(scene);
        EXPECT_INT(served_read(scene), rows[i].before ? 0 : ERR_NOT_FOUND, rows[i].note);
        EXPECT_INT(served_write(scene, rows[i].next, rows[i].secret, 2), 0, scene->error.message);
        EXPECT_INT(served_count(scene, SERVED_MAPS), rows[i].maps, rows[i].note);
        EXPECT_INT(served_count(scene, SERVED_SECRETS), rows[i].secrets, rows[i].note);
        begin_to_write(scene);
        served_start_again(scene);
        EXPECT_INT(scene->store->ops->remove(scene->file, &plain, &scene->error), 0,
                   scene->error.message);
        EXPECT_INT(served_count(scene, SERVED_MAPS) + served_count(scene, SERVED_SECRETS), 0,
                   rows[i].note);
    }
}

/* ---- Writers that fell asleep ---- */

/* One closed the entries and fell asleep. Another appends: the swap of the first must fail. */
static void a_write_that_slept_conflicts_with_an_append(struct served *scene)
{
    _cleanup_(kube_head_done) struct head head = {0};
    struct document document = DOCUMENT_INIT;
    struct task task;
    struct store *other;
    struct store_file *file = NULL;

    EXPECT_INT(served_write(scene, 10, 0, 1), 0, scene->error.message);
    EXPECT_INT(served_append(scene, "a"), 0, scene->error.message);
    other = served_attach(&scene->live);
    other->ops->open(other, &scene->name, STORE_WRITE, &plain, &file, NULL);
    EXPECT_INT(other->ops->read(file, &plain, &document, NULL), 0, "read");

    task = served_task(scene);
    EXPECT_INT(kube_journal_close(&task, (struct document_file *)scene->file, &scene->error), 0,
               scene->error.message);
    EXPECT_INT(other->ops->append(file, &plain, "b", 1, NULL), ERR_CONFLICT, "it is closed");
    EXPECT_INT(other->ops->read(file, &plain, &document, NULL), 0, "read");
    EXPECT_INT(other->ops->append(file, &plain, "b", 1, &scene->error), 0, scene->error.message);

    EXPECT_INT(served_write(scene, 20, 0, 2), ERR_CONFLICT, "it would lose an entry");
    EXPECT_INT(other->ops->read(file, &plain, &document, NULL), 0, "read");
    EXPECT_INT(document.n_entries, 2, "both entries");
    document_done(&document);
    other->ops->close(file);
    other->ops->free(other);
}

/* A removal by name that comes late hits nothing that is in use: no name is used twice. */
static void a_late_removal_takes_nothing_of_those_who_follow(struct served *scene)
{
    _cleanup_(kube_garbage_done) struct garbage garbage = {0};
    struct task task;

    EXPECT_INT(served_write(scene, SERVED_LARGE, SERVED_LARGE, 1), 0, scene->error.message);
    task = served_task(scene);
    EXPECT_INT(kube_garbage_find(&task, (struct document_file *)scene->file, NULL, &garbage, NULL),
               0, "list");
    EXPECT_INT(garbage.count[PART_OPEN] + garbage.count[PART_SECRET], 6, "chunks");
    EXPECT_INT(served_write(scene, SERVED_LARGE, SERVED_LARGE, 2), 0, scene->error.message);
    EXPECT_INT(served_write(scene, SERVED_LARGE, SERVED_LARGE, 1), 0, "the same bytes as at first");
    EXPECT_INT(kube_garbage_remove(&task, &garbage, NULL), 0, "the late removal");
    EXPECT_INT(served_read(scene), 0, scene->error.message);
}

static void mark_as_removed(struct served *scene)
{
    const struct document_file *file = (const struct document_file *)scene->file;
    const struct task task = served_task(scene);
    const struct buf nothing = BUF_INIT;
    const char *before = file->seen.version;
    _cleanup_(kube_head_done) struct head head = {0};
    _cleanup_value_ const struct value *body = NULL;
    _cleanup_free_ char *version = NULL;
    char tag[TAG_SIZE];

    kube_head_init(&head);
    kube_head_set(&head, HEAD_CHUNKED, "true");
    kube_head_set(&head, HEAD_REMOVED, "true");
    kube_draw_tag(tag);
    body = kube_head_body(file, &head, &nothing, tag, before);
    EXPECT_INT(kube_object_swap(&task,
                                &(struct swap){before ? "PUT" : "POST", &kube_config_maps,
                                               file->head_name, body, before, tag, file->head_name},
                                &version, NULL),
               0, "marked");
}

/* By a process that has not read the document. */
static int write_unseen(struct served *scene, size_t secret)
{
    struct document document = DOCUMENT_INIT;
    struct store *other = served_attach(&scene->live);
    struct store_file *file = NULL;
    int r;

    served_fill(&document.open, 10, 2);
    served_fill(&document.secret, secret, 2);
    other->ops->open(other, &scene->name, STORE_WRITE, &plain, &file, NULL);
    err_clear(&scene->error);
    r = other->ops->write(file, &plain, &document, &scene->error);
    document_done(&document);
    other->ops->close(file);
    other->ops->free(other);
    return r;
}

/* A write that was killed has reserved the head, or a removal has marked it: there is none. */
static void what_expects_no_document_replaces_a_mark(struct served *scene)
{
    static const struct {
        const char *note;
        bool was_there;
        size_t secret;
    } rows[] = {
        {"reserved", false, 10},
        {"reserved, and written without chunks", false, 0},
        {"removed", true, 10},
        {"removed, and written without chunks", true, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].was_there)
            EXPECT_INT(served_write(scene, SERVED_LARGE, 10, 1), 0, scene->error.message);
        mark_as_removed(scene);
        EXPECT_INT(write_unseen(scene, rows[i].secret), 0, rows[i].note);
        EXPECT_INT(write_unseen(scene, rows[i].secret), ERR_CONFLICT, "there is one now");
        EXPECT_INT(served_read(scene), 0, scene->error.message);
        EXPECT_INT(served_count(scene, SERVED_MAPS), 1, rows[i].note);
        EXPECT_INT(served_count(scene, SERVED_SECRETS), rows[i].secret > 0, rows[i].note);
        EXPECT_INT(scene->store->ops->remove(scene->file, &plain, &scene->error), 0,
                   scene->error.message);
    }
}

/* A removal saw the mark of one that was killed, and fell asleep. Another writes the document anew:
 * its chunks are not what was left. */
static void a_removal_that_slept_takes_nothing_of_a_writer(struct served *scene)
{
    struct document document = DOCUMENT_INIT;
    struct store *other = served_attach(&scene->live);
    struct store_file *file = NULL;

    EXPECT_INT(served_write(scene, 10, 10, 1), 0, scene->error.message);
    mark_as_removed(scene);
    served_start_again(scene);
    other->ops->open(other, &scene->name, STORE_WRITE, &plain, &file, NULL);
    EXPECT_INT(other->ops->read(file, &plain, &document, NULL), ERR_NOT_FOUND, "marked");
    served_fill(&document.open, SERVED_LARGE, 2);
    served_fill(&document.secret, 10, 2);
    EXPECT_INT(other->ops->write(file, &plain, &document, &scene->error), 0, scene->error.message);

    EXPECT_INT(scene->store->ops->remove(scene->file, &plain, &scene->error), ERR_CONFLICT,
               "there is one now");
    EXPECT_INT(served_read(scene), 0, scene->error.message);
    document_done(&document);
    other->ops->close(file);
    other->ops->free(other);
}

/* ---- Many at once ---- */

#define N_THREADS 4

struct worker {
    struct store *store; /* shared */
    char spec_name[16];
    pthread_t thread;
    int failed;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    const struct document_name name = {DOCUMENT_STATE, {"team", worker->spec_name}, NULL};
    const struct store_ops *ops = worker->store->ops;
    struct store_file *file = NULL;

    ops->open(worker->store, &name, STORE_WRITE, &plain, &file, NULL);
    for (unsigned i = 0; i < 6; i++) {
        struct document document = DOCUMENT_INIT, back = DOCUMENT_INIT;

        served_fill(&document.open, i == 3 ? SERVED_LARGE : 10, i);
        served_fill(&document.secret, i % 2 ? 10 : 0, i);
        worker->failed += ops->write(file, &plain, &document, NULL) != 0;
        worker->failed += ops->append(file, &plain, "entry", 5, NULL) != 0;
        worker->failed += ops->read(file, &plain, &back, NULL) != 0;
        worker->failed += back.n_entries != 1 || back.open.length != document.open.length;
        document_done(&document);
        document_done(&back);
    }
    worker->failed += ops->remove(file, &plain, NULL) != 0;
    ops->close(file);
    return NULL;
}

static void many_are_written_at_once(struct served *scene)
{
    struct worker workers[N_THREADS];

    for (size_t i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker){.store = scene->store};
        snprintf(workers[i].spec_name, sizeof(workers[i].spec_name), "thread-%zu", i);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        EXPECT_INT(workers[i].failed, 0, workers[i].spec_name);
    }
    EXPECT_INT(served_count(scene, SERVED_MAPS) + served_count(scene, SERVED_SECRETS), 0,
               "all removed");
}

ON_EACH_SERVER(collects_what_a_killed_write_left)
ON_EACH_SERVER(a_write_that_slept_conflicts_with_an_append)
ON_EACH_SERVER(a_late_removal_takes_nothing_of_those_who_follow)
ON_EACH_SERVER(what_expects_no_document_replaces_a_mark)
ON_EACH_SERVER(a_removal_that_slept_takes_nothing_of_a_writer)
ON_EACH_SERVER(many_are_written_at_once)

SUITE(kube_documents_writers, TEST(collects_what_a_killed_write_left_in_memory),
      TEST(a_write_that_slept_conflicts_with_an_append_in_memory),
      TEST(a_late_removal_takes_nothing_of_those_who_follow_in_memory),
      TEST(what_expects_no_document_replaces_a_mark_in_memory),
      TEST(a_removal_that_slept_takes_nothing_of_a_writer_in_memory),
      TEST(many_are_written_at_once_in_memory))

SUITE(live_documents_writers, TEST(collects_what_a_killed_write_left_live),
      TEST(a_write_that_slept_conflicts_with_an_append_live),
      TEST(a_late_removal_takes_nothing_of_those_who_follow_live),
      TEST(what_expects_no_document_replaces_a_mark_live),
      TEST(a_removal_that_slept_takes_nothing_of_a_writer_live),
      TEST(many_are_written_at_once_live))
