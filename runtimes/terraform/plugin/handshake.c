#include "runtimes/terraform/plugin/handshake.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/str.h"

#define LONGEST_SOCKET_PATH 107 /* bytes, of struct sockaddr_un */
#define PEM_LINE            64  /* characters */

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

    if (strncmp(path, folder, length) != 0 || path[length] != '/' || strstr(path, "/../"))
        return not_a_handshake(error, "its socket is not in the folder that it was given");
    if (strlen(path) > LONGEST_SOCKET_PATH)
        return not_a_handshake(error, "the path of its socket is too long");
    return 0;
}

/* It is Base64 of DER, without the padding. *ret: PEM. */
static int read_certificate(const char *text, char **ret, struct error *error)
{
    _cleanup_buf_ struct buf der = BUF_INIT, base64 = BUF_INIT;
    struct buf pem = BUF_INIT;

    buf_add_str(&base64, text);
    while (base64.length % 4)
        buf_add_char(&base64, '=');
    if (!base64_decode(&der, base64.data, base64.length))
        return not_a_handshake(error, "its certificate is not one in Base64");
    buf_add_str(&pem, "-----BEGIN CERTIFICATE-----\n");
    for (size_t i = 0; i < base64.length; i += PEM_LINE)
        buf_printf(&pem, "%.*s\n", PEM_LINE, base64.data + i);
    buf_add_str(&pem, "-----END CERTIFICATE-----\n");
    *ret = buf_take(&pem);
    return 0;
}

void handshake_done(struct handshake *handshake)
{
    free(handshake->socket);
    free(handshake->certificate);
    *handshake = (struct handshake){0};
}

int handshake_read(const char *line, const char *folder, struct handshake *ret, struct error *error)
{
    _cleanup_free_ char *copy = str_new(line);
    const char *fields[FIELDS];
    char *certificate = NULL;
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
    r = check_socket(fields[ADDRESS], folder, error);
    if (r >= 0 && *fields[CERTIFICATE])
        r = read_certificate(fields[CERTIFICATE], &certificate, error);
    if (r < 0)
        return r;
    *ret = (struct handshake){
        .protocol = (int)protocol, .socket = str_new(fields[ADDRESS]), .certificate = certificate};
    return 0;
}
