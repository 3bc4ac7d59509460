/*
 * Lives at random (test/unit/engine/operation/test_random.c) over State on a real server:
 * KUSION_TEST_STORE is its place, as --state-backend has it, KUSION_TEST_STORE_KEY the key with
 * which it is sealed, as --state-key has it. hack/soak random starts servers and runs this.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/stores.h"
#include "test/unit/engine/operation/fake_store.h"

/* A test without its server tells nothing. */
static const char *need(const char *variable)
{
    const char *text = getenv(variable);

    if (!text || !*text) {
        fprintf(stderr, "%s is not set\n", variable);
        exit(2);
    }
    return text;
}

struct store *real_store_attach(void)
{
    const struct flags flags = {.state_key = need("KUSION_TEST_STORE_KEY")};
    const struct connection connection = {.flags = &flags};
    struct opened_store opened;
    struct error error = {0};

    if (stores_open(&connection, "KUSION_TEST_STORE", need("KUSION_TEST_STORE"), &opened, &error) <
        0) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    free(opened.place);
    return opened.store;
}
