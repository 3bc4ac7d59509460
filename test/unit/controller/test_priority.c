/* What waits after a start, and what does not. */
#include "controller/priority.h"

#include "test/unit/suite.h"

static void what_is_new_does_not_wait(void)
{
    const struct informer_object none = {0}, known = {.was_there = true},
                                 listed = {.was_there = true, .is_new = true},
                                 made = {.is_new = true},
                                 deleting = {.was_there = true, .deleting = true};
    const struct {
        const char *note;
        const struct informer_object *old, *now;
        enum workqueue_priority spec, release;
    } rows[] = {
        {"it was there, with our finalizer", NULL, &known, WORKQUEUE_RESYNC, WORKQUEUE_RESYNC},
        {"it was there, without it", NULL, &listed, WORKQUEUE_CHANGE, WORKQUEUE_RESYNC},
        {"it is made", NULL, &made, WORKQUEUE_CHANGE, WORKQUEUE_CHANGE},
        {"it comes back with our finalizer", NULL, &none, WORKQUEUE_RESYNC, WORKQUEUE_CHANGE},
        {"it changes: an approval, say", &listed, &made, WORKQUEUE_CHANGE, WORKQUEUE_CHANGE},
        {"it is being deleted", NULL, &deleting, WORKQUEUE_CHANGE, WORKQUEUE_CHANGE},
        {"it is gone", &known, NULL, WORKQUEUE_CHANGE, WORKQUEUE_CHANGE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        EXPECT_INT(priority_of_spec(rows[i].old, rows[i].now), rows[i].spec, rows[i].note);
        EXPECT_INT(priority_of_release(rows[i].old, rows[i].now), rows[i].release, rows[i].note);
    }
}

SUITE(priority, TEST(what_is_new_does_not_wait))
