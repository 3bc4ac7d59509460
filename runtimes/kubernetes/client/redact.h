/*
 * The API server's messages echo what they refuse: "Invalid value: …" is
 * followed by the value, which may be a secret, as a Go string, as JSON, or
 * as a dump of a Go struct. Here the value goes and the words around it stay.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_REDACT_H
#define RUNTIMES_KUBERNETES_CLIENT_REDACT_H

#include "engine/base/buf.h"

/* Adds the message without its values, in one line (control characters become blanks). */
void redact_message(struct buf *to, const char *message);

#endif
