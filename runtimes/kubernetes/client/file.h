/*
 * Small files that are read whole: a kubeconfig, a certificate, a token.
 */
#pragma once

#include "engine/base/error.h"

#define FILE_MAX_BYTES (4u << 20)

/* The file's text; free(). ERR_NOT_FOUND, ERR_FORBIDDEN; ERR_TOO_LARGE: larger than FILE_MAX_BYTES;
 * ERR_INVALID: it contains a NUL. Messages name the path, never the content. */
int file_read_text(const char *path, char **ret, struct error *error);

/* The same without the blanks around it. ERR_INVALID: there is nothing else. */
int file_read_word(const char *path, char **ret, struct error *error);
