#include "runtimes/terraform/session.h"
#include "test/unit/suite.h"

/* What a provider says when it may not start a program does not say why. */
static void a_program_that_is_refused_is_explained(void)
{
    static const struct {
        const char *reason, *message;
        bool is_explained;
    } rows[] = {
        {"ProviderError", "getting credentials: exec: executable aws not found", true},
        {"ProviderError", "exec: \"sh\": executable file not found in $PATH", true},
        {"ProviderError", "the program \"jq\" was not found on $PATH", true},
        {"ProviderError", "fork/exec /bin/sh: operation not permitted", true},
        {"ProviderError", "fork/exec /bin/sh: permission denied", true},
        {"ProviderError", "open /etc/shadow: operation not permitted", false},
        {"ProviderError", "attributes.text: is bad", false},
        {"ImportFailed", "fork/exec /bin/sh: operation not permitted", true},
        {"Timeout", "no answer", false},
    };
    struct visit visit = {0};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        err_set(&error, ERR_INVALID, rows[i].reason, "%s", rows[i].message);
        visit_blame(&visit, &error);
        EXPECT(!!strstr(err_hints(error.message), "providers start no programs here") ==
                   rows[i].is_explained,
               rows[i].message);
        visit_blame(&visit, &error);
        EXPECT(strstr(error.message, rows[i].message) == error.message, error.message);
    }
}

SUITE(terraform_visit, TEST(a_program_that_is_refused_is_explained))
