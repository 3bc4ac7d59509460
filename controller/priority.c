#include "controller/priority.h"

static enum workqueue_priority priority_of(const struct informer_object *old,
                                           const struct informer_object *now, bool is_new)
{
    return old || !now || now->deleting || is_new ? WORKQUEUE_CHANGE : WORKQUEUE_RESYNC;
}

enum workqueue_priority priority_of_spec(const struct informer_object *old,
                                         const struct informer_object *now)
{
    return priority_of(old, now, now && now->is_new);
}

enum workqueue_priority priority_of_release(const struct informer_object *old,
                                            const struct informer_object *now)
{
    return priority_of(old, now, now && !now->was_there);
}
