/* Who waits for whom, and who is woken. */
#include "controller/desk/dependencies.h"

#include "controller/desk/desk_private.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

struct fixture {
    struct desk *desk;
    struct buf queue;
};

static void enqueue(void *arg, enum desk_kind kind, const char *key)
{
    struct fixture *fixture = arg;

    (void)kind;
    buf_printf(&fixture->queue, "%s ", key);
}

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.queue = BUF_INIT};
    fixture->desk = desk_new(&(struct desk_config){.enqueue = enqueue, .arg = fixture});
}

static void end(struct fixture *fixture)
{
    desk_free(fixture->desk);
    buf_done(&fixture->queue);
}

static void expect_queue(struct fixture *fixture, const char *expected, const char *note)
{
    EXPECT_STR(fixture->queue.length ? fixture->queue.data : "", expected, note);
    buf_reset(&fixture->queue);
}

static void show(struct fixture *fixture, const char *key, const char *uid, int64_t generation,
                 bool is_deleting)
{
    desk_observe(
        fixture->desk, DESK_SPEC, key,
        &(struct object_version){.uid = uid, .generation = generation, .is_deleting = is_deleting},
        false);
}

static struct spec_key key_of(const char *name)
{
    return (struct spec_key){"team", name};
}

/* on: names, with spaces. */
static void depend(struct fixture *fixture, const char *name, const char *on)
{
    struct spec_key keys[4], spec = key_of(name);
    char *names[4] = {0};
    struct desk_needs needs = {.on = keys, .user = name};

    for (const char *at = on; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");

        names[needs.count] = str_new_n(at, length);
        keys[needs.count] = key_of(names[needs.count]);
        needs.count++;
        at += length;
    }
    desk_note_needs(fixture->desk, &spec, &needs);
    for (size_t i = 0; i < needs.count; i++)
        free(names[i]);
}

static void hold(struct fixture *fixture, const char *name)
{
    struct spec_key spec = key_of(name);

    desk_set_held(fixture->desk, &spec, true);
}

static void note_ready(struct fixture *fixture, const char *name, const char *uid,
                       int64_t generation)
{
    struct spec_key spec = key_of(name);

    desk_note_ready_generation(fixture->desk, &spec, uid, generation);
}

static void a_held_one_is_woken(void)
{
    struct fixture fixture;

    begin(&fixture);
    show(&fixture, "team/web", "w", 1, false);
    depend(&fixture, "web", "db net");
    expect_queue(&fixture, "", "nobody is held");
    hold(&fixture, "web");
    show(&fixture, "team/db", "d", 1, false);
    expect_queue(&fixture, "team/web ", "it is there");
    note_ready(&fixture, "db", "d", 1);
    expect_queue(&fixture, "team/web ", "it is ready");
    note_ready(&fixture, "db", "d", 1);
    expect_queue(&fixture, "", "no news");
    show(&fixture, "team/db", "d", 2, false);
    expect_queue(&fixture, "team/web ", "another generation");
    show(&fixture, "team/other", "o", 1, false);
    note_ready(&fixture, "other", "o", 1);
    expect_queue(&fixture, "", "not one of them");
    show(&fixture, "team/db", NULL, 0, false);
    expect_queue(&fixture, "team/web ", "it is gone");
    show(&fixture, "team/web", NULL, 0, false);
    show(&fixture, "team/other", NULL, 0, false);
    EXPECT_INT(fixture.desk->tables[DESK_SPEC].entries.count, 0, "nothing is left");
    end(&fixture);
}

static void who_goes_is_told_to_what_it_depended_on(void)
{
    struct fixture fixture;

    begin(&fixture);
    show(&fixture, "team/web", "w", 1, true);
    show(&fixture, "team/db", "d", 1, true);
    depend(&fixture, "web", "db");
    hold(&fixture, "db");
    show(&fixture, "team/web", NULL, 0, false);
    expect_queue(&fixture, "team/db ", "the last that depends on it is gone");
    EXPECT(fixture.desk->tables[DESK_SPEC].entries.count == 1, "and forgotten");
    end(&fixture);
}

static void readiness_is_of_one_object(void)
{
    const struct spec_key db = key_of("db");
    struct fixture fixture;

    begin(&fixture);
    EXPECT(!desk_readiness_of(fixture.desk, &db, "d").is_listed, "not known");
    note_ready(&fixture, "db", "d", 3);
    EXPECT(!desk_readiness_of(fixture.desk, &db, "d").is_listed, "not listed");
    show(&fixture, "team/db", "d", 3, false);
    EXPECT_INT(desk_readiness_of(fixture.desk, &db, "d").generation, 0, "not read");
    note_ready(&fixture, "db", "d", 3);
    EXPECT_INT(desk_readiness_of(fixture.desk, &db, "d").generation, 3, "ready");
    EXPECT_INT(desk_readiness_of(fixture.desk, &db, "e").generation, 0, "another object");
    desk_note_ready(fixture.desk, &db, "True", "ReconciliationSucceeded");
    EXPECT_STR(desk_readiness_of(fixture.desk, &db, "d").reason, "ReconciliationSucceeded", "why");
    end(&fixture);
}

static void expect_path(struct fixture *fixture, const char *from, const char *to,
                        const char *expected)
{
    const struct spec_key a = key_of(from), b = key_of(to);
    struct buf text = BUF_INIT;
    struct desk_path path;

    desk_find_path(fixture->desk, &a, 1, &b, &path);
    for (size_t i = 0; i < path.count; i++)
        buf_printf(&text, "%s%s", i ? " " : "", path.keys[i]);
    EXPECT_STR(text.length ? text.data : "", expected, from);
    desk_path_done(&path);
    buf_done(&text);
}

static void cycles_are_found(void)
{
    struct fixture fixture;

    begin(&fixture);
    for (const char *name = "a\0b\0c\0d\0"; *name; name += 2) {
        _cleanup_free_ char *key = str_printf("team/%s", name);

        show(&fixture, key, name, 1, false);
    }
    depend(&fixture, "a", "b d");
    depend(&fixture, "b", "c");
    expect_path(&fixture, "b", "a", "");
    hold(&fixture, "a");
    hold(&fixture, "b");
    hold(&fixture, "d");
    depend(&fixture, "c", "a");
    expect_queue(&fixture, "team/b team/a ", "those of the cycle");
    expect_path(&fixture, "b", "a", "team/b team/c team/a");
    expect_path(&fixture, "d", "a", "");
    depend(&fixture, "c", "a");
    expect_queue(&fixture, "", "as before");
    depend(&fixture, "c", "");
    expect_queue(&fixture, "team/b team/a ", "it is open again");
    expect_path(&fixture, "b", "a", "");
    end(&fixture);
}

/* One search for all that a Spec waits for. */
static void the_shortest_way_of_several_is_found(void)
{
    const struct spec_key from[] = {key_of("gone"), key_of("far"), key_of("near"), key_of("aside")};
    const struct spec_key to = key_of("a");
    struct fixture fixture;
    struct desk_path path;

    begin(&fixture);
    show(&fixture, "team/a", "a", 1, false);
    show(&fixture, "team/far", "f", 1, false);
    show(&fixture, "team/near", "n", 1, false);
    show(&fixture, "team/aside", "s", 1, false);
    depend(&fixture, "a", "far near aside gone");
    depend(&fixture, "far", "between");
    show(&fixture, "team/between", "b", 1, false);
    depend(&fixture, "between", "a");
    depend(&fixture, "near", "a");
    EXPECT(desk_find_path(fixture.desk, from, ARRAY_SIZE(from), &to, &path), "found");
    EXPECT_INT(path.count, 2, "by the nearest");
    EXPECT_STR(path.keys[0], "team/near", "where it begins");
    desk_path_done(&path);
    depend(&fixture, "near", "");
    depend(&fixture, "far", "");
    EXPECT(!desk_find_path(fixture.desk, from, ARRAY_SIZE(from), &to, &path), "none");
    end(&fixture);
}

static void long_cycles_are_cut(void)
{
    struct fixture fixture;
    const struct spec_key first = key_of("0"), last = key_of("39");
    struct desk_path path;

    begin(&fixture);
    for (int i = 0; i < 40; i++) {
        _cleanup_free_ char *name = str_printf("%d", i), *next = str_printf("%d", i + 1);
        _cleanup_free_ char *key = str_printf("team/%d", i);

        show(&fixture, key, name, 1, false);
        depend(&fixture, name, next);
    }
    EXPECT(desk_find_path(fixture.desk, &first, 1, &last, &path), "found");
    EXPECT_INT(path.count, DESK_CYCLE, "so many");
    EXPECT(path.is_cut, "and more");
    EXPECT_STR(path.keys[DESK_CYCLE - 1], "team/15", "the first of them");
    desk_path_done(&path);
    end(&fixture);
}

/* Each search holds the lock of all Specs. */
static void what_is_too_far_is_not_looked_for(void)
{
    struct fixture fixture;
    const struct spec_key first = key_of("0"), far = key_of("10000"), too_far = key_of("10001");
    struct desk_path path;

    begin(&fixture);
    show(&fixture, "team/10001", "u", 1, false);
    for (int i = 10000; i >= 0; i--) {
        _cleanup_free_ char *name = str_printf("%d", i), *next = str_printf("%d", i + 1);
        _cleanup_free_ char *key = str_printf("team/%d", i);

        show(&fixture, key, "u", 1, false);
        depend(&fixture, name, next);
    }
    EXPECT(desk_find_path(fixture.desk, &first, 1, &far, &path), "it is near enough");
    desk_path_done(&path);
    EXPECT(!desk_find_path(fixture.desk, &first, 1, &too_far, &path), "it is not");
    hold(&fixture, "0");
    hold(&fixture, "1");
    depend(&fixture, "10001", "0");
    expect_queue(&fixture, "team/1 ", "the other is looked at in its own time");
    end(&fixture);
}

static void dependents_are_counted(void)
{
    const struct spec_key db = key_of("db");
    struct fixture fixture;
    struct desk_dependents dependents;

    begin(&fixture);
    show(&fixture, "team/db", "d", 1, true);
    show(&fixture, "team/web", "w", 1, true);
    show(&fixture, "team/api", "a", 1, false);
    show(&fixture, "team/loop", "l", 1, true);
    depend(&fixture, "web", "db");
    depend(&fixture, "api", "db");
    depend(&fixture, "loop", "db");
    depend(&fixture, "db", "loop");
    desk_dependents_of(fixture.desk, &db, &dependents);
    EXPECT_INT(dependents.count, 2, "but not the one on which it depends itself");
    for (size_t i = 0; i < dependents.count; i++) {
        EXPECT_INT(dependents.items[i].is_deleting, str_equal(dependents.items[i].name, "web"),
                   dependents.items[i].name);
        EXPECT_STR(dependents.items[i].user, dependents.items[i].name, "acts as");
    }
    desk_dependents_done(&dependents);
    end(&fixture);
}

SUITE(desk_dependencies, TEST(a_held_one_is_woken), TEST(who_goes_is_told_to_what_it_depended_on),
      TEST(readiness_is_of_one_object), TEST(cycles_are_found),
      TEST(the_shortest_way_of_several_is_found), TEST(long_cycles_are_cut),
      TEST(what_is_too_far_is_not_looked_for), TEST(dependents_are_counted))
