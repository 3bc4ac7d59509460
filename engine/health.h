/*
 * The health of a resource: is the live object as its Spec wants it?
 *
 * The engine waits until a resource is healthy. Each runtime has its own rules for its objects.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum health_status {
    HEALTH_UNKNOWN,     /* the object could not be read */
    HEALTH_PROGRESSING,
    HEALTH_CURRENT,
    HEALTH_FAILED,      /* waiting is unlikely to help */
    HEALTH_TERMINATING,
};

struct health {
    enum health_status status;
    bool may_wait_for_consumer; /* PROGRESSING may last until another object uses this one */
    bool dependents_must_wait;  /* dependents cannot be created before this resource is CURRENT; the
                                   engine waits even if the Spec says `wait: false` */
    bool removes_itself;        /* the platform removes the object when it has done its work. Where
                                   the engine does not wait any longer, State records that, and a
                                   later absence is no drift */
    int64_t look_again; /* ms after which the runtime may know better why it is not CURRENT, though
                           the object does not change; 0: as soon as the object changes */
    char message[512];  /* one line, such as "Available: 1/3 replicas"; never the object's data */
    char hint[768];     /* a command that helps to know more, for err_hint(); or "" */
};
