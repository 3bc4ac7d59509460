/*
 * Addresses to listen on: ":9440", "127.0.0.1:0", "[::1]:8080".
 */
#pragma once

#include "engine/base/error.h"

#define ADDRESS_HOST_SIZE 64

struct address {
    char host[ADDRESS_HOST_SIZE]; /* a numeric address, without brackets; "": all of them */
    bool is_v6;
    int port; /* 0: any that is free */
};

/* ERR_INVALID for what is not such an address; names are not looked up. */
int address_parse(const char *text, struct address *ret, struct error *error);
