/*
 * Whether a resource is as its Spec wants it. The engine waits by it; each runtime has the rules of
 * its own world.
 */
#ifndef ENGINE_HEALTH_H
#define ENGINE_HEALTH_H

#include <stdbool.h>

enum health_status {
    HEALTH_UNKNOWN,     /* could not be looked at */
    HEALTH_PROGRESSING,
    HEALTH_CURRENT,
    HEALTH_FAILED,      /* waiting will probably not mend it */
    HEALTH_TERMINATING,
};

struct health {
    enum health_status status;
    bool may_wait_for_consumer; /* PROGRESSING, perhaps until something is made that uses it */
    bool dependents_must_wait;  /* until it is CURRENT what depends on it cannot be made: it is
                                   waited for even where the Spec does not wait for health */
    char message[256]; /* "Available: 1/3 replicas"; one line, nothing of the object's data */
};

#endif
