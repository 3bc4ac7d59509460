#include "controller/desk/budget.h"

#include <sched.h>
#include <stdatomic.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

/* ---- Fixture ---- */

struct member {
    char *key, *namespace_name;
    struct reservation reservation;
};

struct fixture {
    struct fake_clock clock;
    struct budget budget;
    struct strmap members;
    struct buf woken; /* keys, since the last look */
    unsigned n_woken;
};

static void wake(void *arg, const char *key)
{
    struct fixture *fixture = arg;

    buf_printf(&fixture->woken, "%s ", key);
    fixture->n_woken++;
}

static void fixture_start(struct fixture *fixture, size_t bytes)
{
    *fixture = (struct fixture){.woken = BUF_INIT};
    fake_clock_init(&fixture->clock);
    strmap_init(&fixture->members);
    budget_init(&fixture->budget,
                &(struct budget_config){
                    .bytes = bytes, .clock = &fixture->clock.source, .wake = wake, .arg = fixture});
}

static void fixture_stop(struct fixture *fixture)
{
    struct budget_stats stats;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&fixture->members, e));) {
        struct member *member = e->value;

        budget_give_back(&fixture->budget, &member->reservation);
        free(member->key);
        free(member->namespace_name);
        free(member);
    }
    budget_stats(&fixture->budget, &stats);
    EXPECT_INT(stats.reserved + stats.n_parked + stats.n_parked + stats.n_waiting, 0,
               "nothing left");
    EXPECT_INT(fixture->budget.shares.count + fixture->budget.chosen, 0, "nor of namespaces");
    budget_done(&fixture->budget);
    strmap_done(&fixture->members);
    buf_done(&fixture->woken);
}

/* key: "namespace/name". */
static struct reservation *find(struct fixture *fixture, const char *key)
{
    struct member *member = strmap_get(&fixture->members, key);

    if (!member) {
        member = NEW(struct member);
        member->key = str_new(key);
        member->namespace_name = str_printf("%.*s", (int)strcspn(key, "/"), key);
        member->reservation =
            (struct reservation){.namespace_name = member->namespace_name, .key = member->key};
        strmap_put(&fixture->members, member->key, member);
    }
    return &member->reservation;
}

static void expect_woken(struct fixture *fixture, const char *expected, const char *note)
{
    EXPECT_STR(fixture->woken.length ? fixture->woken.data : "", expected, note);
    buf_reset(&fixture->woken);
}

/* ---- The order of admission ---- */

struct step {
    enum {
        NO_MORE,
        ASK,     /* reserves so many bytes at once */
        WAIT,    /* asks for so many bytes, and has to wait */
        END,     /* gives back what it has, and its ticket */
        FAIL,    /* gives back what it has, and keeps its ticket */
        PLANNED, /* it holds so many bytes */
        PARK,    /* it waits for the world, and holds so many bytes */
        RESUME,
        LATER, /* so many ms pass */
    } what;
    const char *key;
    size_t amount;
    const char *woken; /* NULL: none */
};

/* Of a budget of 100, of which a namespace has 25. */
static const struct {
    const char *note;
    struct step steps[16];
} orders[] = {
    {"the oldest comes first, while it fits",
     {{ASK, "a/1", 100, NULL},
      {WAIT, "b/1", 60, NULL},
      {WAIT, "c/1", 10, NULL},
      {WAIT, "d/1", 30, NULL},
      {END, "a/1", 0, "b/1 c/1 d/1 "}}},
    {"what fits exactly, begins",
     {{ASK, "a/1", 60, NULL}, {ASK, "b/1", 40, NULL}, {WAIT, "c/1", 1, NULL}}},
    {"a smaller one passes the oldest",
     {{ASK, "a/1", 60, NULL},
      {WAIT, "b/1", 50, NULL},
      {ASK, "c/1", 30, NULL},
      {WAIT, "d/1", 20, NULL},
      {ASK, "e/1", 10, NULL},
      {END, "c/1", 0, "d/1 "},
      {END, "a/1", 0, "b/1 "}}},
    {"of those that pass, the smallest first; of the same size, the older",
     {{ASK, "a/1", 50, NULL},
      {ASK, "b/1", 50, NULL},
      {WAIT, "c/1", 90, NULL},
      {WAIT, "d/1", 30, NULL},
      {WAIT, "e/1", 20, NULL},
      {WAIT, "f/1", 20, NULL},
      {WAIT, "g/1", 20, NULL},
      {END, "a/1", 0, "e/1 f/1 "},
      {END, "b/1", 0, "g/1 d/1 "}}},
    {"just before 30 s smaller ones pass",
     {{ASK, "a/1", 60, NULL},
      {WAIT, "b/1", 50, NULL},
      {LATER, NULL, BUDGET_PATIENCE - 1, NULL},
      {ASK, "c/1", 1, NULL}}},
    {"after 30 s nothing passes the oldest until it is granted",
     {{ASK, "a/1", 60, NULL},
      {ASK, "b/1", 30, NULL},
      {WAIT, "c/1", 50, NULL},
      {LATER, NULL, BUDGET_PATIENCE, NULL},
      {WAIT, "d/1", 10, NULL},
      {END, "b/1", 0, NULL},
      {WAIT, "e/1", 1, NULL},
      {END, "a/1", 0, "c/1 d/1 e/1 "}}},
    {"then the next oldest has 30 s of its own, which may be over",
     {{ASK, "a/1", 100, NULL},
      {WAIT, "b/1", 80, NULL},
      {LATER, NULL, BUDGET_PATIENCE / 2, NULL},
      {WAIT, "c/1", 80, NULL},
      {LATER, NULL, BUDGET_PATIENCE / 2, NULL},
      {WAIT, "d/1", 20, NULL},
      {END, "a/1", 0, "b/1 d/1 "},
      {LATER, NULL, BUDGET_PATIENCE / 2, NULL},
      {END, "d/1", 0, NULL},
      {WAIT, "e/1", 5, NULL},
      {END, "b/1", 0, "c/1 e/1 "}}},
    {"an oldest that gives up lets the others begin",
     {{ASK, "a/1", 60, NULL},
      {WAIT, "b/1", 50, NULL},
      {LATER, NULL, BUDGET_PATIENCE, NULL},
      {WAIT, "c/1", 10, NULL},
      {END, "b/1", 0, "c/1 "}}},
    {"one that is larger than the budget runs alone",
     {{ASK, "a/1", 10, NULL},
      {WAIT, "b/1", 1000, NULL},
      {LATER, NULL, BUDGET_PATIENCE, NULL},
      {WAIT, "c/1", 10, NULL},
      {END, "a/1", 0, "b/1 "},
      {END, "b/1", 0, "c/1 "}}},
    {"a namespace has a quarter, or one operation",
     {{ASK, "a/1", 20, NULL},
      {WAIT, "a/2", 6, NULL},
      {ASK, "a/3", 5, NULL},
      {ASK, "b/1", 60, NULL},
      {WAIT, "b/2", 1, NULL},
      {ASK, "c/1", 15, NULL},
      {END, "c/1", 0, NULL},
      {END, "a/1", 0, "a/2 "},
      {END, "b/1", 0, "b/2 "}}},
    {"what waits for its namespace holds up no other",
     {{ASK, "a/1", 20, NULL},
      {WAIT, "a/2", 20, NULL},
      {LATER, NULL, BUDGET_PATIENCE, NULL},
      {ASK, "b/1", 80, NULL},
      {WAIT, "b/2", 20, NULL},
      {END, "a/1", 0, "a/2 "}}},
    {"but after 30 s it holds up its own, until it is granted",
     {{ASK, "a/1", 10, NULL},
      {ASK, "a/2", 5, NULL},
      {WAIT, "a/3", 50, NULL},
      {ASK, "a/4", 5, NULL},
      {LATER, NULL, BUDGET_PATIENCE, NULL},
      {WAIT, "a/5", 1, NULL},
      {END, "a/1", 0, NULL},
      {END, "a/4", 0, NULL},
      {ASK, "b/1", 60, NULL},
      {END, "a/2", 0, NULL},
      {WAIT, "c/1", 10, NULL},
      {END, "b/1", 0, "a/3 c/1 "},
      {END, "a/3", 0, "a/5 "}}},
    {"a ticket is kept over an error",
     {{ASK, "a/1", 100, NULL},
      {WAIT, "b/1", 60, NULL},
      {FAIL, "b/1", 0, NULL},
      {WAIT, "c/1", 60, NULL},
      {WAIT, "b/1", 60, NULL},
      {END, "a/1", 0, "b/1 "}}},
    {"and is no reservation",
     {{ASK, "a/1", 100, NULL},
      {WAIT, "b/1", 60, NULL},
      {WAIT, "c/1", 60, NULL},
      {FAIL, "b/1", 0, NULL},
      {END, "a/1", 0, "c/1 "},
      {WAIT, "b/1", 60, NULL},
      {END, "c/1", 0, "b/1 "}}},
    {"what was granted is asked for again, by less or more",
     {{ASK, "a/1", 100, NULL},
      {WAIT, "b/1", 40, NULL},
      {END, "a/1", 0, "b/1 "},
      {ASK, "b/1", 20, NULL},
      {WAIT, "c/1", 61, NULL},
      {END, "c/1", 0, NULL},
      {ASK, "b/1", 90, NULL},
      {WAIT, "d/1", 11, NULL},
      {PLANNED, "b/1", 89, "d/1 "}}},
    {"once it is planned, its ticket is used up",
     {{ASK, "a/1", 100, NULL},
      {WAIT, "b/1", 60, NULL},
      {END, "a/1", 0, "b/1 "},
      {PLANNED, "b/1", 60, NULL},
      {WAIT, "c/1", 60, NULL},
      {WAIT, "d/1", 60, NULL},
      {FAIL, "b/1", 0, "c/1 "},
      {WAIT, "b/1", 60, NULL},
      {END, "c/1", 0, "d/1 "}}},
    {"one that grows keeps what it has from those that wait",
     {{ASK, "a/1", 60, NULL},
      {ASK, "b/1", 20, NULL},
      {WAIT, "c/1", 40, NULL},
      {ASK, "b/1", 30, NULL}}},
    {"one that grows beyond what there is waits in its turn",
     {{ASK, "a/1", 50, NULL},
      {ASK, "b/1", 40, NULL},
      {WAIT, "c/1", 60, NULL},
      {WAIT, "b/1", 60, NULL},
      {WAIT, "b/1", 55, NULL},
      {END, "a/1", 0, "c/1 "},
      {END, "c/1", 0, "b/1 "}}},
    {"the last word counts for what waits",
     {{ASK, "a/1", 60, NULL}, {WAIT, "b/1", 60, NULL}, {ASK, "b/1", 40, NULL}}},
    {"a parked operation gives way, and counts when it runs again",
     {{ASK, "a/1", 90, NULL},
      {WAIT, "b/1", 80, NULL},
      {PARK, "a/1", 10, "b/1 "},
      {WAIT, "c/1", 30, NULL},
      {END, "b/1", 0, "c/1 "},
      {RESUME, "a/1", 0, NULL},
      {END, "c/1", 0, NULL},
      {WAIT, "d/1", 20, NULL},
      {END, "a/1", 0, "d/1 "}}},
    {"parked operations are evicted for reservations, the largest first",
     {{ASK, "a/1", 30, NULL},
      {PARK, "a/1", 30, NULL},
      {ASK, "b/1", 40, NULL},
      {PARK, "b/1", 40, NULL},
      {ASK, "c/1", 30, NULL},
      {ASK, "d/1", 1, "b/1 "},
      {ASK, "e/1", 39, NULL},
      {ASK, "f/1", 1, "a/1 "}}},
};

static void take(struct fixture *fixture, const struct step *step, const char *note)
{
    struct budget *budget = &fixture->budget;
    struct reservation *it = step->key ? find(fixture, step->key) : NULL;

    switch (step->what) {
    case NO_MORE:
        return;
    case ASK:
    case WAIT:
        EXPECT_INT(budget_reserve(budget, it, step->amount), step->what == ASK, note);
        EXPECT_INT(budget_is_waiting(budget, it), step->what == WAIT, note);
        return;
    case END:
        budget_give_back(budget, it);
        budget_drop_ticket(budget, it);
        return;
    case FAIL:
        budget_give_back(budget, it);
        return;
    case PLANNED:
        budget_measure(budget, it, step->amount);
        return;
    case PARK:
    case RESUME:
        budget_park(budget, it, step->amount);
        return;
    case LATER:
        atomic_fetch_add(&fixture->clock.monotonic, (int64_t)step->amount);
        return;
    }
}

static void operations_are_admitted_in_order(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct fixture fixture;

        fixture_start(&fixture, 100);
        for (size_t n = 0; n < ARRAY_SIZE(orders[i].steps) && orders[i].steps[n].what; n++) {
            const struct step *step = &orders[i].steps[n];
            _cleanup_free_ char *note = str_printf("%s: step %zu", orders[i].note, n + 1);

            take(&fixture, step, note);
            expect_woken(&fixture, step->woken ? step->woken : "", note);
        }
        fixture_stop(&fixture);
    }
}

static void without_a_bound_nothing_waits(void)
{
    struct fixture fixture;

    fixture_start(&fixture, 0);
    EXPECT(budget_reserve(&fixture.budget, find(&fixture, "a/1"), SIZE_MAX / 16), "large");
    EXPECT(budget_reserve(&fixture.budget, find(&fixture, "a/2"), SIZE_MAX / 16), "and another");
    budget_park(&fixture.budget, find(&fixture, "a/1"), SIZE_MAX / 16);
    EXPECT(!budget_is_chosen(&fixture.budget, find(&fixture, "a/1")), "nor is evicted");
    fixture_stop(&fixture);
}

/* ---- Eviction ---- */

static void only_as_many_are_chosen_as_need_be(void)
{
    struct fixture fixture;

    fixture_start(&fixture, 100);
    for (unsigned i = 1; i <= 5; i++) {
        _cleanup_free_ char *key = str_printf("a/%u", i);

        budget_reserve(&fixture.budget, find(&fixture, key), 10);
        budget_park(&fixture.budget, find(&fixture, key), 9 * i);
        EXPECT_INT(budget_is_chosen(&fixture.budget, find(&fixture, key)), i == 5, key);
    }
    expect_woken(&fixture, "a/5 ", "135, of which 45 go");
    EXPECT(!budget_is_chosen(&fixture.budget, find(&fixture, "a/4")), "one is enough");
    budget_park(&fixture.budget, find(&fixture, "a/5"), 0);
    EXPECT(!budget_is_chosen(&fixture.budget, find(&fixture, "a/5")), "it runs again");
    expect_woken(&fixture, "", "which takes 10 beside 90");
    budget_reserve(&fixture.budget, find(&fixture, "b/1"), 1);
    expect_woken(&fixture, "a/4 ", "one more is too much");
    fixture_stop(&fixture);
}

/* ---- Many ---- */

#define MANY 32000

/* Each needs as much as a namespace may have. How often the size of one that waits is compared
 * depends on how many are granted, not on how many wait. */
static void looks_are_few_however_many_wait(void)
{
    static const unsigned namespaces[] = {1, 8, 1000, MANY};

    for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
        _cleanup_free_ char *note = str_printf("%u namespaces", namespaces[i]);
        struct reservation **all = NEW_ARRAY(struct reservation *, MANY);
        unsigned admitted = 0;
        struct fixture fixture;
        struct budget_stats stats;

        fixture_start(&fixture, 100);
        budget_reserve(&fixture.budget, find(&fixture, "all/0"), 100);
        for (unsigned n = 0; n < MANY; n++) {
            _cleanup_free_ char *key = str_printf("n%u/%u", n % namespaces[i], n);

            all[n] = find(&fixture, key);
            admitted += budget_reserve(&fixture.budget, all[n], 25);
        }
        budget_stats(&fixture.budget, &stats);
        EXPECT_INT(admitted, 0, note);
        EXPECT_INT(stats.n_waiting, MANY, note);
        EXPECT(stats.looks <= 2 * (MANY + 1), "one that asks looks at no more than two");
        budget_give_back(&fixture.budget, find(&fixture, "all/0"));
        for (unsigned n = 0; n < MANY; n++) {
            EXPECT_INT(all[n]->state, RESERVATION_RESERVED, note);
            budget_give_back(&fixture.budget, all[n]);
        }
        EXPECT_INT(fixture.n_woken, MANY, "each is woken once");
        budget_stats(&fixture.budget, &stats);
        EXPECT(stats.looks <= 6 * MANY, "nor does one that ends");
        fixture_stop(&fixture);
        free(all);
    }
}

/* Those that wait for their namespace, while another one waits for long, are not looked at. */
static void looks_are_few_where_shares_are_used_up(void)
{
    struct budget_stats before, after;
    struct fixture fixture;

    fixture_start(&fixture, 100);
    for (unsigned n = 0; n < MANY; n++) {
        _cleanup_free_ char *key = str_printf("n%u/%u", n % 4, n);

        budget_reserve(&fixture.budget, find(&fixture, key), n < 4 ? 20 : 10 + n % 10);
    }
    atomic_fetch_add(&fixture.clock.monotonic, BUDGET_PATIENCE);
    budget_stats(&fixture.budget, &before);
    EXPECT_INT(before.n_waiting, MANY - 4, "all but four");
    for (unsigned n = 0; n < MANY; n++) {
        _cleanup_free_ char *key = str_printf("other%u/%u", n, n);

        EXPECT(budget_reserve(&fixture.budget, find(&fixture, key), 20), "it has its share");
        budget_give_back(&fixture.budget, find(&fixture, key));
    }
    budget_stats(&fixture.budget, &after);
    EXPECT(after.looks - before.looks <= 3 * MANY, "only those that can be next");
    EXPECT_INT(fixture.n_woken, 0, "nothing is woken that does not fit");
    fixture_stop(&fixture);
}

/* ---- Threads ---- */

#define THREADS 4
#define TURNS   2000

struct client {
    struct fixture *fixture;
    struct reservation *reservation;
    pthread_t thread;
    unsigned admitted, too_many;
};

/* Reserves, parks in every third turn, and gives back. */
static void *reserve_many(void *arg)
{
    struct client *client = arg;
    struct budget *budget = &client->fixture->budget;
    struct reservation *reservation = client->reservation;
    struct budget_stats stats;

    for (unsigned turn = 0; turn < TURNS; turn++) {
        budget_reserve(budget, reservation, 20 + turn % 30);
        while (budget_is_waiting(budget, reservation))
            sched_yield();
        budget_stats(budget, &stats);
        client->admitted += stats.reserved > 0;
        client->too_many += stats.reserved > 100;
        budget_measure(budget, reservation, 20);
        if (turn % 3 == 0)
            budget_park(budget, reservation, 50);
        budget_give_back(budget, reservation);
    }
    return NULL;
}

static void threads_share_it(void)
{
    static const char *const keys[THREADS] = {"a/1", "a/2", "b/1", "c/1"};
    struct client clients[THREADS];
    struct fixture fixture;

    fixture_start(&fixture, 100);
    for (size_t i = 0; i < THREADS; i++)
        clients[i] = (struct client){.fixture = &fixture, .reservation = find(&fixture, keys[i])};
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&clients[i].thread, NULL, reserve_many, &clients[i]);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(clients[i].thread, NULL);
        EXPECT_INT(clients[i].admitted, TURNS, "each time");
        EXPECT_INT(clients[i].too_many, 0, "within the budget");
    }
    fixture_stop(&fixture);
}

/* ---- Growth ---- */

static void one_that_holds_more_grows_or_ends(void)
{
    static const struct {
        const char *note;
        size_t bytes, tolerated;
        int code;
        const char *reason, *says;
        size_t reserved; /* then */
    } rows[] = {
        {"less than it has", 50, 0, 0, "", "", 100},
        {"more", 150, 0, 0, "", "", 150},
        {"as much as is left of its quarter", 200, 0, 0, "", "", 200},
        {"its namespace has no more", 201, 0, ERR_UNAVAILABLE, "MemoryExceeded",
         "needs at least 201 bytes of memory, which other operations have reserved: the next one "
         "begins when it can have so much. If that takes long, raise --operation-memory (1000 "
         "bytes, of which one namespace has a quarter)",
         200},
        {"nor ever will", 251, 0, ERR_TOO_LARGE, "TooLarge",
         "needs at least 251 bytes of memory, and may have 250 bytes, a quarter of "
         "--operation-memory: raise that to at least 1004 bytes, or refer to smaller fields",
         200},
        {"which is tolerated", 251, 251, 0, "", "", 251},
        {"more than all", 1200, 1200, 0, "", "", 1200},
        {"more than is tolerated", 1201, 1200, ERR_TOO_LARGE, "TooLarge", "", 1200},
    };
    struct budget_stats stats;
    struct reservation grows = {.namespace_name = "a", .key = "a/grows"};
    struct reservation other = {.namespace_name = "a", .key = "a/other"};
    struct reservation third = {.namespace_name = "b", .key = "b/third"};
    struct fixture fixture;

    fixture_start(&fixture, 1000);
    EXPECT_INT(budget_grow(&fixture.budget, &grows, 10, 0, NULL), 0, "it has none");
    EXPECT_INT((long long)grows.bytes, 0, "and gets none so");
    budget_reserve(&fixture.budget, &grows, 100);
    budget_reserve(&fixture.budget, &other, 50);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        EXPECT_INT(budget_grow(&fixture.budget, &grows, rows[i].bytes, rows[i].tolerated, &error),
                   rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        EXPECT(strstr(error.message, rows[i].says), error.message);
        EXPECT_INT((long long)grows.bytes, (long long)rows[i].reserved, rows[i].note);
    }
    budget_stats(&fixture.budget, &stats);
    EXPECT_INT((long long)stats.reserved, 1250, "all of it counts");
    EXPECT(!budget_reserve(&fixture.budget, &third, 1), "and nothing else begins");
    budget_give_back(&fixture.budget, &third);
    budget_give_back(&fixture.budget, &grows);
    budget_give_back(&fixture.budget, &other);
    fixture_stop(&fixture);
}

SUITE(budget, TEST(one_that_holds_more_grows_or_ends), TEST(operations_are_admitted_in_order),
      TEST(without_a_bound_nothing_waits), TEST(only_as_many_are_chosen_as_need_be),
      TEST(looks_are_few_however_many_wait), TEST(looks_are_few_where_shares_are_used_up),
      TEST(threads_share_it))
