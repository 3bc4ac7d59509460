#include "engine/executor/turns.h"

#include "test/unit/suite.h"

#define LEAVES 6

struct tree {
    struct share root;
    struct turn leaves[LEAVES];
    size_t n;
};

/* "a/x a/y b/x": a leaf for each word. */
static void tree_init(struct tree *tree, const char *words)
{
    char ns[2] = "", name[2] = "";

    tree->n = 0;
    share_init_root(&tree->root);
    for (const char *word = words; *word; word += word[3] ? 4 : 3) {
        ns[0] = word[0];
        name[0] = word[2];
        turn_init_leaf(&tree->leaves[tree->n++], share_get(share_get(&tree->root, ns), name));
    }
}

static void tree_done(struct tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        turn_done_leaf(&tree->leaves[i]);
    EXPECT_INT(tree->root.shares.count, 0, "shares go with the last below them");
    share_done_root(&tree->root);
}

static const char *next_turns(struct tree *tree, unsigned n)
{
    static char text[64];
    struct turn *turn;
    size_t length = 0;

    while (length < n && (turn = turn_next(&tree->root)))
        text[length++] = (char)('0' + (turn - tree->leaves));
    text[length] = '\0';
    return text;
}

static void gives_turns_by_namespace_then_spec_then_task(void)
{
    static const struct {
        const char *note, *leaves, *waiting, *turns;
    } rows[] = {
        {"none", "a/x", "", ""},
        {"one", "a/x", "0", "000000000000"},
        {"two tasks of a Spec", "a/x a/x", "01", "010101010101"},
        {"in the order in which they came", "a/x a/x a/x", "201", "201201201201"},
        {"Specs share a namespace's turns", "a/x a/x a/y", "012", "021202120212"},
        {"namespaces share all", "a/x a/y a/z b/x", "0123", "031323031323"},
        {"each level by itself", "a/x a/x a/y b/x b/y c/x", "012345", "035245135245"},
        {"a name in two namespaces", "a/x b/x", "01", "010101010101"},
        {"those that wait", "a/x a/y b/x", "12", "121212121212"},
        {"twice is once", "a/x b/x", "001", "010101010101"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tree tree;

        tree_init(&tree, rows[i].leaves);
        for (const char *at = rows[i].waiting; *at; at++)
            turn_wait(&tree.leaves[*at - '0']);
        EXPECT_STR(next_turns(&tree, 12), rows[i].turns, rows[i].note);
        tree_done(&tree);
    }
}

static void who_comes_back_is_last(void)
{
    struct tree tree;

    tree_init(&tree, "a/x a/y b/x c/x");
    for (int i = 0; i < 4; i++)
        turn_wait(&tree.leaves[i]);
    EXPECT_STR(next_turns(&tree, 2), "02", "begins");
    turn_leave(&tree.leaves[3]);
    turn_leave(&tree.leaves[3]);
    EXPECT_STR(next_turns(&tree, 3), "120", "without c");
    turn_wait(&tree.leaves[3]);
    EXPECT_STR(next_turns(&tree, 4), "2132", "c is last of the namespaces");
    turn_leave(&tree.leaves[0]);
    turn_leave(&tree.leaves[1]);
    turn_leave(&tree.leaves[2]);
    EXPECT_STR(next_turns(&tree, 2), "33", "alone");
    turn_leave(&tree.leaves[3]);
    EXPECT_STR(next_turns(&tree, 2), "", "none");
    tree_done(&tree);
}

static void a_blocked_share_gets_no_turns(void)
{
    struct tree tree;
    struct share *a;

    tree_init(&tree, "a/x a/y b/x");
    a = share_get(&tree.root, "a");
    for (int i = 0; i < 3; i++)
        turn_wait(&tree.leaves[i]);
    share_block(a);
    EXPECT_STR(next_turns(&tree, 3), "222", "b alone");
    turn_leave(&tree.leaves[0]);
    turn_wait(&tree.leaves[0]);
    EXPECT_STR(next_turns(&tree, 2), "22", "one that comes back does not unblock it");
    turn_leave(&tree.leaves[2]);
    EXPECT_STR(next_turns(&tree, 2), "", "nor that there is no other");
    turn_wait(&tree.leaves[2]);
    share_unblock(a);
    EXPECT_STR(next_turns(&tree, 4), "2120", "the last, with all that waits");
    share_block(a);
    turn_leave(&tree.leaves[0]);
    turn_leave(&tree.leaves[1]);
    share_unblock(a);
    EXPECT_STR(next_turns(&tree, 2), "22", "nothing waits there");
    tree_done(&tree);
}

SUITE(turns, TEST(gives_turns_by_namespace_then_spec_then_task), TEST(who_comes_back_is_last),
      TEST(a_blocked_share_gets_no_turns))
