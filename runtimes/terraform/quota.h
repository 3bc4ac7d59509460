/*
 * How many processes of providers there may be, and for whom.
 *
 * A namespace has QUOTA_OF_NAMESPACE processes at most, and the last QUOTA_RESERVED of all are for
 * namespaces that have none: so whoever holds processes with slow calls leaves some for the others.
 *
 * Memory is divided likewise. What all processes have is kept below a limit, of which the last
 * quarter is for namespaces without a process; what those of one namespace have, below half of it.
 * A process may grow beyond what it was allowed for. So that this holds up nobody else, a few
 * namespaces get their first process beyond the limit: as many as would fit into the last quarter,
 * but one at least. If these are taken, too, somebody else's process has to end (pool.h).
 *
 * A process that is retired (pooled.h) counts until it has ended, since it takes what it takes
 * until then: a namespace that could have others in place of those that have long calls would soon
 * have all. But it serves nobody new. So a namespace that has that one alone may have one more out
 * of what is there for those that have none. Nothing is begun beyond the limit for it, and nobody's
 * process is retired: whoever loses one to it would take the next one's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define QUOTA_PROCESSES    32
#define QUOTA_OF_NAMESPACE 8
#define QUOTA_RESERVED     8
/* Bytes of a process of which nothing is known yet. */
#define QUOTA_USUAL_MEMORY (INT64_C(64) << 20)

/* What there is, and what one more would take. */
struct quota_use {
    size_t processes, of_namespace; /* of the namespace that wants one more */
    int64_t memory, memory_of_namespace; /* bytes, with one more */
    int64_t memory_limit;                /* 0: none */
    size_t beyond;  /* processes that were started beyond the limit */
    size_t retired; /* of that namespace's */
};

enum quota_answer {
    QUOTA_FREE,       /* one more may be started */
    QUOTA_BEYOND,     /* it may be, beyond the limit of memory, if none that is idle can be ended */
    QUOTA_FULL,       /* when another has ended */
    QUOTA_FIRST_FULL, /* likewise, and the namespace has none */
    QUOTA_OWN_FULL    /* when another of the same namespace has ended */
};
enum quota_answer quota_ask(const struct quota_use *use);

/* Bytes that all may have together while they run: a quarter beyond the limit, as much as is begun
 * beyond it, and at least what two usual processes have. 0: there is no limit. */
int64_t quota_most_memory(int64_t memory_limit);
