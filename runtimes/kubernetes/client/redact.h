/*
 * Removes values from the API server's messages by their position. After "Invalid value: " the
 * server repeats the value that it refused, which may be a secret: as a Go string, as JSON, or as a
 * dump of a Go struct. The words around it are kept.
 *
 * This hides values of any length in the places that most messages have, whether anybody knows that
 * they are secret or not. In all other places, the engine finds those that it knows by their
 * content (engine/value/redaction.h).
 */
#pragma once

#include "engine/base/buf.h"

/* Adds the message without its values, in one line (control characters become blanks). */
void redact_message(struct buf *to, const char *message);
