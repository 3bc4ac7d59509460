/*
 * A secret store in memory: ref://NAME/x is the value of that name.
 */
#pragma once

#include <stdbool.h>

#include "engine/secrets.h"

#define FAKE_SECRETS 8

struct fake_secrets {
    struct {
        const char *name, *value, *version;
    } items[FAKE_SECRETS];
    _Atomic bool is_down;
    _Atomic unsigned down_for; /* so many questions are not answered */
    _Atomic unsigned asked;
};

/* It goes on to be the test's. */
struct secret_source *fake_secrets_source(struct fake_secrets *secrets);
