#include "controller/serve/address.h"

#include <arpa/inet.h>

#include "engine/base/str.h"

static bool host_parse(const char *text, size_t length, struct address *address)
{
    bool in_brackets = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    struct in6_addr binary;

    if (in_brackets) {
        text++;
        length -= 2;
    }
    if (length >= ADDRESS_HOST_SIZE)
        return false;
    memcpy(address->host, text, length);
    address->host[length] = '\0';
    address->is_v6 = in_brackets;
    if (length == 0)
        return !in_brackets;
    return inet_pton(in_brackets ? AF_INET6 : AF_INET, address->host, &binary) == 1;
}

int address_parse(const char *text, struct address *ret, struct error *error)
{
    const char *colon = strrchr(text, ':');
    struct address address = {0};
    int64_t port;

    if (!colon || !str_to_int64(colon + 1, &port) || port < 0 || port > 65535 ||
        !host_parse(text, (size_t)(colon - text), &address))
        return err_set(error, ERR_INVALID, "InvalidAddress",
                       "\"%s\" is not an address to listen on (like \":8080\")", text);
    address.port = (int)port;
    *ret = address;
    return 0;
}
