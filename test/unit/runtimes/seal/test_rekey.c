/* All documents of a store, written anew with the key that seals, and counted by their keys. */
#include <stdatomic.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/thread.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/runtimes/seal/key_folder.h"
#include "test/unit/runtimes/seal/tamper.h"
#include "test/unit/suite.h"

static const struct store_call plain;
static const char *const entries[] = {"one", "two", NULL};

struct desk {
    struct memory_medium *medium;
    char *folder;
    struct store *store; /* sealed */
    struct error error;
    struct buf problems; /* "team/web: …\n" */
};

static void attach(struct desk *desk, const char *more, enum seal_scope scope)
{
    if (desk->store)
        desk->store->ops->free(desk->store);
    desk->store =
        seal_store_new(memory_store_new(desk->medium), key_folder_keys(desk->folder, more), scope);
}

static void desk_init(struct desk *desk, const struct memory_medium_config *config)
{
    *desk = (struct desk){.medium = memory_medium_new(config), .folder = key_folder_new()};
    buf_init(&desk->problems, 0);
    attach(desk, "", SEAL_SECRET);
}

static void desk_done(struct desk *desk)
{
    desk->store->ops->free(desk->store);
    memory_medium_free(desk->medium);
    key_folder_free(desk->folder);
    buf_done(&desk->problems);
}

static const struct document_name names[] = {
    {DOCUMENT_STATE, {"team", "web"}, NULL},
    {DOCUMENT_STATE, {"team", "api"}, NULL},
    {DOCUMENT_PLAN, {"team", "web"}, "web-7"},
    {DOCUMENT_RELEASE, {"other", "web"}, "3"},
};

static void fill(struct desk *desk, size_t n)
{
    for (size_t i = 0; i < n; i++)
        EXPECT_INT(tamper_write(desk->store, &names[i], "open", "secret", i ? NULL : entries,
                                &desk->error),
                   0, desk->error.message);
}

static void expect_all(struct desk *desk, const char *note)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct document document = DOCUMENT_INIT;

        EXPECT_INT(tamper_read(desk->store, &names[i], &document, &desk->error), 0,
                   desk->error.message);
        EXPECT_STR(document.open.data, "open", note);
        EXPECT_STR(document.secret.data, "secret", note);
        EXPECT_INT((long long)document.n_entries, i ? 0 : 2, note);
        for (size_t k = 0; k < document.n_entries; k++)
            EXPECT_STR(document.entries[k].data, entries[k], note);
        document_done(&document);
    }
}

static void note_problem(void *arg, const struct document_name *name, const struct error *problem)
{
    buf_printf(arg, "%s/%s: %s\n", name->spec.namespace_name, name->spec.name, problem->message);
}

static struct seal_rekeyed rekey(struct desk *desk)
{
    struct seal_rekeyed rekeyed;

    buf_reset(&desk->problems);
    EXPECT_INT(seal_store_rekey(desk->store, &plain, note_problem, &desk->problems, &rekeyed,
                                &desk->error),
               0, desk->error.message);
    return rekeyed;
}

/* "file k1 3, identity 1" */
static void expect_counts(struct desk *desk, const char *expected)
{
    struct seal_counts counts;
    _cleanup_buf_ struct buf text = BUF_INIT;

    EXPECT_INT(
        seal_store_count(desk->store, &plain, note_problem, &desk->problems, &counts, &desk->error),
        0, desk->error.message);
    for (size_t i = 0; i < counts.n; i++)
        buf_printf(&text, "%s%s %zu", i ? ", " : "", counts.counts[i].key,
                   counts.counts[i].documents);
    EXPECT_STR(text.data, expected, "counts");
    seal_counts_done(&counts);
}

static void expect_rekeyed(struct desk *desk, size_t written, size_t failed, const char *note)
{
    struct seal_rekeyed rekeyed = rekey(desk);

    EXPECT_INT((long long)rekeyed.documents, ARRAY_SIZE(names), note);
    EXPECT_INT((long long)rekeyed.written, (long long)written, note);
    EXPECT_INT((long long)rekeyed.failed, (long long)failed, note);
}

static void all_documents_get_the_key_that_seals(void)
{
    struct desk desk;

    desk_init(&desk, NULL);
    fill(&desk, ARRAY_SIZE(names));
    expect_counts(&desk, "file k1 4");
    expect_rekeyed(&desk, 0, 0, "all have it");
    key_folder_use(desk.folder, "k2");
    EXPECT_INT(tamper_write(desk.store, &names[1], "open", "secret", NULL, NULL), 0, "a save");
    expect_counts(&desk, "file k1 3, file k2 1");
    expect_rekeyed(&desk, 3, 0, "the others");
    expect_counts(&desk, "file k2 4");
    expect_all(&desk, "in the same process");
    key_folder_remove(desk.folder, "k1");
    attach(&desk, "", SEAL_SECRET);
    expect_all(&desk, "without the old key");
    expect_rekeyed(&desk, 0, 0, "again");
    EXPECT_STR(desk.problems.data, "", "none");
    desk_done(&desk);
}

/* An entry that was appended with another key than its document's. */
static void entries_are_written_anew_with_their_document(void)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct desk desk;

    desk_init(&desk, NULL);
    key_folder_use(desk.folder, "k2");
    fill(&desk, ARRAY_SIZE(names));
    key_folder_use(desk.folder, "k1");
    desk.store->ops->open(desk.store, &names[3], STORE_WRITE, &plain, &file, NULL);
    desk.store->ops->read(file, &plain, &document, NULL);
    EXPECT_INT(desk.store->ops->append(file, &plain, "one", 3, &desk.error), 0, "append");
    desk.store->ops->close(file);
    document_done(&document);
    expect_counts(&desk, "file k2 4, file k1 1");
    key_folder_use(desk.folder, "k2");
    expect_rekeyed(&desk, 1, 0, "that one");
    expect_counts(&desk, "file k2 4");
    /* What is appended now goes behind what was carried. */
    desk.store->ops->open(desk.store, &names[3], STORE_WRITE, &plain, &file, NULL);
    EXPECT_INT(desk.store->ops->read(file, &plain, &document, &desk.error), 0, desk.error.message);
    EXPECT_INT(desk.store->ops->append(file, &plain, "two", 3, &desk.error), 0, "append");
    EXPECT_INT(desk.store->ops->read(file, &plain, &document, &desk.error), 0, desk.error.message);
    EXPECT_INT((long long)document.n_entries, 2, "both");
    EXPECT_STR(document.entries[0].data, "one", "in order");
    EXPECT_STR(document.entries[1].data, "two", "in order");
    desk.store->ops->close(file);
    document_done(&document);
    desk_done(&desk);
}

static void what_was_not_sealed_is_sealed(void)
{
    struct desk desk;

    desk_init(&desk, NULL);
    attach(&desk, "", SEAL_NONE);
    fill(&desk, ARRAY_SIZE(names));
    attach(&desk, ",identity", SEAL_SECRET);
    expect_counts(&desk, "identity 4");
    expect_rekeyed(&desk, 4, 0, "all");
    attach(&desk, "", SEAL_SECRET);
    expect_counts(&desk, "file k1 4");
    expect_all(&desk, "sealed");
    attach(&desk, "", SEAL_ALL);
    expect_rekeyed(&desk, 4, 0, "the open parts, too");
    expect_all(&desk, "sealed whole");
    expect_rekeyed(&desk, 0, 0, "again");
    attach(&desk, ",identity", SEAL_NONE);
    expect_rekeyed(&desk, 3, 1, "all but the one with entries");
    EXPECT(strstr(desk.problems.data, "team/web: it has entries"), desk.problems.data);
    expect_counts(&desk, "file k1 1, identity 3");
    expect_all(&desk, "as far as can be");
    desk_done(&desk);
}

static void a_document_that_fails_is_told_and_the_others_go_on(void)
{
    const struct memory_medium_config locks = {.has_locks = true};
    struct store_file *file = NULL;
    struct store *raw;
    struct desk desk;

    desk_init(&desk, &locks);
    fill(&desk, ARRAY_SIZE(names));
    key_folder_use(desk.folder, "k2");
    raw = memory_store_new(desk.medium);
    raw->ops->open(raw, &names[1], STORE_WRITE, &plain, &file, NULL);
    memory_damage(desk.medium, &names[2], "open part");
    expect_rekeyed(&desk, 2, 2, "two");
    EXPECT(strstr(desk.problems.data, "team/api: another process has it open"), desk.problems.data);
    EXPECT(strstr(desk.problems.data, "team/web: the open part is damaged"), desk.problems.data);
    raw->ops->close(file);
    raw->ops->free(raw);
    desk_done(&desk);
}

static void without_a_key_nothing_is_written(void)
{
    struct seal_rekeyed rekeyed;
    struct desk desk;

    desk_init(&desk, NULL);
    fill(&desk, ARRAY_SIZE(names));
    key_folder_use(desk.folder, "k3");
    attach(&desk, "", SEAL_SECRET);
    EXPECT_INT(
        seal_store_rekey(desk.store, &plain, note_problem, &desk.problems, &rekeyed, &desk.error),
        ERR_UNAVAILABLE, "no key");
    EXPECT_STR(desk.error.reason, SEAL_MISSING, "its reason");
    EXPECT_INT((long long)rekeyed.written, 0, "nothing");
    desk_done(&desk);
}

/* Killed before and after each write: another run goes on, and nothing is lost. */
static enum store_fault kill_store(void *arg, const struct faulty_event *event)
{
    size_t *left = arg;

    if (event->call == FAULTY_WRITE && (*left)-- == 0)
        faulty_store_kill(event->store);
    return FAULT_NONE;
}

static void a_process_that_is_killed_loses_nothing(void)
{
    for (size_t at = 0; at < 2 * ARRAY_SIZE(names); at++) {
        struct store_faults *faults = store_faults_new();
        struct seal_rekeyed rekeyed;
        struct store *dying;
        struct desk desk;
        size_t left = at;

        desk_init(&desk, NULL);
        fill(&desk, ARRAY_SIZE(names));
        key_folder_use(desk.folder, "k2");
        dying = seal_store_new(faulty_store_new(faults, memory_store_new(desk.medium)),
                               key_folder_keys(desk.folder, ""), SEAL_SECRET);
        store_faults_watch(faults, kill_store, &left);
        seal_store_rekey(dying, &plain, note_problem, &desk.problems, &rekeyed, NULL);
        dying->ops->free(dying);
        store_faults_free(faults);
        expect_all(&desk, "after the kill");
        expect_rekeyed(&desk, ARRAY_SIZE(names) - (at + 1) / 2, 0, "the rest");
        expect_all(&desk, "after another run");
        expect_counts(&desk, "file k2 4");
        desk_done(&desk);
    }
}

/* ---- Under load ---- */

struct worker {
    struct desk *desk;
    char name[16];
    atomic_bool *ends;
    unsigned saves;
    struct error error;
};

/* Saves and reads a document of its own, in handles that see other processes' keys. */
static void *work(void *arg)
{
    struct worker *worker = arg;
    const struct document_name name = {DOCUMENT_STATE, {"load", worker->name}, NULL};

    while (!atomic_load(worker->ends) && !worker->error.code) {
        _cleanup_free_ char *text = str_printf("save %u", worker->saves++);
        struct document document = DOCUMENT_INIT;

        tamper_write(worker->desk->store, &name, text, text, entries, &worker->error);
        if (!worker->error.code)
            tamper_read(worker->desk->store, &name, &document, &worker->error);
        if (!worker->error.code &&
            (!str_equal(document.secret.data, text) || document.n_entries != 2))
            err_set(&worker->error, ERR_INTERNAL, NULL, "read \"%s\"", document.secret.data);
        document_done(&document);
    }
    return NULL;
}

static void keys_change_under_load(void)
{
    struct worker workers[4];
    pthread_t threads[4];
    atomic_bool ends = false;
    struct desk desk;

    desk_init(&desk, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
        workers[i] = (struct worker){.desk = &desk, .ends = &ends};
        snprintf(workers[i].name, sizeof(workers[i].name), "spec-%zu", i);
        threads[i] = thread_must_start("worker", work, &workers[i]);
    }
    for (int i = 0; i < 40; i++) {
        _cleanup_free_ char *key = str_printf("key-%d", i);

        key_folder_add(desk.folder, key, 10 + i);
        key_folder_use(desk.folder, key);
        EXPECT_INT(tamper_write(desk.store, &names[0], key, key, NULL, &desk.error), 0,
                   desk.error.message);
    }
    atomic_store(&ends, true);
    for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
        pthread_join(threads[i], NULL);
        EXPECT_INT(workers[i].error.code, 0, workers[i].error.message);
    }
    attach(&desk, "", SEAL_SECRET);
    key_folder_use(desk.folder, "k1");
    EXPECT_INT((long long)rekey(&desk).failed, 0, desk.problems.data);
    expect_counts(&desk, "file k1 5");
    desk_done(&desk);
}

/* Whoever has no key must find it, too. */
static void the_identity_of_the_store_stays_in_clear(void)
{
    static const struct document_name identity = {DOCUMENT_STORE, {"kusion", "store"}, NULL};
    struct document found = DOCUMENT_INIT;
    struct store *below;
    struct desk desk;

    desk_init(&desk, NULL);
    below = memory_store_new(desk.medium);
    EXPECT_INT(tamper_write(below, &identity, "id", "", NULL, NULL), 0, "written");
    attach(&desk, ",identity", SEAL_ALL);
    EXPECT_INT((long long)rekey(&desk).documents, 0, "it is none of those that are sealed");
    EXPECT_INT(tamper_read(below, &identity, &found, NULL), 0, "read");
    EXPECT_STR(found.open.data, "id", "as it was");
    document_done(&found);
    below->ops->free(below);
    desk_done(&desk);
}

SUITE(seal_rekey, TEST(all_documents_get_the_key_that_seals),
      TEST(entries_are_written_anew_with_their_document), TEST(what_was_not_sealed_is_sealed),
      TEST(a_document_that_fails_is_told_and_the_others_go_on),
      TEST(without_a_key_nothing_is_written), TEST(a_process_that_is_killed_loses_nothing),
      TEST(keys_change_under_load), TEST(the_identity_of_the_store_stays_in_clear))
