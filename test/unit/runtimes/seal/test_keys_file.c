/* Keys in a folder, and the errors of folders that are not as they should be. */
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/seal/cipher.h"
#include "runtimes/seal/keys_file.h"
#include "runtimes/seal/seal.h"
#include "test/unit/runtimes/seal/key_folder.h"
#include "test/unit/suite.h"

static const struct store_call plain;

static void release(struct seal_source **source)
{
    (*source)->ops->free(*source);
}

/* RFC 3394, 4.6. */
static void seeds_are_wrapped_as_the_standard_has_it(void)
{
    static const unsigned char wrapped[CIPHER_WRAPPED_SIZE] = {
        0x28, 0xc9, 0xf4, 0x04, 0xc4, 0xb8, 0x10, 0xf4, 0xcb, 0xcc, 0xb3, 0x5c, 0xfb, 0x87,
        0xf8, 0x26, 0x3f, 0x57, 0x86, 0xe2, 0xd8, 0x0e, 0xd3, 0x26, 0xcb, 0xc7, 0xf0, 0xe7,
        0x1a, 0x99, 0xf4, 0x3b, 0xfb, 0x98, 0x8b, 0x9b, 0x7a, 0x02, 0xdd, 0x21};
    unsigned char key[SEAL_SEED_SIZE], seed[SEAL_SEED_SIZE], ours[CIPHER_WRAPPED_SIZE], back[32];

    for (unsigned i = 0; i < 32; i++) {
        key[i] = (unsigned char)i;
        seed[i] = (unsigned char)(i < 16 ? i * 0x11 : i - 16);
    }
    cipher_wrap(key, seed, ours);
    EXPECT(memcmp(ours, wrapped, sizeof(ours)) == 0, "wrapped");
    EXPECT(cipher_unwrap(key, wrapped, back) && memcmp(back, seed, sizeof(seed)) == 0, "back");
    for (size_t bit = 0; bit < 8 * sizeof(ours); bit++) {
        ours[bit / 8] ^= (unsigned char)(1 << bit % 8);
        EXPECT(!cipher_unwrap(key, ours, back), "a flipped bit");
        ours[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void a_folder_is_read_anew_each_time(void)
{
    _cleanup_(key_folder_free_p) char *folder = key_folder_new();
    _cleanup_(release) struct seal_source *source = keys_file_new(folder);
    _cleanup_(seal_wrapped_done) struct seal_wrapped first = SEAL_WRAPPED_INIT,
                                                     second = SEAL_WRAPPED_INIT;
    _cleanup_free_ char *before = NULL, *same = NULL, *after = NULL, *replaced = NULL;
    unsigned char seed[SEAL_SEED_SIZE] = "a seed of thirty-two bytes, yes", back[SEAL_SEED_SIZE];
    struct error error = {0};

    EXPECT_INT(source->ops->current(source, &plain, &before, &error), 0, error.message);
    EXPECT_INT(source->ops->current(source, &plain, &same, &error), 0, error.message);
    EXPECT_STR(same, before, "nothing changed");
    EXPECT_INT(source->ops->wrap(source, &plain, seed, &first, &error), 0, error.message);
    EXPECT_STR(first.key_id, "k1", "the current one");
    key_folder_use(folder, "k2");
    EXPECT_INT(source->ops->current(source, &plain, &after, &error), 0, error.message);
    EXPECT(!str_equal(after, before), "another key");
    EXPECT_INT(source->ops->wrap(source, &plain, seed, &second, &error), 0, error.message);
    EXPECT_STR(second.key_id, "k2", "the current one");
    key_folder_add(folder, "k2", 7);
    EXPECT_INT(source->ops->current(source, &plain, &replaced, &error), 0, error.message);
    EXPECT(!str_equal(replaced, after), "another key of the same name is another");
    EXPECT_INT(source->ops->unwrap(source, &plain, &first, back, &error), 0, error.message);
    EXPECT(memcmp(back, seed, sizeof(seed)) == 0, "what k1 wrapped");
    EXPECT_INT(source->ops->unwrap(source, &plain, &second, back, &error), ERR_UNAVAILABLE, "k2");
    EXPECT_STR(error.reason, SEAL_UNAVAILABLE, "a wrong key");
    EXPECT(strstr(error.message, "/k2 does not open it"), error.message);
    key_folder_remove(folder, "k1");
    err_clear(&error);
    EXPECT_INT(source->ops->unwrap(source, &plain, &first, back, &error), ERR_UNAVAILABLE, "k1");
    EXPECT_STR(error.reason, SEAL_MISSING, "no key");
    EXPECT(strstr(error.message, "its key \"k1\"") && strstr(error.message, "/k1 is missing"),
           error.message);
}

/* ---- Folders that are wrong ---- */

static void no_current(const char *folder)
{
    key_folder_remove(folder, "current");
}

static void empty_current(const char *folder)
{
    key_folder_write(folder, "current", "\n", 1, 0444);
}

static void current_with_a_path(const char *folder)
{
    key_folder_use(folder, "../k1");
}

static void current_of_itself(const char *folder)
{
    key_folder_use(folder, "current");
}

static void long_current(const char *folder)
{
    char text[1000];

    memset(text, 'a', sizeof(text));
    key_folder_write(folder, "current", text, sizeof(text), 0444);
}

static void current_without_file(const char *folder)
{
    key_folder_use(folder, "k3");
}

static void short_key(const char *folder)
{
    key_folder_write(folder, "k1", "0123456789", 10, 0400);
}

static void key_as_text(const char *folder)
{
    key_folder_write(folder, "k1", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n", 45, 0400);
}

static void empty_key(const char *folder)
{
    key_folder_write(folder, "k1", "", 0, 0400);
}

static void key_for_everybody(const char *folder)
{
    key_folder_write(folder, "k1", "01234567890123456789012345678901", 32, 0444);
}

static void key_is_a_folder(const char *folder)
{
    _cleanup_free_ char *path = str_printf("%s/k1", folder);

    key_folder_remove(folder, "k1");
    mkdir(path, 0700);
}

static void key_is_a_pipe(const char *folder)
{
    _cleanup_free_ char *path = str_printf("%s/k1", folder);

    key_folder_remove(folder, "k1");
    if (mkfifo(path, 0400) < 0)
        abort();
}

static void each_mistake_is_told(void)
{
    static const struct {
        void (*make)(const char *folder);
        const char *reason, *text;
    } rows[] = {
        {no_current, SEAL_MISSING, "does not say which one seals"},
        {empty_current, SEAL_UNAVAILABLE, "is to have the name of a key file and nothing else"},
        {current_with_a_path, SEAL_UNAVAILABLE, "has \"../k1\""},
        {current_of_itself, SEAL_UNAVAILABLE, "has \"current\""},
        {long_current, SEAL_UNAVAILABLE, "and nothing else"},
        {current_without_file, SEAL_MISSING, "the key that seals, \"k3\""},
        {short_key, SEAL_UNAVAILABLE, "k1 has 10 bytes: a key is 32 random bytes"},
        {key_as_text, SEAL_UNAVAILABLE, "k1 has 45 bytes: a key is 32 random bytes"},
        {empty_key, SEAL_UNAVAILABLE, "k1 has 0 bytes"},
        {key_for_everybody, SEAL_UNAVAILABLE, "is open to everybody (mode 0444)"},
        {key_is_a_folder, SEAL_UNAVAILABLE, "k1 is no file"},
        {key_is_a_pipe, SEAL_UNAVAILABLE, "k1 is no file"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char *folder = key_folder_new();
        _cleanup_free_ char *path = str_printf("%s/k1", folder);
        struct seal_keys *keys = key_folder_keys(folder, "");
        struct error error = {0};

        rows[i].make(folder);
        EXPECT_INT(seal_keys_check(keys, &plain, &error), ERR_UNAVAILABLE, rows[i].text);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].text);
        EXPECT(strstr(error.message, rows[i].text), error.message);
        EXPECT(strstr(error.message, folder), error.message);
        seal_keys_free(keys);
        rmdir(path);
        key_folder_free(folder);
    }
}

SUITE(keys_file, TEST(seeds_are_wrapped_as_the_standard_has_it),
      TEST(a_folder_is_read_anew_each_time), TEST(each_mistake_is_told))
