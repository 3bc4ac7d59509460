#include "runtimes/terraform/looks.h"

#include "engine/base/str.h"
#include "test/unit/suite.h"

#define MOST LOOKS_OF_NAMESPACE

static struct looks looks;
static int64_t at;

/* NAME is "PROVIDER" or "PROVIDER CONSTRAINT". */
static struct claim *claim(const char *namespace_name, const char *name)
{
    size_t length = strcspn(name, " ");
    _cleanup_free_ char *provider = str_new_n(name, length);
    _cleanup_free_ char *text = str_printf("acme/%s%s%s", provider, name[length] ? "/" : "",
                                           name[length] ? name + length + 1 : "");
    _cleanup_(source_done) struct source wanted = {0};

    CU_ASSERT_FATAL(source_read(text, '/', &wanted, NULL) == 0);
    return looks_claim(&looks, namespace_name, &wanted, &wanted);
}

static struct claim *queue(const char *namespace_name, const char *name)
{
    struct claim *queued = claim(namespace_name, name);

    if (queued && !look_is_at_work(queued->look)) {
        queued->look->phase = LOOK_QUEUED;
        queued->look->since = at++;
    }
    return queued;
}

static void begin(const char *name)
{
    struct look *look = looks_begin(&looks);

    EXPECT_STR(look ? look->wanted.name : "none", name, name);
}

static void end(struct look *look)
{
    looks_end(look);
    look->phase = LOOK_FOUND;
}

/* Ends what is under way, and counts how many turns it takes until nothing waits. */
static unsigned turns_until(const char *name)
{
    struct look *look;
    unsigned turns = 0;

    while ((look = looks_begin(&looks))) {
        bool is_it = str_equal(look->wanted.name, name);

        end(look);
        turns++;
        if (is_it)
            return turns;
    }
    return 0;
}

static void queue_many(const char *namespace_name, const char *provider, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        _cleanup_free_ char *name = str_printf("%s 1.0.%u", provider, i);

        queue(namespace_name, name);
    }
}

static void stage_init(void)
{
    looks_init(&looks);
    at = 0;
}

static void the_next_turn_is_another_namespaces(void)
{
    stage_init();
    queue_many("hostile", "flood", MOST);
    queue("quiet", "one");
    queue("calm", "two");
    EXPECT_INT(turns_until("one"), 2, "after one of the flood");
    EXPECT_INT(turns_until("two"), 1, "then the third");
    looks_done(&looks);
}

static void in_a_namespace_the_oldest_is_first(void)
{
    stage_init();
    queue("team", "first");
    queue("team", "second");
    claim("team", "first");
    begin("first");
    begin("second");
    looks_done(&looks);
}

static void a_namespace_and_a_provider_have_their_bound_of_turns(void)
{
    stage_init();
    queue("team", "a 1.0.0");
    queue("team", "a 1.1.0");
    queue("team", "b");
    queue("team", "c");
    begin("a");
    begin("b"); /* one of `a` is under way */
    begin("none");
    queue("other", "a 1.2.0");
    queue("other", "d");
    begin("d");
    begin("none");
    looks_done(&looks);
}

static void what_a_namespace_wants_takes_nothing_from_another(void)
{
    struct claim *of_other;

    stage_init();
    of_other = claim("quiet", "mine");
    of_other->look->phase = LOOK_FOUND;
    for (unsigned i = 0; i < 3 * MOST; i++) {
        _cleanup_free_ char *name = str_printf("flood 1.0.%u", i);

        claim("hostile", name)->look->phase = LOOK_FOUND;
    }
    EXPECT_INT(looks.by_key.count, MOST + 1, "its own are bounded");
    EXPECT_INT(claim("quiet", "mine")->look->phase, LOOK_FOUND, "the other's is there");
    EXPECT_INT(claim("hostile", "flood 1.0.95")->look->phase, LOOK_FOUND, "its newest are");
    EXPECT_INT(claim("hostile", "flood 1.0.0")->look->phase, LOOK_IDLE, "its oldest is not");
    looks_done(&looks);
}

static void what_is_at_work_or_waited_for_stays(void)
{
    struct claim *waits;

    stage_init();
    waits = claim("team", "waits");
    waits->callers = 1;
    queue_many("team", "flood", MOST - 1);
    EXPECT(!claim("team", "more"), "there is no room");
    EXPECT(claim("team", "waits") == waits, "what is there is found");
    EXPECT(claim("other", "more"), "another has room");
    waits->callers = 0;
    EXPECT(claim("team", "more"), "there is");
    looks_done(&looks);
}

static void namespaces_share_a_look(void)
{
    struct claim *first, *second;

    stage_init();
    first = queue("first", "shared");
    second = queue("second", "shared");
    EXPECT(first->look == second->look && first != second, "one look, two claims");
    begin("shared");
    begin("none");
    end(first->look);
    queue_many("first", "flood", MOST);
    EXPECT_INT(claim("second", "shared")->look->phase, LOOK_FOUND,
               "it is there for the second when the first has dropped it");
    looks_done(&looks);
}

static void a_namespace_that_wanted_nothing_for_long_makes_room(void)
{
    stage_init();
    claim("gone", "old")->look->phase = LOOK_FOUND;
    queue("waits", "queued");
    for (unsigned i = 0; i < LOOKS_NAMESPACES; i++) {
        _cleanup_free_ char *name = str_printf("namespace-%u", i);

        CU_ASSERT(claim(name, "one") != NULL);
    }
    EXPECT_INT(looks.by_namespace.count, LOOKS_NAMESPACES, "bounded");
    EXPECT_INT(turns_until("queued"), 1, "what is queued stays");
    EXPECT_INT(claim("gone", "old")->look->phase, LOOK_IDLE, "what was not used is gone");
    looks_done(&looks);
}

SUITE(terraform_looks, TEST(the_next_turn_is_another_namespaces),
      TEST(in_a_namespace_the_oldest_is_first),
      TEST(a_namespace_and_a_provider_have_their_bound_of_turns),
      TEST(what_a_namespace_wants_takes_nothing_from_another),
      TEST(what_is_at_work_or_waited_for_stays), TEST(namespaces_share_a_look),
      TEST(a_namespace_that_wanted_nothing_for_long_makes_room))
