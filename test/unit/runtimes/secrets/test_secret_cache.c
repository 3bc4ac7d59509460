#include "runtimes/secrets/cache.h"

#include <pthread.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

static void put(struct secret_cache *cache, const char *key, int64_t now, const char *value,
                const char *version)
{
    _cleanup_value_ const struct value *made = value_pack("s", value);
    struct secret secret = {made, str_new(version)};

    secret_cache_put(cache, key, now, &secret);
    free(secret.version);
}

/* "value version"; "": it is not there. */
static char *find(struct secret_cache *cache, const char *key, int64_t now)
{
    struct secret secret = {0};
    char *text;

    if (!secret_cache_find(cache, key, now, &secret))
        return str_new("");
    text = str_printf("%s %s", value_string(secret.value), secret.version);
    value_unref(secret.value);
    free(secret.version);
    return text;
}

static void expect(struct secret_cache *cache, const char *key, int64_t now, const char *expected)
{
    _cleanup_free_ char *found = find(cache, key, now);

    EXPECT_STR(found, expected, key);
}

static void keeps_what_was_put(void)
{
    struct secret_cache *cache = secret_cache_new();

    expect(cache, "a", 0, "");
    put(cache, "a", 0, "x", "1");
    put(cache, "b", 0, "y", "1");
    expect(cache, "a", 1, "x 1");
    put(cache, "a", 2, "z", "2");
    expect(cache, "a", 3, "z 2");
    expect(cache, "b", 3, "y 1");
    secret_cache_drop(cache, "a");
    secret_cache_drop(cache, "a");
    expect(cache, "a", 4, "");
    expect(cache, "b", 4, "y 1");
    secret_cache_free(cache);
}

static void forgets_what_is_not_used(void)
{
    struct secret_cache *cache = secret_cache_new();

    put(cache, "a", 0, "x", "1");
    put(cache, "b", 0, "y", "1");
    expect(cache, "a", SECRET_CACHE_TIME, "x 1");
    expect(cache, "b", SECRET_CACHE_TIME + 1, "");
    expect(cache, "a", SECRET_CACHE_TIME + 1, "x 1");
    secret_cache_free(cache);
}

static void is_bounded(void)
{
    _cleanup_free_ char *large = str_printf("%0*d", 1 << 20, 1);
    struct secret_cache *cache = secret_cache_new();

    put(cache, "first", 0, "x", "1");
    put(cache, "used", 0, "y", "1");
    for (int i = 0; i < 5; i++) {
        _cleanup_free_ char *key = str_printf("large%d", i);

        put(cache, key, i, large, "1");
        expect(cache, "used", i, "y 1");
    }
    expect(cache, "first", 9, "");
    expect(cache, "used", 9, "y 1");
    secret_cache_free(cache);
}

/* A tenant chooses names, and how many. */
static void counts_names(void)
{
    _cleanup_free_ char *name = str_printf("%0*d", 1000, 1);
    struct secret_cache *cache = secret_cache_new();

    put(cache, "first", 0, "x", "1");
    for (unsigned i = 0; i < SECRET_CACHE_BYTES / 1000; i++) {
        _cleanup_free_ char *key = str_printf("%s%u", name, i);

        put(cache, key, i, "x", "1");
    }
    expect(cache, "first", 9, "");
    secret_cache_free(cache);
}

static void *work(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        char key[] = {(char)('a' + i % 7), 0};
        _cleanup_free_ char *found = NULL;

        put(arg, key, i, "value", "1");
        found = find(arg, key, i);
        EXPECT(!*found || str_equal(found, "value 1"), found);
        if (i % 5 == 0)
            secret_cache_drop(arg, key);
    }
    return NULL;
}

static void threads_share_it(void)
{
    struct secret_cache *cache = secret_cache_new();
    pthread_t threads[4];

    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, work, cache);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    secret_cache_free(cache);
}

SUITE(secret_cache, TEST(keeps_what_was_put), TEST(forgets_what_is_not_used), TEST(is_bounded),
      TEST(counts_names), TEST(threads_share_it))
