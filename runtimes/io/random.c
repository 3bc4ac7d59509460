#include "runtimes/io/random.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

static uint64_t random_word(void)
{
    uint64_t word;
    ssize_t length;

    /* getrandom() returns so few bytes whole or not at all; a signal may interrupt it before the
     * pool is ready. */
    do
        length = getrandom(&word, sizeof(word), 0);
    while (length < 0 && errno == EINTR);
    if (length != (ssize_t)sizeof(word))
        abort();
    return word;
}

uint64_t random_below(uint64_t bound)
{
    uint64_t word, excess;

    if (bound == 0)
        return 0;
    /* 2^64 mod bound: this many of the lowest words are dropped, or some results would be more
     * likely. */
    excess = -bound % bound;
    do
        word = random_word();
    while (word < excess);
    return word % bound;
}

int64_t backoff_delay(unsigned attempt, int64_t base, int64_t maximum)
{
    int64_t delay = base < maximum ? base : maximum;

    if (delay <= 0)
        return 0;
    for (unsigned i = 0; i < attempt && delay < maximum; i++)
        delay = delay > maximum / 2 ? maximum : delay * 2;
    return delay - (int64_t)random_below((uint64_t)delay / 2 + 1);
}
