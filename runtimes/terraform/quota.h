/*
 * How many processes of providers there may be, and for whom.
 *
 * A namespace has QUOTA_OF_NAMESPACE processes at most, and the last QUOTA_RESERVED of all are for
 * namespaces that have none: so whoever holds processes with slow calls leaves some for the others.
 * Besides, what all processes have in memory is kept below a limit, and what those of one namespace
 * have below half of it, except that one process may always run.
 */
#ifndef RUNTIMES_TERRAFORM_QUOTA_H
#define RUNTIMES_TERRAFORM_QUOTA_H

#include <stddef.h>
#include <stdint.h>

#define QUOTA_PROCESSES    32
#define QUOTA_OF_NAMESPACE 8
#define QUOTA_RESERVED     8

/* What there is, and what one more would take. */
struct quota_use {
    size_t processes, of_namespace; /* of the namespace that wants one more */
    int64_t memory, memory_of_namespace; /* bytes, with one more */
    int64_t memory_limit;                /* 0: none */
};

enum quota_answer {
    QUOTA_FREE,    /* one more may be started */
    QUOTA_FULL,    /* when another has ended */
    QUOTA_OWN_FULL /* when another of the same namespace has ended */
};
enum quota_answer quota_ask(const struct quota_use *use);

#endif
