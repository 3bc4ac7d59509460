/*
 * The line by which a provider says how it can be reached:
 *
 *   core version|protocol|network|address|grpc|certificate
 */
#ifndef RUNTIMES_TERRAFORM_PLUGIN_HANDSHAKE_H
#define RUNTIMES_TERRAFORM_PLUGIN_HANDSHAKE_H

#include "engine/base/error.h"

struct handshake {
    int protocol; /* 5 or 6 */
    char *socket; /* path; owned */
};

/* folder: the socket has to be in it. ERR_INVALID, or ERR_UNSUPPORTED for another protocol.
 * ret->socket: free(). */
int handshake_read(const char *line, const char *folder, struct handshake *ret,
                   struct error *error);

#endif
