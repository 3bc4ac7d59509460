/* Whether a call may still be carried out, by how it ended. */
#include "engine/base/error.h"
#include "runtimes/grpc/grpc.h"
#include "test/unit/suite.h"

static void an_answer_is_the_end_of_a_call(void)
{
    static const struct {
        const char *note;
        int r; /* of HTTP */
        bool was_sent;
        int status;
        enum grpc_delivery delivery;
    } rows[] = {
        {"an answer", 0, true, 0, GRPC_ANSWERED},
        {"a refusal", 0, true, 13, GRPC_ANSWERED},
        {"a page", 0, true, GRPC_NO_STATUS, GRPC_ANSWERED},
        {"more than it may have", ERR_TOO_LARGE, true, GRPC_NO_STATUS, GRPC_ANSWERED},
        {"cancelled", 0, true, 1, GRPC_SENT},
        {"a deadline of somebody's", 0, true, 4, GRPC_SENT},
        {"not available", 0, true, 14, GRPC_SENT},
        {"no answer", ERR_TIMEOUT, true, GRPC_NO_STATUS, GRPC_SENT},
        {"the process ended", ERR_UNAVAILABLE, true, GRPC_NO_STATUS, GRPC_SENT},
        {"a status, and then the process ended", ERR_UNAVAILABLE, true, 13, GRPC_SENT},
        {"no connection", ERR_UNAVAILABLE, false, GRPC_NO_STATUS, GRPC_NOT_SENT},
        {"cancelled before", ERR_CANCELLED, false, GRPC_NO_STATUS, GRPC_NOT_SENT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(grpc_delivery(rows[i].r, rows[i].was_sent, rows[i].status), rows[i].delivery,
                   rows[i].note);
}

SUITE(grpc, TEST(an_answer_is_the_end_of_a_call))
