#include "runtimes/terraform/quota.h"

#include <stdbool.h>

static bool is_beyond(int64_t memory, int64_t limit)
{
    return limit && memory > limit;
}

/* How many may be started beyond the limit. */
static size_t most_beyond(int64_t limit)
{
    int64_t most = limit / 4 / QUOTA_USUAL_MEMORY;

    return most < 1 ? 1 : most > QUOTA_RESERVED ? QUOTA_RESERVED : (size_t)most;
}

static enum quota_answer ask_first(const struct quota_use *use)
{
    if (use->processes >= QUOTA_PROCESSES)
        return QUOTA_FIRST_FULL;
    if (!use->processes || !is_beyond(use->memory, use->memory_limit))
        return QUOTA_FREE;
    return use->beyond < most_beyond(use->memory_limit) ? QUOTA_BEYOND : QUOTA_FIRST_FULL;
}

/* In place of one that serves nobody new. */
static enum quota_answer ask_another(const struct quota_use *use)
{
    if (is_beyond(use->memory_of_namespace, use->memory_limit / 2))
        return QUOTA_OWN_FULL;
    if (use->processes >= QUOTA_PROCESSES || is_beyond(use->memory, use->memory_limit))
        return QUOTA_FULL;
    return QUOTA_FREE;
}

static enum quota_answer ask_more(const struct quota_use *use)
{
    int64_t limit = use->memory_limit;

    if (use->of_namespace >= QUOTA_OF_NAMESPACE || is_beyond(use->memory_of_namespace, limit / 2))
        return QUOTA_OWN_FULL;
    if (use->processes >= QUOTA_PROCESSES - QUOTA_RESERVED ||
        is_beyond(use->memory, limit - limit / 4))
        return QUOTA_FULL;
    return QUOTA_FREE;
}

enum quota_answer quota_ask(const struct quota_use *use)
{
    if (!use->of_namespace)
        return ask_first(use);
    return use->of_namespace == 1 && use->retired ? ask_another(use) : ask_more(use);
}

int64_t quota_most_memory(int64_t memory_limit)
{
    int64_t most = memory_limit + memory_limit / 4;

    if (!memory_limit)
        return 0;
    return most < 2 * QUOTA_USUAL_MEMORY ? 2 * QUOTA_USUAL_MEMORY : most;
}
