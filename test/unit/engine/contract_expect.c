#include "test/unit/engine/contract_expect.h"

#include "engine/base/str.h"
#include "test/unit/suite.h"

void contract_expect_code(const char *scenario, const struct error *error, int actual, int expected,
                          const char *what)
{
    _cleanup_free_ char *note = str_printf("%s: %s (%s)", scenario, what, error->message);

    EXPECT_INT(actual, expected, note);
    if (actual < 0 && actual == expected)
        EXPECT(error->code == actual && *error->reason && *error->message, note);
}

void contract_expect(const char *scenario, bool holds, const char *what)
{
    _cleanup_free_ char *note = str_printf("%s: %s", scenario, what);

    EXPECT(holds, note);
}
