/*
 * What the scenarios of both contracts (store_contract.h, history_contract.h) check. The note of a
 * failure begins with the scenario's name.
 */
#pragma once

#include "engine/base/error.h"

/* A call returned `expected`. If that is an error, `error` has its code, a reason and a message. */
void contract_expect_code(const char *scenario, const struct error *error, int actual, int expected,
                          const char *what);
void contract_expect(const char *scenario, bool holds, const char *what);
