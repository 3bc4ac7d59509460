#include "test/unit/runtimes/chain/objects_contract.h"

#include <pthread.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

#define WRITERS     8 /* of a race */
#define LARGE_BYTES (20u << 20)

static const struct store_call plain;

void objects_free_p(struct objects **objects)
{
    if (*objects)
        (*objects)->ops->free(*objects);
}

static int create(struct objects *objects, const char *key, const char *text, struct error *error)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    buf_add_str(&bytes, text);
    err_clear(error);
    return objects->ops->create(objects, key, &bytes, &plain, error);
}

static void expect_text(struct objects *objects, const char *key, const char *text)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct error error = {0};

    EXPECT_INT(objects->ops->get(objects, key, &bytes, &plain, &error), 0, error.message);
    EXPECT_STR(bytes.data, text, key);
}

/* ---- Lists ---- */

struct names {
    struct buf text; /* each key, after a comma */
    size_t count;
    int64_t modified;
};

static int on_key(void *arg, const char *key, int64_t modified, struct error *error)
{
    struct names *names = arg;

    (void)error;
    buf_printf(&names->text, ",%s,", key);
    names->count++;
    names->modified = modified;
    return 0;
}

static int stop_at_once(void *arg, const char *key, int64_t modified, struct error *error)
{
    (void)key, (void)modified;
    ++*(int *)arg;
    return err_set(error, ERR_GONE, NULL, "enough");
}

/* expected: keys with commas around each; NULL-terminated. */
static void expect_list(struct objects *objects, const char *prefix, const char *const *expected)
{
    struct names names = {.text = BUF_INIT};
    struct error error = {0};
    size_t count = 0;

    EXPECT_INT(objects->ops->list(objects, prefix, on_key, &names, &plain, &error), 0,
               error.message);
    for (; expected[count]; count++) {
        _cleanup_free_ char *key = str_printf(",%s,", expected[count]);

        EXPECT(strstr(names.text.data, key), expected[count]);
    }
    EXPECT_INT(names.count, count, prefix);
    buf_done(&names.text);
}

/* ---- Scenarios ---- */

static void creates_once(struct objects *objects, struct objects *other)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct error error = {0};

    EXPECT_INT(objects->ops->get(objects, "c/once/~1", &bytes, &plain, &error), ERR_NOT_FOUND,
               error.message);
    EXPECT_INT(create(objects, "c/once/~1", "first", &error), 0, error.message);
    EXPECT_INT(create(other, "c/once/~1", "second", &error), ERR_EXISTS, error.message);
    EXPECT_INT(create(objects, "c/once/~1", "first", &error), ERR_EXISTS, "the same bytes");
    expect_text(other, "c/once/~1", "first");
    EXPECT_INT(other->ops->delete (other, "c/once/~1", &plain, &error), 0, error.message);
    EXPECT_INT(objects->ops->delete (objects, "c/once/~1", &plain, &error), 0, "there is none");
    EXPECT_INT(objects->ops->get(objects, "c/once/~1", &bytes, &plain, NULL), ERR_NOT_FOUND,
               "deleted");
    EXPECT_INT(create(other, "c/once/~1", "third", &error), 0, error.message);
    expect_text(objects, "c/once/~1", "third");
}

static void keeps_keys_apart(struct objects *objects, struct objects *other)
{
    static const char *const keys[] = {
        "c/keys/a/~1",       "c/keys/a/b~1",  "c/keys/a/b~12", "c/keys/a/=2E=2E~1",
        "c/keys/a.b_c-d/~1", "c/keys/=C3/~1", "c/keys/ab/~1",
    };
    struct error error = {0};
    int calls = 0;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        EXPECT_INT(create(objects, keys[i], keys[i], &error), 0, error.message);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        expect_text(other, keys[i], keys[i]);
    expect_list(other, "c/keys/a/", (const char *[]){keys[0], keys[1], keys[2], keys[3], NULL});
    expect_list(other, "c/keys/a/b~", (const char *[]){keys[1], keys[2], NULL});
    expect_list(other, "c/keys/a/~", (const char *[]){keys[0], NULL});
    expect_list(
        other, "c/keys/",
        (const char *[]){keys[0], keys[1], keys[2], keys[3], keys[4], keys[5], keys[6], NULL});
    expect_list(other, "c/keys/none/", (const char *[]){NULL});
    expect_list(other, "c/keys/a/none~", (const char *[]){NULL});
    EXPECT_INT(other->ops->list(other, "c/keys/", stop_at_once, &calls, &plain, &error), ERR_GONE,
               error.message);
    EXPECT_INT(calls, 1, "ended by the callback");
}

static void keeps_any_bytes(struct objects *objects, struct objects *other)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT, back = BUF_INIT;
    struct error error = {0};
    uint32_t state = 7;

    while (bytes.length < LARGE_BYTES) {
        state = state * 1664525 + 1013904223;
        buf_add(&bytes, &state, sizeof(state));
    }
    EXPECT_INT(objects->ops->create(objects, "c/bytes/~1", &bytes, &plain, &error), 0,
               error.message);
    EXPECT_INT(other->ops->get(other, "c/bytes/~1", &back, &plain, &error), 0, error.message);
    EXPECT(back.length == bytes.length && memcmp(back.data, bytes.data, back.length) == 0,
           "20 MiB of any bytes");
    EXPECT_INT(objects->ops->delete (objects, "c/bytes/~1", &plain, &error), 0, error.message);
}

static void keeps_long_keys(struct objects *objects, struct objects *other)
{
    char segment[201];
    _cleanup_free_ char *key = NULL;
    struct error error = {0};

    memset(segment, 'x', sizeof(segment) - 1);
    segment[200] = '\0';
    key = str_printf("c/%s/%s/%s~1790000000000000", segment, segment, segment);
    EXPECT_INT(create(objects, key, "long", &error), 0, error.message);
    EXPECT_INT(create(other, key, "longer", &error), ERR_EXISTS, error.message);
    expect_text(other, key, "long");
}

static int refuse(void *arg, enum permit_use use, struct error *error)
{
    (void)arg, (void)use;
    return err_set(error, ERR_FENCED, NULL, "the Lease is lost");
}

static void asks_before_changes(struct objects *objects, struct objects *other)
{
    const struct permit permit = {refuse, NULL};
    const struct store_call call = {.permit = &permit, .use = PERMIT_ACT};
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    const struct store_call cancelled = {.cancel = cancel};
    _cleanup_buf_ struct buf bytes = BUF_INIT, back = BUF_INIT;
    struct error error = {0};

    EXPECT_INT(create(objects, "c/permit/~1", "there", &error), 0, error.message);
    EXPECT_INT(objects->ops->create(objects, "c/permit/~2", &bytes, &call, &error), ERR_FENCED,
               error.message);
    EXPECT_INT(objects->ops->delete (objects, "c/permit/~1", &call, &error), ERR_FENCED,
               error.message);
    cancel_fire(cancel, "Superseded");
    EXPECT_INT(objects->ops->create(objects, "c/permit/~2", &bytes, &cancelled, &error),
               ERR_CANCELLED, error.message);
    EXPECT_INT(objects->ops->get(objects, "c/permit/~1", &back, &cancelled, &error), ERR_CANCELLED,
               error.message);
    expect_list(other, "c/permit/", (const char *[]){"c/permit/~1", NULL});
}

static void tells_times(struct objects *objects, struct objects *other)
{
    struct names names = {.text = BUF_INIT};
    struct error error = {0};
    int64_t now = (int64_t)time(NULL) * 1000, off;

    EXPECT_INT(create(objects, "c/time/~1", "x", &error), 0, error.message);
    EXPECT_INT(other->ops->list(other, "c/time/", on_key, &names, &plain, &error), 0,
               error.message);
    off = names.modified - now;
    EXPECT(off > -60000 && off < 60000, "within a minute, as it is the same machine");
    buf_done(&names.text);
}

/* ---- Races ---- */

struct writer {
    struct objects *objects;
    const char *key, *text;
    pthread_barrier_t *barrier;
    int code;
    struct error error;
};

static void *run_writer(void *arg)
{
    struct writer *writer = arg;
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    buf_add_str(&bytes, writer->text);
    pthread_barrier_wait(writer->barrier);
    writer->code =
        writer->objects->ops->create(writer->objects, writer->key, &bytes, &plain, &writer->error);
    return NULL;
}

/* Bodies differ. Half of the writers are of another process. */
static void run_race(struct objects *objects, struct objects *other, const char *key)
{
    static const char *const texts[WRITERS] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    pthread_barrier_t barrier;
    int winner = -1;

    pthread_barrier_init(&barrier, NULL, WRITERS);
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] =
            (struct writer){i % 2 ? objects : other, key, texts[i], &barrier, ERR_INTERNAL, {0}};
        if (pthread_create(&threads[i], NULL, run_writer, &writers[i]))
            abort();
    }
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        if (writers[i].code == 0) {
            EXPECT(winner < 0, "two winners");
            winner = (int)i;
        } else {
            EXPECT_INT(writers[i].code, ERR_EXISTS, writers[i].error.message);
        }
    }
    EXPECT(winner >= 0, "no winner");
    if (winner >= 0)
        expect_text(objects, key, texts[winner]);
    pthread_barrier_destroy(&barrier);
}

void objects_contract_check(const struct objects_fixture *fixture)
{
    static void (*const scenarios[])(struct objects * objects, struct objects * other) = {
        creates_once,    keeps_keys_apart,    keeps_any_bytes,
        keeps_long_keys, asks_before_changes, tells_times,
    };
    _cleanup_(objects_free_p) struct objects *objects = fixture->attach(fixture->arg);
    _cleanup_(objects_free_p) struct objects *other = fixture->attach(fixture->arg);

    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
        scenarios[i](objects, other);
    for (size_t i = 0; i < fixture->races; i++) {
        _cleanup_free_ char *key = str_printf("c/race-%zu/~%zu", i % 5, i);

        run_race(objects, other, key);
    }
}
