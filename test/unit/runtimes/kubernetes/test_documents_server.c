/* The documents in an API server: that they keep the contract of stores, what they cost, and what
 * is left of them. Each test runs over a server in memory, and over a real one, if there is one. */
#include <pthread.h>

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/documents_private.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/runtimes/kubernetes/live.h"
#include "test/unit/suite.h"

#define LARGE   (2u << 20) /* bytes: three chunks of each part */
#define MAPS    "/api/v1/namespaces/@/configmaps"
#define SECRETS "/api/v1/namespaces/@/secrets"

static const struct store_call plain;

struct scene {
    struct live live;
    struct store *store;
    struct document_name name;
    struct store_file *file;
    char head[KUBE_DOCUMENT_NAME_SIZE];
    struct error error;
};

static struct store *attach(void *arg)
{
    struct live *live = arg;

    return kube_documents_new(
        &(struct kube_documents_config){{live->harness.client, NULL}, live->space});
}

static void open_file(struct scene *scene)
{
    EXPECT_INT(scene->store->ops->open(scene->store, &scene->name, STORE_WRITE, &plain,
                                       &scene->file, &scene->error),
               0, "open");
}

static void close_store(struct scene *scene)
{
    scene->store->ops->close(scene->file);
    scene->store->ops->free(scene->store);
}

/* As a process has it that begins now, and has read the document. */
static void start_again(struct scene *scene)
{
    struct document document = DOCUMENT_INIT;

    close_store(scene);
    scene->store = attach(&scene->live);
    open_file(scene);
    scene->store->ops->read(scene->file, &plain, &document, NULL);
    document_done(&document);
}

static void run(void (*test)(struct scene *scene), bool (*start)(struct live *live))
{
    struct scene scene = {.name = {DOCUMENT_STATE, {"team", "web"}, NULL}};

    if (!start(&scene.live))
        return;
    scene.store = attach(&scene.live);
    kube_document_name(&scene.name, scene.head);
    open_file(&scene);
    test(&scene);
    close_store(&scene);
    live_stop(&scene.live);
}

#define ON_EACH_SERVER(test)             \
    static void test##_in_memory(void)   \
    {                                    \
        run(test, live_start_in_memory); \
    }                                    \
    static void test##_live(void)        \
    {                                    \
        run(test, live_start);           \
    }

static void fill(struct buf *to, size_t length, unsigned seed)
{
    uint32_t state = seed + 1;

    while (length--) {
        state = state * 1664525 + 1013904223;
        buf_add_char(to, (char)(state >> 24));
    }
}

static int write_document(struct scene *scene, size_t open, size_t secret, unsigned seed)
{
    struct document document = DOCUMENT_INIT;
    int r;

    fill(&document.open, open, seed);
    fill(&document.secret, secret, seed + 1);
    err_clear(&scene->error);
    r = scene->store->ops->write(scene->file, &plain, &document, &scene->error);
    document_done(&document);
    return r;
}

static int append(struct scene *scene, const char *text)
{
    err_clear(&scene->error);
    return scene->store->ops->append(scene->file, &plain, text, strlen(text), &scene->error);
}

static int read_code(struct scene *scene)
{
    struct document document = DOCUMENT_INIT;
    int r;

    err_clear(&scene->error);
    r = scene->store->ops->read(scene->file, &plain, &document, &scene->error);
    document_done(&document);
    return r;
}

static struct task task_of(struct scene *scene)
{
    return (struct task){(struct documents *)scene->store, &plain,
                         system_clock.monotonic(&system_clock) + 60000};
}

/* ---- What is there ---- */

struct names {
    char *items[64];
    size_t count;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
}

static int add_name(void *arg, const struct value *item, struct error *error)
{
    struct names *names = arg;

    (void)error;
    if (names->count < ARRAY_SIZE(names->items))
        names->items[names->count++] =
            str_new(value_string(value_path(item, "metadata", "name", NULL)));
    return 0;
}

/* Of one document (its head's name), or of all (NULL). */
static void list_names(struct live *live, const char *collection, const char *head,
                       struct names *ret)
{
    _cleanup_free_ char *labels =
        str_printf(KUBE_DOCUMENT_LABEL "%s%s", head ? "=" : "", head ? head : "");
    const struct kube_kind *kind = str_equal(collection, MAPS) ? &kube_config_maps : &kube_secrets;
    struct kube_list list = {.ref = {kind, live->space, NULL, NULL},
                             .selector = {.labels = labels},
                             .on_item = add_name,
                             .arg = ret};

    *ret = (struct names){0};
    EXPECT_INT(kube_list(live->harness.client, &list, NULL, NULL), 0, labels);
}

static size_t count(struct scene *scene, const char *collection)
{
    _cleanup_(names_done) struct names names;

    list_names(&scene->live, collection, NULL, &names);
    return names.count;
}

/* The name of an object of the document, that has a text in it; free(), or NULL. */
static char *find(struct live *live, const char *collection, const char *head, const char *text)
{
    _cleanup_(names_done) struct names names;

    list_names(live, collection, head, &names);
    for (size_t i = 0; i < names.count; i++)
        if (strstr(names.items[i], text))
            return str_new(names.items[i]);
    return NULL;
}

/* ---- The contract ---- */

/* Puts an object in the place of one that may be immutable. */
static void put_back(struct live *live, const char *path, const struct value *object)
{
    static const char *const version[] = {"metadata", "resourceVersion"};
    _cleanup_free_ char *collection = str_new_n(path, (size_t)(strrchr(path, '/') - path));
    _cleanup_value_ const struct value *bare = value_without_path(object, version, 2);
    _cleanup_free_ char *text = json_to_str(bare);

    EXPECT_INT(live_do(live, "DELETE", path, NULL, NULL, NULL), 0, path);
    EXPECT_INT(live_do(live, "POST", collection, text, NULL, NULL), 0, path);
}

/* Its bytes are other ones of the same length. */
static void overwrite(struct live *live, const char *path, const char *field, const char *key)
{
    _cleanup_value_ const struct value *object = NULL, *text = NULL, *changed = NULL;
    const char *keys[] = {field, key};
    _cleanup_free_ char *bytes = NULL;

    EXPECT_INT(live_do(live, "GET", path, NULL, &object, NULL), 0, path);
    bytes = str_new(value_string(value_path(object, field, key, NULL)));
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    bytes[strlen(bytes) / 2] = bytes[strlen(bytes) / 2] == 'A' ? 'B' : 'A';
    text = value_pack("s", bytes);
    changed = value_with_path(object, keys, 2, text);
    put_back(live, path, changed);
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    static const struct {
        const char *collection, *text, *field, *key;
    } parts[] = {
        [DAMAGE_HEAD] = {MAPS, "", "data", "checksum"},
        [DAMAGE_OPEN] = {MAPS, "-o1", "binaryData", "bytes"},
        [DAMAGE_SECRET] = {SECRETS, "-s0", "data", "bytes"},
        [DAMAGE_ENTRIES] = {SECRETS, "-j", "data", "entries"},
    };
    struct live *live = arg;
    char head[KUBE_DOCUMENT_NAME_SIZE];
    _cleanup_free_ char *object = NULL, *path = NULL;

    kube_document_name(name, head);
    object = part == DAMAGE_HEAD ? str_new(head)
                                 : find(live, parts[part].collection, head, parts[part].text);
    EXPECT(object, parts[part].text);
    path = str_printf("%s/%s", parts[part].collection, object);
    if (how == DAMAGE_MISSING)
        EXPECT_INT(live_do(live, "DELETE", path, NULL, NULL, NULL), 0, path);
    else
        overwrite(live, path, parts[part].field, parts[part].key);
    if (part != DAMAGE_HEAD || how == DAMAGE_CHANGED)
        *ret = str_printf("%s/%s", live->space, object);
    return true;
}

static void keeps_the_contract(struct scene *scene)
{
    store_contract_check(&(struct store_fixture){&scene->live, attach, damage, NULL});
}

/* ---- What a head says, damaged ---- */

static void says_what_is_damaged(struct scene *scene)
{
    static const struct {
        const char *note, *merge; /* into the head */
    } rows[] = {
        {"empty", "{\"data\":null,\"binaryData\":null}"},
        {"no open part", "{\"binaryData\":null}"},
        {"an empty one", "{\"binaryData\":{\"state\":\"\"}}"},
        {"another one", "{\"binaryData\":{\"state\":\"AAAA\"}}"},
        {"no checksum", "{\"data\":{\"checksum\":null}}"},
        {"it forgot the secret part",
         "{\"data\":{\"secretChecksum\":null,\"secretChunks\":null,\"secretTag\":null}}"},
        {"it forgot the entries", "{\"data\":{\"journal\":null}}"},
        {"no number of chunks", "{\"data\":{\"secretChunks\":\"-1\"}}"},
        {"no checksum of itself", "{\"data\":{\"headChecksum\":null}}"},
        {"a format to come", "{\"data\":{\"format\":\"3\"}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *path = str_printf(MAPS "/%s", scene->head);
        _cleanup_free_ char *expected = str_printf("%s/%s", scene->live.space, scene->head);

        EXPECT_INT(write_document(scene, 100, 100, (unsigned)i), 0, scene->error.message);
        EXPECT_INT(append(scene, "entry"), 0, scene->error.message);
        EXPECT_INT(read_code(scene), 0, rows[i].note);
        EXPECT_INT(live_do(&scene->live, "PATCH", path, rows[i].merge, NULL, NULL), 0, path);
        EXPECT_INT(read_code(scene), ERR_CORRUPT, rows[i].note);
        EXPECT_STR(scene->error.reason, DOCUMENT_CORRUPT, rows[i].note);
        EXPECT(strstr(scene->error.message, expected), scene->error.message);
        EXPECT_INT(append(scene, "entry"), ERR_CORRUPT, rows[i].note);
        EXPECT_INT(scene->store->ops->remove(scene->file, &plain, &scene->error), 0,
                   "what is damaged can be removed");
        EXPECT_INT(count(scene, MAPS) + count(scene, SECRETS), 0, rows[i].note);
    }
}

/* A head that was copied is of the Spec that it was copied from: it is not taken for another's. */
static void a_copy_is_of_another_document(struct scene *scene)
{
    static const char *const at[] = {"metadata", "name"};
    static const char *const version[] = {"metadata", "resourceVersion"};
    const struct document_name copy = {DOCUMENT_STATE, {"team", "copy"}, NULL};
    _cleanup_free_ char *path = str_printf(MAPS "/%s", scene->head), *text = NULL;
    _cleanup_value_ const struct value *object = NULL, *bare = NULL, *named = NULL, *name = NULL;
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    char head[KUBE_DOCUMENT_NAME_SIZE];

    EXPECT_INT(write_document(scene, 10, 0, 1), 0, scene->error.message);
    EXPECT_INT(live_do(&scene->live, "GET", path, NULL, &object, NULL), 0, path);
    kube_document_name(&copy, head);
    name = value_pack("s", head);
    bare = value_without_path(object, version, 2);
    named = value_with_path(bare, at, 2, name);
    text = json_to_str(named);
    EXPECT_INT(live_do(&scene->live, "POST", MAPS, text, NULL, NULL), 0, head);
    scene->store->ops->open(scene->store, &copy, STORE_READ, &plain, &file, NULL);
    EXPECT_INT(scene->store->ops->read(file, &plain, &document, &scene->error), ERR_CORRUPT, head);
    scene->store->ops->close(file);
    document_done(&document);
}

/* ---- What it takes, and what is left ---- */

static void costs_as_few_requests_as_can_be(struct scene *scene)
{
    static const struct {
        const char *note;
        size_t open, secret; /* open 0: an entry is appended */
        unsigned seed, writes, reads;
    } rows[] = {
        {"the first, small", 10, 0, 1, 1, 0},
        {"small", 10, 0, 2, 1, 0},
        {"the first with chunks looks for leftovers", 10, 10, 3, 2, 2},
        {"another secret: made, named, the old one removed", 10, 10, 4, 3, 0},
        {"the same secret", 10, 10, 4, 1, 0},
        {"the secret goes", 10, 0, 5, 2, 0},
        {"small", 10, 0, 6, 1, 0},
        {"the first entry: the segment, the head", 0, 0, 0, 2, 0},
        {"another", 0, 0, 0, 1, 0},
        {"another", 0, 0, 0, 1, 0},
        {"folded: closed, swapped, removed", 10, 0, 7, 3, 0},
        {"small", 10, 0, 8, 1, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_client_stats before, after;

        kube_client_stats(scene->live.harness.client, &before);
        EXPECT_INT(rows[i].open ? write_document(scene, rows[i].open, rows[i].secret, rows[i].seed)
                                : append(scene, "entry"),
                   0, rows[i].note);
        kube_client_stats(scene->live.harness.client, &after);
        EXPECT_INT(after.writes - before.writes, rows[i].writes, rows[i].note);
        EXPECT_INT(after.reads - before.reads, rows[i].reads, rows[i].note);
    }
}

/* As far as a write gets that is killed before it swaps the head. */
static void begin_to_write(struct scene *scene)
{
    struct document_file *file = (struct document_file *)scene->file;
    const struct task task = task_of(scene);
    _cleanup_(kube_head_done) struct head head = {0};
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    fill(&bytes, LARGE, 99);
    EXPECT_INT(kube_part_write(&task, file, PART_OPEN, &bytes, &head, &scene->error), 0, "open");
    EXPECT_INT(kube_part_write(&task, file, PART_SECRET, &bytes, &head, &scene->error), 0,
               "secret");
    if (file->seen.fields[HEAD_JOURNAL])
        EXPECT_INT(kube_journal_close(&task, file, &scene->error), 0, scene->error.message);
}

static void collects_what_a_killed_write_left(struct scene *scene)
{
    static const struct {
        const char *note;
        size_t before, next, secret; /* before 0: there is no document */
        size_t entries;              /* appended before */
        size_t maps, secrets;        /* then */
    } rows[] = {
        {"the first of all", 0, 10, 10, 0, 1, 1},
        {"small ones", 10, 10, 10, 0, 1, 1},
        {"large ones", LARGE, LARGE, LARGE, 0, 4, 3},
        {"large before", LARGE, 10, 0, 0, 1, 0},
        {"entries", 10, 10, 0, 3, 1, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].before)
            EXPECT_INT(write_document(scene, rows[i].before, rows[i].secret, 1), 0,
                       scene->error.message);
        for (size_t k = 0; k < rows[i].entries; k++)
            EXPECT_INT(append(scene, "entry"), 0, scene->error.message);
        begin_to_write(scene);
        start_again(scene);
        EXPECT_INT(read_code(scene), rows[i].before ? 0 : ERR_NOT_FOUND, rows[i].note);
        EXPECT_INT(write_document(scene, rows[i].next, rows[i].secret, 2), 0, scene->error.message);
        EXPECT_INT(count(scene, MAPS), rows[i].maps, rows[i].note);
        EXPECT_INT(count(scene, SECRETS), rows[i].secrets, rows[i].note);
        begin_to_write(scene);
        start_again(scene);
        EXPECT_INT(scene->store->ops->remove(scene->file, &plain, &scene->error), 0,
                   scene->error.message);
        EXPECT_INT(count(scene, MAPS) + count(scene, SECRETS), 0, rows[i].note);
    }
}

/* ---- Writers that fell asleep ---- */

/* One closed the entries and fell asleep. Another appends: the swap of the first must fail. */
static void a_write_that_slept_conflicts_with_an_append(struct scene *scene)
{
    _cleanup_(kube_head_done) struct head head = {0};
    struct document document = DOCUMENT_INIT;
    struct task task;
    struct store *other;
    struct store_file *file = NULL;

    EXPECT_INT(write_document(scene, 10, 0, 1), 0, scene->error.message);
    EXPECT_INT(append(scene, "a"), 0, scene->error.message);
    other = attach(&scene->live);
    other->ops->open(other, &scene->name, STORE_WRITE, &plain, &file, NULL);
    EXPECT_INT(other->ops->read(file, &plain, &document, NULL), 0, "read");

    task = task_of(scene);
    EXPECT_INT(kube_journal_close(&task, (struct document_file *)scene->file, &scene->error), 0,
               scene->error.message);
    EXPECT_INT(other->ops->append(file, &plain, "b", 1, NULL), ERR_CONFLICT, "it is closed");
    EXPECT_INT(other->ops->read(file, &plain, &document, NULL), 0, "read");
    EXPECT_INT(other->ops->append(file, &plain, "b", 1, &scene->error), 0, scene->error.message);

    EXPECT_INT(write_document(scene, 20, 0, 2), ERR_CONFLICT, "it would lose an entry");
    EXPECT_INT(other->ops->read(file, &plain, &document, NULL), 0, "read");
    EXPECT_INT(document.n_entries, 2, "both entries");
    document_done(&document);
    other->ops->close(file);
    other->ops->free(other);
}

/* A removal by name that comes late hits nothing that is in use: no name is used twice. */
static void a_late_removal_takes_nothing_of_those_who_follow(struct scene *scene)
{
    _cleanup_(kube_garbage_done) struct garbage garbage = {0};
    struct task task;

    EXPECT_INT(write_document(scene, LARGE, LARGE, 1), 0, scene->error.message);
    task = task_of(scene);
    EXPECT_INT(kube_garbage_find(&task, (struct document_file *)scene->file, NULL, &garbage, NULL),
               0, "list");
    EXPECT_INT(garbage.count[PART_OPEN] + garbage.count[PART_SECRET], 6, "chunks");
    EXPECT_INT(write_document(scene, LARGE, LARGE, 2), 0, scene->error.message);
    EXPECT_INT(write_document(scene, LARGE, LARGE, 1), 0, "the same bytes as at first");
    EXPECT_INT(kube_garbage_remove(&task, &garbage, NULL), 0, "the late removal");
    EXPECT_INT(read_code(scene), 0, scene->error.message);
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

        fill(&document.open, i == 3 ? LARGE : 10, i);
        fill(&document.secret, i % 2 ? 10 : 0, i);
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

static void many_are_written_at_once(struct scene *scene)
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
    EXPECT_INT(count(scene, MAPS) + count(scene, SECRETS), 0, "all removed");
}

ON_EACH_SERVER(keeps_the_contract)
ON_EACH_SERVER(says_what_is_damaged)
ON_EACH_SERVER(a_copy_is_of_another_document)
ON_EACH_SERVER(costs_as_few_requests_as_can_be)
ON_EACH_SERVER(collects_what_a_killed_write_left)
ON_EACH_SERVER(a_write_that_slept_conflicts_with_an_append)
ON_EACH_SERVER(a_late_removal_takes_nothing_of_those_who_follow)
ON_EACH_SERVER(many_are_written_at_once)

SUITE(kube_documents_in_memory, TEST(keeps_the_contract_in_memory),
      TEST(says_what_is_damaged_in_memory), TEST(a_copy_is_of_another_document_in_memory),
      TEST(costs_as_few_requests_as_can_be_in_memory),
      TEST(collects_what_a_killed_write_left_in_memory),
      TEST(a_write_that_slept_conflicts_with_an_append_in_memory),
      TEST(a_late_removal_takes_nothing_of_those_who_follow_in_memory),
      TEST(many_are_written_at_once_in_memory))

SUITE(live_documents, TEST(keeps_the_contract_live), TEST(says_what_is_damaged_live),
      TEST(a_copy_is_of_another_document_live), TEST(costs_as_few_requests_as_can_be_live),
      TEST(collects_what_a_killed_write_left_live),
      TEST(a_write_that_slept_conflicts_with_an_append_live),
      TEST(a_late_removal_takes_nothing_of_those_who_follow_live),
      TEST(many_are_written_at_once_live))
