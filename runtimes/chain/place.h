/*
 * Where objects are, as text: SCHEME://AUTHORITY/PATH?NAME=VALUE&NAME=VALUE. Values are
 * percent-encoded. Neither a user nor a password may be in it: they come from files.
 */
#pragma once

#include "engine/base/error.h"

struct place {
    char *scheme;    /* "s3" */
    char *authority; /* "bucket", "files.example.com:8443" */
    char *path;      /* "" or "/a/b", as it was written, without a slash at its end */
    char **values;   /* of the options, in their order; NULL: not given */
    size_t n_values;
};

/* options: the names of those that may be given. ERR_INVALID InvalidFlag: it is no such text, or it
 * has another option, or one twice. Characters of the path but A-Z a-z 0-9 . _ - ~ / are refused,
 * so are segments that are empty or of dots. *ret: place_done(). */
int place_parse(const char *text, const char *const *options, size_t n_options, struct place *ret,
                struct error *error);
void place_done(struct place *place);
