#include "runtimes/io/random.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void random_fill(void *bytes, size_t length)
{
    char *at = bytes;

    while (length) {
        ssize_t drawn = getrandom(at, length, 0);

        if (drawn < 0 && errno != EINTR)
            abort();
        if (drawn > 0) {
            at += drawn;
            length -= (size_t)drawn;
        }
    }
}

static uint64_t random_word(void)
{
    uint64_t word;

    random_fill(&word, sizeof(word));
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
