#include "runtimes/postgres/private.h"

#include "engine/base/mem.h"
#include "test/unit/suite.h"

static void tells_what_states_mean(void)
{
    static const struct {
        const char *state;
        int code;
        const char *reason;
    } rows[] = {
        {"08006", ERR_UNAVAILABLE, "StoreUnreachable"},
        {"57P01", ERR_UNAVAILABLE, "StoreUnreachable"},
        {"57P03", ERR_UNAVAILABLE, "StoreUnreachable"},
        {"25006", ERR_UNAVAILABLE, "StoreUnreachable"},
        {"53300", ERR_UNAVAILABLE, "StoreBusy"},
        {"40P01", ERR_UNAVAILABLE, "StoreBusy"},
        {"53100", ERR_UNAVAILABLE, "StoreFull"},
        {"53200", ERR_UNAVAILABLE, "StoreFull"},
        {"57014", ERR_TIMEOUT, "StoreSlow"},
        {"25P03", ERR_TIMEOUT, "StoreSlow"},
        {"28P01", ERR_UNAUTHENTICATED, "StoreRefused"},
        {"28000", ERR_UNAUTHENTICATED, "StoreRefused"},
        {"42501", ERR_FORBIDDEN, "StoreRefused"},
        {"3D000", ERR_UNAVAILABLE, "StoreNotFound"},
        {"42P01", ERR_UNAVAILABLE, "StoreNotFound"},
        {"54000", ERR_TOO_LARGE, "StateTooLarge"},
        {"XX001", ERR_CORRUPT, "StateCorrupt"},
        {"XX000", ERR_INTERNAL, NULL},
        {"42601", ERR_INTERNAL, NULL},
        {"25P02", ERR_INTERNAL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct postgres_meaning *meaning = postgres_meaning_of(rows[i].state);

        EXPECT_INT(meaning->code, rows[i].code, rows[i].state);
        EXPECT_STR(meaning->reason, rows[i].reason, rows[i].state);
    }
}

SUITE(postgres_errors, TEST(tells_what_states_mean))
