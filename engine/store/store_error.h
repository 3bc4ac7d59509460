/*
 * What can be wrong with a store, as one table for all stores (store_error.def): the error's code,
 * its reason, what is said of the store, and what to do.
 */
#pragma once

#include "engine/base/error.h"

enum store_error_kind {
#define STORE_ERROR(name, code, reason, says, remedy) STORE_##name,
#include "engine/store/store_error.def"
#undef STORE_ERROR
    STORE_ERRORS,
};

/* "the store PLACE does not answer: DETAIL", and what to do as a hint. Returns the fault's code. */
int store_error(struct error *error, enum store_error_kind kind, const char *place,
                const char *detail, ...) PRINTF_LIKE(4, 5);

/* The reason with which a store says ERR_UNAVAILABLE because it is full. */
#define STORE_NO_SPACE "NoSpace"

/* The store is not the one that is known, so that nothing but a person helps. */
bool store_error_is_for_people(const char *reason);

/* Makes an error of a store say what is wrong with the store, if its code tells that, and its
 * reason does not yet; and what to do about it. The code stays. What was explained is not
 * explained again. */
void store_error_explain(struct error *error, const char *place);
