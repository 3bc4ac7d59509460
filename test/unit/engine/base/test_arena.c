#include <stdalign.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "test/unit/suite.h"

static void hands_out_zeroed_and_aligned(void)
{
    struct arena arena = ARENA_INIT;

    for (size_t size = 0; size < 3000; size += 7) {
        unsigned char *bytes = arena_alloc(&arena, size);
        size_t set = 0;

        arena_str(&arena, "x"); /* puts what follows off */
        for (size_t i = 0; i < size; i++)
            set += bytes[i] != 0;
        EXPECT_INT(set, 0, "zeroed");
        EXPECT_INT((uintptr_t)bytes % alignof(max_align_t), 0, "aligned");
        memset(bytes, 0xaa, size);
    }
    arena_done(&arena);
    EXPECT(!arena.blocks && !arena.used, "empty again");
    arena_done(&arena);
}

static void keeps_what_it_was_given(void)
{
    struct arena arena;
    char *strings[500];
    char large[200000];

    arena_init(&arena);
    memset(large, 'l', sizeof(large));
    for (int i = 0; i < 500; i++)
        strings[i] = arena_printf(&arena, "string %d", i);
    EXPECT(arena_str_n(&arena, large, sizeof(large))[sizeof(large)] == '\0', "a block of its own");
    EXPECT_STR(arena_str(&arena, "after"), "after", "goes on in the block before");
    for (int i = 0; i < 500; i++) {
        char expected[32];

        snprintf(expected, sizeof(expected), "string %d", i);
        EXPECT_STR(strings[i], expected, "kept");
    }
    EXPECT(!arena_str(&arena, NULL), "NULL stays NULL");
    EXPECT_STR(arena_str_n(&arena, "abc", 2), "ab", "part");
    arena_done(&arena);
}

static void is_small_for_small_documents(void)
{
    struct arena arena = ARENA_INIT;

    arena_alloc(&arena, 900);
    EXPECT_INT(arena.block_size, 2048, "one block of 1 KiB, the next of 2");
    arena_done(&arena);
}

SUITE(arena, TEST(hands_out_zeroed_and_aligned), TEST(keeps_what_it_was_given),
      TEST(is_small_for_small_documents))
