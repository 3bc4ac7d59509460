/* What several runtimes know of the order, put together. */
#include "engine/base/mem.h"
#include "engine/operation/private.h"
#include "test/unit/suite.h"

/* Each target is in the next one; the rank is its number, from 1; targets whose id begins with !
 * are last. */
static int relate(struct runtime *runtime, const struct runtime_scope *scope,
                  const struct runtime_target *targets, size_t n, struct relations *ret,
                  struct error *error)
{
    uint32_t place = 0;

    (void)runtime, (void)scope, (void)error;
    for (size_t i = 0; i < n; i++) {
        ret->ranks[i] = (uint16_t)(i + 1);
        if (*targets[i].id == '!')
            ret->last[i] = ++place;
        if (i)
            relations_add(ret, i - 1, i, RELATION_IN);
    }
    return 0;
}

static int refuse(struct runtime *runtime, const struct runtime_scope *scope,
                  const struct runtime_target *targets, size_t n, struct relations *ret,
                  struct error *error)
{
    (void)runtime, (void)scope, (void)targets, (void)n, (void)ret;
    return err_set(error, ERR_INVALID, "Invalid", "it says so");
}

static const struct runtime_ops x_ops = {.type = "X", .relate = relate};
static const struct runtime_ops y_ops = {.type = "Y", .relate = relate};
static const struct runtime_ops plain_ops = {.type = "Plain"};
static const struct runtime_ops refusing_ops = {.type = "X", .relate = refuse};

static void each_runtime_relates_its_own(void)
{
    static const char *const types[] = {"X", "Plain", "Y", "X", "Y", "X", "Unknown"};
    static const char *const ids[] = {"a", "!b", "!c", "!d", "!e", "f", "g"};
    struct runtime x = {&x_ops}, y = {&y_ops}, plain = {&plain_ops};
    struct runtime *const runtimes[] = {&plain, &x, &y};
    struct operation operation = {.config = {.runtimes = runtimes, .n_runtimes = 3}};
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct runtime_target targets[7] = {0};

    for (size_t i = 0; i < 7; i++)
        targets[i].id = ids[i];
    EXPECT_INT(operation_relate(&operation, targets, types, 7, &relations, NULL), 0, "good");
    for (size_t i = 0; i < relations.n_items; i++)
        buf_printf(&text, "%u in %u ", relations.items[i].node, relations.items[i].other);
    for (size_t i = 0; i < 7; i++)
        buf_printf(&text, "%u/%u ", relations.ranks[i], relations.last[i]);
    EXPECT_STR(text.data, "0 in 3 3 in 5 2 in 4 1/0 0/0 1/2 2/1 2/3 3/0 0/0 ",
               "by the numbers that they have among all; Y's last go after X's");
}

static void an_error_is_handed_on(void)
{
    static const char *const types[] = {"X"};
    struct runtime x = {&refusing_ops}, y = {&y_ops};
    struct runtime *const runtimes[] = {&x, &y};
    struct operation operation = {.config = {.runtimes = runtimes, .n_runtimes = 2}};
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    struct runtime_target target = {.id = "a"};
    struct error error = {0};

    EXPECT_INT(operation_relate(&operation, &target, types, 1, &relations, &error), ERR_INVALID,
               "refused");
    EXPECT_STR(error.message, "it says so", "why");
}

SUITE(operation_relate, TEST(each_runtime_relates_its_own), TEST(an_error_is_handed_on))
