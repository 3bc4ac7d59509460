/*
 * A server on loopback that gives the answers of a table, one for each request, in their order, and
 * keeps what it was asked: for what real servers rarely say.
 */
#pragma once

#include <stddef.h>

struct answer {
    int status;          /* 0: the connection is closed without an answer */
    const char *headers; /* "Name: value\r\n" each; NULL: none */
    const char *body;    /* NULL: none */
};

struct answers;

/* The table is borrowed. After its end, each request is 500. */
struct answers *answers_new(const struct answer *table, size_t count);
void answers_free(struct answers *answers);
int answers_port(const struct answers *answers);
/* Head and body of the nth request (from 0), "" if there were not so many. */
const char *answers_request(struct answers *answers, size_t nth);
size_t answers_count(struct answers *answers);
