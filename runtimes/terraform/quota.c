#include "runtimes/terraform/quota.h"

#include <stdbool.h>

static bool is_beyond(int64_t memory, int64_t limit)
{
    return limit && memory > limit;
}

enum quota_answer quota_ask(const struct quota_use *use)
{
    size_t most = use->of_namespace ? QUOTA_PROCESSES - QUOTA_RESERVED : QUOTA_PROCESSES;

    if (use->of_namespace >= QUOTA_OF_NAMESPACE ||
        (use->of_namespace && is_beyond(use->memory_of_namespace, use->memory_limit / 2)))
        return QUOTA_OWN_FULL;
    if (use->processes >= most || (use->processes && is_beyond(use->memory, use->memory_limit)))
        return QUOTA_FULL;
    return QUOTA_FREE;
}
