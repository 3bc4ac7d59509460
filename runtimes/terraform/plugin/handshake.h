/*
 * The line by which a provider says how it can be reached:
 *
 *   core version|protocol|network|address|grpc|certificate
 *
 * With a certificate, it speaks TLS with that one. Providers made in Python have it always.
 */
#pragma once

#include "engine/base/error.h"

struct handshake {
    int protocol;      /* 5 or 6 */
    char *socket;      /* path; owned */
    char *certificate; /* PEM; owned. NULL: it does not speak TLS */
};

/* folder: the socket has to be in it, or in a folder in it. ERR_INVALID, or ERR_UNSUPPORTED for
 * another protocol. */
int handshake_read(const char *line, const char *folder, struct handshake *ret,
                   struct error *error);
void handshake_done(struct handshake *handshake); /* accepts one that is all zeroes */
