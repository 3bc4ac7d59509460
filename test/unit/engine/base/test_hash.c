#include "engine/base/hash.h"
#include "test/unit/suite.h"

static void hashes_known_vectors(void)
{
    char hex[HASH_HEX_SIZE];
    struct hash *hash;

    hash_hex("", 0, hex);
    EXPECT_STR(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "empty");
    hash_hex("abc", 3, hex);
    EXPECT_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc");
    hash = hash_new();
    hash_add(hash, "a", 1);
    hash_add(hash, NULL, 0);
    hash_add(hash, "bc", 2);
    hash_finish_hex(hash, hex);
    EXPECT_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "pieces");
    hash_free(hash);
    hash_free(NULL);
}

/* RFC 4231, test case 2; and a key that is empty. */
static void hashes_with_a_key(void)
{
    char hex[HASH_HEX_SIZE];
    struct hash *hash = hash_new_keyed("Jefe", 4);

    hash_add(hash, "what do ya want for nothing?", 28);
    hash_finish_hex(hash, hex);
    EXPECT_STR(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "keyed");
    hash_free(hash);
    hash = hash_new_keyed(NULL, 0);
    hash_finish_hex(hash, hex);
    EXPECT_STR(hex, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad", "no key");
    hash_free(hash);
}

static void keeps_fields_apart(void)
{
    char one[HASH_HEX_SIZE], other[HASH_HEX_SIZE];
    struct hash *hash = hash_new();

    hash_add_str(hash, "ab");
    hash_add_str(hash, "c");
    hash_finish_hex(hash, one);
    hash_free(hash);
    hash = hash_new();
    hash_add_str(hash, "a");
    hash_add_str(hash, "bc");
    hash_finish_hex(hash, other);
    hash_free(hash);
    EXPECT(strcmp(one, other) != 0, "ab c, a bc");
}

SUITE(hash, TEST(hashes_known_vectors), TEST(hashes_with_a_key), TEST(keeps_fields_apart))
