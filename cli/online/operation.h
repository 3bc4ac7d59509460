/*
 * An operation in words: what it was, how long it took, how it ended. Pure.
 */
#pragma once

#include "cli/frame/output.h"
#include "engine/value/value.h"

/* "Rollback to 7"; free(). */
char *operation_name(const struct value *release);
/* "1m30s"; "-": it has not ended. free(). */
char *operation_took(const struct value *release);
enum style operation_style(const char *phase);
