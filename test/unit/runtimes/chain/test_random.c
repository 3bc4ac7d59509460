/*
 * Chains under every mishap at once: several processes read, write, remove and tidy one document,
 * in an order that a seed decides request by request. Requests get lost, are not answered, come
 * late or twice; processes are killed between two requests; days pass, so that tombstones are
 * deleted.
 *
 * What must hold: each change that is acknowledged was made to the last acknowledged one, or to a
 * change in doubt that turned out to have happened; and what is read is the last of them.
 */
#include <pthread.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/private.h"
#include "test/unit/runtimes/chain/memory_objects.h"
#include "test/unit/suite.h"

#define SEEDS    1000
#define WORKERS  4
#define CHANGES  12 /* that a worker tries */
#define VERSIONS (WORKERS * CHANGES + 1)
#define HOUR_MS  INT64_C(3600000)

static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};

/* One change that was tried. Content is its number, and that of the change that it was made to. */
struct version {
    bool is_removal;
    size_t before;
    enum { VERSION_NONE, VERSION_DOUBT, VERSION_DONE, VERSION_REFUSED } what;
};

struct world;

struct worker {
    struct world *world;
    size_t index;
    pthread_t thread;
    struct objects *objects;
    struct store *store;
    bool is_killed, is_at_end;
};

struct world {
    unsigned seed;
    bool has_faults;
    struct memory_objects_medium *medium;
    struct clock_source clock;
    int64_t now;
    struct worker workers[WORKERS];
    struct version versions[VERSIONS]; /* 0: there is none yet */
    size_t n_versions;

    pthread_mutex_t lock;
    pthread_cond_t turn;
    size_t running; /* whose turn it is */
};

static struct world *world;

/* ---- Chance and turns ---- */

static unsigned draw(unsigned bound)
{
    world->seed = world->seed * 1664525u + 1013904223u;
    return (unsigned)(((uint64_t)(world->seed >> 8) * bound) >> 24);
}

static bool is_one_of(unsigned n)
{
    return draw(n) == 0;
}

static void pass_turn(void)
{
    size_t left = 0, chosen;

    for (size_t i = 0; i < WORKERS; i++)
        left += !world->workers[i].is_at_end;
    if (!left)
        return;
    chosen = draw((unsigned)left);
    for (size_t i = 0; i < WORKERS; i++)
        if (!world->workers[i].is_at_end && chosen-- == 0)
            world->running = i;
    pthread_cond_broadcast(&world->turn);
}

static void wait_for_turn(const struct worker *worker)
{
    while (world->running != worker->index)
        pthread_cond_wait(&world->turn, &world->lock);
}

static struct worker *worker_of(const struct objects *objects)
{
    for (size_t i = 0; i < WORKERS; i++)
        if (world->workers[i].objects == objects)
            return &world->workers[i];
    abort();
}

static enum objects_fault choose_fault(enum objects_request request)
{
    static const enum objects_fault faults[] = {OBJECTS_LOST, OBJECTS_UNANSWERED, OBJECTS_LATE,
                                                OBJECTS_DOUBLED, OBJECTS_DOUBLED_LATE};

    if (!world->has_faults || !is_one_of(10))
        return OBJECTS_WORK;
    if (request == OBJECTS_GET || request == OBJECTS_LIST)
        return is_one_of(3) ? OBJECTS_LOST : OBJECTS_WORK;
    return faults[draw(ARRAY_SIZE(faults))];
}

/* Before each request: the others have their turns; time passes, late requests come. */
static enum objects_fault on_request(void *arg, struct objects *objects,
                                     enum objects_request request, const char *key)
{
    struct worker *worker = worker_of(objects);
    enum objects_fault fault;

    (void)arg, (void)key;
    pthread_mutex_lock(&world->lock);
    pass_turn();
    wait_for_turn(worker);
    if (memory_objects_late(world->medium) && is_one_of(6))
        memory_objects_deliver(world->medium, draw((unsigned)memory_objects_late(world->medium)));
    world->now += is_one_of(40) ? 25 * HOUR_MS : 1;
    memory_objects_set_time(world->medium, world->now);
    if (world->has_faults && is_one_of(120))
        worker->is_killed = true;
    fault = worker->is_killed ? OBJECTS_LOST : choose_fault(request);
    pthread_mutex_unlock(&world->lock);
    return fault;
}

static int64_t clock_now(const struct clock_source *clock)
{
    (void)clock;
    return world->now;
}

static void clock_wait(const struct clock_source *clock, pthread_cond_t *condition,
                       pthread_mutex_t *mutex, int64_t until)
{
    (void)clock, (void)condition, (void)mutex, (void)until;
    world->now++;
}

/* ---- What a process does ---- */

/* The number of the change that a document has; 0: it is damaged or of nobody. */
static size_t version_of(const struct document *document)
{
    int64_t number = 0;

    return str_to_int64(document->open.data, &number) && number > 0 && (size_t)number < VERSIONS &&
                   str_equal(document->open.data, document->secret.data)
               ? (size_t)number
               : 0;
}

/* Whether a version, read as the newest, may be: all that it was made to happened then. */
static bool may_be_newest(size_t version)
{
    return version && world->versions[version].what != VERSION_REFUSED;
}

struct saw {
    bool is_known;
    size_t version; /* 0: no document */
};

static struct saw read_it(struct store_file *file)
{
    const struct store_call call = {.deadline = INT64_MAX};
    struct document document = DOCUMENT_INIT;
    struct saw saw = {0};
    struct error error = {0};
    int r = file->store->ops->read(file, &call, &document, &error);

    if (r == 0) {
        saw = (struct saw){true, version_of(&document)};
        EXPECT(saw.version, "what was written is read");
        EXPECT(!world->versions[saw.version].is_removal, "not a removal");
    } else if (r == ERR_NOT_FOUND) {
        saw = (struct saw){true, 0};
    } else {
        EXPECT(r == ERR_UNAVAILABLE, error.message);
    }
    document_done(&document);
    return saw;
}

static size_t begin_version(size_t before, bool is_removal)
{
    world->versions[++world->n_versions] = (struct version){is_removal, before, VERSION_DOUBT};
    return world->n_versions;
}

/* before: the version that the handle saw. Gives the code. */
static int change(const struct worker *worker, struct store_file *file, size_t before,
                  bool is_removal)
{
    const struct store_call call = {.deadline = INT64_MAX};
    size_t version = begin_version(before, is_removal);
    struct document document = DOCUMENT_INIT;
    struct error error = {0};
    int r;

    buf_printf(&document.open, "%zu", version);
    buf_printf(&document.secret, "%zu", version);
    r = is_removal ? file->store->ops->remove(file, &call, &error)
                   : file->store->ops->write(file, &call, &document, &error);
    document_done(&document);
    EXPECT(r == 0 || r == ERR_CONFLICT || r == ERR_UNAVAILABLE, error.message);
    if (r == 0)
        world->versions[version].what = VERSION_DONE;
    else if (r == ERR_CONFLICT && !worker->is_killed)
        world->versions[version].what = VERSION_REFUSED;
    return r;
}

static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    const struct store_call call = {.deadline = INT64_MAX};
    struct store *store = worker->store;
    struct store_file *file = NULL;

    pthread_mutex_lock(&world->lock);
    wait_for_turn(worker);
    pthread_mutex_unlock(&world->lock);
    store->ops->open(store, &name, STORE_WRITE, &call, &file, NULL);
    for (unsigned i = 0; i < CHANGES && !worker->is_killed; i++) {
        struct saw saw = read_it(file);

        if (is_one_of(8))
            store->ops->tidy(store, &call, NULL);
        if (saw.is_known && !worker->is_killed)
            change(worker, file, saw.version, saw.version ? is_one_of(4) : is_one_of(20));
    }
    store->ops->close(file);
    pthread_mutex_lock(&world->lock);
    worker->is_at_end = true;
    pass_turn();
    pthread_mutex_unlock(&world->lock);
    return NULL;
}

/* ---- What came of it ---- */

/* Whether `version` was made to `wanted`, over whatever was between. Removals begin anew: what is
 * written after one was made to none. */
static bool is_made_to(size_t version, size_t wanted)
{
    while (version > wanted)
        version = world->versions[version].before;
    return version == wanted;
}

/* No two acknowledged changes were made to the same version. */
static void check_no_two(unsigned seed)
{
    _cleanup_free_ char *note = str_printf("seed %u", seed);

    for (size_t i = 1; i <= world->n_versions; i++)
        for (size_t j = 1; j < i; j++)
            if (world->versions[i].what == VERSION_DONE &&
                world->versions[j].what == VERSION_DONE && world->versions[i].before &&
                world->versions[i].before == world->versions[j].before)
                EXPECT(false, note);
}

/* The last acknowledged change is what is there, or was built upon by what is in doubt. */
static void check_newest(unsigned seed)
{
    _cleanup_free_ char *note = str_printf("seed %u", seed);
    struct store_file *file = NULL;
    struct store *store;
    struct saw saw;
    size_t last_write = 0;
    const struct store_call call = {.deadline = INT64_MAX};

    memory_objects_watch(world->medium, NULL, NULL);
    store = chain_store_new(memory_objects_new(world->medium), &world->clock, false);
    store->ops->open(store, &name, STORE_READ, &call, &file, NULL);
    saw = read_it(file);
    EXPECT(saw.is_known, note);
    EXPECT(!saw.version || may_be_newest(saw.version), note);
    /* A write that nothing acknowledged or in doubt was made to must be the newest. */
    for (size_t i = 1; i <= world->n_versions; i++) {
        bool is_built_upon = false;

        if (world->versions[i].what != VERSION_DONE || world->versions[i].is_removal)
            continue;
        for (size_t j = 1; j <= world->n_versions; j++)
            is_built_upon |=
                world->versions[j].before == i && world->versions[j].what != VERSION_REFUSED;
        if (!is_built_upon) {
            EXPECT(!last_write, note);
            last_write = i;
        }
    }
    if (last_write)
        EXPECT(saw.version && is_made_to(saw.version, last_write), note);
    store->ops->close(file);
    store->ops->free(store);
}

static void run_seed(unsigned seed, bool has_faults)
{
    struct world now = {.seed = seed * 2654435761u + 1, .has_faults = has_faults};

    world = &now;
    now.now = INT64_C(1790000000000);
    now.clock = (struct clock_source){clock_now, clock_now, clock_wait};
    now.medium = memory_objects_medium_new();
    memory_objects_watch(now.medium, on_request, NULL);
    memory_objects_set_time(now.medium, now.now);
    pthread_mutex_init(&now.lock, NULL);
    pthread_cond_init(&now.turn, NULL);
    now.running = WORKERS;
    for (size_t i = 0; i < WORKERS; i++) {
        struct worker *worker = &now.workers[i];

        *worker = (struct worker){.world = world, .index = i};
        worker->objects = memory_objects_new(now.medium);
        worker->store = chain_store_new(worker->objects, &now.clock, false);
    }
    for (size_t i = 0; i < WORKERS; i++)
        if (pthread_create(&now.workers[i].thread, NULL, run_worker, &now.workers[i]))
            abort();
    pthread_mutex_lock(&now.lock);
    pass_turn();
    pthread_mutex_unlock(&now.lock);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(now.workers[i].thread, NULL);
    check_no_two(seed);
    check_newest(seed);
    for (size_t i = 0; i < WORKERS; i++)
        now.workers[i].store->ops->free(now.workers[i].store);
    memory_objects_medium_free(now.medium);
    pthread_cond_destroy(&now.turn);
    pthread_mutex_destroy(&now.lock);
}

static void loses_nothing_in_any_order(void)
{
    for (unsigned seed = 0; seed < SEEDS; seed++)
        run_seed(seed, false);
}

static void loses_nothing_whatever_happens(void)
{
    for (unsigned seed = 0; seed < SEEDS; seed++)
        run_seed(seed, true);
}

SUITE(chain_random, TEST(loses_nothing_in_any_order), TEST(loses_nothing_whatever_happens))
