#include "runtimes/terraform/plugin/handshake.h"

#include <string.h>

#include "engine/base/str.h"

#define LONGEST_SOCKET_PATH 107 /* bytes, of struct sockaddr_un */

enum { CORE, PROTOCOL, NETWORK, ADDRESS, TRANSPORT, CERTIFICATE, FIELDS };

static int not_a_handshake(struct error *error, const char *what)
{
    return err_set(error, ERR_INVALID, "InvalidProvider",
                   "its first line of output is not that of a provider: %s", what);
}

/* Cuts the line at each |. Fields that are not there are empty. */
static void cut(char *line, const char *fields[FIELDS])
{
    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = line;
        line += strcspn(line, "|");
        if (*line)
            *line++ = '\0';
    }
}

static int check_socket(const char *path, const char *folder, struct error *error)
{
    size_t length = strlen(folder);

    if (strncmp(path, folder, length) != 0 || path[length] != '/' || strchr(path + length + 1, '/'))
        return not_a_handshake(error, "its socket is not in the folder that it was given");
    if (strlen(path) > LONGEST_SOCKET_PATH)
        return not_a_handshake(error, "the path of its socket is too long");
    return 0;
}

int handshake_read(const char *line, const char *folder, struct handshake *ret, struct error *error)
{
    _cleanup_free_ char *copy = str_new(line);
    const char *fields[FIELDS];
    int64_t protocol;
    int r;

    cut(copy, fields);
    if (!str_equal(fields[CORE], "1") || !str_to_int64(fields[PROTOCOL], &protocol))
        return not_a_handshake(error, "it does not begin with 1|5| or 1|6|");
    if (protocol != 5 && protocol != 6)
        return err_set(error, ERR_UNSUPPORTED, "InvalidProvider",
                       "it speaks protocol %lld of Terraform's providers; 5 and 6 are supported",
                       (long long)protocol);
    if (!str_equal(fields[NETWORK], "unix"))
        return not_a_handshake(error, "it does not listen on a Unix socket");
    if (!str_equal(fields[TRANSPORT], "grpc"))
        return not_a_handshake(error, "it does not speak gRPC");
    if (*fields[CERTIFICATE])
        return not_a_handshake(error, "it wants TLS");
    r = check_socket(fields[ADDRESS], folder, error);
    if (r < 0)
        return r;
    *ret = (struct handshake){.protocol = (int)protocol, .socket = str_new(fields[ADDRESS])};
    return 0;
}
