#include "engine/threads/thread.h"

#include <stdbool.h>

#include "engine/base/cleanup.h"
#include "test/unit/suite.h"

/* It waits for the lock, so that it is there to be looked at. */
struct waiter {
    pthread_mutex_t lock;
    bool ran;
};

static void *run(void *arg)
{
    struct waiter *waiter = arg;

    pthread_mutex_lock(&waiter->lock);
    waiter->ran = true;
    pthread_mutex_unlock(&waiter->lock);
    return waiter;
}

static size_t stack_of(pthread_t thread)
{
    pthread_attr_t attributes;
    size_t size = 0;

    pthread_getattr_np(thread, &attributes);
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
    return size;
}

static void starts_a_thread_of_its_name_and_size(void)
{
    static const struct {
        const char *name, *expected;
    } rows[] = {
        {"spec-0", "spec-0"},
        {"fifteen-letters", "fifteen-letters"},
        {"sixteen-letters-", "sixteen-letters"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct waiter waiter = {.lock = PTHREAD_MUTEX_INITIALIZER};
        char name[THREAD_NAME_SIZE] = "";
        void *returned = NULL;
        pthread_t thread;

        pthread_mutex_lock(&waiter.lock);
        thread = thread_must_start(rows[i].name, run, &waiter);
        pthread_getname_np(thread, name, sizeof(name));
        EXPECT_STR(name, rows[i].expected, "name");
        EXPECT_INT(stack_of(thread), THREAD_LARGE, rows[i].name);
        pthread_mutex_unlock(&waiter.lock);
        pthread_join(thread, &returned);
        EXPECT(waiter.ran && returned == &waiter, rows[i].name);
    }
}

SUITE(thread, TEST(starts_a_thread_of_its_name_and_size))
